"""What can be put right: the index of words is made anew from the messages, and what nobody uses is let go."""

import sqlite3
from collections.abc import Iterator
from itertools import islice

import orjson

from palaver.archive.words import searchable

_AT_ONCE = 200


def rebuild_index(connection: sqlite3.Connection) -> int:
    """Index every body anew, in the caller's transaction; how many have words."""
    connection.execute("insert into search (search) values ('delete-all')")
    # Numbers are sorted, and texts are looked up one by one: sorting texts would need room for all of them.
    keys = connection.execute("select search_key, body_key from body order by search_key")
    indexed = 0
    while some := list(islice(_words(connection, keys), _AT_ONCE)):
        connection.executemany("insert into search (rowid, text, thinking, tool) values (?, ?, ?, ?)", some)
        indexed += len(some)
    return indexed


def _words(connection: sqlite3.Connection, keys: Iterator[tuple[int, int]]) -> Iterator[tuple[int, str, str, str]]:
    for search_key, body in keys:
        query = "select cast(content as blob) from body where body_key = ?"
        words = searchable(orjson.loads(connection.execute(query, (body,)).fetchone()[0]))
        if any(words):
            yield (search_key, *words)


def remove_unused_bodies(connection: sqlite3.Connection) -> int:
    """Remove contents that belong to no message; how many there were."""
    unused = connection.execute(
        "select body_key from body where not exists (select 1 from message where body = body_key) "
        "and not exists (select 1 from revision where body = body_key)"
    ).fetchall()
    connection.executemany("delete from body where body_key = ?", unused)
    return len(unused)
