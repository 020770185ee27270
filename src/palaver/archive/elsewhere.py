"""Another archive, to be read: whatever its state, the file and its folder are left as they are."""

import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfile

from palaver.archive.connection import told
from palaver.archive.migrations import APPLICATION_ID, MIGRATIONS, migrate, version
from palaver.errors import ArchiveError

LOG = "-wal"
SIDE_FILES = (LOG, "-shm")
"""What the names of the files end in that SQLite keeps beside an archive while somebody writes to it."""

_MAGIC = b"SQLite format 3\0"


def is_archive(head: bytes) -> bool:
    """Whether a file begins as an archive of palaver does."""
    return head.startswith(_MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


@contextmanager
def reading_elsewhere(path: Path) -> Generator[sqlite3.Connection]:
    """Open another archive; one with older tables is copied first, and the copy is brought up to date."""
    before = _stamp(path)
    has_log = _has_log(path)
    with (
        told(path),
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
    if not has_log and _stamp(path) != before:
        raise ArchiveError(f"{path} was written to while it was read: import it again")


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise ArchiveError(f"cannot read {path}: {error.strerror or error}") from error
    return status.st_size, status.st_mtime_ns


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + LOG)
    return log.exists() and log.stat().st_size > 0


def _open(path: Path, folder: Path, *, has_log: bool) -> sqlite3.Connection:
    if not has_log:
        # Nobody writes to it. Opened in any other way, SQLite would put files beside it and leave them there.
        return _connected(path, "mode=ro&immutable=1")
    try:
        return _connected(path, "mode=ro")
    except sqlite3.OperationalError:
        # The folder may not be written to, and what is new in the log can be found in a copy only.
        copy = folder / path.name
        for suffix in ("", LOG):
            copyfile(f"{path}{suffix}", f"{copy}{suffix}")
        return _connected(copy, "mode=rw")


def _connected(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None)
    try:
        # What the file says of itself is not to be trusted: no function may be called by its tables and views.
        connection.execute("pragma trusted_schema = off")
        connection.execute("pragma query_only = on")
        connection.execute("begin")
        version(connection)
        connection.execute("select 1 from sqlite_master limit 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
