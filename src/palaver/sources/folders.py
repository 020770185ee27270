"""Places that hold files: a folder on disk, a ZIP, standard input. All offer the same few calls."""

import io
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from palaver.errors import SourceError
from palaver.sources.decompress import guarded

STDIN_NAME = "-"
ZIP_MAGIC = b"PK\x03\x04"


class Folder(Protocol):
    @property
    def label(self) -> str: ...
    def names(self, under: str = "") -> list[str]:
        """Every file below, as sorted relative names with forward slashes."""
        ...

    def has(self, name: str) -> bool: ...
    def open(self, name: str) -> BinaryIO: ...
    def size_bytes(self, name: str) -> int: ...
    def modified_at(self, name: str) -> float | None: ...
    def path_of(self, name: str) -> Path | None:
        """Where the file lies on disk by itself, if it does."""
        ...


class DiskFolder:
    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def label(self) -> str:
        return str(self.path)

    def names(self, under: str = "") -> list[str]:
        top = self.path / under if under else self.path
        return [
            path.relative_to(self.path).as_posix() for folder in walk_folders(top) for path in files_of(folder)
        ]

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def open(self, name: str) -> BinaryIO:
        try:
            return (self.path / name).open("rb")
        except OSError as error:
            raise SourceError(f"cannot read {self.path / name}: {error.strerror or error}") from error

    def size_bytes(self, name: str) -> int:
        return (self.path / name).stat().st_size

    def modified_at(self, name: str) -> float | None:
        return (self.path / name).stat().st_mtime

    def path_of(self, name: str) -> Path | None:
        return self.path / name


def walk_folders(top: Path) -> Iterator[Path]:
    """Yield a folder and all below it, parents first, sorted; each real folder once, so that link loops end."""
    seen: set[str] = set()
    stack = [top]
    while stack:
        folder = stack.pop()
        real = os.path.realpath(folder)
        if real in seen:
            continue
        seen.add(real)
        yield folder
        try:
            with os.scandir(folder) as entries:
                below = sorted(entry.name for entry in entries if entry.is_dir())
        except OSError:
            continue  # the caller's `files_of` on the same folder reports it
        stack.extend(folder / name for name in reversed(below))


def files_of(folder: Path) -> list[Path]:
    """List the files directly in a folder, sorted; a folder that cannot be listed is an error."""
    try:
        with os.scandir(folder) as entries:
            return [folder / name for name in sorted(entry.name for entry in entries if entry.is_file())]
    except OSError as error:
        raise SourceError(f"cannot list {folder}: {error.strerror or error}") from error


class ZipFolder:
    """Members are read in place and never written to disk, so their names cannot point anywhere."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip: zipfile.ZipFile | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_zip": None}

    @property
    def label(self) -> str:
        return str(self.path)

    def names(self, under: str = "") -> list[str]:
        prefix = f"{under.rstrip('/')}/" if under else ""
        return sorted(
            member.filename
            for member in self._opened().infolist()
            if not member.is_dir() and member.filename.startswith(prefix)
        )

    def has(self, name: str) -> bool:
        return name in self._opened().NameToInfo

    def open(self, name: str) -> BinaryIO:
        try:
            return guarded(self._opened().open(name), f"{self.path}!{name}")
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, KeyError) as error:
            raise SourceError(f"cannot read {name} in {self.path}: {error}") from error

    def size_bytes(self, name: str) -> int:
        return self._opened().getinfo(name).file_size

    def modified_at(self, name: str) -> float | None:
        _ = name
        return None if str(self.path) == STDIN_NAME else self.path.stat().st_mtime

    def path_of(self, name: str) -> Path | None:
        _ = name
        return None

    def _opened(self) -> zipfile.ZipFile:
        if self._zip is None:
            try:
                self._zip = zipfile.ZipFile(self.path)
            except (OSError, zipfile.BadZipFile) as error:
                raise SourceError(f"cannot open {self.path} as a ZIP: {error}") from error
        return self._zip


class StandardInput:
    """Standard input, peeked at once and read once; a ZIP on it is put into a temporary file first."""

    def __init__(self, stream: BinaryIO | None = None) -> None:
        raw = stream or sys.stdin.buffer
        self._stream = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", raw))
        self._is_read = False

    @property
    def label(self) -> str:
        return STDIN_NAME

    def names(self, under: str = "") -> list[str]:
        _ = under
        return [STDIN_NAME]

    def has(self, name: str) -> bool:
        return name == STDIN_NAME

    def peek(self, size: int) -> bytes:
        return self._stream.peek(size)[:size]

    def open(self, name: str) -> BinaryIO:
        _ = name
        if self._is_read:
            raise SourceError("standard input was already read: it can be read once only")
        self._is_read = True
        return self._stream

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
        """Write all of it to a temporary file, for formats that need to jump about."""
        with tempfile.NamedTemporaryFile(prefix="palaver-", suffix=".zip", delete=False) as file:
            shutil.copyfileobj(self.open(STDIN_NAME), file)
        return Path(file.name)
