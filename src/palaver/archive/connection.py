"""Connections to the archive file: one writer, and any number of readers at the same time."""

import os
import sqlite3
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from palaver.archive.migrations import APPLICATION_ID, MIGRATIONS, migrate, schema_version
from palaver.errors import ArchiveError
from palaver.storage.user_folders import data_folder

if TYPE_CHECKING:
    from concurrent.futures import Future

FILE_NAME = "archive.db"
PAGE_BYTES = 1 << 14
CACHE_KILOBYTES = 16 << 10
LOG_BYTES = 1 << 26
BUSY_SECONDS = 120.0
"""How long an import waits for another import's transaction, which takes a fraction of a second."""

if sys.version_info < (3, 12):
    # Without an adapter, older sqlite3 modules raise and discard an exception for each such value of each row.
    sqlite3.register_adapter(bytes, lambda value: value)
    sqlite3.register_adapter(type(None), lambda value: value)


def user_archive() -> Path:
    """Return the path of the user's archive: in $PALAVER_HOME, or in the system's folder for user data."""
    return Path(data_folder()) / FILE_NAME


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open the archive for writing, and create it, readable only by its owner, if it does not exist."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = _connect(path)
    except (OSError, sqlite3.Error) as error:
        raise ArchiveError(f"cannot open the archive {path}: {_reason(error)}") from error
    with archive_errors(path):
        _configure_new_file(connection)
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma foreign_keys = on")
        connection.execute(f"pragma cache_size = -{CACHE_KILOBYTES}")
        connection.execute(f"pragma wal_autocheckpoint = {LOG_BYTES // PAGE_BYTES}")
        connection.execute(f"pragma journal_size_limit = {LOG_BYTES}")
        migrate(connection, str(path))
        _reject_foreign_file(connection, path)
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open the archive for reading, without waiting for a writer or blocking it."""
    if not path.exists():
        raise ArchiveError(f"no archive yet ({path}): start with `palaver scan`")
    try:
        connection = _connect(path)
    except sqlite3.Error as error:
        raise ArchiveError(f"cannot open the archive {path}: {_reason(error)}") from error
    with archive_errors(path):
        if schema_version(connection) != len(MIGRATIONS):
            _configure_new_file(connection)
            migrate(connection, str(path))
        _reject_foreign_file(connection, path)
        connection.execute("pragma query_only = on")
        connection.execute(f"pragma cache_size = -{CACHE_KILOBYTES}")
    return connection


@contextmanager
def archive_errors(path: Path) -> Generator[None]:
    """Raise SQLite errors as ArchiveError, with the file's name and advice."""
    try:
        yield
    except sqlite3.Error as error:
        raise ArchiveError(f"the archive {path}: {_reason(error)}") from error


def _reject_foreign_file(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("pragma application_id").fetchone()[0] != APPLICATION_ID:
        raise ArchiveError(f"{path} is a SQLite file of another program: set PALAVER_HOME to another folder")


def _configure_new_file(connection: sqlite3.Connection) -> None:
    """Set what only a new file accepts; the process that created the file may have been killed before doing so."""
    connection.execute(f"pragma page_size = {PAGE_BYTES}")
    connection.execute("pragma journal_mode = wal")


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, cached_statements=256)


def _reason(error: Exception) -> str:
    match getattr(error, "sqlite_errorname", ""):
        case "SQLITE_BUSY":
            return "locked by another process; try again when that has ended"
        case "SQLITE_FULL":
            return "the disk is full; everything written so far is kept: free some space and run the command again"
        case "SQLITE_NOTADB" | "SQLITE_CORRUPT" | "SQLITE_CORRUPT_VTAB" | "SQLITE_CORRUPT_INDEX":
            return f"the file is damaged ({error}); see `palaver doctor`"
        case "SQLITE_READONLY":
            return "the file or its folder is not writable"
        case _:
            return getattr(error, "strerror", None) or str(error)


class BackgroundCheckpoints:
    """Checkpoints of the write-ahead log, made by a thread with its own connection while the writer goes on."""

    def __init__(self, path: Path, writer: sqlite3.Connection) -> None:
        from concurrent.futures import ThreadPoolExecutor

        writer.execute("pragma wal_autocheckpoint = 0")
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("pragma synchronous = normal")
        self._thread = ThreadPoolExecutor(1)
        self._pending: Future[int] | None = None

    def request(self) -> None:
        """Start a checkpoint of what has been committed.

        Waits for the previous checkpoint and, once the log is long, for this one too: SQLite restarts the log only if
        nothing is written until all of it has been copied.
        """
        log_bytes = self._pending.result() if self._pending else 0
        self._pending = self._thread.submit(self._checkpoint)
        if log_bytes > 2 * LOG_BYTES:
            self._pending.result()

    def close(self) -> None:
        """Stop the thread; SQLite copies the rest of the log when the last connection closes."""
        self._thread.shutdown()
        self._connection.close()

    def _checkpoint(self) -> int:
        """Copy the log's pages into the file, and return the length of the log in bytes."""
        _, pages, _ = self._connection.execute("pragma wal_checkpoint(passive)").fetchone()
        return pages * PAGE_BYTES
