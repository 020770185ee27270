"""Which conversations are meant: those that filters let through or words name, with the agents that they started."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace

from palaver.archive.filters import Filters
from palaver.archive.naming import named

_FRAME_BYTES = 350
"""What a message takes in a document beside its content and its metadata, about."""


def chosen(
    connection: sqlite3.Connection, filters: Filters, words: Sequence[str] = (), *, with_agents: bool = True
) -> list[int]:
    """Their keys, in the order of all that is exported; what a word names is an agent only if it names one."""
    if words:
        keys = {named(connection, word).key for word in words}
        keys &= _let_through(connection, filters)
    else:
        keys = _let_through(connection, filters if with_agents else replace(filters, with_sidechains=False))
    if with_agents:
        keys |= _agents_of(connection, keys)
    query = "select conversation_key from conversation order by platform, conversation_id"
    return [key for (key,) in connection.execute(query) if key in keys]


def _let_through(connection: sqlite3.Connection, filters: Filters) -> set[int]:
    condition, values = filters.where()
    query = f"select conversation_key from conversation c where {condition}"  # noqa: S608 - our own words, bound values
    return {key for (key,) in connection.execute(query, values)}


def _agents_of(connection: sqlite3.Connection, keys: set[int]) -> set[int]:
    """The agents of conversations, the agents of these, and so on."""
    started: dict[tuple[str, str], list[tuple[int, str]]] = {}
    query = (
        "select platform, parent_conversation_id, conversation_key, conversation_id from conversation "
        "where is_sidechain and parent_conversation_id is not null"
    )
    for platform, parent, key, conversation_id in connection.execute(query):
        started.setdefault((platform, parent), []).append((key, conversation_id))
    if not started:
        return set()
    query = "select conversation_key, platform, conversation_id from conversation"
    waiting = [(platform, name) for key, platform, name in connection.execute(query) if key in keys]
    found: set[int] = set()
    while waiting:
        platform, name = waiting.pop()
        for key, agent in started.pop((platform, name), ()):
            found.add(key)
            waiting.append((platform, agent))
    return found


def bytes_of(connection: sqlite3.Connection, keys: Iterable[int]) -> int:
    """How much some conversations hold, about; nothing of it is read for that."""
    query = (
        "select sum(length(cast(b.content as blob)) + length(cast(m.rest as blob)) + ?) from message m "
        "join body b on b.body_key = m.body where m.conversation = ?"
    )
    return sum(connection.execute(query, (_FRAME_BYTES, key)).fetchone()[0] or 0 for key in keys)
