"""Compressed streams, recognised by their magic bytes, that report damage as SourceError."""

import gzip
import io
import lzma
import struct
import zlib
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

import zstandard

from palaver.errors import SourceError

try:
    from isal import igzip
except ImportError:  # there are no wheels for every machine
    igzip: Any = None

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, struct.error, zstandard.ZstdError)
_STEP_BYTES = 1 << 14
_FAST_STEP_BYTES = 1 << 20
_ZSTD_STEP_BYTES = 1 << 9


def is_compressed(head: bytes) -> bool:
    return head.startswith((_GZIP_MAGIC, _ZSTD_MAGIC))


def open_decompressed(stream: BinaryIO, head: bytes, label: str) -> BinaryIO:
    """Wrap a stream that is at its start and begins with `head`; a stream that is not compressed is returned as is."""
    if head.startswith(_GZIP_MAGIC):
        if igzip is not None and stream.seekable():
            return _guard(_FastGzip(stream), label, stream)
        return _guard(gzip.GzipFile(fileobj=stream), label, stream)
    if head.startswith(_ZSTD_MAGIC):
        return _guard(_ZstdFrames(stream), label, stream)
    return stream


def _guard(stream: Any, label: str, *underlying: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", _GuardedStream(stream, label, underlying))


class ReadOnlyStream:
    """The common part of streams that are read from beginning to end and closed."""

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _GuardedStream(ReadOnlyStream):
    """A stream that raises on damage only after returning everything before it."""

    def __init__(self, stream: Any, label: str, underlying: tuple[BinaryIO, ...]) -> None:
        self._stream = stream
        self._label = label
        self._underlying = underlying
        # Small steps for decoders that lose the output of a step in which they meet damage.
        self._step = _FAST_STEP_BYTES if isinstance(stream, _FastGzip) else _STEP_BYTES
        self._damage: SourceError | None = None

    def read(self, size: int = -1) -> bytes:
        pieces: list[bytes] = []
        bytes_read = 0
        while self._damage is None and bytes_read != size:
            step = self._step if size < 0 else min(size - bytes_read, self._step)
            try:
                piece = self._stream.read1(step)
            except SourceError as error:
                self._damage = error
            except _DAMAGE as error:
                self._damage = SourceError(f"{self._label} is damaged or cut off: {error}")
                self._damage.__cause__ = error
            else:
                if not piece:
                    break
                pieces.append(piece)
                bytes_read += len(piece)
        if self._damage is not None and not pieces and size:
            raise self._damage
        return b"".join(pieces)

    def close(self) -> None:
        self._stream.close()
        for stream in self._underlying:
            stream.close()


class _FastGzip:
    """ISA-L until it fails; then gzip reads the file again to report what is wrong and where."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = stream.tell()
        self._fast = igzip.IGzipFile(fileobj=stream)
        self._exact: gzip.GzipFile | None = None
        self._bytes_given = 0

    def read1(self, size: int) -> bytes:
        if self._exact is None:
            try:
                piece = self._fast.read(size)
            except Exception:  # noqa: BLE001 - gzip meets any real damage again
                self._exact = self._restart()
            else:
                self._bytes_given += len(piece)
                return piece
        return self._exact.read1(min(size, _STEP_BYTES))

    def close(self) -> None:
        self._fast.close()

    def _restart(self) -> gzip.GzipFile:
        self._stream.seek(self._start)
        exact = gzip.GzipFile(fileobj=self._stream)
        while self._bytes_given and (skipped := exact.read1(min(self._bytes_given, _STEP_BYTES))):
            self._bytes_given -= len(skipped)
        return exact


class _ZstdFrames:
    """Zstandard frames, one after another; zstandard's own reader mistakes a truncated frame for the end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame: Any = None
        self._unused = b""
        self._output = io.BytesIO()

    def read1(self, size: int) -> bytes:
        while not (piece := self._output.read(size)):
            # Only the input of a frame can be limited, not its output: 512 bytes expand to 16 MB at most.
            packed = self._unused or self._stream.read(_ZSTD_STEP_BYTES)
            if not packed:
                if self._frame is not None:
                    raise EOFError("a frame has no end")
                break
            self._unused = b""
            if self._frame is None:
                self._frame = self._decompressor.decompressobj()
            self._output = io.BytesIO(self._frame.decompress(packed))
            if self._frame.eof:
                self._unused = self._frame.unused_data
                self._frame = None
        return piece

    def close(self) -> None:
        self._output.close()
