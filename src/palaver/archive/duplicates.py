"""Duplicates at four levels, computed on request from what is stored; nothing is removed.

1. Files. A source that has not changed is not opened again: the archive remembers the size and time of its files. Two
   files with equal length, beginning and end are reported as equal; only files that can be continued have such a hash.
2. Conversations held by several sources. They were merged into one when they were imported.
3. Linked conversations. A conversation is linked to the one that first held the body of one of its messages, since it
   was resumed, forked, branched or exported again. To link, a body must have `MIN_LINK_CHARACTERS` or more as stored:
   "yes" and "continue" link nothing, nor does what the product itself injects. Between linked conversations, short
   bodies count too. Only the first holder of a body is linked to the others: a body held by ten thousand conversations
   makes at most ten thousand links, not fifty million.
4. Repeated messages: same conversation, role and body, within a window of time. The window is measured from the first
   message: with a window of five seconds, of three messages four seconds apart, the third starts a new group. Messages
   with inferred times are ignored.
"""

# ruff: noqa: S608 - conditions are constants, every value is bound

import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from palaver.archive.filters import Filters
from palaver.archive.usage import OWNER_ORDER

MIN_LINK_CHARACTERS = 100


class RememberedFiles(NamedTuple):
    """Totals of the sources and files that are not opened again unless they change."""

    sources: int
    files: int
    size_bytes: int


class EqualFile(NamedTuple):
    """A file equal to one that was read earlier."""

    path: str
    equal_to: str
    size_bytes: int


class MergedConversation(NamedTuple):
    conversation: int
    sources: list[str]


class ConversationLink(NamedTuple):
    """Two conversations that share messages."""

    first: int
    """The conversation that first held most of the shared messages."""
    other: int
    shared: int
    share: float
    """Shared messages as a fraction of the other conversation's messages."""
    reason: str


class RepeatedMessage(NamedTuple):
    conversation: int
    message_id: str
    first_message_id: str
    apart_ms: int


def remembered_files(connection: sqlite3.Connection, filters: Filters) -> RememberedFiles:
    where, values = _source_condition(filters)
    query = (
        "select count(distinct s.source_key), count(f.path), coalesce(sum(f.size_bytes), 0) "
        f"from source s left join source_file f on f.source = s.source_key where {where}"
    )
    return RememberedFiles(*connection.execute(query, values).fetchone())


def equal_files(connection: sqlite3.Connection, filters: Filters) -> Iterator[EqualFile]:
    """Yield files with equal length, beginning and end: of each group, all but the first that was read."""
    where, values = _source_condition(filters)
    query = (
        "select c.read_bytes, c.tail_hash, f.path from cursor c join source s on s.source_key = c.source "
        # A file with an unfinished last line was not read to its end.
        "join source_file f on f.source = c.source and f.size_bytes = c.read_bytes "
        "and substr(f.path, -length(c.file)) = c.file "
        f"where {where} and c.tail_hash <> '' order by c.read_bytes, c.tail_hash, s.first_imported_at, f.path"
    )
    for (size_bytes, _), files in groupby(connection.execute(query, values), itemgetter(0, 1)):
        first, *others = dict.fromkeys(path for _, _, path in files)
        for other in others:
            yield EqualFile(other, first, size_bytes)


def merged_conversations(connection: sqlite3.Connection, filters: Filters) -> Iterator[MergedConversation]:
    """Yield conversations with several sources, those with the most sources first."""
    where, values = filters.where()
    query = (
        "select c.conversation_key, count(*) as sources from conversation c "
        f"join origin o on o.conversation = c.conversation_key where {where} "
        "group by c.conversation_key having count(*) > 1 order by sources desc, c.platform, c.conversation_id"
    )
    labels = "select s.label from origin o join source s on s.source_key = o.source where o.conversation = ? order by 1"
    for key, _ in connection.execute(query, values).fetchall():
        yield MergedConversation(key, [label for (label,) in connection.execute(labels, (key,))])


def conversation_links(connection: sqlite3.Connection, filters: Filters) -> list[ConversationLink]:
    """Return the links between conversations that share messages, largest share first."""
    shared: dict[tuple[int, int], int] = {}
    linked: set[tuple[int, int]] = set()
    for first, other, bodies, is_link in connection.execute(_LINKS, (MIN_LINK_CHARACTERS,)):
        shared[first, other] = bodies
        if is_link:
            linked.add((first, other))
    chosen = _selected_keys(connection, filters)
    wanted = [pair for pair in linked if chosen is None or not chosen.isdisjoint(pair)]
    infos = _conversation_info(connection, wanted)
    pairs: dict[tuple[int, int], int] = {}
    for pair in wanted:
        # Each may have held some bodies first: together they are one link.
        left, right = sorted(pair, key=lambda key: infos[key])
        counts = shared.get((left, right), 0), shared.get((right, left), 0)
        pairs[(left, right) if counts[0] >= counts[1] else (right, left)] = sum(counts)
    found = [
        ConversationLink(
            first, other, count, min(1.0, count / infos[other].messages), _reason(infos[first], infos[other])
        )
        for (first, other), count in pairs.items()
    ]
    found.sort(key=lambda link: (-link.share, -link.shared, infos[link.first].name, infos[link.other].name))
    return found


