"""Find exports in the downloads folder that the archive does not have yet, by the heads of their files.

Only the newest files at the top of the folder are looked at, and nothing is imported: what people download is theirs
to choose.
"""

import os
import zipfile
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from palaver.archive.connection import open_to_read
from palaver.errors import PalaverError
from palaver.sources.inventory import storable_text

if TYPE_CHECKING:
    import sqlite3

    from palaver.sources.match import Claim

_SUFFIXES = (".zip", ".json")
_MAX_FILES = 50
_MAX_PARTS = 20
"""How many folders and files of a ZIP are looked at; an export shows what it is in its outer ones."""


class FoundExport(NamedTuple):
    path: Path
    platform: str


def find_exports(archive: Path, folder: Path | None = None) -> list[FoundExport]:
    """Return the exports in a folder, by default that for downloads, the newest first."""
    candidates = _newest_files(folder or _downloads_folder())
    if candidates and archive.exists():
        with closing(open_to_read(archive)) as connection:
            candidates = [file for file in candidates if not _is_known(connection, *file)]
    if not candidates:
        return []
    asked = _asked_platforms()
    found = ((path, _platform_of(path, asked)) for path, _ in candidates)
    return [FoundExport(path, platform) for path, platform in found if platform]


def _downloads_folder() -> Path:
    from platformdirs import user_downloads_path

    return user_downloads_path()


def _newest_files(folder: Path) -> list[tuple[Path, tuple[int, int]]]:
    """Return the newest ZIP and JSON files in a folder, each with its size and time of modification."""
    found: list[tuple[Path, tuple[int, int]]] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.lower().endswith(_SUFFIXES) and entry.is_file():
                    status = entry.stat()
                    found.append((Path(entry.path), (status.st_size, status.st_mtime_ns)))
    found.sort(key=lambda file: (-file[1][1], file[0]))
    return found[:_MAX_FILES]


def _is_known(connection: "sqlite3.Connection", path: Path, stamp: tuple[int, int]) -> bool:
    """Return whether an import has read this file as it is now, or found nothing to read in it."""
    name = storable_text(os.path.realpath(path))
    return any(
        connection.execute(
            f"select 1 from {table} where path = ? and size_bytes = ? and modified_ns = ?",  # noqa: S608 - constants, bound values
            (name, *stamp),
        ).fetchone()
        for table in ("source_file", "unclaimed_file")
    )


def _asked_platforms() -> list[str]:
    """Return the platforms whose files people download: those that are exported, or kept on people's machines."""
    from palaver.importers import importer, platforms
    from palaver.importers._shared.contract import HasExport

    known = [importer(platform) for platform in platforms()]
    return [product.platform for product in known if isinstance(product, HasExport) or product.locations()]


def _platform_of(path: Path, asked: list[str]) -> str | None:
    """Return the platform that surely recognizes a file; None for any other file, and for one that cannot be read."""
    from palaver.importers import match_importers, winner
    from palaver.sources.discovery import Unit, discover
    from palaver.sources.source import Source

    def judge(source: Source) -> "Claim | None":
        return winner(match_importers(source, asked), source.label)

    try:
        # A ZIP without its directory, such as half a download, would have to be read whole.
        if path.suffix.lower() == ".zip" and not zipfile.is_zipfile(path):
            return None
        parts = islice(discover(path, judge), _MAX_PARTS)
        return next((part.platform for part in parts if isinstance(part, Unit) and part.match.verdict == "yes"), None)
    except (OSError, PalaverError):
        return None
