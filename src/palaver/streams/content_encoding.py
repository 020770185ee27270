"""Decoders for the content encodings of HTTP bodies that arrive in chunks: gzip, deflate, br and zstd.

A damaged body gives what precedes the damage. Every decoder works in small steps, so that a chunk which expands to very
much never is in memory as a whole.
"""

import importlib
import zlib
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, Protocol

import zstandard

_STEP_BYTES = 1 << 16
_ZSTD_STEP_BYTES = 1 << 9
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_RAW_DEFLATE = -zlib.MAX_WBITS
_ZLIB_METHOD = 8


class Decoder(Protocol):
    @property
    def is_damaged(self) -> bool:
        """Whether the body could not be decoded to its end; later chunks are ignored."""
        ...

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the decoded bytes of a chunk, in pieces of a moderate size."""
        ...


def content_decoder(content_encoding: str) -> Decoder | None:
    """Return a decoder for the value of a Content-Encoding header, or None if one of its codings is unknown."""
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    decoders = [_decoder(coding) for coding in reversed(codings) if coding not in {"", "identity"}]
    known = [decoder for decoder in decoders if decoder is not None]
    return _Chain(known) if len(known) == len(decoders) else None


def _decoder(coding: str) -> Decoder | None:
    match coding:
        case "gzip" | "x-gzip":
            return Inflater()
        case "deflate":
            return Inflater(may_be_raw=True)
        case "zstd":
            return ZstdDecoder()
        case "br":
            return _BrotliDecoder() if _brotli() is not None else None
        case _:
            return None


class Inflater:
    """Decodes gzip and zlib data, and several members in a row."""

    def __init__(self, *, may_be_raw: bool = False) -> None:
        self.is_damaged = False
        self._may_be_raw = may_be_raw
        """Whether the data may lack zlib's header, which some servers leave out of `deflate`."""
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        left = b"" if self.is_damaged else chunk
        if left and self._may_be_raw:
            self._may_be_raw = False
            if left[0] & 0x0F != _ZLIB_METHOD:
                self._inflate = zlib.decompressobj(_RAW_DEFLATE)
        try:
            while left:
                if self._inflate.eof:
                    self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
                if piece := self._inflate.decompress(left, _STEP_BYTES):
                    yield piece
                left = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            while not self.is_damaged and (piece := self._inflate.decompress(b"", _STEP_BYTES)):
                yield piece
        except zlib.error:
            self.is_damaged = True


class ZstdDecoder:
    """Decodes zstd data, and several frames in a row."""

    def __init__(self) -> None:
        self.is_damaged = False
        self._frame = zstandard.ZstdDecompressor().decompressobj()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        try:
            # zstandard cannot limit the output of a frame, only its input.
            for step in slices(b"" if self.is_damaged else chunk, _ZSTD_STEP_BYTES):
                left = step
                while left:
                    if self._frame.eof:
                        self._frame = zstandard.ZstdDecompressor().decompressobj()
                    if piece := self._frame.decompress(left):
                        yield piece
                    left = self._frame.unused_data if self._frame.eof else b""
        except zstandard.ZstdError:
            self.is_damaged = True


class _BrotliDecoder:
    def __init__(self) -> None:
        brotli = _brotli()
        self.is_damaged = False
        self._error: type[Exception] = brotli.error
        self._decompress: Any = brotli.Decompressor()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        left = b"" if self.is_damaged or self._decompress.is_finished() else chunk
        try:
            # It may have more to give even where it says that it can take more.
            while (piece := self._decompress.process(left, output_buffer_limit=_STEP_BYTES)) or left:
                yield piece
                left = b""
        except self._error:
            self.is_damaged = True


class _Chain:
    """Several decoders, the first of which takes the bytes as they were sent."""

    def __init__(self, decoders: list[Decoder]) -> None:
        self._decoders = decoders

    @property
    def is_damaged(self) -> bool:
        return any(decoder.is_damaged for decoder in self._decoders)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        start: Iterable[bytes] = (chunk,)
        yield from reduce(_fed_with, self._decoders, start)


def _fed_with(chunks: Iterable[bytes], decoder: Decoder) -> Iterator[bytes]:
    for chunk in chunks:
        yield from decoder.feed(chunk)


def slices(whole: bytes | bytearray, size: int) -> Iterator[bytes]:
    """Yield the bytes in pieces of this size."""
    for start in range(0, len(whole), size):
        yield bytes(whole[start : start + size])


def _brotli() -> Any:
    """Return the module, or None where the extra that has it is not installed."""
    try:
        return importlib.import_module("brotli")
    except ImportError:
        return None
