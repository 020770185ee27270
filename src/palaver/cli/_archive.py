"""The user's archive, opened for a command."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from palaver.archive.connection import archive_errors, open_to_read, open_to_write, user_archive
from palaver.importers._shared import platform_names

if TYPE_CHECKING:
    import sqlite3

platform_title = platform_names.platform_title


def archive_path() -> Path:
    return user_archive()


@contextmanager
def open_for_reading() -> "Generator[sqlite3.Connection]":
    """Open the archive; its errors become palaver's own."""
    path = archive_path()
    with closing(open_to_read(path)) as connection, archive_errors(path):
        yield connection


@contextmanager
def open_for_writing() -> "Generator[sqlite3.Connection]":
    """Open the archive for one transaction, rolled back on any error; the archive must exist already."""
    path = archive_path()
    open_to_read(path).close()
    with closing(open_to_write(path)) as connection, archive_errors(path):
        connection.execute("begin immediate")
        try:
            yield connection
        except BaseException:
            connection.execute("rollback")
            raise
        connection.execute("commit")
