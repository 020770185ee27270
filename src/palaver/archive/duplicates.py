"""Duplicates, at four levels; all of them are worked out from what is stored when somebody asks, nothing is removed.

1. A source that has not changed is not opened again: the archive remembers size and time of its files. Two files whose
   length, beginning and end are equal are told as equal; only files that can be continued have such a mark.
2. A conversation that several sources hold is one conversation: they were merged.
3. A conversation that holds the body of a message which another one held first is linked to that one: resumed, forked,
   branched, exported again. It takes a body of `TRIVIAL` characters or more as it is stored: "yes" and "continue" link
   nothing, and neither does what the product itself injects; between linked ones, short bodies count as well. Only the
   first holder of a body is linked to the others, so one that ten thousand conversations hold makes ten thousand links
   at most, not fifty million.
4. Messages of one conversation with the same role and body, within a window of time, are marked with the first of them.
   The window is measured from that first: of three that are four seconds apart, the third begins anew with a window of
   five. Times that were inferred say nothing and mark nothing.
"""

# ruff: noqa: S608 - conditions are words of this program, every value is bound

import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from palaver.archive.filters import Filters
from palaver.archive.usage import FIRST

TRIVIAL = 100


class Remembered(NamedTuple):
    """What is not opened again unless it changes."""

    sources: int
    files: int
    size_bytes: int


class EqualFile(NamedTuple):
    """A file that is equal to one which was read before it."""

    path: str
    equal_to: str
    size_bytes: int


class Merged(NamedTuple):
    conversation: int
    sources: list[str]


class Link(NamedTuple):
    """Two conversations that share messages."""

    first: int
    """The one that holds more of them first."""
    other: int
    shared: int
    share: float
    """Of the other one's messages."""
    reason: str


class Marked(NamedTuple):
    conversation: int
    message_id: str
    first_message_id: str
    apart_ms: int


def remembered(connection: sqlite3.Connection, filters: Filters) -> Remembered:
    where, values = _sources(filters)
    query = (
        "select count(distinct s.source_key), count(f.path), coalesce(sum(f.size_bytes), 0) "
        f"from source s left join source_file f on f.source = s.source_key where {where}"
    )
    return Remembered(*connection.execute(query, values).fetchone())


def equal_files(connection: sqlite3.Connection, filters: Filters) -> Iterator[EqualFile]:
    """Files whose length, beginning and end are equal; of each such set, all but the first that was read."""
    where, values = _sources(filters)
    query = (
        "select c.read_bytes, c.tail_hash, f.path from cursor c join source s on s.source_key = c.source "
        # Of a file that has an unfinished last line, not all was read.
        "join source_file f on f.source = c.source and f.size_bytes = c.read_bytes "
        "and substr(f.path, -length(c.file)) = c.file "
        f"where {where} and c.tail_hash <> '' order by c.read_bytes, c.tail_hash, s.first_imported_at, f.path"
    )
    for (size_bytes, _), files in groupby(connection.execute(query, values), itemgetter(0, 1)):
        first, *others = dict.fromkeys(path for _, _, path in files)
        for other in others:
            yield EqualFile(other, first, size_bytes)


def merged(connection: sqlite3.Connection, filters: Filters) -> Iterator[Merged]:
    """Conversations from several sources, those with the most first."""
    where, values = filters.where()
    query = (
        "select c.conversation_key, count(*) as sources from conversation c "
        f"join origin o on o.conversation = c.conversation_key where {where} "
        "group by c.conversation_key having count(*) > 1 order by sources desc, c.platform, c.conversation_id"
    )
    labels = "select s.label from origin o join source s on s.source_key = o.source where o.conversation = ? order by 1"
    for key, _ in connection.execute(query, values).fetchall():
        yield Merged(key, [label for (label,) in connection.execute(labels, (key,))])


def links(connection: sqlite3.Connection, filters: Filters) -> list[Link]:
    """Conversations that share messages, the largest shares first."""
    shared: dict[tuple[int, int], int] = {}
    linked: set[tuple[int, int]] = set()
    for first, other, bodies, is_link in connection.execute(_LINKS, (TRIVIAL,)):
        shared[first, other] = bodies
        if is_link:
            linked.add((first, other))
    chosen = _chosen(connection, filters)
    wanted = [pair for pair in linked if chosen is None or not chosen.isdisjoint(pair)]
    facts = _facts(connection, wanted)
    pairs: dict[tuple[int, int], int] = {}
    for pair in wanted:
        # Each may hold some bodies before the other does: together they are one link.
        one, two = sorted(pair, key=lambda key: facts[key])
        counts = shared.get((one, two), 0), shared.get((two, one), 0)
        pairs[(one, two) if counts[0] >= counts[1] else (two, one)] = sum(counts)
    found = [
        Link(first, other, count, min(1.0, count / facts[other].messages), _reason(facts[first], facts[other]))
        for (first, other), count in pairs.items()
    ]
    found.sort(key=lambda link: (-link.share, -link.shared, facts[link.first].name, facts[link.other].name))
    return found


