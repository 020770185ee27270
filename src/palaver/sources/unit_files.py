"""The files of an inventory that belong to a unit."""

import os
from bisect import bisect_left
from collections.abc import Iterable

from palaver.sources.folders import DiskFolder
from palaver.sources.inventory import FileStamps
from palaver.sources.source import Source
from palaver.sources.zip.folder import ZipFolder

_AFTER_SEPARATOR = chr(ord(os.sep) + 1)


class UnitFiles:
    def __init__(self, files: FileStamps) -> None:
        self._files = files
        self._paths = sorted(files)

    def of(self, source: Source, members: Iterable[str]) -> FileStamps:
        """Return the files of a unit: its own and those of its members."""
        unit_path = disk_path(source)
        if unit_path is None:
            return {}
        if isinstance(source.folder, ZipFolder):
            return self._at(unit_path)
        if not source.is_folder:
            found = self._at(unit_path)
            folder = os.path.dirname(unit_path)
        elif members:
            found, folder = {}, unit_path
        else:
            return self._below(unit_path)
        for member in members:
            path = os.path.join(folder, member.replace("/", os.sep))
            found |= self._at(path) or self._below(path)
        return found

    def _at(self, path: str) -> FileStamps:
        return {path: self._files[path]} if path in self._files else {}

    def _below(self, folder: str) -> FileStamps:
        first = bisect_left(self._paths, folder + os.sep)
        last = bisect_left(self._paths, folder + _AFTER_SEPARATOR, first)
        return {path: self._files[path] for path in self._paths[first:last]}


def disk_path(source: Source) -> str | None:
    """Return the path on disk of a source, or of the ZIP that contains it; None for standard input."""
    match source.folder:
        case DiskFolder() as folder:
            return folder.label_of(source.name) if source.name else folder.label
        case ZipFolder() as folder:
            return str(folder.path)
        case _:
            return None
