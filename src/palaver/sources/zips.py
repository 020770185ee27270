"""A ZIP seen as a folder: members are read in place and never written to disk, whatever their names say.

What is refused (a name that points out of the archive, a link, an encrypted member) is not listed, and told by
`remarks`; the rest is read.
"""

import re
from bisect import bisect_left
from copy import copy
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from palaver.errors import SourceError
from palaver.model.finding import FindingKind, finding_kind
from palaver.sources.allowance import Allowance, Limits
from palaver.sources.folders import STDIN_NAME, ZIP_MAGIC
from palaver.sources.inflate import METHODS, Member, MemberStream, Span
from palaver.sources.salvage import salvaged
from palaver.sources.zip_directory import Directory, read_directory, start_of

UNSAFE_NAME = finding_kind(
    "unsafe-member-name", "error", "The name of a ZIP member points out of it or is no file's; it was not read."
)
ENCRYPTED = finding_kind("encrypted-member", "error", "A ZIP member is encrypted; it was not read.")
SYMLINK = finding_kind("symlink-member", "warning", "A ZIP member is a symbolic link; it was not followed.")
DUPLICATE = finding_kind("duplicate-member", "warning", "Two ZIP members have the same name; the last one was read.")
NESTED = finding_kind(
    "nested-zip", "warning", "A ZIP member is a ZIP itself; it is read once the outer one is unpacked."
)
OVERSIZED = finding_kind("oversized-member", "warning", "A ZIP member says that it is larger than the limits allow.")
SALVAGED = finding_kind(
    "zip-salvaged", "warning", "The directory of a ZIP is missing or damaged; its members were found by their headers."
)

Remark = tuple[FindingKind, str, str]
"""The kind, where, and a sentence."""

_LOCKED_FLAGS = 0x1 | 0x40 | 0x2000
_DRIVE = re.compile(r"[A-Za-z]:")
_DEFLATE64 = 9
_LONGEST_NAME = 4096
_DEEPEST_NAME = 255
_BEHIND_SLASH = "0"
"""The character that sorts right behind the slash: up to there go the names that begin with a folder's."""


class ZipFolder:
    def __init__(self, path: Path, label: str = "") -> None:
        self.path = path
        self.label = label or str(path)
        self._archive = _Archive(path, self.label)
        self._prefix = ""

    def label_of(self, name: str) -> str:
        return f"{self.label}{'/' if self._prefix else '!'}{_shown(name)}"

    def inside(self, name: str) -> "ZipFolder":
        """A folder in it, seen as a folder of its own."""
        if not (name := name.strip("/")):
            return self
        below = copy(self)
        below.label = self.label_of(name)
        below._prefix = f"{self._prefix}{name}/"  # noqa: SLF001 - the same class
        return below

    def outside(self) -> "ZipFolder | None":
        """The folder in the same ZIP that it lies in; None for the whole of it."""
        if not self._prefix:
            return None
        whole = copy(self)
        whole.label = self._archive.label
        whole._prefix = ""  # noqa: SLF001 - the same class
        return whole.inside(self._prefix.rstrip("/").rpartition("/")[0])

    def names(self, under: str = "") -> list[str]:
        top = f"{self._prefix}{under.rstrip('/')}/" if under else self._prefix
        names = self._archive.opened().names
        if not top:
            return names.copy()
        found = names[bisect_left(names, top) : bisect_left(names, f"{top[:-1]}{_BEHIND_SLASH}")]
        return [name[len(self._prefix) :] for name in found]

    def listing(self) -> tuple[list[str], list[str]]:
        """The names of the files and of the folders directly in it."""
        return self._archive.opened().listing(self._prefix)

    def has(self, name: str) -> bool:
        """Whether there is such a file; a folder is none."""
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
        """What is odd about it, and about the members in it that are named like ZIPs and are some.

        What concerns the whole archive, and names that belong to no folder in it, are told by the outermost folder.
        """
        contents = self._archive.opened()
        remarks = [
            remark for where, told in contents.remarks.items() if where.startswith(self._prefix) for remark in told
        ]
        for below in self.names():
            if below.lower().endswith(".zip") and contents.is_zip(self._prefix + below):
                told = "it is a ZIP inside a ZIP: unpack the outer one first"
                remarks.append((NESTED, self._prefix + below, told))
        return [(kind, _shown(where[len(self._prefix) :]), message) for kind, where, message in remarks]


