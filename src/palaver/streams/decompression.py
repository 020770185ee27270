"""Decompression of bodies in small steps: gzip, zlib and zstd, recognized by their first bytes.

A truncated or damaged body yields what precedes the damage: the assembler reports that the end is missing.
"""

import zlib
from collections.abc import Iterable, Iterator

import zstandard

_STEP_BYTES = 1 << 16
_ZSTD_STEP_BYTES = 1 << 9
_GZIP_MAGIC = b"\x1f\x8b"
_ZLIB_MAGICS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


def decompressed(body: bytes | Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a body, decompressed if it was compressed."""
    chunks = _slices(body, _STEP_BYTES) if isinstance(body, bytes) else iter(body)
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= len(_ZSTD_MAGIC):
            break
    if head.startswith((_GZIP_MAGIC, *_ZLIB_MAGICS)):
        yield from _inflated(_prepended(head, chunks))
    elif head.startswith(_ZSTD_MAGIC):
        yield from _zstd_decompressed(_prepended(head, chunks))
    else:
        yield from _prepended(head, chunks)


def _prepended(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from chunks


def _slices(whole: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(whole), size):
        yield whole[start : start + size]


def _inflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        for chunk in chunks:
            left = chunk
            while left:
                if inflater.eof:
                    inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
                if piece := inflater.decompress(left, _STEP_BYTES):
                    yield piece
                left = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
        while piece := inflater.decompress(inflater.unconsumed_tail, _STEP_BYTES):
            yield piece
    except zlib.error:
        return


def _zstd_decompressed(chunks: Iterator[bytes]) -> Iterator[bytes]:
    frame = zstandard.ZstdDecompressor().decompressobj()
    try:
        for chunk in chunks:
            # zstandard cannot limit the output of a frame, only its input.
            for step in _slices(chunk, _ZSTD_STEP_BYTES):
                left = step
                while left:
                    if frame.eof:
                        frame = zstandard.ZstdDecompressor().decompressobj()
                    if piece := frame.decompress(left):
                        yield piece
                    left = frame.unused_data if frame.eof else b""
    except zstandard.ZstdError:
        return
