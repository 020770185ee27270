"""The health of everything: the archive, its sources, the settings and the machine, one check after the other."""

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from time import time_ns

from palaver.archive import hashes, health
from palaver.archive.connection import open_to_read, open_to_write, told
from palaver.archive.forgetting import overwrite
from palaver.archive.health import Check, in_words
from palaver.archive.mending import rebuild_index, remove_unused_bodies
from palaver.config import config_path, load_config
from palaver.errors import ArchiveError, PalaverError
from palaver.importers import importer, platforms
from palaver.importers._shared.contract import Deleting, Retention
from palaver.sources.inventory import inventory, spelled
from palaver.validation.schema import is_valid

SOON_DAYS = 7
_DAY_NS = 86_400 * 10**9
_LARGE_LOG_BYTES = 1 << 28
_ROOM_BYTES = 1 << 30
_MAGIC = b"SQLite format 3\0"
_HEAD_BYTES = 100
_SHOWN = 5


def checks(archive: Path, *, is_full: bool = False) -> Iterator[Check]:
    """Each as soon as it is answered; nothing is changed."""
    yield from _of_archive(archive, is_full=is_full)
    yield _settings()
    yield _room(archive)
    yield _software()


def _of_archive(archive: Path, *, is_full: bool) -> Iterator[Check]:
    yield (opened := _file(archive))
    if opened.verdict != "ok":
        yield from _expiring(None)
        return
    yield _mode(archive)
    yield _log(archive)
    with closing(open_to_read(archive)) as connection:
        sound = health.integrity(connection, is_full=is_full)
        yield sound
        if sound.verdict == "ok":
            yield from _of_contents(connection, is_full=is_full)
            with closing(_writable(archive)) as writing:
                yield health.index_structure(writing)
            yield from _of_sources(connection)
        yield from _expiring(connection)


def _of_contents(connection: sqlite3.Connection, *, is_full: bool) -> Iterator[Check]:
    yield health.tables(connection)
    yield health.references(connection)
    yield health.contents(connection, is_full=is_full)
    yield health.headers(connection, is_full=is_full)
    yield health.documents(connection, is_valid, is_full=is_full)
    yield health.unused_space(connection)
    yield health.index(connection, is_full=is_full)


def _of_sources(connection: sqlite3.Connection) -> Iterator[Check]:
    yield health.ledgers(connection)
    yield health.failures(connection)
    yield health.vanished(connection, os.path.exists)
    yield health.quarantine(connection)


def repair(archive: Path) -> list[str]:
    """Make the index anew, let go of what nobody uses, write the file anew; what was done, in sentences."""
    if (opened := _file(archive)).verdict != "ok":
        raise ArchiveError(f"{opened.told}: there is nothing to repair")
    with closing(open_to_read(archive)) as connection:
        if (sound := health.integrity(connection)).verdict != "ok":
            raise ArchiveError(f"{archive} cannot be repaired: {sound.details[0]}; {sound.advice}")
    with closing(open_to_write(archive)) as connection, told(archive):
        connection.execute("begin immediate")
        try:
            removed = remove_unused_bodies(connection)
            hashes.rebuild(connection)
            indexed = rebuild_index(connection)
            connection.execute("commit")
        except BaseException:
            connection.execute("rollback")
            raise
        overwrite(connection)
    done = [f"the search index was made anew from {indexed:,} texts", "the file was written anew"]
    return [f"{removed:,} contents that belonged to no message were removed", *done] if removed else done


# -- the file -----------------------------------------------------------------------------------------------------


def _file(archive: Path) -> Check:
    name = "archive"
    if not archive.exists():
        return Check(name, "warning", f"there is no archive at {archive} yet", "`palaver scan` makes one")
    try:
        with archive.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
        size_bytes = archive.stat().st_size
    except OSError as error:
        return Check(name, "problem", f"{archive} cannot be read: {error.strerror or error}")
    if not head:
        return Check(name, "warning", f"{archive} is empty", "`palaver scan` fills it")
    if not head.startswith(_MAGIC) or len(head) < _HEAD_BYTES:
        return Check(name, "problem", f"{archive} is no SQLite file, or its beginning was overwritten", health.DAMAGED)
    try:
        open_to_read(archive).close()
    except ArchiveError as error:
        is_damaged = isinstance(error.__cause__, sqlite3.DatabaseError)
        advice = health.DAMAGED if is_damaged else "use the palaver that made it, or another place with PALAVER_HOME"
        return Check(name, "problem", str(error), advice)
    return Check(name, "ok", f"{archive}, {in_words(size_bytes)}")


