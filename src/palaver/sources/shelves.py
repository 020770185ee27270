"""The files of an inventory, by the units that they belong to."""

import os
from bisect import bisect_left
from collections.abc import Iterable

from palaver.sources.folders import DiskFolder
from palaver.sources.inventory import Files
from palaver.sources.source import Source
from palaver.sources.zips import ZipFolder

_BEHIND_SEPARATOR = chr(ord(os.sep) + 1)


class Shelves:
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
