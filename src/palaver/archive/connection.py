"""Opening the archive's file: for one who writes, and for those who read meanwhile."""

import os
import sqlite3
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from palaver.archive.migrations import APPLICATION_ID, MIGRATIONS, migrate, version
from palaver.errors import ArchiveError

FILE_NAME = "archive.db"
PAGE_BYTES = 1 << 14
CACHE_KILOBYTES = 16 << 10
LOG_BYTES = 1 << 26
BUSY_SECONDS = 120.0
"""How long one import waits for another one's transaction, which takes a fraction of a second."""

if sys.version_info < (3, 12):
    # To learn that nobody adapts these, an older sqlite3 raises and drops an exception for each value of each row.
    sqlite3.register_adapter(bytes, lambda value: value)
    sqlite3.register_adapter(type(None), lambda value: value)


def open_to_write(path: Path) -> sqlite3.Connection:
    """The archive, made if it is not there; only its owner may read it."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = _connect(path)
    except (OSError, sqlite3.Error) as error:
        raise ArchiveError(f"cannot open the archive {path}: {_reason(error)}") from error
    with told(path):
        _set_up(connection)
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma foreign_keys = on")
        connection.execute(f"pragma cache_size = -{CACHE_KILOBYTES}")
        connection.execute(f"pragma wal_autocheckpoint = {LOG_BYTES // PAGE_BYTES}")
        connection.execute(f"pragma journal_size_limit = {LOG_BYTES}")
        migrate(connection, str(path))
        _refuse_anothers(connection, path)
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """The archive as it is at this moment; whoever writes is neither waited for nor held up."""
    if not path.exists():
        raise ArchiveError(f"there is no archive at {path} yet: `palaver scan` or `palaver import PATH` makes one")
    try:
        connection = _connect(path)
    except sqlite3.Error as error:
        raise ArchiveError(f"cannot open the archive {path}: {_reason(error)}") from error
    with told(path):
        if version(connection) != len(MIGRATIONS):
            _set_up(connection)
            migrate(connection, str(path))
        _refuse_anothers(connection, path)
        connection.execute("pragma query_only = on")
        connection.execute(f"pragma cache_size = -{CACHE_KILOBYTES}")
    return connection


@contextmanager
def told(path: Path) -> Generator[None]:
    """What goes wrong with the file, said with its name and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise ArchiveError(f"the archive {path}: {_reason(error)}") from error


def _refuse_anothers(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("pragma application_id").fetchone()[0] != APPLICATION_ID:
        raise ArchiveError(f"{path} is an SQLite file of another program: name another place with PALAVER_HOME")


def _set_up(connection: sqlite3.Connection) -> None:
    """What a file is given once; whoever made it may have been stopped before."""
    connection.execute(f"pragma page_size = {PAGE_BYTES}")
    connection.execute("pragma journal_mode = wal")


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, cached_statements=256)


def _reason(error: Exception) -> str:
    match getattr(error, "sqlite_errorname", ""):
        case "SQLITE_BUSY":
            return "another process has held it for too long; try again when that has ended"
        case "SQLITE_FULL":
            return "the disk is full; what was written before is kept, so make room and run the same again"
        case "SQLITE_NOTADB" | "SQLITE_CORRUPT" | "SQLITE_CORRUPT_VTAB" | "SQLITE_CORRUPT_INDEX":
            return f"the file is damaged ({error}); `palaver doctor` says more"
        case "SQLITE_READONLY":
            return "the file or its folder may not be written to"
        case _:
            return getattr(error, "strerror", None) or str(error)
