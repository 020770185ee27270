"""Writing conversations into the archive, joined with what is stored already.

Most rows are new and are inserted in bulk; only messages that are stored already are joined one by one. Of several
versions of a message, the greatest becomes the message and the others become revisions. A version known only from a
later request adds nothing to a greater one with the same body, and is dropped.
"""

import sqlite3
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from palaver.archive import body_store, join
from palaver.archive.body_store import BODY_BITS
from palaver.archive.call_usage import CallUsage, join_call_usage
from palaver.archive.conversation_totals import COUNT_COLUMNS
from palaver.archive.join import is_redundant, version_key
from palaver.archive.rows import BodyRow, ConversationRows, MessageRow
from palaver.archive.source_records import suppress_source
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
    "thinking_tokens, tokens, body, version, rest, request_id, sent_at, sent_request) "
    "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, cast(? as text), ?, ?, cast(? as text), ?, ?, ?) "
    "on conflict do nothing"
)
_STORED_MESSAGE = (
    "select message_key, version, position, exists (select 1 from answer_usage where message = message_key), "  # noqa: S608 - constants, bound values
    f"api_message_id, cast(tokens as blob), {COUNT_COLUMNS} from message where conversation = ? and message_id = ?"
)
_SET_USAGE = (
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
    """Keys of the conversations that were added, updated and unchanged; identities of forgotten and removed ones."""

    added: set[int]
    updated: set[int]
    unchanged: set[int]
    forgotten: set[tuple[str, str]]
    removed: set[tuple[str, str]]
    """Conversations that their source no longer yields, since a later revision of its importer read it."""


def no_changes() -> Changes:
    return Changes(set(), set(), set(), set(), set())


class Ingest:
    """Writer of conversations; the caller begins and commits the transactions."""

    def __init__(self, connection: sqlite3.Connection, changes: Changes | None = None) -> None:
        self._connection = connection
        self.changes = no_changes() if changes is None else changes

    def add(self, conversations: Sequence[tuple[ConversationRows, int | None]]) -> None:
        """Store conversations, each with its source, joined with what is stored; forgotten ones are skipped."""
        wanted = [(rows, source) for rows, source in conversations if not self._is_forgotten(rows, source)]
        bodies = self._add_bodies([body for rows, _ in wanted for body in rows.bodies])
        for rows, source in wanted:
            self._add_conversation(rows, bodies, source)

    def _is_forgotten(self, rows: ConversationRows, source: int | None) -> bool:
        identity = (rows.platform, rows.conversation_id)
        query = "select 1 from tombstone where platform = ? and conversation_id = ?"
        if self._connection.execute(query, identity).fetchone() is None:
            return False
        self.changes.forgotten.add(identity)
        if source is not None:
            suppress_source(self._connection, *identity, source)
        return True

    def _add_bodies(self, rows: list[BodyRow]) -> dict[bytes, int]:
        """Store and index the bodies that are new, and return the key of each body by hash."""
        distinct: dict[bytes, BodyRow] = {}
        for row in rows:
            if row.second < distinct.setdefault(row.hash, row).second:
                distinct[row.hash] = row
        known = body_store.known_bodies(self._connection, distinct)
        keys = {body_hash: number for body_hash, (number, _) in known.items()}
        new = [row for row in distinct.values() if row.hash not in keys]
        # The index takes keys in ascending order; they ascend with the time of the message.
        new.sort(key=lambda row: row.second)
        first = self._connection.execute("select coalesce(max(body_key), 0) + 1 from body").fetchone()[0]
        numbered = [(number, _search_key(row, number), row) for number, row in enumerate(new, first)]
        many = self._connection.executemany
        many(_ADD_BODY, [(number, row.hash, search, row.is_error, row.content) for number, search, row in numbered])
        body_store.add_hashes(self._connection, [(row.hash, number) for number, _, row in numbered])
        calls = [(number, Counter(row.tools)) for number, _, row in numbered if row.tools]
        many(_ADD_TOOL, [(number, tool, count) for number, counts in calls for tool, count in counts.items()])
        keys.update((row.hash, number) for number, _, row in numbered)
        added = [(search, *row.words) for _, search, row in numbered if any(row.words)]
        earlier = [(*known[row.hash], row) for row in distinct.values() if row.hash in known]
        self._index_words(added, [entry for entry in earlier if entry[2].second < entry[1] >> BODY_BITS])
        return keys

    def _index_words(self, added: list[tuple[Any, ...]], earlier: list[tuple[int, int, BodyRow]]) -> None:
        """Index new bodies, and move stored ones to an earlier key.

        Whatever the order of import, a body is indexed under the time when it was first written.
        """
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

    def _add_conversation(self, rows: ConversationRows, bodies: dict[bytes, int], source: int | None) -> None:
        found = self._connection.execute(
            "select conversation_key, created_at, updated_at from conversation "
            "where platform = ? and conversation_id = ?",
            (rows.platform, rows.conversation_id),
        ).fetchone()
        state: join.State = (rows.updated_at or rows.created_at, rows.state_hash, rows.header)
        if found is None:
            key = self._insert_conversation(rows, state)
            is_changed = True
            self.changes.added.add(key)
        else:
            key = found[0]
            is_changed = self._join_header(key, rows, state, found[1], found[2])
        is_changed |= self._add_messages(key, rows.messages, bodies)
        is_changed |= self._add_tags_and_summaries(key, rows)
        if source is not None:
            self._connection.execute("insert or ignore into origin values (?, ?)", (key, source))
        if key not in self.changes.added:
            if is_changed:
                self.changes.updated.add(key)
                self.changes.unchanged.discard(key)
            elif key not in self.changes.updated:
                self.changes.unchanged.add(key)

    def _insert_conversation(self, rows: ConversationRows, state: join.State) -> int:
        columns = header_columns(orjson.loads(rows.header))
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
        self, key: int, rows: ConversationRows, state: join.State, created_at: str, updated_at: str | None
    ) -> bool:
        stored = self._connection.execute(
            "select updated_at, state_hash, cast(header as blob) from header_state "
            "where conversation = ? order by 1, 2",
            (key,),
        ).fetchall()
        states = join.add_state(stored, state)
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
        header = join.joined_header(states)
        self._connection.execute(
            "update conversation set created_at = ?, updated_at = ?, title = ?, project = ?, model = ?, status = ?, "
            "is_sidechain = ?, parent_conversation_id = ?, header = cast(? as text) where conversation_key = ?",
            (created, updated, *header_columns(header), orjson.dumps(header, option=orjson.OPT_SORT_KEYS), key),
        )
        return True

    def _store_states(self, key: int, states: list[join.State]) -> None:
        self._connection.executemany(
            "insert into header_state (conversation, updated_at, state_hash, header) values (?, ?, ?, cast(? as text))",
            [(key, *state) for state in states],
        )

    def _add_tags_and_summaries(self, key: int, rows: ConversationRows) -> bool:
        is_changed = False
        for tag in rows.tags:
            added = self._connection.execute("insert or ignore into source_tag values (?, ?)", (key, tag))
            is_changed |= added.rowcount > 0
        for summary in rows.summaries:
            # The greater version wins, by time and then by text.
            added = self._connection.execute(
                _ADD_SUMMARY,
                (key, *summary),
            )
            is_changed |= added.rowcount > 0
        return is_changed

    def _add_messages(self, key: int, rows: list[MessageRow], bodies: dict[bytes, int]) -> bool:
        before = self._connection.total_changes
        self._connection.executemany(_ADD_MESSAGE, [_message_values(key, row, bodies[row.body]) for row in rows])
        added = self._connection.total_changes - before
        return self._join_messages(key, rows, bodies) or added > 0 if added < len(rows) else added > 0

    def _join_messages(self, key: int, rows: list[MessageRow], bodies: dict[bytes, int]) -> bool:
        """Join messages that were stored before, or occur twice in these rows; return whether anything changed."""
        is_changed = False
        for row in rows:
            message_key, version, position, is_split, api_id, tokens, *counted = self._connection.execute(
                _STORED_MESSAGE, (key, row.message_id)
            ).fetchone()
            own = row.api_message_id
            if version != row.version:
                is_joined, own = join_version(self._connection, key, message_key, row, bodies[row.body])
                is_changed |= is_joined
            counts = tuple(counted)
            if is_split or (row.api_message_id or "") != (api_id or ""):
                before = (api_id, CallUsage(tokens, counts))
                is_changed |= join_call_usage(self._connection, message_key, before, row, own)
            else:
                joined, greater = join.join_encoded_tokens(tokens, row.tokens), join.join_counts(counts, row.counts)
                if joined != tokens or greater != counts:
                    self._connection.execute(_SET_USAGE, (joined, *greater, message_key))
                    is_changed = True
            if row.position > position:
                move = "update message set position = ? where message_key = ?"
                self._connection.execute(move, (row.position, message_key))
                is_changed = True
        return is_changed