# Which bodies are in several conversations is told before anything else is looked at: they are few.
_LINKS = f"""
    with shared as materialized (
        select m.body from message m where m.author_kind is not 'harness'
        group by m.body having min(m.conversation) <> max(m.conversation)
    ), holder as (
        select m.body, m.conversation, length(b.content) >= ? as is_link,
            first_value(m.conversation) over (partition by m.body order by {FIRST}) as first
        from shared s join body b on b.body_key = s.body
        cross join message m on m.body = s.body join conversation c on c.conversation_key = m.conversation
        where m.author_kind is not 'harness'
    )
    select first, conversation, count(distinct body), max(is_link) from holder
    where first <> conversation group by 1, 2
"""


class _Facts(NamedTuple):
    created_at: str
    name: tuple[str, str]
    parent: str
    is_sidechain: bool
    messages: int


def _facts(connection: sqlite3.Connection, pairs: Iterable[tuple[int, int]]) -> dict[int, _Facts]:
    query = (
        "select created_at, platform, conversation_id, coalesce(parent_conversation_id, ''), is_sidechain, "
        "(select count(*) from message where conversation = conversation_key) "
        "from conversation where conversation_key = ?"
    )
    found: dict[int, _Facts] = {}
    for key in {key for pair in pairs for key in pair}:
        created_at, *name, parent, is_sidechain, messages = connection.execute(query, (key,)).fetchone()
        found[key] = _Facts(created_at, (name[0], name[1]), parent, bool(is_sidechain), messages)
    return found


def _reason(first: _Facts, other: _Facts) -> str:
    """Why they share messages, as far as their sources say."""
    if first.name[0] != other.name[0]:
        return "recorded by two platforms"
    if other.parent == first.name[1]:
        return "its agent" if other.is_sidechain else "continues it"
    if first.parent == other.name[1]:
        return "started it" if first.is_sidechain else "is continued by it"
    if first.parent and first.parent == other.parent:
        return "of one parent"
    return "same content"


def marked(connection: sqlite3.Connection, filters: Filters, window_ms: int) -> Iterator[Marked]:
    """Messages that came again within the window, by conversation."""
    where, values = filters.where()
    query = (
        "with again as materialized (select m.conversation, m.body from message m "
        "group by m.conversation, m.body having count(*) > 1) "
        "select m.conversation, m.body, m.timestamp, m.message_id from again a "
        "cross join message m on m.body = a.body and m.conversation = a.conversation "
        f"join conversation c on c.conversation_key = m.conversation where {where} and {_HAS_OWN_TIME} "
        "order by c.platform, c.conversation_id, m.body, m.timestamp, m.message_id"
    )
    for (conversation, _), rows in groupby(connection.execute(query, values), itemgetter(0, 1)):
        for message_id, first, apart_ms in _within((row[2:] for row in rows), window_ms):
            yield Marked(conversation, message_id, first, apart_ms)


def window_duplicates(connection: sqlite3.Connection, conversation_key: int, window_ms: int) -> dict[str, str]:
    """The messages of one conversation that came again within the window, each with the first one's id."""
    query = (
        f"select m.body, m.timestamp, m.message_id from message m where m.conversation = ? and {_HAS_OWN_TIME} "
        "and m.body in (select body from message where conversation = ? group by body having count(*) > 1) "
        "order by m.body, m.timestamp, m.message_id"
    )
    found: dict[str, str] = {}
    for _, rows in groupby(connection.execute(query, (conversation_key, conversation_key)), itemgetter(0)):
        found |= {message_id: first for message_id, first, _ in _within((row[1:] for row in rows), window_ms)}
    return found


_HAS_OWN_TIME = "not instr(m.rest, '\"timestamp_inferred\":true')"


def _within(rows: Iterable[tuple[str, str]], window_ms: int) -> Iterator[tuple[str, str, int]]:
    """Of equal messages in the order of time, those within the window of the first; one past it begins anew."""
    first = ""
    began = 0
    for timestamp, message_id in rows:
        now = _milliseconds(timestamp)
        if first and now - began <= window_ms:
            yield message_id, first, now - began
        else:
            first, began = message_id, now


def _milliseconds(timestamp: str) -> int:
    try:
        return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def _sources(filters: Filters) -> tuple[str, list[Any]]:
    platforms = filters.platforms
    condition = f"s.platform in ({', '.join('?' * len(platforms))})" if platforms else "true"
    return f"s.imported_at <> '' and {condition}", list(platforms)


def _chosen(connection: sqlite3.Connection, filters: Filters) -> set[int] | None:
    where, values = filters.where()
    if where == "true":
        return None
    query = f"select c.conversation_key from conversation c where {where}"
    return {key for (key,) in connection.execute(query, values)}
