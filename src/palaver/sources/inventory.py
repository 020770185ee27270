"""Every file at or below a path with its size and time: enough to know that nothing changed, without opening any."""

import os
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from stat import S_ISREG

from palaver.sources.folders import STDIN_NAME, DiskFolder
from palaver.sources.source import Source
from palaver.sources.zips import ZipFolder

Files = dict[str, tuple[int, int]]
"""Paths, each with its size in bytes and its time of modification in nanoseconds."""

_BEHIND_SEPARATOR = chr(ord(os.sep) + 1)


def inventory(path: Path) -> Files:
    """The files there are now; what cannot be looked at is left out, and told by whoever reads it."""
    found: Files = {}
    top = str(path)
    if top == STDIN_NAME:
        return found
    if not os.path.isdir(top):
        _take(top, found)
        return found
    seen: set[tuple[int, int]] = set()
    folders = [top]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir():
                        status = entry.stat()
                        if S_ISREG(status.st_mode):
                            found[entry.path] = status.st_size, status.st_mtime_ns
                    elif _is_new(entry, seen):
                        folders.append(entry.path)
        except OSError:
            _take_one_by_one(folder, found, folders, seen)
    return found


def _is_new(entry: "os.DirEntry[str]", seen: set[tuple[int, int]]) -> bool:
    """Whether a folder was not met before: only links can lead to one twice."""
    if not (seen or entry.is_symlink()):
        return True
    status = entry.stat()
    identity = status.st_dev, status.st_ino
    if identity in seen:
        return False
    seen.add(identity)
    return True


def _take_one_by_one(folder: str, found: Files, folders: list[str], seen: set[tuple[int, int]]) -> None:
    """The same for a folder in which something cannot be looked at, such as a link to itself."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if path in found:
            continue
        if os.path.isdir(path):
            status = os.stat(path)
            if (status.st_dev, status.st_ino) not in seen and path not in folders:
                seen.add((status.st_dev, status.st_ino))
                folders.append(path)
        else:
            _take(path, found)


def _take(path: str, found: Files) -> None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return
    if S_ISREG(status.st_mode):
        found[path] = status.st_size, status.st_mtime_ns


def spelled(text: str) -> str:
    """A path as a text that can be stored: bytes in it that are no UTF-8 become visible escapes."""
    if text.isascii():
        return text
    try:
        return text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()


class Shelves:
    """The files of an inventory, by the units that they belong to."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._paths = sorted(files)

    def of(self, source: Source, members: Iterable[str]) -> Files:
        """The files that make up a unit: its own, and its members'."""
        own = own_path(source)
        if own is None:
            return {}
        if isinstance(source.folder, ZipFolder):
            return self._at(own)
        if not source.is_folder:
            found = self._at(own)
            above = os.path.dirname(own)
        elif members:
            found, above = {}, own
        else:
            return self._below(own)
        for member in members:
            path = os.path.join(above, member.replace("/", os.sep))
            found |= self._at(path) or self._below(path)
        return found

    def _at(self, path: str) -> Files:
        return {path: self._files[path]} if path in self._files else {}

    def _below(self, folder: str) -> Files:
        first = bisect_left(self._paths, folder + os.sep)
        last = bisect_left(self._paths, folder + _BEHIND_SEPARATOR, first)
        return {path: self._files[path] for path in self._paths[first:last]}


def own_path(source: Source) -> str | None:
    """The file or folder on disk that a source is, or is in; None for standard input."""
    match source.folder:
        case DiskFolder() as folder:
            return folder.label_of(source.name) if source.name else folder.label
        case ZipFolder() as folder:
            return str(folder.path)
        case _:
            return None
