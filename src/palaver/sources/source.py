"""A source: the smallest thing that can be imported on its own, opened as a stream of plain bytes."""

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from palaver.errors import SourceError
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.decompress import decompressed, is_compressed
from palaver.sources.folders import STDIN_NAME, ZIP_MAGIC, DiskFolder, Folder, StandardInput
from palaver.sources.glimpse import glimpse
from palaver.sources.zips import ZipFolder

HEAD_BYTES = 1 << 16

_COMPRESSED_SUFFIXES = {".gz", ".zst"}


class Source:
    """A file in a folder, in a ZIP, or on standard input; an empty `name` means the folder itself."""

    __slots__ = ("_glimpse", "_head", "_listing", "folder", "name")

    def __init__(self, folder: Folder, name: str) -> None:
        self.folder = folder
        self.name = name
        self._head: bytes | None = None
        self._glimpse: tuple[Any] | None = None
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
        """The words a user knows it by: a path, `archive.zip!member`, or `-`."""
        return self.folder.label_of(self.name) if self.name else self.folder.label

    @property
    def is_folder(self) -> bool:
        return not self.name

    @property
    def file_name(self) -> str:
        """The name without folders and without a compression suffix."""
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
        """The same ZIP, seen as a folder of its members."""
        if isinstance(self.folder, StandardInput):
            return ZipFolder(self.folder.spool(), STDIN_NAME)
        path = self.folder.path_of(self.name)
        if path is None:
            raise SourceError(f"{self.label} is a ZIP inside a ZIP: unpack the outer one first")
        return ZipFolder(path)

    def head(self) -> bytes:
        """The first 64 KB, decompressed; empty for a folder."""
        if self._head is None:
            self._head = b"" if self.is_folder else self._read_head()
        return self._head

    def glimpse(self) -> Any:
        """The JSON value that the head begins with, as far as the head goes; None where it is no JSON."""
        if self._glimpse is None:
            self._glimpse = (glimpse(self.head()),)
        return self._glimpse[0]

    def open(self, start: int = 0) -> BinaryIO:
        """Open the decompressed bytes; `start` needs a plain file on disk."""
        if isinstance(self.folder, StandardInput):
            magic = self.folder.peek(4)
            return decompressed(self.folder.open(self.name), magic, self.label)
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
        return decompressed(stream, magic, self.label) if is_compressed(magic) else stream

    @property
    def can_move(self) -> bool:
        """Whether another process can open it as well."""
        return not isinstance(self.folder, StandardInput)

    def is_plain_file(self) -> bool:
        """Whether it lies uncompressed on disk, so that reading can continue in the middle."""
        return self.folder.path_of(self.name) is not None and not is_compressed(self._raw_head())

    @property
    def size_bytes(self) -> int:
        return 0 if self.is_folder else self.folder.size_bytes(self.name)

    def modified_at(self) -> float | None:
        return self.folder.modified_at(self.name)

    def written_at(self) -> str:
        """When it was last written, the last resort for messages without any time; now, where nothing says so."""
        modified_at = self.modified_at()
        return normalize_timestamp(datetime.now(UTC) if modified_at is None else modified_at)

    def beside(self, name: str) -> "Source":
        """Another file, named relative to this one's folder."""
        above, slash, _ = self.name.rpartition("/")
        return Source(self.folder, f"{above}{slash}{name}")

    def above(self) -> "Source | None":
        """The folder that this file or folder lies in; None where nothing is known of it."""
        above, _, _ = self.name.rpartition("/")
        if above:
            return Source(self.folder, "").within(above)
        around = self.folder if self.name else _around(self.folder)
        return None if around is None or isinstance(around, StandardInput) else Source(around, "")

    def within(self, name: str) -> "Source":
        """A folder, named relative to this one's, whether it is there or not."""
        above, slash, _ = self.name.rpartition("/")
        return Source(_inside(self.folder, f"{above}{slash}{name}"), "")

    def listing(self) -> tuple[list[str], list[str]]:
        """Of a folder, the names of the files and of the folders directly in it."""
        if self._listing is None:
            self._listing = self.folder.listing()
        return self._listing

    def exists(self) -> bool:
        return self.folder.has(self.name)

    def under(self, folder: str) -> "list[Source]":
        """All files below a folder that is named relative to this one's."""
        above, slash, _ = self.name.rpartition("/")
        top = f"{above}{slash}{folder}"
        if isinstance(self.folder, DiskFolder) and not self.folder.has(top):
            return []
        return [Source(self.folder, name) for name in self.folder.names(top)]

    def _raw_head(self) -> bytes:
        if isinstance(self.folder, StandardInput):
            return self.folder.peek(4)
        with self.folder.open(self.name) as stream:
            return stream.read(4)

    def _read_head(self) -> bytes:
        if isinstance(self.folder, StandardInput):
            peeked = self.folder.peek(HEAD_BYTES)
            stream = decompressed(io.BytesIO(peeked), peeked, self.label)
        else:
            stream = self.open()
        with stream:
            try:
                return stream.read(HEAD_BYTES)
            except SourceError:
                return b""


def _inside(folder: Folder, name: str) -> Folder:
    """A folder in another one."""
    match folder:
        case DiskFolder():
            return DiskFolder(folder.path / name)
        case ZipFolder():
            return folder.inside(name)
        case _:
            return folder


def _around(folder: Folder) -> Folder | None:
    """The folder around another one; None for the outermost."""
    match folder:
        case DiskFolder():
            path = folder.path.absolute()  # the folder `.` has one around it, too
            return DiskFolder(path.parent) if path.parent != path else None
        case ZipFolder():
            return folder.outside()
        case _:
            return None