def _search_key(row: BodyRow, number: int) -> int:
    return (row.second << BODY_BITS) | number


def _message_values(key: int, row: MessageRow, body: int) -> tuple[Any, ...]:
    message_id, position, parent, role, author, timestamp, model, api_id, counts, tokens, _, version, rest, *call = row
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
        *call,
    )


def header_columns(header: JsonObject) -> tuple[Any, ...]:
    """Return the header fields that have columns: title, project, model, status, is_sidechain, parent."""
    session = header.get("session") or {}
    is_recovered = "recovered_from" in (header["platform"].get("metadata") or {})
    workspace = (header.get("context") or {}).get("workspace") or {}
    return (
        header.get("title"),
        workspace.get("path"),
        header["platform"].get("model"),
        header.get("status"),
        # A part recovered from a session is listed with it like an agent, if the session itself is known.
        bool(session.get("is_sidechain")) or (is_recovered and "parent_conversation_id" in session),
        session.get("parent_conversation_id"),
    )


_ADD_REVISION = "insert or ignore into revision values (?, ?, ?, ?, ?, ?, ?, cast(? as text))"
_CURRENT_VERSION = (
    "select m.message_id, m.version, m.parent_message_id, m.role, m.timestamp, m.body, cast(m.rest as blob), "
    "json_array_length(b.content) from message m join body b on b.body_key = m.body where m.message_key = ?"
)
_SAME_BODY = (
    "select version, timestamp, cast(rest as blob) from revision "
    "where conversation = ? and message_id = ? and body = ? and version <> ?"
)


