"""Replacing what sources contributed to the archive, once a higher revision of their importer has read them again.

Importing is a join, so what an earlier revision misread would stay beside what the next one reads. A replacement takes
place in one transaction: the conversations that the sources fed are set aside, what the sources yield now is stored in
their place, and of what was set aside only that is kept which the sources no longer hold.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from palaver.archive import join
from palaver.archive.conversation_totals import COUNT_COLUMNS
from palaver.archive.deletion import remove_bodies
from palaver.archive.ingest import Ingest
from palaver.archive.known_files import RELEASED, KnownSource
from palaver.archive.rows import ConversationRows

Identity = tuple[str, str]
"""Platform and id of a conversation."""

_SET_ASIDE = "replaced "
"""Stands before the platform of a conversation that is set aside: no platform has a space in its name."""


def related_sources(connection: sqlite3.Connection, sources: Iterable[int]) -> set[int]:
    """Return the sources that tell of the same conversations or usage records as these, and these themselves."""
    keys = orjson.dumps(list(sources)).decode()
    found: set[int] = set()
    for table, column in _ORIGINS:
        query = (
            f"select distinct other.source from {table} own join {table} other on other.{column} = own.{column} "  # noqa: S608 - constants, bound values
            "where own.source in (select value from json_each(?))"
        )
        found.update(source for (source,) in connection.execute(query, (keys,)))
    return found


def shared_sources(connection: sqlite3.Connection, sources: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Yield pairs of sources that tell of the same conversation or usage record; chains of pairs join all of them."""
    keys = orjson.dumps(list(sources)).decode()
    for table, column in _ORIGINS:
        query = (
            f"select {column}, source from {table} where source in (select value from json_each(?)) order by {column}"  # noqa: S608 - constants, bound values
        )
        last = (None, 0)
        for row in connection.execute(query, (keys,)):
            if row[0] == last[0]:
                yield last[1], row[1]
            last = row


_ORIGINS = (("origin", "conversation"), ("usage_origin", "usage_record"))


def feeding_sources(connection: sqlite3.Connection, identity: Identity) -> list[int]:
    """Return the sources of a conversation; none if it is not stored."""
    query = (
        "select source from origin join conversation on conversation_key = conversation "
        "where platform = ? and conversation_id = ?"
    )
    return [source for (source,) in connection.execute(query, identity)]


def is_as_planned(connection: sqlite3.Connection, source: KnownSource) -> bool:
    """Return whether no other process has read a source since it was planned."""
    query = "select imported_at from source where source_key = ?"
    return connection.execute(query, (source.key,)).fetchone() == (source.imported_at,)


def first_imported_at(connection: sqlite3.Connection, source: int) -> str:
    """Return when reading a source began for the first time."""
    return connection.execute("select first_imported_at from source where source_key = ?", (source,)).fetchone()[0]


def holds_last_reading_only(connection: sqlite3.Connection, source: int) -> bool:
    """Return whether the archive holds no more of a source than its last reading gave.

    Otherwise something came from an earlier state of the source: it must not go because the source went on without it.
    """
    (is_so,) = connection.execute(
        "select (select count(*) from origin where source = ?1) + (select count(*) from withheld where source = ?1) "
        "<= conversations and (select count(*) from origin o join message m on m.conversation = o.conversation "
        "where o.source = ?1 and not exists (select 1 from origin x where x.conversation = o.conversation "
        "and x.source <> ?1)) <= messages from source where source_key = ?1",
        (source,),
    ).fetchone()
    return bool(is_so)


class _SetAside(NamedTuple):
    key: int
    identity: Identity
    is_replaced_whole: bool
    """Whether nothing of it is kept; otherwise, what the new reading does not cover is."""
    digest: bytes


