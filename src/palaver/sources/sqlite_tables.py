"""The tables of an SQLite database that another program may be writing to, read without touching it.

A file on disk is opened read-only and as if it never changed, so that SQLite neither locks it nor makes files beside
it. Of a database in a ZIP, compressed, or on standard input, only the beginning is read, into memory.
"""

import sqlite3

from palaver.sources.source import Source

MAGIC = b"SQLite format 3\0"

_HEAD_BYTES = 1 << 20
_HEADER_BYTES = 100
_JOURNAL = slice(18, 20)
_PAGE_BYTES = slice(16, 18)
_PAGE_COUNT = slice(28, 32)
_LARGEST_PAGE_BYTES = 1 << 16


def is_sqlite(head: bytes) -> bool:
    return head.startswith(MAGIC) and len(head) >= _HEADER_BYTES


def open_schema(source: Source) -> "Schema":
    """Open a database to look at its tables; of a damaged one, none are found."""
    path = source.folder.path_of(source.name)
    if path is not None and source.is_plain_file():
        return Schema(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True))
    connection = sqlite3.connect(":memory:")
    connection.deserialize(_standalone(source.first_bytes(_HEAD_BYTES)))
    return Schema(connection)


class Schema:
    """An open database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def tables(self) -> set[str]:
        """Return the names of the tables, as far as they can be read."""
        names: set[str] = set()
        try:
            for (name,) in self._connection.execute("select name from sqlite_master where type = 'table'"):
                names.add(str(name))
        except sqlite3.Error:
            pass  # damaged, or longer than what was read of it
        return names

    def has_row(self, query: str) -> bool:
        try:
            return self._connection.execute(query).fetchone() is not None
        except sqlite3.Error:
            return False

    def close(self) -> None:
        self._connection.close()


def _standalone(head: bytes) -> bytes:
    """Return the beginning of a database as a whole one: without a log, and with only the pages that are there."""
    page_bytes = int.from_bytes(head[_PAGE_BYTES], "big")
    page_bytes = _LARGEST_PAGE_BYTES if page_bytes == 1 else max(page_bytes, 512)
    database = bytearray(head)
    database[_JOURNAL] = b"\1\1"
    database[_PAGE_COUNT] = (len(head) // page_bytes).to_bytes(4, "big")
    return bytes(database)
