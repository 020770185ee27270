"""Decompression of bodies in small steps: gzip, zlib and zstd, recognized by their first bytes.

A truncated or damaged body yields what precedes the damage: the assembler reports that the end is missing.
"""

from collections.abc import Iterable, Iterator

from palaver.streams.content_encoding import Decoder, Inflater, ZstdDecoder, slices

_STEP_BYTES = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_ZLIB_MAGICS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def decompressed(body: bytes | Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a body, decompressed if it was compressed."""
    chunks = slices(body, _STEP_BYTES) if isinstance(body, bytes) else iter(body)
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= len(_ZSTD_MAGIC):
            break
    if head.startswith((_GZIP_MAGIC, *_ZLIB_MAGICS)):
        yield from _decoded(_prepended(head, chunks), Inflater())
    elif head.startswith(_ZSTD_MAGIC):
        yield from _decoded(_prepended(head, chunks), ZstdDecoder())
    else:
        yield from _prepended(head, chunks)


def _prepended(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from chunks


def _decoded(chunks: Iterator[bytes], decoder: Decoder) -> Iterator[bytes]:
    for chunk in chunks:
        yield from decoder.feed(chunk)
        if decoder.is_damaged:
            return