class Replacement:
    """A replacement of what sources contributed, in a transaction of the caller.

    Call `withdraw` for each group of sources that share conversations, store what they yield, then call `settle`.
    """

    def __init__(self, connection: sqlite3.Connection, ingest: Ingest) -> None:
        self._connection = connection
        self._ingest = ingest
        self._set_aside: list[_SetAside] = []
        connection.execute("create temp table if not exists replaced_body (body integer primary key)")
        connection.execute("create temp table if not exists withdrawn (source integer primary key)")
        connection.execute("delete from replaced_body")

    def withdraw(self, sources: Collection[int], whole: Collection[int], yields: Callable[[Identity], bool]) -> int:
        """Set aside what a group of sources contributed, and return the number of conversations that left.

        `whole` names those of the sources that still hold everything they held; only what all of its sources hold
        whole can leave. `yields` says whether the sources yield a conversation now.
        """
        self._connection.execute("delete from withdrawn")
        self._connection.executemany("insert into withdrawn values (?)", [(source,) for source in whole])
        removed = 0
        keys = orjson.dumps(list(sources)).decode()
        found = self._connection.execute(
            "select conversation_key, platform, conversation_id, not exists (select 1 from origin o where "
            "o.conversation = conversation_key and o.source not in (select source from withdrawn)) from conversation "
            "where conversation_key in (select conversation from origin where source in "
            "(select value from json_each(?)))",
            (keys,),
        ).fetchall()
        for key, platform, conversation_id, is_whole in found:
            identity = platform, conversation_id
            if yields(identity):
                self._hide(_SetAside(key, identity, bool(is_whole), _digest(self._connection, key)))
            elif is_whole and not has_marks(self._connection, identity):
                self._delete(key)
                self._ingest.changes.removed.add(identity)
                removed += 1
        self._connection.execute(
            "delete from usage_record where usage_key in (select usage_record from usage_origin where source in "
            "(select source from withdrawn)) and not exists (select 1 from usage_origin where usage_record = usage_key "
            "and source not in (select source from withdrawn))"
        )
        return removed

    def settle(self) -> None:
        """Keep what was set aside and is still needed, and delete the rest."""
        changes = self._ingest.changes
        for old in self._set_aside:
            query = "select conversation_key from conversation where platform = ? and conversation_id = ?"
            found = self._connection.execute(query, old.identity).fetchone()
            if found is None:  # every document of it was refused
                restore = "update conversation set platform = ? where conversation_key = ?"
                self._connection.execute(restore, (old.identity[0], old.key))
                continue
            if not old.is_replaced_whole:
                self._keep_uncovered(old, found[0])
            self._delete(old.key)
            for keys in (changes.added, changes.updated, changes.unchanged):
                keys.discard(found[0])
            is_changed = _digest(self._connection, found[0]) != old.digest
            (changes.updated if is_changed else changes.unchanged).add(found[0])
        self._set_aside.clear()
        self._remove_unused_bodies()

    def _hide(self, old: _SetAside) -> None:
        rename = "update conversation set platform = ? || platform where conversation_key = ?"
        self._connection.execute(rename, (_SET_ASIDE, old.key))
        self._set_aside.append(old)

    def _delete(self, key: int) -> None:
        used = (
            "select body from message where conversation = ?1 union select body from revision where conversation = ?1"
        )
        self._connection.execute(f"insert or ignore into replaced_body {used}", (key,))
        self._connection.execute("delete from conversation where conversation_key = ?", (key,))

    def _remove_unused_bodies(self) -> None:
        remove_bodies(
            self._connection, (body for (body,) in self._connection.execute("select body from replaced_body"))
        )
        self._connection.execute("delete from replaced_body")

    def _keep_uncovered(self, old: _SetAside, new: int) -> None:
        """Add to a conversation what was set aside and its new reading lacks: it may come from a source that is gone.

        Of a message that was read anew, the old version is kept only where it shows more: it was revised later, is
        known at first hand, or has more blocks.
        """
        query = "select message_key, message_id from message where conversation = ?"
        for message, message_id in self._connection.execute(query, (old.key,)).fetchall():
            found = self._connection.execute(f"{query} and message_id = ?", (new, message_id)).fetchone()
            if found is None:
                self._connection.execute("update message set conversation = ? where message_key = ?", (new, message))
            elif _evidence(self._connection, message) > _evidence(self._connection, found[0]):
                self._exchange(new, message, found[0])
            else:
                self._connection.execute(_KEEP_USAGE, (message, found[0]))
        for table in ("revision", "summary", "source_tag", "origin"):
            move = f"update or ignore {table} set conversation = ? where conversation = ?"  # noqa: S608 - constants, bound values
            self._connection.execute(move, (new, old.key))
        self._connection.execute(
            "delete from revision where conversation = ?1 and exists (select 1 from message m where "
            "m.conversation = ?1 and m.message_id = revision.message_id and m.version = revision.version)",
            (new,),
        )
        self._keep_header(old, new)

    def _exchange(self, conversation: int, old: int, new: int) -> None:
        """Make the old version of a message current again, at its new position; the new one becomes a revision."""
        self._connection.execute(
            "insert or ignore into revision select conversation, message_id, version, parent_message_id, role, "
            "timestamp, body, rest from message where message_key = ?",
            (new,),
        )
        (position,) = self._connection.execute("select position from message where message_key = ?", (new,)).fetchone()
        self._connection.execute("delete from message where message_key = ?", (new,))
        move = "update message set conversation = ?, position = ? where message_key = ?"
        self._connection.execute(move, (conversation, position, old))

    def _keep_header(self, old: _SetAside, new: int) -> None:
        """Join the header states of other times; one of the same time is what the source was misread as."""
        times = "select created_at, updated_at from conversation where conversation_key = ?"
        created_at, updated_at = self._connection.execute(times, (old.key,)).fetchone()
        states = self._connection.execute(
            "select updated_at, state_hash, cast(header as blob) from header_state where conversation = ?1 and "
            "updated_at not in (select updated_at from header_state where conversation = ?2) order by 1, 2",
            (old.key, new),
        ).fetchall()
        for changed_at, state_hash, header in states:
            rows = ConversationRows(*old.identity, created_at, changed_at, header, state_hash, [], [], [], [])
            self._ingest.add([(rows, None)])
        self._connection.execute(
            "update conversation set created_at = min(created_at, ?), updated_at = "
            "nullif(max(coalesce(updated_at, ''), coalesce(?, '')), '') where conversation_key = ?",
            (created_at, updated_at, new),
        )


