"""Everything that the archive knows of a conversation, as documents: joined again, they make the same conversation.

What is exported is the conversation as it is now. Here it comes with all accounts of its header and with the older
versions of its messages, each with what its own call has used, and every message in its own place, so that nothing of
it is lost on the way to another archive, whatever that one knows already.
"""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from palaver.archive.calls import calls_of
from palaver.archive.merge import State, is_retold, state_key
from palaver.archive.reading import MESSAGE, message_of, rating_of, tags_of
from palaver.model import SCHEMA_VERSION
from palaver.model.build import Document, JsonObject

_REVISIONS = (
    "select m.position, m.message_key, r.message_id, r.version from revision r "
    "join message m on m.conversation = r.conversation and m.message_id = r.message_id "
    "where r.conversation = ? order by m.position, r.message_id, r.version"
)
_REVISION_AT = (
    "select r.message_id, r.parent_message_id, r.role, r.timestamp, cast(b.content as blob), null, "
    "cast(r.rest as blob) from revision r join body b on b.body_key = r.body "
    "where r.conversation = ? and r.message_id = ? and r.version = ?"
)
_MESSAGE_AT = (
    "select m.position, m.api_message_id, exists (select 1 from answer_usage where message = m.message_key), "  # noqa: S608
    f"{MESSAGE} from message m join body b on b.body_key = m.body "
    "where m.message_key = ?"
)
_SUMMARIES = "select position, cast(summary as blob) from summary where conversation = ? order by position, summary_id"
_SUMMARY_BITS = 16
_PART_BYTES = 1 << 21
"""Nobody reads these documents but an archive, to which many small ones are as good as a large one."""


class _Part(NamedTuple):
    """What one document holds, beside its header."""

    start: int
    messages: list[JsonObject]
    summaries: list[JsonObject]
    is_last: bool = False


def states(connection: sqlite3.Connection, key: int) -> Iterator[Document]:
    """One conversation in fragments, or as one document if that can hold all of it; the last one is final."""
    accounts, current = _headers(connection, key)
    sequence = 0
    for header in accounts:
        yield {**header, "messages": [], "fragment": {"sequence": sequence, "final": False, "start": 0}}
        sequence += 1
    for part in _parts(connection, key):
        made: Document = {**current}
        if part.summaries:
            made["summaries"] = part.summaries
        made["messages"] = part.messages
        if sequence or part.start or not part.is_last:
            made["fragment"] = {"sequence": sequence, "final": part.is_last, "start": part.start}
        yield made
        sequence += 1


def _headers(connection: sqlite3.Connection, key: int) -> tuple[list[Document], Document]:
    """Earlier accounts, each at its own time, and the latest one, at the time of the whole conversation."""
    platform, conversation_id, created_at, updated_at = connection.execute(
        "select platform, conversation_id, created_at, updated_at from conversation where conversation_key = ?", (key,)
    ).fetchone()
    query = "select updated_at, state_hash, cast(header as blob) from header_state where conversation = ?"
    stored: list[State] = connection.execute(query, (key,)).fetchall()
    headers = [(at, orjson.loads(header)) for at, _, header in sorted(stored, key=state_key)]
    latest = headers[-1][1]
    if rating := rating_of(connection, platform, conversation_id):
        latest["rating"] = rating

    def document(header: JsonObject, created_at: str, updated_at: str | None) -> Document:
        made: Document = {"schema_version": SCHEMA_VERSION, "conversation_id": conversation_id, **header}
        made["created_at"] = created_at
        if updated_at is not None:
            made["updated_at"] = updated_at
        return made

    current = document(latest, created_at, updated_at)
    if tags := tags_of(connection, key, platform, conversation_id):
        current["tags"] = tags
    # An account has the time of its last change; one that does not know of any, that of its creation.
    accounts = [
        document(header, created_at, at) if updated_at and at <= updated_at else document(header, at, None)
        for at, header in headers
        if header is not latest or at != (updated_at or created_at)
    ]
    return accounts, current


