"""A conversation by what people call it: its id, the beginning of it, `platform:id`, or `latest`."""

import sqlite3
from typing import NamedTuple

from palaver.archive.filters import Filters
from palaver.errors import ArchiveError

_SHOWN = 5


class Named(NamedTuple):
    key: int
    platform: str
    conversation_id: str
    title: str | None


def named(connection: sqlite3.Connection, word: str) -> Named:
    """The one conversation that a word means; several, or none, are an error that says so."""
    columns = "conversation_key, platform, conversation_id, title"
    word = word.encode(errors="replace").decode()  # bytes of the command line that are no text
    if word == "latest":
        query = f"select {columns} from conversation order by coalesce(updated_at, created_at) desc limit 1"  # noqa: S608
        found = [Named(*row) for row in connection.execute(query)]
    else:
        found = _by_id(connection, columns, word)
        platform, colon, rest = word.partition(":")
        if not found and colon:
            found = [one for one in _by_id(connection, columns, rest) if one.platform == platform]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ArchiveError(f"no conversation is called {word!r}: `palaver list` and `palaver search` show their ids")
    names = ", ".join(f"{row[1]}:{row[2]}" for row in found[:_SHOWN])
    raise ArchiveError(
        f"{word!r} may mean several conversations ({names}{', …' * (len(found) > _SHOWN)}): say more of it"
    )


def selected(connection: sqlite3.Connection, filters: Filters) -> list[Named]:
    """Every conversation that the filters let through, by name."""
    condition, values = filters.where()
    columns = "conversation_key, platform, conversation_id, title"
    query = f"select {columns} from conversation c where {condition} order by platform, conversation_id"  # noqa: S608
    return [Named(*row) for row in connection.execute(query, values)]


def _by_id(connection: sqlite3.Connection, columns: str, word: str) -> list[Named]:
    exact = f"select {columns} from conversation where conversation_id = ?"  # noqa: S608 - our own column names
    if found := [Named(*row) for row in connection.execute(exact, (word,))]:
        return found
    if not word:
        return []
    beginning = f"select {columns} from conversation where substr(conversation_id, 1, ?) = ? limit 20"  # noqa: S608
    return [Named(*row) for row in connection.execute(beginning, (len(word), word))]
