"""Every file at or below a path with its size and time: enough to know that nothing changed, without opening any.

Nothing is imported here that opens files: when nothing changed, nobody needs it.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from stat import S_ISREG

from palaver.sources.folders import STDIN_NAME

Files = dict[str, tuple[int, int]]
"""Paths, each with its size in bytes and its time of modification in nanoseconds."""


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


def distinct(paths: Iterable[Path]) -> list[Path]:
    """The paths without those that are, or lie below, another one: a conversation is imported once."""
    first: dict[Path, Path] = {}
    for path in paths:
        first.setdefault(path if str(path) == "-" else Path(os.path.realpath(path)), path)
    return [path for place, path in first.items() if first.keys().isdisjoint(place.parents)]
