"""A ZIP as a folder: members are read in place and never written to disk, whatever their names are.

Refused members (a name that points out of the archive, a link, an encrypted member) are not listed but appear in
`remarks`; all others are read.
"""

import re
from bisect import bisect_left
from copy import copy
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from palaver.errors import SourceError
from palaver.model.finding import FindingKind, finding_kind
from palaver.sources.folders import STDIN_NAME, ZIP_MAGIC
from palaver.sources.zip.directory import Directory, data_start, read_directory, salvage_members
from palaver.sources.zip.inflate import METHODS, Member, MemberStream, PackedBytes
from palaver.sources.zip.limits import Allowance, Limits

UNSAFE_NAME = finding_kind("unsafe-member-name", "error", "A ZIP member with an unsafe name was not read.")
ENCRYPTED = finding_kind("encrypted-member", "error", "An encrypted ZIP member was not read.")
SYMLINK = finding_kind("symlink-member", "warning", "A symbolic link in a ZIP was not followed.")
DUPLICATE = finding_kind("duplicate-member", "warning", "Two ZIP members have the same name; the last one was read.")
NESTED = finding_kind("nested-zip", "warning", "A ZIP within a ZIP was not read; unpack the outer one first.")
OVERSIZED = finding_kind("oversized-member", "warning", "A ZIP member exceeds the size limits; it was not read.")
SALVAGED = finding_kind(
    "zip-salvaged", "warning", "The directory of a ZIP is missing or damaged; its members were found by their headers."
)

Remark = tuple[FindingKind, str, str]
"""The kind of a finding, where, and a sentence."""

_ENCRYPTION_FLAGS = 0x1 | 0x40 | 0x2000
_DRIVE = re.compile(r"[A-Za-z]:")
_DEFLATE64 = 9
_MAX_NAME_LENGTH = 4096
_MAX_NAME_DEPTH = 255
_AFTER_SLASH = "0"
"""The character that sorts right after the slash: the names below a folder sort before it."""


class ZipFolder:
    def __init__(self, path: Path, label: str = "") -> None:
        self.path = path
        self.label = label or str(path)
        self._archive = _Archive(path, self.label)
        self._prefix = ""

    def label_of(self, name: str) -> str:
        return f"{self.label}{'/' if self._prefix else '!'}{_printable(name)}"

    def subfolder(self, name: str) -> "ZipFolder":
        """Return a folder in this one."""
        if not (name := name.strip("/")):
            return self
        below = copy(self)
        below.label = self.label_of(name)
        below._prefix = f"{self._prefix}{name}/"  # noqa: SLF001 - the same class
        return below

    def parent_folder(self) -> "ZipFolder | None":
        """Return the folder in the same ZIP that contains this one; None for the ZIP itself."""
        if not self._prefix:
            return None
        whole = copy(self)
        whole.label = self._archive.label
        whole._prefix = ""  # noqa: SLF001 - the same class
        return whole.subfolder(self._prefix.rstrip("/").rpartition("/")[0])

    def names(self, under: str = "") -> list[str]:
        top = f"{self._prefix}{under.rstrip('/')}/" if under else self._prefix
        names = self._archive.opened().names
        if not top:
            return names.copy()
        found = names[bisect_left(names, top) : bisect_left(names, f"{top[:-1]}{_AFTER_SLASH}")]
        return [name[len(self._prefix) :] for name in found]

    def listing(self) -> tuple[list[str], list[str]]:
        return self._archive.opened().listing(self._prefix)

    def has(self, name: str) -> bool:
        """Return whether there is a file with this name; a folder does not count."""
        return self._prefix + name in self._archive.opened().members

    def open(self, name: str) -> BinaryIO:
        stream = self._archive.opened().open(self._prefix + name, self.label_of(name))
        return cast("BinaryIO", stream)

    def size_bytes(self, name: str) -> int:
        try:
            return self._archive.opened().members[self._prefix + name].size_bytes
        except (SourceError, KeyError):
            return 0

    def modified_at(self, name: str) -> float | None:
        _ = name
        try:
            return None if self._archive.label == STDIN_NAME else self.path.stat().st_mtime
        except OSError:
            return None

    def path_of(self, name: str) -> Path | None:
        _ = name
        return None

    def remarks(self) -> list[Remark]:
        """Return findings on this folder's members, including those that are ZIPs themselves.

        The outermost folder also returns those on the whole archive and on names that belong to no folder.
        """
        contents = self._archive.opened()
        remarks = [
            remark for where, group in contents.remarks.items() if where.startswith(self._prefix) for remark in group
        ]
        for below in self.names():
            if below.lower().endswith(".zip") and contents.is_zip(self._prefix + below):
                message = "it is a ZIP inside a ZIP: unpack the outer one first"
                remarks.append((NESTED, self._prefix + below, message))
        return [(kind, _printable(where[len(self._prefix) :]), message) for kind, where, message in remarks]


class _Archive:
    """An archive shared by its folders, opened on first use."""

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label
        self._contents: _Contents | None = None
        self._is_unpickled = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_contents": None, "_is_unpickled": True}

    def opened(self) -> "_Contents":
        if self._contents is None:
            limits = Limits.from_environment()
            if self._is_unpickled:
                self._contents = _cached_contents(self.path, self.label, limits, _file_stamp(self.path))
            else:
                self._contents = _Contents(self.path, self.label, limits)
        return self._contents