class _Archive:
    """An archive that is opened when it is first asked for, by whichever of its folders."""

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label
        self._contents: _Contents | None = None
        self._is_moved = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_contents": None, "_is_moved": True}

    def opened(self) -> "_Contents":
        if self._contents is None:
            limits = Limits.of_environment()
            if self._is_moved:
                self._contents = _kept_contents(self.path, self.label, limits, _stamp(self.path))
            else:
                self._contents = _Contents(self.path, self.label, limits)
        return self._contents


class _Contents:
    """What an archive held when it was opened; no file stays open."""

    def __init__(self, path: Path, label: str, limits: Limits) -> None:
        self._path = path
        self._label = label
        directory = read_directory(path, label, limits)
        self._allowance = Allowance(limits, directory.archive_bytes)
        self.members: dict[str, Member] = {}
        self.remarks: dict[str, list[Remark]] = {}
        self._folders: set[str] = set()
        self._enter(directory)
        self.names = sorted(self.members)
        self._entries = sorted([*self.names, *(f"{folder}/" for folder in self._folders)])

    def listing(self, top: str) -> tuple[list[str], list[str]]:
        """The names of the files and of the folders directly below a prefix; what lies deeper is jumped over."""
        files: list[str] = []
        folders: list[str] = []
        entries = self._entries
        at = bisect_left(entries, top)
        while at < len(entries) and entries[at].startswith(top):
            name, slash, _ = entries[at][len(top) :].partition("/")
            if slash:
                folders.append(name)
                at = bisect_left(entries, f"{top}{name}{_BEHIND_SLASH}", at)
            else:
                files += [name] if name else []
                at += 1
        return files, sorted(folders)

    def open(self, name: str, label: str) -> MemberStream:
        member = self.members.get(name)
        if member is None:
            reasons = [message for _, _, message in self.remarks.get(name, [])]
            raise SourceError(f"cannot read {label}: {reasons[0] if reasons else 'there is no such member'}")
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
        start = start_of(file, member)
        if start is None and (member := self._salvaged.get(name)):
            start = start_of(file, member)
        if start is None or member is None:
            raise SourceError(f"cannot read {label}: it is not where the directory of the archive says")
        return MemberStream(Span(file, start, member.packed_bytes), member, label, self._allowance)

    @cached_property
    def _salvaged(self) -> dict[str, Member]:
        found = salvaged(self._path, self._allowance.limits)
        return {
            _safe_name(member.name): member
            for member in found
            if member.method in METHODS and not member.flags & _LOCKED_FLAGS
        }

    def _enter(self, directory: Directory) -> None:
        if directory.trouble:
            self._remark(SALVAGED, "", directory.trouble)
        for member in directory.members:
            name = _safe_name(member.name)
            if not name:
                if member.name.strip("./\\") or ".." in member.name:
                    message = "its name points out of the archive or is no file's; unpack it by hand if you trust it"
                    self._remark(UNSAFE_NAME, member.name, message)
            elif member.name.endswith(("/", "\\")):
                self._folders.add(name)
            elif member.is_link:
                self._remark(SYMLINK, name, "it is a symbolic link, which is not followed")
            elif member.flags & _LOCKED_FLAGS:
                self._remark(ENCRYPTED, name, "it is encrypted: unpack it with its password, and point at the folder")
            else:
                if name in self.members:
                    self._remark(DUPLICATE, name, "several members have this name; the last one counts")
                self.members[name] = member
        for name, member in self.members.items():
            if refusal := Allowance(self._allowance.limits, member.size_bytes).refusal(
                name, member.size_bytes, member.packed_bytes
            ):
                self._remark(OVERSIZED, name, f"by its own words it {refusal}")

    def _remark(self, kind: FindingKind, where: str, message: str) -> None:
        self.remarks.setdefault(where, []).append((kind, where, message))


@lru_cache(maxsize=4)
def _kept_contents(path: Path, label: str, limits: Limits, stamp: tuple[int, int]) -> _Contents:
    """For a worker process, which is sent the same archive anew with each of its members."""
    _ = stamp
    return _Contents(path, label, limits)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0  # whoever opens it meets the same error, and tells it
    return status.st_size, status.st_mtime_ns


def _safe_name(name: str) -> str:
    """The name with forward slashes and without idle parts; empty if there is none, or not a safe one."""
    slashed = name.replace("\\", "/")
    parts = [part for part in slashed.split("/") if part not in {"", "."}]
    is_outside = slashed.startswith("/") or _DRIVE.match(name) or ".." in parts
    is_no_name = "\0" in name or len(name) > _LONGEST_NAME or len(parts) > _DEEPEST_NAME
    return "" if is_outside or is_no_name else "/".join(parts)


def _shown(name: str) -> str:
    return name if name.isprintable() else name.encode("unicode_escape").decode("ascii")
