"""Forgetting: a conversation and everything that was only its own leaves the archive, and does not come back.

What stays is a tombstone (platform, id, when, why), the names of the sources that hold the conversation, and their
counts. What other conversations say as well stays with them. Bytes set aside from a source, and the places of its
findings, go when nothing of that source is left; until then they may belong to the others.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson

from palaver.archive.naming import Named
from palaver.archive.sources import now
from palaver.archive.withheld import drop_what_sources_said
from palaver.archive.words import searchable
from palaver.errors import ArchiveError

_SHOWN = 5


class Plan(NamedTuple):
    """What forgetting a conversation takes away, and what it leaves elsewhere."""

    conversation: Named
    messages: int
    agents: list[Named]
    """Conversations of its agents, and of theirs."""
    sources: list[str]
    shared_messages: int
    """Messages whose very content also stands in a conversation that is kept."""
    shared_with: list[str]
    """Some of these conversations."""
    set_aside_kept: int
    """Bytes that were set aside from its sources and stay, since they may belong to what else is in there."""


class Tombstone(NamedTuple):
    platform: str
    conversation_id: str
    forgotten_at: str
    reason: str | None


class Undone(NamedTuple):
    tombstone: Tombstone
    sources: list[str]
    """Those that are known to hold it: the next scan or import reads them whole."""


def agents_of(connection: sqlite3.Connection, conversation: Named) -> list[Named]:
    found: dict[int, Named] = {}
    waiting = [conversation]
    while waiting:
        above = waiting.pop()
        rows = connection.execute(
            "select conversation_key, platform, conversation_id, title from conversation "
            "where parent_conversation_id = ? and platform = ? and is_sidechain order by conversation_id",
            (above.conversation_id, above.platform),
        )
        new = [agent for agent in map(Named._make, rows) if agent.key not in found and agent.key != conversation.key]
        found.update((agent.key, agent) for agent in new)
        waiting += new
    return list(found.values())


def planned(connection: sqlite3.Connection, conversations: Sequence[Named]) -> list[Plan]:
    """What would go if all of these went together."""
    going = {conversation.key for conversation in conversations}
    return [_planned(connection, conversation, going) for conversation in conversations]


def _planned(connection: sqlite3.Connection, conversation: Named, going: set[int]) -> Plan:
    (messages,) = connection.execute(
        "select count(*) from message where conversation = ?", (conversation.key,)
    ).fetchone()
    others = (
        "from message own join message other on other.body = own.body where own.conversation = ?1 "
        "and other.conversation not in (select value from json_each(?2))"
    )
    own = conversation.key, orjson.dumps(sorted(going)).decode()
    (shared,) = connection.execute(
        "select count(*) from message m where m.conversation = ?1 and exists (select 1 from message other "
        "where other.body = m.body and other.conversation not in (select value from json_each(?2)))",
        own,
    ).fetchone()
    sharers = connection.execute(f"select distinct other.conversation {others} limit {_SHOWN}", own)
    labels = connection.execute(
        "select label from source join origin on source = source_key where conversation = ? order by 1",
        (conversation.key,),
    )
    return Plan(
        conversation,
        messages,
        agents_of(connection, conversation),
        [label for (label,) in labels],
        shared,
        sorted(_id_of(connection, key) for (key,) in sharers.fetchall()),
        _set_aside_kept(connection, conversation, going),
    )


def _set_aside_kept(connection: sqlite3.Connection, conversation: Named, going: set[int]) -> int:
    kept = 0
    query = "select source, count(*) from quarantine join origin using (source) where conversation = ? group by source"
    for source, entries in connection.execute(query, (conversation.key,)).fetchall():
        others = connection.execute("select conversation from origin where source = ?", (source,))
        if any(key not in going for (key,) in others):
            kept += entries
    return kept


def _id_of(connection: sqlite3.Connection, key: int) -> str:
    query = "select conversation_id from conversation where conversation_key = ?"
    return connection.execute(query, (key,)).fetchone()[0]


def forget(connection: sqlite3.Connection, conversations: Iterable[Named], reason: str | None = None) -> None:
    """Take conversations out, in the caller's transaction; `overwrite` then leaves no trace in the files."""
    connection.execute("pragma secure_delete = on")
    bodies: set[int] = set()
    for conversation in conversations:
        identity = conversation.platform, conversation.conversation_id
        used = "select body from message where conversation = ? union select body from revision where conversation = ?"
        bodies.update(body for (body,) in connection.execute(used, (conversation.key, conversation.key)))
        connection.execute("insert or replace into tombstone values (?, ?, ?, ?)", (*identity, now(), reason))
        connection.execute(
            "insert or ignore into withheld select ?, ?, source from origin where conversation = ?",
            (*identity, conversation.key),
        )
        for table in ("tag", "rating"):
            connection.execute(f"delete from {table} where platform = ? and conversation_id = ?", identity)  # noqa: S608
        connection.execute("delete from conversation where conversation_key = ?", (conversation.key,))
        drop_what_sources_said(connection, *identity)
    _remove_bodies(connection, bodies)


