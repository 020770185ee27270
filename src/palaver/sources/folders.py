"""Containers of files behind one protocol: a folder on disk and standard input here, a ZIP in `zip.folder`."""

import atexit
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

from palaver.errors import SourceError

STDIN_NAME = "-"
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
"""The start of a ZIP: a member, the end record of an empty archive, or the first part of a split archive."""


class Folder(Protocol):
    @property
    def label(self) -> str: ...
    def label_of(self, name: str) -> str: ...
    def names(self, under: str = "") -> list[str]:
        """Return the relative names of all files below, sorted, with forward slashes."""
        ...

    def listing(self) -> tuple[list[str], list[str]]:
        """Return the sorted names of the files and of the folders directly in it."""
        ...

    def has(self, name: str) -> bool: ...
    def open(self, name: str) -> BinaryIO: ...
    def size_bytes(self, name: str) -> int:
        """Return the size of a file; 0 if it is unknown or the file vanished, which `open` reports."""
        ...

    def modified_at(self, name: str) -> float | None: ...
    def path_of(self, name: str) -> Path | None:
        """Return the path of a file on disk; None if it is inside an archive or a stream."""
        ...


class DiskFolder:
    __slots__ = ("_prefix", "label", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.label = str(path)
        self._prefix = "" if self.label == "." else os.path.join(self.label, "")

    def label_of(self, name: str) -> str:
        return self._prefix + (name if os.sep == "/" else name.replace("/", os.sep))

    def names(self, under: str = "") -> list[str]:
        top = self.path / under if under else self.path
        paths = (path for folder in walk_folders(top) for path in files_of(folder))
        return sorted(path.relative_to(self.path).as_posix() for path in paths)

    def listing(self) -> tuple[list[str], list[str]]:
        try:
            with os.scandir(self.path) as entries:
                found = [(entry.name, _is_true(entry.is_file), _is_true(entry.is_dir)) for entry in entries]
        except OSError:
            return [], []  # walking the folder raises the same error, which is reported
        return sorted(name for name, is_file, _ in found if is_file), sorted(
            name for name, _, is_dir in found if is_dir
        )

    def has(self, name: str) -> bool:
        return self._status(name) is not None

    def open(self, name: str) -> BinaryIO:
        try:
            return open(self.label_of(name), "rb")
        except OSError as error:
            raise SourceError(f"cannot read {self.path / name}: {error.strerror or error}") from error
        except ValueError as error:
            raise SourceError(f"cannot read {str(self.path / name)!r}: {error}") from error

    def size_bytes(self, name: str) -> int:
        status = self._status(name)
        return 0 if status is None else status.st_size

    def modified_at(self, name: str) -> float | None:
        status = self._status(name)
        return None if status is None else status.st_mtime

    def path_of(self, name: str) -> Path | None:
        return self.path / name

    def _status(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(self.label_of(name))
        except (OSError, ValueError):
            return None


def walk_folders(top: Path) -> Iterator[Path]:
    """Yield a folder and all folders below it, parents first, sorted; each real folder once, so that link loops end."""
    seen: set[object] = set()
    stack = [top]
    while stack:
        folder = stack.pop()
        if (identity := _identity(folder)) in seen:
            continue
        seen.add(identity)
        yield folder
        try:
            with os.scandir(folder) as entries:
                below = sorted(entry.name for entry in entries if _is_true(entry.is_dir))
        except OSError:
            continue  # the caller's `files_of` on the same folder reports it
        stack.extend(folder / name for name in reversed(below))


def _identity(folder: Path) -> object:
    """Return an identity shared by all paths of a folder: device and inode, or the real path if there is no inode."""
    try:
        status = os.stat(folder)
    except (OSError, ValueError):
        return folder
    return (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(folder)


def files_of(folder: Path) -> list[Path]:
    """List the files directly in a folder, sorted; raise SourceError if it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return [folder / name for name in sorted(entry.name for entry in entries if _is_true(entry.is_file))]
    except OSError as error:
        raise SourceError(f"cannot list {folder}: {error.strerror or error}") from error


def _is_true(question: Callable[[], bool]) -> bool:
    try:
        return question()
    except OSError:  # a link to itself is neither a folder nor a file
        return False


class StandardInput:
    """Standard input: any number of peeks, one read; a ZIP is copied into a temporary file first."""

    def __init__(self, stream: BinaryIO | None = None) -> None:
        self._stream = stream or sys.stdin.buffer
        self._head = b""
        self._is_read = False

    @property
    def label(self) -> str:
        return STDIN_NAME

    def label_of(self, name: str) -> str:
        return name

    def names(self, under: str = "") -> list[str]:
        return [] if under else [STDIN_NAME]

    def listing(self) -> tuple[list[str], list[str]]:
        return [STDIN_NAME], []

    def has(self, name: str) -> bool:
        return name == STDIN_NAME

    def peek(self, size: int) -> bytes:
        """Return the first bytes, however small the pieces that the pipe delivers."""
        while len(self._head) < size and not self._is_read:
            piece = self._stream.read(size - len(self._head))
            if not piece:
                break
            self._head += piece
        return self._head[:size]

    def open(self, name: str) -> BinaryIO:
        _ = name
        if self._is_read:
            raise SourceError("standard input was already read: it can be read once only")
        self._is_read = True
        return io.BufferedReader(_PeekedStream(self._head, self._stream))

    def size_bytes(self, name: str) -> int:
        _ = name
        return 0

    def modified_at(self, name: str) -> float | None:
        _ = name
        return None

    def path_of(self, name: str) -> Path | None:
        _ = name
        return None

    def spool(self) -> Path:
        """Copy standard input to a temporary file, for formats that need to seek; deleted when the process ends."""
        stream = self.open(STDIN_NAME)
        try:
            with tempfile.NamedTemporaryFile(prefix="palaver-", suffix=".zip", delete=False) as file:
                atexit.register(Path(file.name).unlink, missing_ok=True)
                shutil.copyfileobj(stream, file)
        except OSError as error:
            raise SourceError(f"cannot put standard input into a temporary file: {error.strerror or error}") from error
        return Path(file.name)


class _PeekedStream(io.RawIOBase):
    """A stream of the bytes that were peeked at, followed by the rest."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        super().__init__()
        self._head = head
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        piece = self._head[: len(view)] or self._stream.read(len(view))
        self._head = self._head[len(piece) :]
        view[: len(piece)] = piece
        return len(piece)
