"""Writing into the archive: each call joins what it is given with what is there, in one transaction.

What is new is the rule and goes in by the thousand; only what was there before is looked at one by one.
"""

import sqlite3
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from palaver.archive import hashes, merge
from palaver.archive.calls import COUNTS, Figures, join_call
from palaver.archive.rows import BODY_BITS, BodyRow, ConversationRows, MessageRow
from palaver.archive.versions import join_version
from palaver.archive.withheld import withhold
from palaver.model.build import JsonObject

_ADD_BODY = "insert into body values (?, ?, ?, ?, cast(? as text))"
_ADD_WORDS = (
    "insert into search (rowid, text, thinking, tool) values (?, cast(? as text), cast(? as text), cast(? as text))"
)
_REMOVE_WORDS = (
    "insert into search (search, rowid, text, thinking, tool) "
    "values ('delete', ?, cast(? as text), cast(? as text), cast(? as text))"
)
_ADD_TOOL = "insert into tool_call (body, tool, calls) values (?, ?, ?)"
_ADD_MESSAGE = (
    "insert into message (conversation, message_id, position, parent_message_id, role, author_kind, timestamp, model, "
    "api_message_id, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, "
    "thinking_tokens, tokens, body, version, rest) "
    "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, cast(? as text), ?, ?, cast(? as text)) "
    "on conflict do nothing"
)
_STORED = (
    "select message_key, version, position, exists (select 1 from answer_usage where message = message_key), "  # noqa: S608
    f"api_message_id, cast(tokens as blob), {COUNTS} from message where conversation = ? and message_id = ?"
)
_SET_FIGURES = (
    "update message set tokens = cast(? as text), input_tokens = ?, output_tokens = ?, cache_read_tokens = ?, "
    "cache_write_tokens = ?, cache_write_1h_tokens = ?, thinking_tokens = ? where message_key = ?"
)
_ADD_SUMMARY = (
    "insert into summary values (?, ?, ?, ?, cast(? as text)) on conflict do update set "
    "position = max(position, excluded.position), timestamp = max(timestamp, excluded.timestamp), summary = "
    "iif((excluded.timestamp, length(excluded.summary), excluded.summary) > (timestamp, length(summary), summary), "
    "excluded.summary, summary) where excluded.position > position or "
    "(excluded.timestamp, length(excluded.summary), excluded.summary) > (timestamp, length(summary), summary)"
)


class Changes(NamedTuple):
    """What became of the conversations that were handed in, by key."""

    added: set[int]
    updated: set[int]
    unchanged: set[int]
    forgotten: set[tuple[str, str]]