def _remove_bodies(connection: sqlite3.Connection, bodies: Iterable[int]) -> None:
    """Remove those that nobody uses any more, with their words; the index takes numbers only as they grow."""
    unused = (
        "select search_key, body_key from body where body_key = ?1 and not exists "
        "(select 1 from message where body = ?1) and not exists (select 1 from revision where body = ?1)"
    )
    gone = sorted(row for body in bodies for row in connection.execute(unused, (body,)))
    is_indexed = False
    for search_key, body in gone:
        query = "select cast(content as blob) from body where body_key = ?"
        words = searchable(orjson.loads(connection.execute(query, (body,)).fetchone()[0]))
        if any(words):
            # The index keeps no text: it is told the words it was given, to take exactly these out again.
            remove = "insert into search (search, rowid, text, thinking, tool) values ('delete', ?, ?, ?, ?)"
            connection.execute(remove, (search_key, *words))
            is_indexed = True
        connection.execute("delete from body where body_key = ?", (body,))
    if is_indexed:
        # What is taken out is only marked so until the parts of the index are merged.
        connection.execute("insert into search (search) values ('optimize')")


def overwrite(connection: sqlite3.Connection) -> bool:
    """Write the file anew, since pages that were freed or split earlier may still hold old text.

    Outside of any transaction. False when somebody who reads the archive right now keeps the log of changes from being
    emptied; that happens when the last of them leaves.
    """
    connection.execute("vacuum")
    is_busy, _, _ = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
    return not is_busy


def tombstones(connection: sqlite3.Connection) -> list[Tombstone]:
    """What was forgotten, the latest first."""
    query = "select platform, conversation_id, forgotten_at, reason from tombstone order by 3 desc, 1, 2"
    return [Tombstone(*row) for row in connection.execute(query)]


def undo(connection: sqlite3.Connection, word: str) -> Undone:
    """Let a conversation come in again: its sources are no longer taken for read."""
    found = _buried(connection, word)
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
    return Undone(found, [label for _, label in sources])


def _buried(connection: sqlite3.Connection, word: str) -> Tombstone:
    everything = [(stone, f"{stone.platform}:{stone.conversation_id}") for stone in tombstones(connection)]
    found = [stone for stone, name in everything if word in {stone.conversation_id, name}]
    if not found and word:
        has_platform = ":" in word
        found = [
            stone
            for stone, name in everything
            if stone.conversation_id.startswith(word) or (has_platform and name.startswith(word))
        ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ArchiveError(f"no forgotten conversation is called {word!r}: `palaver forget --list` shows them")
    names = ", ".join(f"{stone.platform}:{stone.conversation_id}" for stone in found[:_SHOWN])
    raise ArchiveError(f"{word!r} may mean several forgotten conversations ({names}): say more of it")