def _writable(archive: Path) -> sqlite3.Connection:
    """The archive for a question that only a writer may ask; whoever writes right now is not waited for."""
    return sqlite3.connect(archive, timeout=1, isolation_level=None)


def _mode(archive: Path) -> Check:
    files = [file for file in (archive, *_beside(archive)) if file.exists()]
    open_to_others = [str(file) for file in files if os.name == "posix" and file.stat().st_mode & 0o077]
    if open_to_others:
        told = "others on this machine may read it"
        return Check("permissions", "warning", told, f"chmod 600 {' '.join(open_to_others)}")
    return Check("permissions", "ok", "only you may read it")


def _beside(archive: Path) -> list[Path]:
    return [archive.with_name(f"{archive.name}-{end}") for end in ("wal", "shm")]


def _log(archive: Path) -> Check:
    log = _beside(archive)[0]
    size_bytes = log.stat().st_size if log.exists() else 0
    told = f"the log of changes has {in_words(size_bytes)}"
    if size_bytes > _LARGE_LOG_BYTES:
        return Check("log", "warning", told, "end other programs that have the archive open; the next import clears it")
    return Check("log", "ok", told)


# -- the machine --------------------------------------------------------------------------------------------------


def _expiring(connection: sqlite3.Connection | None) -> Iterator[Check]:
    """Files that a product is about to delete: are they in the archive?"""
    for platform in platforms():
        product = importer(platform)
        if isinstance(product, Deleting):
            for retention in product.retentions():
                if retention.folder.is_dir():
                    yield _expiring_in(product.title, retention, connection)


def _expiring_in(title: str, retention: Retention, connection: sqlite3.Connection | None) -> Check:
    before = time_ns() - (retention.days - SOON_DAYS) * _DAY_NS
    files = {
        spelled(path): stamp
        for path, stamp in inventory(Path(os.path.realpath(retention.folder))).items()
        if path.endswith(retention.suffix) and stamp[1] < before
    }
    known = set(_known(connection)) if connection else set()
    missing = sorted(path for path, stamp in files.items() if (path, *stamp) not in known)
    rule = f"{title} deletes sessions that did not change for {retention.days} days"
    if missing:
        told = f"{rule}: {len(missing):,} that go within {SOON_DAYS} days are not in the archive"
        advice = f"`palaver scan` takes them in; {retention.setting} says how long they stay"
        return Check("deletion", "problem", told, advice, tuple(missing[:_SHOWN]))
    told = f"{len(files):,} go within {SOON_DAYS} days, all are in the archive" if files else "none goes soon"
    return Check("deletion", "ok", f"{rule}: {told}")


def _known(connection: sqlite3.Connection) -> Iterator[tuple[str, int, int]]:
    """Files as they were when they were read, or found to hold no conversation."""
    for table in ("source_file", "unclaimed_file"):
        yield from connection.execute(f"select path, size_bytes, modified_ns from {table}")  # noqa: S608


def _settings() -> Check:
    path = config_path()
    try:
        load_config(path)
    except PalaverError as error:
        return Check("settings", "problem", str(error), f"mend {path}")
    return Check("settings", "ok", f"{path} can be read" if path.exists() else f"the usual ones; {path} is not there")


def _room(archive: Path) -> Check:
    folder = next(folder for folder in (archive.parent, *archive.parent.parents) if folder.exists())
    free = shutil.disk_usage(folder).free
    held = archive.stat().st_size if archive.exists() else 0
    told = f"{in_words(free)} are free"
    if free < max(_ROOM_BYTES, held):
        return Check("disk", "warning", told, "make room: writing the file anew needs as much as it has now")
    return Check("disk", "ok", told)


def _software() -> Check:
    parts = [f"Python {sys.version.split()[0]}", f"SQLite {sqlite3.sqlite_version}"]
    missing = [name for name in ("isal", "watchfiles") if find_spec(name) is None]
    told = ", ".join(parts) + (f"; without {', '.join(missing)}" if missing else "")
    if "isal" in missing:
        return Check("software", "ok", told, "with isal, ZIPs are read faster: pip install isal")
    return Check("software", "ok", told)