def _parts(connection: sqlite3.Connection, key: int) -> Iterator[_Part]:
    for messages in _older_versions(connection, key):
        yield _Part(0, messages, [])
    first, *others = [*_summaries(connection, key), (0, [])]
    if first[0]:
        others, first = [first, *others], (0, [])
    yield from (_Part(start, [], summaries) for start, summaries in others if summaries)
    summaries = first[1]
    start = size_bytes = 0
    messages: list[JsonObject] = []
    for message_key in _in_chains(connection, key):
        position, api_id, is_split, *row = connection.execute(_MESSAGE_AT, (message_key,)).fetchone()
        if position != start + len(messages) or size_bytes > _PART_BYTES:
            if messages or summaries:
                yield _Part(start, messages, summaries)
            start, messages, summaries, size_bytes = position, [], [], 0
        message = message_of(tuple(row))
        metadata = message.get("metadata") or {}
        if is_split or "known_from" in metadata or metadata.get("api_message_id") != api_id:
            message = message_of((*row[:5], _own_figures(connection, message_key, metadata), row[6]))
        messages.append(message)
        size_bytes += len(row[4]) + len(row[6])
    yield _Part(start, messages, summaries, is_last=True)


def _older_versions(connection: sqlite3.Connection, key: int) -> Iterator[list[JsonObject]]:
    """Older versions of messages, none of them in a later place than the message has, and none twice in one document.

    The place of a message is the last one that any account gives it, so that these do not move it.
    """
    waiting: list[tuple[int, int, str, bytes]] = connection.execute(_REVISIONS, (key,)).fetchall()
    while waiting:
        chosen: list[JsonObject] = []
        names: set[str] = set()
        later: list[tuple[int, int, str, bytes]] = []
        size_bytes = 0
        for position, message_key, name, version in waiting:
            if name in names or len(chosen) > position or size_bytes > _PART_BYTES:
                later.append((position, message_key, name, version))
                continue
            row = connection.execute(_REVISION_AT, (key, name, version)).fetchone()
            names.add(name)
            metadata = orjson.loads(row[6]).get("metadata") or {}
            chosen.append(message_of((*row[:5], _own_figures(connection, message_key, metadata), row[6])))
            size_bytes += len(row[4]) + len(row[6])
        yield chosen
        waiting = later


def _own_figures(connection: sqlite3.Connection, message_key: int, metadata: JsonObject) -> bytes | None:
    """What the call that a version tells of has used; figures of a message are those of one of its calls."""
    if is_retold(metadata):
        return None
    own = metadata.get("api_message_id")
    figures = calls_of(connection, message_key).get(own if isinstance(own, str) else "")
    return figures.tokens if figures else None


def _summaries(connection: sqlite3.Connection, key: int) -> Iterator[tuple[int, list[JsonObject]]]:
    """Summaries by the fragment that they stand in; where places are empty, a summary stands in these as well."""
    open_lists: list[tuple[int, list[JsonObject]]] = []
    for position, summary in connection.execute(_SUMMARIES, (key,)):
        start, index = position >> _SUMMARY_BITS, position & ((1 << _SUMMARY_BITS) - 1)
        for place, listed in open_lists:
            if place == start and len(listed) <= index:
                break
        else:
            listed: list[JsonObject] = []
            open_lists.append((start, listed))
        listed += [orjson.loads(summary)] * (index + 1 - len(listed))
    yield from open_lists


def _in_chains(connection: sqlite3.Connection, key: int) -> Iterator[int]:
    """The keys of the messages, in runs of places without a gap; several messages may be in the same place."""
    chains: list[list[int]] = []
    ends: dict[int, list[list[int]]] = {}
    query = "select position, message_key from message where conversation = ? order by position, timestamp, message_id"
    for position, message_key in connection.execute(query, (key,)):
        fitting = ends.get(position - 1)
        chain = fitting.pop(0) if fitting else []
        if not chain:
            chains.append(chain)
        chain.append(message_key)
        ends.setdefault(position, []).append(chain)
    for chain in chains:
        yield from chain
