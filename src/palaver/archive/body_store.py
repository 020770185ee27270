"""Keys of stored bodies, and their lookup by content hash.

A key is a second above a number, so that the index yields bodies in the order of their first messages.

Hashes are random: in one table of millions of rows, the hashes of a single transaction would touch nearly every page,
and each commit would rewrite the whole table. New hashes therefore go to a small table, `recent_hash`, and move to
`settled_hash` in bulk, in key order, once there are many of them.
"""

import sqlite3
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from itertools import islice

BODY_BITS = 31
"""How many of the lowest bits number the bodies of one second."""
_MAX_SECOND = (1 << 32) - 1


def epoch_second(timestamp: str) -> int:
    """Return the seconds since 1970, limited to what a search key can hold."""
    return min(_epoch_minute(timestamp[:16]) + int(timestamp[17:19]), _MAX_SECOND)


@lru_cache(1 << 12)
def _epoch_minute(minute: str) -> int:
    return _epoch_day(minute[:10]) + 3600 * int(minute[11:13]) + 60 * int(minute[14:])


@lru_cache(1 << 12)
def _epoch_day(day: str) -> int:
    try:
        return max(0, 86_400 * (date.fromisoformat(day).toordinal() - _EPOCH))
    except ValueError:  # the schema accepts dates that do not exist
        return 0


_EPOCH = date(1970, 1, 1).toordinal()


_TABLES = ("recent_hash", "settled_hash")
_CHUNK_SIZE = 400
"""Number of hashes bound to one statement."""
_MIN_SETTLED = 1 << 15
_SETTLED_SHARE = 16
"""Hashes settle once there are more than `_MIN_SETTLED` recent ones, and more than 1/`_SETTLED_SHARE` of all bodies."""


def known_bodies(connection: sqlite3.Connection, hashes: Iterable[bytes]) -> dict[bytes, tuple[int, int]]:
    """Return the body key and search key of each hash that is stored already."""
    known: dict[bytes, tuple[int, int]] = {}
    remaining = iter(sorted(hashes))
    while some := list(islice(remaining, _CHUNK_SIZE)):
        placeholders = ", ".join("?" * len(some))
        for table in _TABLES:
            query = (
                f"select {table}.hash, body_key, search_key from {table} cross join body on body_key = {table}.body "  # noqa: S608 - constants, bound values
                f"where {table}.hash in ({placeholders})"
            )
            known.update((row[0], row[1:]) for row in connection.execute(query, some))
    return known


def add_hashes(connection: sqlite3.Connection, numbers: Iterable[tuple[bytes, int]]) -> None:
    """Add the hashes of new bodies, each with its body key."""
    connection.executemany("insert or replace into recent_hash values (?, ?)", sorted(numbers))
    (recent,) = connection.execute("select count(*) from recent_hash").fetchone()
    (last,) = connection.execute("select coalesce(max(body_key), 0) from body").fetchone()
    if recent > max(_MIN_SETTLED, last // _SETTLED_SHARE):
        connection.execute("insert or replace into settled_hash select hash, body from recent_hash order by hash")
        connection.execute("delete from recent_hash")


def is_known(connection: sqlite3.Connection, body: int) -> bool:
    """Return whether a body is found by its hash; if not, importing it again would store it twice."""
    (content_hash,) = connection.execute("select hash from body where body_key = ?", (body,)).fetchone()
    found = known_bodies(connection, [content_hash]).get(content_hash)
    return found is not None and found[0] == body


def rebuild_hashes(connection: sqlite3.Connection) -> None:
    """Rebuild both tables from the stored bodies, in the caller's transaction."""
    for table in _TABLES:
        connection.execute(f"delete from {table}")  # noqa: S608 - constants, bound values
    connection.execute("insert or replace into settled_hash select hash, body_key from body order by hash")