class Ingest:
    """One writer; the caller begins and commits the transaction around its calls."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.changes = Changes(set(), set(), set(), set())

    def add(self, conversations: Sequence[tuple[ConversationRows, int | None]]) -> None:
        """Join conversations, each with the source it comes from, with what is there; the forgotten stay so."""
        kept = [(rows, source) for rows, source in conversations if not self._is_forgotten(rows, source)]
        bodies = self._add_bodies([body for rows, _ in kept for body in rows.bodies])
        for rows, source in kept:
            self._add_conversation(rows, bodies, source)

    def _is_forgotten(self, rows: ConversationRows, source: int | None) -> bool:
        identity = (rows.platform, rows.conversation_id)
        query = "select 1 from tombstone where platform = ? and conversation_id = ?"
        if self._connection.execute(query, identity).fetchone() is None:
            return False
        self.changes.forgotten.add(identity)
        if source is not None:
            withhold(self._connection, *identity, source)
        return True

    # -- bodies -----------------------------------------------------------------------------------------------------

    def _add_bodies(self, rows: list[BodyRow]) -> dict[bytes, int]:
        """The key of each body; those that are new are stored and can be searched from now on."""
        distinct: dict[bytes, BodyRow] = {}
        for row in rows:
            if row.second < distinct.setdefault(row.hash, row).second:
                distinct[row.hash] = row
        known = hashes.known_bodies(self._connection, distinct)
        keys = {body_hash: number for body_hash, (number, _) in known.items()}
        new = [row for row in distinct.values() if row.hash not in keys]
        # The index takes in one run of growing numbers at a time; these grow with the time of what was said.
        new.sort(key=lambda row: row.second)
        first = self._connection.execute("select coalesce(max(body_key), 0) + 1 from body").fetchone()[0]
        numbered = [(number, _search_key(row, number), row) for number, row in enumerate(new, first)]
        many = self._connection.executemany
        many(_ADD_BODY, [(number, row.hash, search, row.is_error, row.content) for number, search, row in numbered])
        hashes.remember(self._connection, [(row.hash, number) for number, _, row in numbered])
        calls = [(number, Counter(row.tools)) for number, _, row in numbered if row.tools]
        many(_ADD_TOOL, [(number, tool, count) for number, counts in calls for tool, count in counts.items()])
        keys.update((row.hash, number) for number, _, row in numbered)
        added = [(search, *row.words) for _, search, row in numbered if any(row.words)]
        earlier = [(*known[row.hash], row) for row in distinct.values() if row.hash in known]
        self._index(added, [one for one in earlier if one[2].second < one[1] >> BODY_BITS])
        return keys

    def _index(self, added: list[tuple[Any, ...]], earlier: list[tuple[int, int, BodyRow]]) -> None:
        """Add words; whatever the order of import, a body is found under the time when it was first said."""
        steps: list[tuple[str, tuple[Any, ...]]] = []
        for number, search, row in earlier:
            moved = _search_key(row, number)
            self._connection.execute("update body set search_key = ? where body_key = ?", (moved, number))
            if any(row.words):
                steps += [(_REMOVE_WORDS, (search, *row.words)), (_ADD_WORDS, (moved, *row.words))]
        done = 0
        for statement, values in sorted(steps, key=lambda step: step[1][0]):
            until = bisect(added, values[0], done, key=itemgetter(0))
            self._connection.executemany(_ADD_WORDS, added[done:until])
            self._connection.execute(statement, values)
            done = until
        self._connection.executemany(_ADD_WORDS, added[done:])

    # -- conversations ----------------------------------------------------------------------------------------------

    def _add_conversation(self, rows: ConversationRows, bodies: dict[bytes, int], source: int | None) -> None:
        found = self._connection.execute(
            "select conversation_key, created_at, updated_at from conversation "
            "where platform = ? and conversation_id = ?",
            (rows.platform, rows.conversation_id),
        ).fetchone()
        state: merge.State = (rows.updated_at or rows.created_at, rows.state_hash, rows.header)
        if found is None:
            key = self._insert_conversation(rows, state)
            is_changed = True
            self.changes.added.add(key)
        else:
            key = found[0]
            is_changed = self._join_header(key, rows, state, found[1], found[2])
        is_changed |= self._add_messages(key, rows.messages, bodies)
        is_changed |= self._add_parts(key, rows)
        if source is not None:
            self._connection.execute("insert or ignore into origin values (?, ?)", (key, source))
        if key not in self.changes.added:
            if is_changed:
                self.changes.updated.add(key)
                self.changes.unchanged.discard(key)
            elif key not in self.changes.updated:
                self.changes.unchanged.add(key)

    def _insert_conversation(self, rows: ConversationRows, state: merge.State) -> int:
        columns = columns_of(orjson.loads(rows.header))
        cursor = self._connection.execute(
            "insert into conversation (platform, conversation_id, created_at, updated_at, title, project, model, "
            "status, is_sidechain, parent_conversation_id, header) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, cast(? as text))",
            (rows.platform, rows.conversation_id, rows.created_at, rows.updated_at, *columns, rows.header),
        )
        key = cursor.lastrowid
        assert key is not None
        self._store_states(key, [state])
        return key

    def _join_header(
        self, key: int, rows: ConversationRows, state: merge.State, created_at: str, updated_at: str | None
    ) -> bool:
        stored = self._connection.execute(
            "select updated_at, state_hash, cast(header as blob) from header_state "
            "where conversation = ? order by 1, 2",
            (key,),
        ).fetchall()
        states = merge.with_state(stored, state)
        created = min(created_at, rows.created_at)
        updated = max(updated_at or "", rows.updated_at or "") or None
        if states is None:
            if (created, updated) == (created_at, updated_at):
                return False
            self._connection.execute(
                "update conversation set created_at = ?, updated_at = ? where conversation_key = ?",
                (created, updated, key),
            )
            return True
        self._connection.execute("delete from header_state where conversation = ?", (key,))
        self._store_states(key, states)
        header = merge.header_of(states)
        self._connection.execute(
            "update conversation set created_at = ?, updated_at = ?, title = ?, project = ?, model = ?, status = ?, "
            "is_sidechain = ?, parent_conversation_id = ?, header = cast(? as text) where conversation_key = ?",
            (created, updated, *columns_of(header), orjson.dumps(header, option=orjson.OPT_SORT_KEYS), key),
        )
        return True

    def _store_states(self, key: int, states: list[merge.State]) -> None:
        self._connection.executemany(
            "insert into header_state (conversation, updated_at, state_hash, header) values (?, ?, ?, cast(? as text))",
            [(key, *state) for state in states],
        )

    def _add_parts(self, key: int, rows: ConversationRows) -> bool:
        is_changed = False
        for tag in rows.tags:
            added = self._connection.execute("insert or ignore into source_tag values (?, ?)", (key, tag))
            is_changed |= added.rowcount > 0
        for summary in rows.summaries:
            # The greatest of two accounts stands, by its time and then by its text.
            added = self._connection.execute(
                _ADD_SUMMARY,
                (key, *summary),
            )
            is_changed |= added.rowcount > 0
        return is_changed

    # -- messages ---------------------------------------------------------------------------------------------------

    def _add_messages(self, key: int, rows: list[MessageRow], bodies: dict[bytes, int]) -> bool:
        before = self._connection.total_changes
        self._connection.executemany(_ADD_MESSAGE, [_bound(key, row, bodies[row.body]) for row in rows])
        added = self._connection.total_changes - before
        return self._join_messages(key, rows, bodies) or added > 0 if added < len(rows) else added > 0

    def _join_messages(self, key: int, rows: list[MessageRow], bodies: dict[bytes, int]) -> bool:
        """Look at those that were there before, or stand twice in what was handed in."""
        is_changed = False
        for row in rows:
            message_key, version, position, is_split, api_id, tokens, *counted = self._connection.execute(
                _STORED, (key, row.message_id)
            ).fetchone()
            own = row.api_message_id
            if version != row.version:
                is_joined, own = join_version(self._connection, key, message_key, row, bodies[row.body])
                is_changed |= is_joined
            counts = tuple(counted)
            if is_split or (row.api_message_id or "") != (api_id or ""):
                before = (api_id, Figures(tokens, counts))
                is_changed |= join_call(self._connection, message_key, before, row, own)
            else:
                joined, greater = merge.joined_text(tokens, row.tokens), merge.greatest(counts, row.counts)
                if joined != tokens or greater != counts:
                    self._connection.execute(_SET_FIGURES, (joined, *greater, message_key))
                    is_changed = True
            if row.position > position:
                move = "update message set position = ? where message_key = ?"
                self._connection.execute(move, (row.position, message_key))
                is_changed = True
        return is_changed


def _search_key(row: BodyRow, number: int) -> int:
    return (row.second << BODY_BITS) | number


def _bound(key: int, row: MessageRow, body: int) -> tuple[Any, ...]:
    message_id, position, parent, role, author, timestamp, model, api_id, counts, tokens, _, version, rest = row
    return (
        key,
        message_id,
        position,
        parent,
        role,
        author,
        timestamp,
        model,
        api_id,
        *counts,
        tokens,
        body,
        version,
        rest,
    )


def columns_of(header: JsonObject) -> tuple[Any, ...]:
    """What of a header can be asked for in SQL: title, project, model, status, is_sidechain, parent."""
    session = header.get("session") or {}
    is_recovered = "recovered_from" in (header["platform"].get("metadata") or {})
    workspace = (header.get("context") or {}).get("workspace") or {}
    return (
        header.get("title"),
        workspace.get("path"),
        header["platform"].get("model"),
        header.get("status"),
        # What was recovered of a session stands behind it as its agents do, where the session itself is there.
        bool(session.get("is_sidechain")) or (is_recovered and "parent_conversation_id" in session),
        session.get("parent_conversation_id"),
    )