class _Contents:
    """The members of an archive when it was opened; no file stays open."""

    def __init__(self, path: Path, label: str, limits: Limits) -> None:
        self._path = path
        self._label = label
        directory = read_directory(path, label, limits)
        self._allowance = Allowance(limits, directory.archive_bytes)
        self.members: dict[str, Member] = {}
        self.remarks: dict[str, list[Remark]] = {}
        self._folders: set[str] = set()
        self._add_members(directory)
        self.names = sorted(self.members)
        self._entries = sorted([*self.names, *(f"{folder}/" for folder in self._folders)])

    def listing(self, top: str) -> tuple[list[str], list[str]]:
        """Return the names of the files and of the folders directly below a prefix, skipping what lies deeper."""
        files: list[str] = []
        folders: list[str] = []
        entries = self._entries
        position = bisect_left(entries, top)
        while position < len(entries) and entries[position].startswith(top):
            name, slash, _ = entries[position][len(top) :].partition("/")
            if slash:
                folders.append(name)
                position = bisect_left(entries, f"{top}{name}{_AFTER_SLASH}", position)
            else:
                files += [name] if name else []
                position += 1
        return files, sorted(folders)

    def open(self, name: str, label: str) -> MemberStream:
        member = self.members.get(name)
        if member is None:
            reasons = [message for _, _, message in self.remarks.get(name, [])]
            raise SourceError(f"cannot read {label}: {reasons[0] if reasons else 'no such member'}")
        if member.method not in METHODS:
            method = "Deflate64" if member.method == _DEFLATE64 else f"method {member.method}"
            raise SourceError(f"cannot read {label}: it is packed with {method}; unpack the archive with another tool")
        try:
            file = self._path.open("rb", buffering=0)
            try:
                return self._stream(file, name, label)
            except BaseException:
                file.close()
                raise
        except OSError as error:
            raise SourceError(f"cannot open {self._label} as a ZIP: {error.strerror or error}") from error

    def is_zip(self, name: str) -> bool:
        try:
            with self.open(name, name) as stream:
                return stream.read(4).startswith(ZIP_MAGIC)
        except SourceError:
            return False

    def _stream(self, file: Any, name: str, label: str) -> MemberStream:
        member: Member | None = self.members[name]
        start = data_start(file, member)
        if start is None and (member := self._salvaged_members.get(name)):
            start = data_start(file, member)
        if start is None or member is None:
            raise SourceError(f"cannot read {label}: it is not where the directory of the archive says")
        return MemberStream(PackedBytes(file, start, member.packed_bytes), member, label, self._allowance)

    @cached_property
    def _salvaged_members(self) -> dict[str, Member]:
        found = salvage_members(self._path, self._allowance.limits)
        return {
            _safe_name(member.name): member
            for member in found
            if member.method in METHODS and not member.flags & _ENCRYPTION_FLAGS
        }

    def _add_members(self, directory: Directory) -> None:
        if directory.problem:
            self._add_remark(SALVAGED, "", directory.problem)
        for member in directory.members:
            name = _safe_name(member.name)
            if not name:
                if member.name.strip("./\\") or ".." in member.name:
                    message = "its name is unsafe; unpack it yourself if you trust it"
                    self._add_remark(UNSAFE_NAME, member.name, message)
            elif member.name.endswith(("/", "\\")):
                self._folders.add(name)
            elif member.is_link:
                self._add_remark(SYMLINK, name, "it is a symbolic link, which is not followed")
            elif member.flags & _ENCRYPTION_FLAGS:
                self._add_remark(
                    ENCRYPTED, name, "it is encrypted: unpack it with its password, and point at the folder"
                )
            else:
                if name in self.members:
                    self._add_remark(DUPLICATE, name, "several members have this name; the last one counts")
                self.members[name] = member
        for name, member in self.members.items():
            if refusal := Allowance(self._allowance.limits, member.size_bytes).refusal(
                name, member.size_bytes, member.packed_bytes
            ):
                self._add_remark(OVERSIZED, name, f"according to the directory, it {refusal}")

    def _add_remark(self, kind: FindingKind, where: str, message: str) -> None:
        self.remarks.setdefault(where, []).append((kind, where, message))


@lru_cache(maxsize=4)
def _cached_contents(path: Path, label: str, limits: Limits, file_stamp: tuple[int, int]) -> _Contents:
    """Cache the contents for a worker process, which receives the same archive again with each of its members."""
    _ = file_stamp
    return _Contents(path, label, limits)


def _file_stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0  # opening it raises the same error, which is reported
    return status.st_size, status.st_mtime_ns


def _safe_name(name: str) -> str:
    """Return the name with forward slashes and without empty and `.` parts; empty if it is not safe."""
    slashed = name.replace("\\", "/")
    parts = [part for part in slashed.split("/") if part not in {"", "."}]
    is_outside = slashed.startswith("/") or _DRIVE.match(name) or ".." in parts
    is_invalid = "\0" in name or len(name) > _MAX_NAME_LENGTH or len(parts) > _MAX_NAME_DEPTH
    return "" if is_outside or is_invalid else "/".join(parts)


def _printable(name: str) -> str:
    return name if name.isprintable() else name.encode("unicode_escape").decode("ascii")
