"""The size and time of every file at or below a path: enough to see that nothing changed without opening a file.

This module imports nothing that opens files: an import for which nothing changed does not need it.
"""

import os
from collections.abc import Iterable
from math import inf
from pathlib import Path
from stat import S_ISREG
from time import monotonic

from palaver.sources.folders import STDIN_NAME

FileStamps = dict[str, tuple[int, int]]
"""Paths, each with its size in bytes and its modification time in nanoseconds."""


def inventory(path: Path, *, until: float = inf) -> FileStamps:
    """Return the files that exist now, without those whose status is unreadable: reading them reports that.

    Past the time `until` on the monotonic clock, no further folder is listed.
    """
    found: FileStamps = {}
    top = str(path)
    if top == STDIN_NAME:
        return found
    if not os.path.isdir(top):
        _record(top, found)
        return found
    seen: set[tuple[int, int]] = set()
    folders = [top]
    while folders and monotonic() < until:
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
            _record_separately(folder, found, folders, seen)
    return found


def _is_new(entry: "os.DirEntry[str]", seen: set[tuple[int, int]]) -> bool:
    """Return whether a folder was not visited before, and remember it; only links lead to a folder twice."""
    if not (seen or entry.is_symlink()):
        return True
    status = entry.stat()
    identity = status.st_dev, status.st_ino
    if identity in seen:
        return False
    seen.add(identity)
    return True


def _record_separately(folder: str, found: FileStamps, folders: list[str], seen: set[tuple[int, int]]) -> None:
    """Record the files of a folder in which the status of an entry is unreadable, such as a link to itself."""
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
            _record(path, found)


def _record(path: str, found: FileStamps) -> None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return
    if S_ISREG(status.st_mode):
        found[path] = status.st_size, status.st_mtime_ns


def storable_text(text: str) -> str:
    """Return a path or message as text that can be stored: bytes that are not UTF-8 become visible escapes."""
    if text.isascii():
        return text
    try:
        return text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()


def distinct_paths(paths: Iterable[Path]) -> list[Path]:
    """Return the paths without repeated ones and those below another, so that a conversation is imported once."""
    first: dict[Path, Path] = {}
    for path in paths:
        first.setdefault(path if str(path) == "-" else Path(os.path.realpath(path)), path)
    return [path for real_path, path in first.items() if first.keys().isdisjoint(real_path.parents)]
