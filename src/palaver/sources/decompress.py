"""Compressed streams opened by their magic bytes, with damage told as ours."""

import copy
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

import zstandard

from palaver.errors import SourceError

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, struct.error, zipfile.BadZipFile, zstandard.ZstdError)
_STEP_BYTES = 1 << 14
_ZSTD_STEP_BYTES = 1 << 9


def is_compressed(head: bytes) -> bool:
    return head.startswith((_GZIP_MAGIC, _ZSTD_MAGIC))


def decompressed(stream: BinaryIO, head: bytes, label: str) -> BinaryIO:
    """Wrap a stream that stands at its start; `head` are its first bytes."""
    if head.startswith(_GZIP_MAGIC):
        return guarded(gzip.GzipFile(fileobj=stream), label, stream)
    if head.startswith(_ZSTD_MAGIC):
        return guarded(_ZstdFrames(stream), label, stream)
    return stream


def zip_member(archive: zipfile.ZipFile, name: str, label: str) -> BinaryIO:
    return guarded(_ZipMember(archive, name), label)


def guarded(stream: Any, label: str, *beneath: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", _Guarded(stream, label, beneath))


class _Guarded:
    """A read-only stream that tells of damage only after all that came before it was handed out."""

    def __init__(self, stream: Any, label: str, beneath: tuple[BinaryIO, ...]) -> None:
        self._stream = stream
        self._label = label
        self._beneath = beneath
        self._damage: SourceError | None = None

    def read(self, size: int = -1) -> bytes:
        pieces: list[bytes] = []
        held = 0
        while self._damage is None and held != size:
            # Small steps: what a step took in before it met the damage is lost with it.
            step = _STEP_BYTES if size < 0 else min(size - held, _STEP_BYTES)
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

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self._stream.close()
        for stream in self._beneath:
            stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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


class _ZipMember:
    """A member whose checksum is compared at its end; zipfile's own reader keeps the last bytes back if it is wrong."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        about = copy.copy(archive.getinfo(name))
        self._expected = about.CRC
        del about.CRC
        self._sum = 0
        self._stream = cast("zipfile.ZipExtFile", archive.open(about))

    def read1(self, size: int) -> bytes:
        piece = self._stream.read1(size)
        self._sum = zlib.crc32(piece, self._sum)
        if not piece and self._sum != self._expected:
            raise zipfile.BadZipFile("its checksum is wrong")
        return piece

    def close(self) -> None:
        self._stream.close()
