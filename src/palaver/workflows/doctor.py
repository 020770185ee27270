"""Check the health of the archive, its sources, the settings and the machine, and repair the archive."""

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from time import time_ns

from palaver.archive import body_store, health
from palaver.archive.connection import archive_errors, open_to_read, open_to_write
from palaver.archive.deletion import rewrite_file
from palaver.archive.health import Check, format_size, rebuild_index, remove_unused_bodies
from palaver.config import config_path, load_config
from palaver.errors import ArchiveError, PalaverError
from palaver.importers import importer, platforms, revision
from palaver.importers._shared.contract import HasRetention, Retention
from palaver.sources.inventory import inventory, storable_text
from palaver.validation.schema import is_valid
from palaver.workflows.plan import path_of_label

_SOON_DAYS = 7
_DAY_NS = 86_400 * 10**9
_LARGE_LOG_BYTES = 1 << 28
_MIN_FREE_BYTES = 1 << 30
_MAGIC = b"SQLite format 3\0"
_HEAD_BYTES = 100
_MAX_SHOWN = 5


def checks(archive: Path, *, is_full: bool = False) -> Iterator[Check]:
    """Yield each check as soon as it is done; nothing is changed."""
    yield from _archive_checks(archive, is_full=is_full)
    yield _check_settings()
    yield _check_disk_space(archive)
    yield _check_software()


def _archive_checks(archive: Path, *, is_full: bool) -> Iterator[Check]:
    yield (opened := _check_file(archive))
    if opened.verdict != "ok":
        yield from _retention_checks(None)
        return
    yield _check_permissions(archive)
    yield _check_log(archive)
    with closing(open_to_read(archive)) as connection:
        sound = health.check_integrity(connection, is_full=is_full)
        yield sound
        if sound.verdict == "ok":
            yield from _content_checks(connection, is_full=is_full)
            with closing(_open_writable(archive)) as writing:
                yield health.check_index_structure(writing)
            yield from _source_checks(connection)
        yield from _retention_checks(connection)


def _content_checks(connection: sqlite3.Connection, *, is_full: bool) -> Iterator[Check]:
    yield health.check_tables(connection)
    yield health.check_references(connection)
    yield health.check_contents(connection, is_full=is_full)
    yield health.check_headers(connection, is_full=is_full)
    yield health.check_documents(connection, is_valid, is_full=is_full)
    yield health.check_unused_space(connection)
    yield health.check_search_index(connection, is_full=is_full)


def _source_checks(connection: sqlite3.Connection) -> Iterator[Check]:
    yield health.check_ledgers(connection)
    yield health.check_failures(connection)
    yield health.check_missing_sources(connection, os.path.exists)
    yield health.check_other_files(connection, os.path.exists)
    yield health.check_outdated_sources(connection, revision, lambda label: path_of_label(label) is not None)
    yield health.check_quarantine(connection)


def repair(archive: Path) -> list[str]:
    """Remove unused contents, rebuild the index and rewrite the file; return a sentence for each step."""
    if (opened := _check_file(archive)).verdict != "ok":
        raise ArchiveError(f"{opened.message}: nothing to repair")
    with closing(open_to_read(archive)) as connection:
        if (sound := health.check_integrity(connection)).verdict != "ok":
            raise ArchiveError(f"{archive} cannot be repaired: {sound.details[0]}; {sound.advice}")
    with closing(open_to_write(archive)) as connection, archive_errors(archive):
        connection.execute("begin immediate")
        try:
            removed = remove_unused_bodies(connection)
            body_store.rebuild_hashes(connection)
            indexed = rebuild_index(connection)
            connection.execute("commit")
        except BaseException:
            connection.execute("rollback")
            raise
        rewrite_file(connection)
    done = [f"search index rebuilt from {indexed:,} texts", "file rewritten"]
    return [f"{removed:,} contents without a message removed", *done] if removed else done


def _check_file(archive: Path) -> Check:
    name = "archive"
    if not archive.exists():
        return Check(name, "warning", f"no archive yet at {archive}", "start with `palaver scan`")
    try:
        with archive.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
        size_bytes = archive.stat().st_size
    except OSError as error:
        return Check(name, "problem", f"{archive} cannot be read: {error.strerror or error}")
    if not head:
        return Check(name, "warning", f"{archive} is empty", "start with `palaver scan`")
    if not head.startswith(_MAGIC) or len(head) < _HEAD_BYTES:
        return Check(
            name, "problem", f"{archive} is not a SQLite file, or its beginning was overwritten", health.DAMAGED_ADVICE
        )
    try:
        open_to_read(archive).close()
    except ArchiveError as error:
        is_damaged = isinstance(error.__cause__, sqlite3.DatabaseError)
        advice = (
            health.DAMAGED_ADVICE
            if is_damaged
            else "use the palaver version that wrote it, or set PALAVER_HOME to another folder"
        )
        return Check(name, "problem", str(error), advice)
    return Check(name, "ok", f"{archive}, {format_size(size_bytes)}")