class JoinedVersion(NamedTuple):
    is_changed: bool
    api_message_id: str | None
    """The call named by the version that is current now."""


def join_version(
    connection: sqlite3.Connection, conversation: int, message: int, row: MessageRow, body: int
) -> JoinedVersion:
    """Join a version with a message whose current version is different."""
    *stored, stored_blocks = connection.execute(_CURRENT_VERSION, (message,)).fetchone()
    (blocks,) = connection.execute("select json_array_length(content) from body where body_key = ?", (body,)).fetchone()
    rest, stored_rest = orjson.loads(row.rest), orjson.loads(stored[6])
    own = version_key(blocks, rest, row.timestamp, row.version)
    same_body = _SameBodyRevisions(connection, conversation, row.message_id, body, blocks)
    if own < version_key(stored_blocks, stored_rest, stored[4], stored[1]):
        is_new = not (is_redundant(rest) and (stored[5] == body or same_body.has_greater(own, row.version)))
        if is_new:
            revision = (row.message_id, row.version, row.parent_message_id, row.role, row.timestamp, body, row.rest)
            is_new = connection.execute(_ADD_REVISION, (conversation, *revision)).rowcount > 0
        if is_new:
            same_body.drop_lesser(own, row.version)
        return JoinedVersion(is_new, _api_id(stored_rest))
    if stored[5] != body or not is_redundant(stored_rest):
        connection.execute(_ADD_REVISION, (conversation, *stored))
    connection.execute(
        "delete from revision where conversation = ? and message_id = ? and version = ?",
        (conversation, row.message_id, row.version),
    )
    same_body.drop_lesser(own, row.version)
    connection.execute(
        "update message set parent_message_id = ?, role = ?, author_kind = ?, timestamp = ?, model = ?, "
        "api_message_id = ?, body = ?, version = ?, rest = cast(? as text), request_id = ?, sent_at = ?, "
        "sent_request = ? where message_key = ?",
        (
            *(row.parent_message_id, row.role, row.author_kind, row.timestamp, row.model),
            *(row.api_message_id, body, row.version, row.rest, row.request_id, row.sent_at, row.sent_request, message),
        ),
    )
    return JoinedVersion(is_changed=True, api_message_id=row.api_message_id)


class _SameBodyRevisions:
    """The other revisions of a message with a given body."""

    def __init__(self, connection: sqlite3.Connection, conversation: int, name: str, body: int, blocks: int) -> None:
        self._connection = connection
        self._message = (conversation, name)
        self._body = body
        self._blocks = blocks

    def has_greater(self, key: tuple[Any, ...], version: bytes) -> bool:
        return any(self._key(row) > key for row in self._rows(version))

    def drop_lesser(self, key: tuple[Any, ...], version: bytes) -> None:
        for row in self._rows(version):
            if self._key(row) < key and is_redundant(orjson.loads(row[2])):
                self._connection.execute(
                    "delete from revision where conversation = ? and message_id = ? and version = ?",
                    (*self._message, row[0]),
                )

    def _rows(self, version: bytes) -> list[tuple[bytes, str, bytes]]:
        return self._connection.execute(_SAME_BODY, (*self._message, self._body, version)).fetchall()

    def _key(self, row: tuple[bytes, str, bytes]) -> tuple[Any, ...]:
        version, timestamp, rest = row
        return version_key(self._blocks, orjson.loads(rest), timestamp, version)


def _api_id(rest: dict[str, Any]) -> str | None:
    found = (rest.get("metadata") or {}).get("api_message_id")
    return found if isinstance(found, str) else None
