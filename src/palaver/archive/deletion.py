"""Deletion of conversations, for good: a deleted conversation is not imported again.

A tombstone remains (platform, id, time, reason), with the names of the sources that hold the conversation, and their
counts. Bodies shared with other conversations stay. The quarantined records of a source, and the locations of its
findings, are deleted once nothing of that source is left; until then they may belong to its other conversations.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson

from palaver.archive.search_text import index_texts
from palaver.archive.selection import ConversationRef
from palaver.archive.source_records import clear_source_traces, timestamp_now
from palaver.errors import ArchiveError

_MAX_SHOWN = 5


class DeletionPlan(NamedTuple):
    """What deleting a conversation removes, and what remains."""

    conversation: ConversationRef
    messages: int
    agents: list[ConversationRef]
    """Conversations of its agents, and of their agents."""
    sources: list[str]
    shared_messages: int
    """Number of messages whose content also occurs in a conversation that is not deleted."""
    shared_with: list[str]
    """Ids of some of those conversations."""
    remaining_quarantine: int
    """Number of quarantined records of its sources that stay, since they may belong to other conversations."""


class Tombstone(NamedTuple):
    platform: str
    conversation_id: str
    forgotten_at: str
    reason: str | None


class UndoneDeletion(NamedTuple):
    tombstone: Tombstone
    sources: list[str]
    """Sources known to hold the conversation; the next scan or import reads them from the beginning."""


def agent_conversations(connection: sqlite3.Connection, conversation: ConversationRef) -> list[ConversationRef]:
    """Return the agents of a conversation, and their agents."""
    found: dict[int, ConversationRef] = {}
    waiting = [conversation]
    while waiting:
        parent = waiting.pop()
        rows = connection.execute(
            "select conversation_key, platform, conversation_id, title from conversation "
            "where parent_conversation_id = ? and platform = ? and is_sidechain order by conversation_id",
            (parent.conversation_id, parent.platform),
        )
        new = [
            agent
            for agent in map(ConversationRef._make, rows)
            if agent.key not in found and agent.key != conversation.key
        ]
        found.update((agent.key, agent) for agent in new)
        waiting += new
    return list(found.values())


def plan_deletion(connection: sqlite3.Connection, conversations: Sequence[ConversationRef]) -> list[DeletionPlan]:
    """Plan the deletion of several conversations at once."""
    deleted = {conversation.key for conversation in conversations}
    return [_plan(connection, conversation, deleted) for conversation in conversations]


def _plan(connection: sqlite3.Connection, conversation: ConversationRef, deleted: set[int]) -> DeletionPlan:
    (messages,) = connection.execute(
        "select count(*) from message where conversation = ?", (conversation.key,)
    ).fetchone()
    others = (
        "from message own join message other on other.body = own.body where own.conversation = ?1 "
        "and other.conversation not in (select value from json_each(?2))"
    )
    own = conversation.key, orjson.dumps(sorted(deleted)).decode()
    (shared,) = connection.execute(
        "select count(*) from message m where m.conversation = ?1 and exists (select 1 from message other "
        "where other.body = m.body and other.conversation not in (select value from json_each(?2)))",
        own,
    ).fetchone()
    sharers = connection.execute(f"select distinct other.conversation {others} limit {_MAX_SHOWN}", own)
    labels = connection.execute(
        "select label from source join origin on source = source_key where conversation = ? order by 1",
        (conversation.key,),
    )
    return DeletionPlan(
        conversation,
        messages,
        agent_conversations(connection, conversation),
        [label for (label,) in labels],
        shared,
        sorted(_conversation_id(connection, key) for (key,) in sharers.fetchall()),
        _remaining_quarantine(connection, conversation, deleted),
    )


def _remaining_quarantine(connection: sqlite3.Connection, conversation: ConversationRef, deleted: set[int]) -> int:
    remaining = 0
    query = "select source, count(*) from quarantine join origin using (source) where conversation = ? group by source"
    for source, entries in connection.execute(query, (conversation.key,)).fetchall():
        others = connection.execute("select conversation from origin where source = ?", (source,))
        if any(key not in deleted for (key,) in others):
            remaining += entries
    return remaining


def _conversation_id(connection: sqlite3.Connection, key: int) -> str:
    query = "select conversation_id from conversation where conversation_key = ?"
    return connection.execute(query, (key,)).fetchone()[0]


def forget(connection: sqlite3.Connection, conversations: Iterable[ConversationRef], reason: str | None = None) -> None:
    """Delete conversations, in the caller's transaction.

    Call `rewrite_file` afterwards to remove the last traces from the file.
    """
    connection.execute("pragma secure_delete = on")
    bodies: set[int] = set()
    for conversation in conversations:
        identity = conversation.platform, conversation.conversation_id
        used = "select body from message where conversation = ? union select body from revision where conversation = ?"
        bodies.update(body for (body,) in connection.execute(used, (conversation.key, conversation.key)))
        connection.execute("insert or replace into tombstone values (?, ?, ?, ?)", (*identity, timestamp_now(), reason))
        connection.execute(
            "insert or ignore into withheld select ?, ?, source from origin where conversation = ?",
            (*identity, conversation.key),
        )
        for table in ("tag", "rating"):
            connection.execute(f"delete from {table} where platform = ? and conversation_id = ?", identity)  # noqa: S608 - constants, bound values
        connection.execute("delete from conversation where conversation_key = ?", (conversation.key,))
        clear_source_traces(connection, *identity)
    if remove_bodies(connection, bodies):
        # FTS5 only marks entries as deleted until the segments of the index are merged.
        connection.execute("insert into search (search) values ('optimize')")


def remove_bodies(connection: sqlite3.Connection, bodies: Iterable[int]) -> bool:
    """Remove those of some bodies that are no longer used, and return whether any of them was in the index.

    They are removed in key order, as the index requires.
    """
    unused = (
        "select search_key, body_key from body where body_key = ?1 and not exists "
        "(select 1 from message where body = ?1) and not exists (select 1 from revision where body = ?1)"
    )
    gone = sorted(row for body in bodies for row in connection.execute(unused, (body,)))
    is_indexed = False
    for search_key, body in gone:
        query = "select cast(content as blob) from body where body_key = ?"
        words = index_texts(orjson.loads(connection.execute(query, (body,)).fetchone()[0]))
        if any(words):
            # The index is contentless: to delete an entry, FTS5 needs exactly the texts that were inserted.
            remove = "insert into search (search, rowid, text, thinking, tool) values ('delete', ?, ?, ?, ?)"
            connection.execute(remove, (search_key, *words))
            is_indexed = True
        connection.execute("delete from body where body_key = ?", (body,))
    return is_indexed


def rewrite_file(connection: sqlite3.Connection) -> bool:
    """Rewrite the file, since pages freed or split earlier may still hold deleted text.

    Must run outside a transaction. Return False if a reader keeps SQLite from emptying the write-ahead log; SQLite
    empties it when the last connection closes.
    """
    connection.execute("vacuum")
    is_busy, _, _ = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
    return not is_busy


def tombstones(connection: sqlite3.Connection) -> list[Tombstone]:
    """Return the tombstones, latest first."""
    query = "select platform, conversation_id, forgotten_at, reason from tombstone order by 3 desc, 1, 2"
    return [Tombstone(*row) for row in connection.execute(query)]


def undo_forget(connection: sqlite3.Connection, word: str) -> UndoneDeletion:
    """Remove a tombstone, and mark the conversation's sources as unread so that they are imported again."""
    found = _find_tombstone(connection, word)
    identity = found.platform, found.conversation_id
    sources = connection.execute(
        "select source_key, label from source join withheld w on w.source = source_key "
        "where w.platform = ? and w.conversation_id = ? order by label",
        identity,
    ).fetchall()
    for key, _ in sources:
        connection.execute("delete from source_file where source = ?", (key,))
        connection.execute("delete from cursor where source = ?", (key,))
    connection.execute("delete from tombstone where platform = ? and conversation_id = ?", identity)
    return UndoneDeletion(found, [label for _, label in sources])


def _find_tombstone(connection: sqlite3.Connection, word: str) -> Tombstone:
    named_stones = [(stone, f"{stone.platform}:{stone.conversation_id}") for stone in tombstones(connection)]
    found = [stone for stone, name in named_stones if word in {stone.conversation_id, name}]
    if not found and word:
        has_platform = ":" in word
        found = [
            stone
            for stone, name in named_stones
            if stone.conversation_id.startswith(word) or (has_platform and name.startswith(word))
        ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ArchiveError(f"no forgotten conversation has the id {word!r}: see `palaver forget --list`")
    names = ", ".join(f"{stone.platform}:{stone.conversation_id}" for stone in found[:_MAX_SHOWN])
    raise ArchiveError(f"{word!r} matches several forgotten conversations ({names}): type more of the id")
