"""Compressed streams opened by their magic bytes, with damage told as ours."""

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
_QUICK_STEP_BYTES = 1 << 20
_ZSTD_STEP_BYTES = 1 << 9


def is_compressed(head: bytes) -> bool:
    return head.startswith((_GZIP_MAGIC, _ZSTD_MAGIC))


def decompressed(stream: BinaryIO, head: bytes, label: str) -> BinaryIO:
    """Wrap a stream that stands at its start; `head` are its first bytes."""
    if head.startswith(_GZIP_MAGIC):
        if igzip is not None and stream.seekable():
            return guarded(_QuickGzip(stream), label, stream)
        return guarded(gzip.GzipFile(fileobj=stream), label, stream)
    if head.startswith(_ZSTD_MAGIC):
        return guarded(_ZstdFrames(stream), label, stream)
    return stream


def guarded(stream: Any, label: str, *beneath: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", _Guarded(stream, label, beneath))


class ReadOnly:
    """What every stream here has in common: it is read from beginning to end, and closed."""

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


class _Guarded(ReadOnly):
    """A read-only stream that tells of damage only after all that came before it was handed out."""

    def __init__(self, stream: Any, label: str, beneath: tuple[BinaryIO, ...]) -> None:
        self._stream = stream
        self._label = label
        self._beneath = beneath
        # Small steps, where what a step took in before it met the damage is lost with it.
        self._step = _QUICK_STEP_BYTES if isinstance(stream, _QuickGzip) else _STEP_BYTES
        self._damage: SourceError | None = None

    def read(self, size: int = -1) -> bytes:
        pieces: list[bytes] = []
        held = 0
        while self._damage is None and held != size:
            step = self._step if size < 0 else min(size - held, self._step)
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
                held += len(piece)
        if self._damage is not None and not pieces and size:
            raise self._damage
        return b"".join(pieces)

    def close(self) -> None:
        self._stream.close()
        for stream in self._beneath:
            stream.close()


class _QuickGzip:
    """ISA-L up to where it stumbles; gzip goes over the file again, and tells what is wrong and where."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = stream.tell()
        self._quick = igzip.IGzipFile(fileobj=stream)
        self._careful: gzip.GzipFile | None = None
        self._given = 0

    def read1(self, size: int) -> bytes:
        if self._careful is None:
            try:
                piece = self._quick.read(size)
            except Exception:  # noqa: BLE001 - whatever it is: gzip meets it again, or knows better
                self._careful = self._started_again()
            else:
                self._given += len(piece)
                return piece
        return self._careful.read1(min(size, _STEP_BYTES))

    def close(self) -> None:
        self._quick.close()

    def _started_again(self) -> gzip.GzipFile:
        self._stream.seek(self._start)
        careful = gzip.GzipFile(fileobj=self._stream)
        while self._given and (passed := careful.read1(min(self._given, _STEP_BYTES))):
            self._given -= len(passed)
        return careful


class _ZstdFrames:
    """Frame after frame; zstandard's own reader takes a frame that is cut off for the end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame: Any = None
        self._ahead = b""
        self._held = io.BytesIO()

    def read1(self, size: int) -> bytes:
        while not (piece := self._held.read(size)):
            # A frame's output cannot be limited, only its input: 512 bytes hold 16 MB at most.
            taken = self._ahead or self._stream.read(_ZSTD_STEP_BYTES)
            if not taken:
                if self._frame is not None:
                    raise EOFError("a frame has no end")
                break
            self._ahead = b""
            if self._frame is None:
                self._frame = self._decompressor.decompressobj()
            self._held = io.BytesIO(self._frame.decompress(taken))
            if self._frame.eof:
                self._ahead = self._frame.unused_data
                self._frame = None
        return piece

    def close(self) -> None:
        self._held.close()