_USAGE = f"(tokens, {COUNT_COLUMNS})"
_KEEP_USAGE = (
    f"update message set {_USAGE} = (select {_USAGE[1:-1]} from message where message_key = ?) "  # noqa: S608 - constants, bound values
    "where message_key = ? and tokens is null"
)


def _evidence(connection: sqlite3.Connection, message: int) -> tuple[Any, ...]:
    """Return how much the current version of a message shows, without regard to how it was read."""
    blocks, rest, timestamp, version = connection.execute(
        "select json_array_length(content), cast(rest as blob), timestamp, version from message "
        "join body on body_key = body where message_key = ?",
        (message,),
    ).fetchone()
    return join.version_key(blocks, orjson.loads(rest), timestamp, version)[:3]


def _digest(connection: sqlite3.Connection, key: int) -> bytes:
    """Return a hash of what readers see of a conversation."""
    digest = hashlib.blake2b(digest_size=16)
    for query in (
        "select created_at, updated_at, header from conversation where conversation_key = ?",
        "select message_id, position, hex(version), tokens from message where conversation = ? order by message_id",
        "select summary from summary where conversation = ? order by summary_id",
        "select tag from source_tag where conversation = ? order by tag",
    ):
        for row in connection.execute(query, (key,)):
            digest.update(repr(row).encode())
    return digest.digest()


def has_marks(connection: sqlite3.Connection, identity: Identity) -> bool:
    """Return whether somebody tagged or rated a conversation."""
    (is_marked,) = connection.execute(
        "select exists (select 1 from tag where platform = ?1 and conversation_id = ?2 and not is_removed) "
        "or exists (select 1 from rating where platform = ?1 and conversation_id = ?2)",
        identity,
    ).fetchone()
    return bool(is_marked)


def carry_marks(
    connection: sqlite3.Connection,
    source: int,
    whole: set[int],
    successors: Callable[[Identity, bool], Sequence[Identity]],
) -> None:
    """Give the tags, ratings and tombstones of a source's conversations to those that take their place.

    `successors` returns these for a conversation, given whether it was the only one of the source. `whole` names the
    sources that still hold everything they held: what another source holds stays, and its tags and ratings with it.
    """
    contributed = connection.execute(
        "select platform, conversation_id from origin join conversation on conversation_key = conversation "
        "where source = ?1 union select platform, conversation_id from withheld where source = ?1",
        (source,),
    ).fetchall()
    for identity in contributed:
        found = successors(identity, len(contributed) == 1)
        for new in found:
            connection.execute(
                "insert or ignore into tombstone select ?, ?, forgotten_at, reason from tombstone "
                "where platform = ? and conversation_id = ?",
                (*new, *identity),
            )
        if len(found) == 1 and whole.issuperset(feeding_sources(connection, identity)):
            for table in ("tag", "rating"):
                where = "where platform = ? and conversation_id = ?"
                move = f"update or ignore {table} set platform = ?, conversation_id = ? {where}"  # noqa: S608 - constants, bound values
                connection.execute(move, (*found[0], *identity))
                connection.execute(f"delete from {table} {where}", identity)  # noqa: S608 - constants, bound values


def release_source(connection: sqlite3.Connection, source: int) -> None:
    """Forget what was known about a source that its importer no longer claims, except what people said about it."""
    query = (
        "select exists (select 1 from origin where source = ?1) or exists (select 1 from withheld where source = ?1)"
    )
    (is_needed,) = connection.execute(query, (source,)).fetchone()
    if not is_needed:
        connection.execute("delete from source where source_key = ?", (source,))
        return
    connection.execute("update source set revision = ? where source_key = ?", (RELEASED, source))
    for table in ("source_file", "cursor", "ledger", "finding", "quarantine"):
        connection.execute(f"delete from {table} where source = ?", (source,))  # noqa: S608 - constants, bound values
