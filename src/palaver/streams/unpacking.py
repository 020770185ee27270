"""Bodies that travelled packed: gzip, zlib and zstd, known by their first bytes, unpacked in small steps.

A body that is cut off or damaged gives what comes before that: the assembler notices that the end is missing.
"""

import zlib
from collections.abc import Iterable, Iterator

import zstandard

_STEP_BYTES = 1 << 16
_ZSTD_STEP_BYTES = 1 << 9
_GZIP_MAGIC = b"\x1f\x8b"
_ZLIB_MAGICS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_EITHER_HEADER = 32 + zlib.MAX_WBITS


def unpacked(body: bytes | Iterable[bytes]) -> Iterator[bytes]:
    """The chunks of a body as they were before somebody packed them."""
    chunks = _steps(body, _STEP_BYTES) if isinstance(body, bytes) else iter(body)
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= len(_ZSTD_MAGIC):
            break
    if head.startswith((_GZIP_MAGIC, *_ZLIB_MAGICS)):
        yield from _inflated(_rejoined(head, chunks))
    elif head.startswith(_ZSTD_MAGIC):
        yield from _from_zstd(_rejoined(head, chunks))
    else:
        yield from _rejoined(head, chunks)


def _rejoined(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from chunks


def _steps(whole: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(whole), size):
        yield whole[start : start + size]


def _inflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    inflater = zlib.decompressobj(_EITHER_HEADER)
    try:
        for chunk in chunks:
            left = chunk
            while left:
                if inflater.eof:
                    inflater = zlib.decompressobj(_EITHER_HEADER)
                if piece := inflater.decompress(left, _STEP_BYTES):
                    yield piece
                left = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
        while piece := inflater.decompress(inflater.unconsumed_tail, _STEP_BYTES):
            yield piece
    except zlib.error:
        return


def _from_zstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    frame = zstandard.ZstdDecompressor().decompressobj()
    try:
        for chunk in chunks:
            # A frame's output cannot be limited, only its input.
            for step in _steps(chunk, _ZSTD_STEP_BYTES):
                left = step
                while left:
                    if frame.eof:
                        frame = zstandard.ZstdDecompressor().decompressobj()
                    if piece := frame.decompress(left):
                        yield piece
                    left = frame.unused_data if frame.eof else b""
    except zstandard.ZstdError:
        return
