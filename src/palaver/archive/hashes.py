"""Under which number a content is stored, by its hash.

Hashes come in no order: in one table of millions, those of a transaction would stand on nearly every page of it, and it
would be written anew each time. So the latest ones are kept in a small table of their own. Once they are many, they
move to the large one, in its order.
"""

import sqlite3
from collections.abc import Iterable
from itertools import islice

_TABLES = ("recent_hash", "settled_hash")
_AT_ONCE = 400
"""How many values one statement is asked about."""
_FEW = 1 << 15
_SHARE = 16
"""The latest hashes are many when they are more than that, and more than this part of all contents."""


def known_bodies(connection: sqlite3.Connection, hashes: Iterable[bytes]) -> dict[bytes, tuple[int, int]]:
    """The keys of those contents that are there, in the archive and in its index."""
    known: dict[bytes, tuple[int, int]] = {}
    remaining = iter(sorted(hashes))
    while some := list(islice(remaining, _AT_ONCE)):
        marks = ", ".join("?" * len(some))
        for table in _TABLES:
            query = (
                f"select {table}.hash, body_key, search_key from {table} cross join body on body_key = {table}.body "  # noqa: S608
                f"where {table}.hash in ({marks})"
            )
            known.update((row[0], row[1:]) for row in connection.execute(query, some))
    return known


def remember(connection: sqlite3.Connection, numbers: Iterable[tuple[bytes, int]]) -> None:
    """Take in the hashes of new contents, each with its key."""
    connection.executemany("insert or replace into recent_hash values (?, ?)", sorted(numbers))
    (recent,) = connection.execute("select count(*) from recent_hash").fetchone()
    (last,) = connection.execute("select coalesce(max(body_key), 0) from body").fetchone()
    if recent > max(_FEW, last // _SHARE):
        connection.execute("insert or replace into settled_hash select hash, body from recent_hash order by hash")
        connection.execute("delete from recent_hash")


def is_known(connection: sqlite3.Connection, body: int) -> bool:
    """Whether a content is found by its hash; otherwise it would be stored a second time."""
    (content_hash,) = connection.execute("select hash from body where body_key = ?", (body,)).fetchone()
    found = known_bodies(connection, [content_hash]).get(content_hash)
    return found is not None and found[0] == body


def rebuild(connection: sqlite3.Connection) -> None:
    """Take in every hash anew, in the caller's transaction."""
    for table in _TABLES:
        connection.execute(f"delete from {table}")  # noqa: S608 - ours
    connection.execute("insert or replace into settled_hash select hash, body_key from body order by hash")