def _open_writable(archive: Path) -> sqlite3.Connection:
    """Open the archive for a check that needs write access, without waiting long for another writer."""
    return sqlite3.connect(archive, timeout=1, isolation_level=None)


def _check_permissions(archive: Path) -> Check:
    files = [file for file in (archive, *_sidecar_files(archive)) if file.exists()]
    open_to_others = [str(file) for file in files if os.name == "posix" and file.stat().st_mode & 0o077]
    if open_to_others:
        message = "other users of this machine can read it"
        return Check("permissions", "warning", message, f"chmod 600 {' '.join(open_to_others)}")
    return Check("permissions", "ok", "only you can read it")


def _sidecar_files(archive: Path) -> list[Path]:
    return [archive.with_name(f"{archive.name}-{end}") for end in ("wal", "shm")]


def _check_log(archive: Path) -> Check:
    log = _sidecar_files(archive)[0]
    size_bytes = log.stat().st_size if log.exists() else 0
    message = f"write-ahead log {format_size(size_bytes)}"
    if size_bytes > _LARGE_LOG_BYTES:
        return Check(
            "log", "warning", message, "close other programs that have the archive open; the next import clears it"
        )
    return Check("log", "ok", message)


def _retention_checks(connection: sqlite3.Connection | None) -> Iterator[Check]:
    """Check whether files that a product is about to delete are in the archive."""
    for platform in platforms():
        product = importer(platform)
        if isinstance(product, HasRetention):
            for retention in product.retentions():
                if retention.folder.is_dir():
                    yield _check_retention(product.title, retention, connection)


def _check_retention(title: str, retention: Retention, connection: sqlite3.Connection | None) -> Check:
    before = time_ns() - (retention.days - _SOON_DAYS) * _DAY_NS
    files = {
        storable_text(path): stamp
        for path, stamp in inventory(Path(os.path.realpath(retention.folder))).items()
        if path.endswith(retention.suffix) and stamp[1] < before
    }
    known = set(_known_files(connection)) if connection else set()
    missing = sorted(path for path, stamp in files.items() if (path, *stamp) not in known)
    rule = f"{title} deletes sessions unchanged for {retention.days} days"
    if missing:
        message = f"{rule}: {len(missing):,} due within {_SOON_DAYS} days, not in the archive"
        advice = f"`palaver scan` imports them; {retention.setting} sets how long they stay"
        return Check("deletion", "problem", message, advice, tuple(missing[:_MAX_SHOWN]))
    message = f"{len(files):,} due within {_SOON_DAYS} days, all in the archive" if files else "none due soon"
    return Check("deletion", "ok", f"{rule}: {message}")


def _known_files(connection: sqlite3.Connection) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and time of the files that were read, or found to contain no conversation."""
    for table in ("source_file", "unclaimed_file"):
        yield from connection.execute(f"select path, size_bytes, modified_ns from {table}")  # noqa: S608


def _check_settings() -> Check:
    path = config_path()
    try:
        load_config(path)
    except PalaverError as error:
        return Check("settings", "problem", str(error), f"correct {path}")
    return Check("settings", "ok", f"read from {path}" if path.exists() else f"defaults (no {path})")


def _check_disk_space(archive: Path) -> Check:
    folder = next(folder for folder in (archive.parent, *archive.parent.parents) if folder.exists())
    free_bytes = shutil.disk_usage(folder).free
    archive_bytes = archive.stat().st_size if archive.exists() else 0
    message = f"{format_size(free_bytes)} free"
    if free_bytes < max(_MIN_FREE_BYTES, archive_bytes):
        return Check("disk", "warning", message, "free some space: rewriting the archive needs as much as its size")
    return Check("disk", "ok", message)


def _check_software() -> Check:
    parts = [f"Python {sys.version.split()[0]}", f"SQLite {sqlite3.sqlite_version}"]
    missing = [name for name in ("isal", "watchfiles") if find_spec(name) is None]
    message = ", ".join(parts) + (f"; without {', '.join(missing)}" if missing else "")
    if "isal" in missing:
        return Check("software", "ok", message, "ZIPs are read faster with isal: pip install isal")
    return Check("software", "ok", message)