# Bodies held by several conversations are few: find them before anything else.
_LINKS = f"""
    with shared as materialized (
        select m.body from message m where m.author_kind is not 'harness'
        group by m.body having min(m.conversation) <> max(m.conversation)
    ), holder as (
        select m.body, m.conversation, length(b.content) >= ? as is_link,
            first_value(m.conversation) over (partition by m.body order by {OWNER_ORDER}) as first
        from shared s join body b on b.body_key = s.body
        cross join message m on m.body = s.body join conversation c on c.conversation_key = m.conversation
        where m.author_kind is not 'harness'
    )
    select first, conversation, count(distinct body), max(is_link) from holder
    where first <> conversation group by 1, 2
"""


class _ConversationInfo(NamedTuple):
    created_at: str
    name: tuple[str, str]
    parent: str
    is_sidechain: bool
    messages: int


def _conversation_info(
    connection: sqlite3.Connection, pairs: Iterable[tuple[int, int]]
) -> dict[int, _ConversationInfo]:
    query = (
        "select created_at, platform, conversation_id, coalesce(parent_conversation_id, ''), is_sidechain, "
        "(select count(*) from message where conversation = conversation_key) "
        "from conversation where conversation_key = ?"
    )
    found: dict[int, _ConversationInfo] = {}
    for key in {key for pair in pairs for key in pair}:
        created_at, *name, parent, is_sidechain, messages = connection.execute(query, (key,)).fetchone()
        found[key] = _ConversationInfo(created_at, (name[0], name[1]), parent, bool(is_sidechain), messages)
    return found


def _reason(first: _ConversationInfo, other: _ConversationInfo) -> str:
    """Return why two conversations share messages, as far as their sources state it."""
    if first.name[0] != other.name[0]:
        return "recorded by two platforms"
    if other.parent == first.name[1]:
        return "its agent" if other.is_sidechain else "continues it"
    if first.parent == other.name[1]:
        return "started it" if first.is_sidechain else "continued by it"
    if first.parent and first.parent == other.parent:
        return "of one parent"
    return "same content"


def repeated_messages(connection: sqlite3.Connection, filters: Filters, window_ms: int) -> Iterator[RepeatedMessage]:
    """Yield messages that were repeated within the window, by conversation."""
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
        for message_id, first, apart_ms in _repeats_within((row[2:] for row in rows), window_ms):
            yield RepeatedMessage(conversation, message_id, first, apart_ms)


def window_duplicates(connection: sqlite3.Connection, conversation_key: int, window_ms: int) -> dict[str, str]:
    """Return the ids of messages repeated within the window, each with the id of the first occurrence."""
    query = (
        f"select m.body, m.timestamp, m.message_id from message m where m.conversation = ? and {_HAS_OWN_TIME} "
        "and m.body in (select body from message where conversation = ? group by body having count(*) > 1) "
        "order by m.body, m.timestamp, m.message_id"
    )
    found: dict[str, str] = {}
    for _, rows in groupby(connection.execute(query, (conversation_key, conversation_key)), itemgetter(0)):
        found |= {message_id: first for message_id, first, _ in _repeats_within((row[1:] for row in rows), window_ms)}
    return found


_HAS_OWN_TIME = "not instr(m.rest, '\"timestamp_inferred\":true')"


def _repeats_within(rows: Iterable[tuple[str, str]], window_ms: int) -> Iterator[tuple[str, str, int]]:
    """Yield each repeat with the first message's id and the distance in milliseconds; input is in time order.

    A message outside the window starts a new group.
    """
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


def _source_condition(filters: Filters) -> tuple[str, list[Any]]:
    platforms = filters.platforms
    condition = f"s.platform in ({', '.join('?' * len(platforms))})" if platforms else "true"
    return f"s.imported_at <> '' and {condition}", list(platforms)


def _selected_keys(connection: sqlite3.Connection, filters: Filters) -> set[int] | None:
    where, values = filters.where()
    if where == "true":
        return None
    query = f"select c.conversation_key from conversation c where {where}"
    return {key for (key,) in connection.execute(query, values)}
