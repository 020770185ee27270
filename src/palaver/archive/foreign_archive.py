"""Reading another archive without changing its file or folder, whatever state it is in."""

import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfile

from palaver.archive.connection import archive_errors
from palaver.archive.migrations import APPLICATION_ID, MIGRATIONS, migrate, version
from palaver.errors import ArchiveError

LOG_SUFFIX = "-wal"
SIDE_FILE_SUFFIXES = (LOG_SUFFIX, "-shm")
"""Suffixes of the files that SQLite keeps beside an archive while it is open for writing."""

_MAGIC = b"SQLite format 3\0"


def is_archive(head: bytes) -> bool:
    """Return whether a file starts like an archive of palaver."""
    return head.startswith(_MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


@contextmanager
def open_foreign_archive(path: Path) -> Generator[sqlite3.Connection]:
    """Open another archive; one with an older schema is copied first, and the copy is migrated."""
    before = _file_stamp(path)
    has_log = _has_log(path)
    with (
        archive_errors(path),
        tempfile.TemporaryDirectory(prefix="palaver-") as folder,
        closing(_open(path, Path(folder), has_log=has_log)) as connection,
    ):
        if connection.execute("pragma application_id").fetchone()[0] != APPLICATION_ID:
            raise ArchiveError(f"{path} is no archive of palaver")
        known = version(connection)
        if known > len(MIGRATIONS):
            raise ArchiveError(f"{path} was made by a newer palaver (tables {known}): upgrade palaver")
        if known == len(MIGRATIONS):
            yield connection
        else:
            with closing(sqlite3.connect(Path(folder) / "upgraded.db", isolation_level=None)) as copy:
                connection.backup(copy)
                migrate(copy, str(path))
                yield copy
    if not has_log and _file_stamp(path) != before:
        raise ArchiveError(f"{path} was written to while it was read: import it again")


def _file_stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise ArchiveError(f"cannot read {path}: {error.strerror or error}") from error
    return status.st_size, status.st_mtime_ns


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + LOG_SUFFIX)
    return log.exists() and log.stat().st_size > 0


def _open(path: Path, folder: Path, *, has_log: bool) -> sqlite3.Connection:
    if not has_log:
        # There is no writer. Opened in any other way, SQLite would create files beside it and leave them there.
        return _connect(path, "mode=ro&immutable=1")
    try:
        return _connect(path, "mode=ro")
    except sqlite3.OperationalError:
        # The folder is read-only; the newest changes, in the log, can only be read from a copy.
        copy = folder / path.name
        for suffix in ("", LOG_SUFFIX):
            copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        return _connect(copy, "mode=rw")


def _connect(path: Path, parameters: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{parameters}", uri=True, isolation_level=None)
    try:
        # The file is untrusted: its tables and views must not call functions.
        connection.execute("pragma trusted_schema = off")
        connection.execute("pragma query_only = on")
        connection.execute("begin")
        version(connection)
        connection.execute("select 1 from sqlite_master limit 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
