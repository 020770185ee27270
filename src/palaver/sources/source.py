"""A source: a file or folder that can be imported on its own, opened as a stream of decompressed bytes."""

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from palaver.errors import SourceError
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.decompress import is_compressed, open_decompressed
from palaver.sources.folders import STDIN_NAME, ZIP_MAGIC, DiskFolder, Folder, StandardInput
from palaver.sources.source_head import parse_head
from palaver.sources.zip.folder import ZipFolder

HEAD_BYTES = 1 << 16

_COMPRESSED_SUFFIXES = {".gz", ".zst"}


class Source:
    """A file in a folder, in a ZIP, or on standard input; an empty `name` means the folder itself."""

    __slots__ = ("_head", "_listing", "_parsed_head", "folder", "name")

    def __init__(self, folder: Folder, name: str) -> None:
        self.folder = folder
        self.name = name
        self._head: bytes | None = None
        self._parsed_head: tuple[Any] | None = None
        self._listing: tuple[list[str], list[str]] | None = None

    def __repr__(self) -> str:
        return f"Source({self.label!r})"

    @classmethod
    def at(cls, path: Path) -> "Source":
        if str(path) == STDIN_NAME:
            return cls(StandardInput(), STDIN_NAME)
        if path.is_dir():
            return cls(DiskFolder(path), "")
        return cls(DiskFolder(path.parent), path.name)

    @property
    def label(self) -> str:
        """Return the name to show to users: a path, `archive.zip!member`, or `-`."""
        return self.folder.label_of(self.name) if self.name else self.folder.label

    @property
    def is_folder(self) -> bool:
        return not self.name

    @property
    def file_name(self) -> str:
        """Return the name without folders and without a compression suffix."""
        name = self.name.rpartition("/")[2]
        stem, dot, suffix = name.rpartition(".")
        return stem if stem and dot + suffix in _COMPRESSED_SUFFIXES else name

    @property
    def stem(self) -> str:
        name = self.file_name
        return name.rpartition(".")[0] or name

    @property
    def suffix(self) -> str:
        stem, dot, suffix = self.file_name.rpartition(".")
        return dot + suffix if stem else ""

    def is_zip(self) -> bool:
        return not self.is_folder and self._raw_head().startswith(ZIP_MAGIC)

    def as_zip(self) -> ZipFolder:
        """Return the ZIP as a folder of its members."""
        if isinstance(self.folder, StandardInput):
            return ZipFolder(self.folder.spool(), STDIN_NAME)
        path = self.folder.path_of(self.name)
        if path is None:
            raise SourceError(f"{self.label} is a ZIP inside a ZIP: unpack the outer one first")
        return ZipFolder(path)

    def head(self) -> bytes:
        """Return the first 64 KB, decompressed; empty for a folder."""
        if self._head is None:
            self._head = b"" if self.is_folder else self.first_bytes(HEAD_BYTES)
        return self._head

    def first_bytes(self, size_bytes: int) -> bytes:
        """Return the start of a file, decompressed; empty if it cannot be decompressed."""
        if isinstance(self.folder, StandardInput):
            peeked = self.folder.peek(size_bytes)
            stream = open_decompressed(io.BytesIO(peeked), peeked, self.label)
        else:
            stream = self.open()
        with stream:
            try:
                return stream.read(size_bytes)
            except SourceError:
                return b""

    def parsed_head(self) -> Any:
        """Return the JSON value at the start of the head, as far as the head goes; None if it is not JSON."""
        if self._parsed_head is None:
            self._parsed_head = (parse_head(self.head()),)
        return self._parsed_head[0]

    def open(self, start: int = 0) -> BinaryIO:
        """Open the decompressed bytes; `start` needs a plain file on disk."""
        if isinstance(self.folder, StandardInput):
            magic = self.folder.peek(4)
            return open_decompressed(self.folder.open(self.name), magic, self.label)
        stream = self.folder.open(self.name)
        try:
            magic = stream.peek(4)[:4] if isinstance(stream, io.BufferedReader) else stream.read(4)
        except SourceError:
            stream.close()
            raise
        except OSError as error:
            stream.close()
            raise SourceError(f"cannot read {self.label}: {error}") from error
        if start:
            stream.seek(start)
        elif not isinstance(stream, io.BufferedReader):
            stream.close()
            stream = self.folder.open(self.name)
        return open_decompressed(stream, magic, self.label) if is_compressed(magic) else stream

    @property
    def is_reopenable(self) -> bool:
        """Return whether it can be opened again, also by another process; standard input cannot."""
        return not isinstance(self.folder, StandardInput)

    def is_plain_file(self) -> bool:
        """Return whether it is an uncompressed file on disk, so that reading can start in the middle."""
        return self.folder.path_of(self.name) is not None and not is_compressed(self._raw_head())

    @property
    def size_bytes(self) -> int:
        return 0 if self.is_folder else self.folder.size_bytes(self.name)

    def modified_at(self) -> float | None:
        return self.folder.modified_at(self.name)

    def written_at(self) -> str:
        """Return when it was last written, or now if that is unknown: the last resort for messages without a time."""
        modified_at = self.modified_at()
        return normalize_timestamp(datetime.now(UTC) if modified_at is None else modified_at)

    def sibling(self, name: str) -> "Source":
        """Return another file, named relative to the folder of this one."""
        folder_path, slash, _ = self.name.rpartition("/")
        return Source(self.folder, f"{folder_path}{slash}{name}")

    def parent_folder(self) -> "Source | None":
        """Return the folder that contains this file or folder; None if there is none."""
        folder_path, _, _ = self.name.rpartition("/")
        if folder_path:
            return Source(self.folder, "").subfolder(folder_path)
        parent = self.folder if self.name else _parent_of(self.folder)
        return None if parent is None or isinstance(parent, StandardInput) else Source(parent, "")

    def subfolder(self, name: str) -> "Source":
        """Return a folder, named relative to this one or to this file's folder; it need not exist."""
        folder_path, slash, _ = self.name.rpartition("/")
        return Source(_subfolder_of(self.folder, f"{folder_path}{slash}{name}"), "")

    def listing(self) -> tuple[list[str], list[str]]:
        """Return the names of the files and of the folders directly in a folder."""
        if self._listing is None:
            self._listing = self.folder.listing()
        return self._listing

    def exists(self) -> bool:
        return self.folder.has(self.name)

    def files_below(self, folder: str) -> "list[Source]":
        """Return all files below a folder, which is named relative to this one or to this file's folder."""
        folder_path, slash, _ = self.name.rpartition("/")
        top = f"{folder_path}{slash}{folder}"
        if isinstance(self.folder, DiskFolder) and not self.folder.has(top):
            return []
        return [Source(self.folder, name) for name in self.folder.names(top)]

    def _raw_head(self) -> bytes:
        if isinstance(self.folder, StandardInput):
            return self.folder.peek(4)
        with self.folder.open(self.name) as stream:
            return stream.read(4)


def _subfolder_of(folder: Folder, name: str) -> Folder:
    match folder:
        case DiskFolder():
            return DiskFolder(folder.path / name)
        case ZipFolder():
            return folder.subfolder(name)
        case _:
            return folder


def _parent_of(folder: Folder) -> Folder | None:
    """Return the folder that contains another; None for the outermost."""
    match folder:
        case DiskFolder():
            path = folder.path.absolute()  # the folder `.` has a parent, too
            return DiskFolder(path.parent) if path.parent != path else None
        case ZipFolder():
            return folder.parent_folder()
        case _:
            return None
