"""Conversations out of the archive, as the documents they are; a long one comes in fragments."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from palaver.model import SCHEMA_VERSION
from palaver.model.build import Document, JsonObject
from palaver.model.metrics import MetricsTally

FRAGMENT_BYTES = 1 << 23
"""Up to here a conversation is one document: whoever reads or writes it needs about ten times that much memory."""
MESSAGE = (
    "m.message_id, m.parent_message_id, m.role, m.timestamp, cast(b.content as blob), cast(m.tokens as blob), "
    "cast(m.rest as blob)"
)
# Only keys are sorted, and the rest is looked up in their order: a conversation of a gigabyte is never in memory.
_MESSAGES = (
    f"select {MESSAGE} from (select message_key from message where conversation = ? "  # noqa: S608 - our own words
    "order by position, timestamp, message_id limit -1) o "
    "cross join message m on m.message_key = o.message_key cross join body b on b.body_key = m.body"
)
_IS_PART = (
    "select exists (select 1 from message m where m.conversation = ?1 and m.parent_message_id is not null and "
    "not exists (select 1 from message p where p.conversation = ?1 and p.message_id = m.parent_message_id))"
)


def conversation_keys(connection: sqlite3.Connection) -> Iterator[int]:
    """Every conversation, in an order that does not depend on when it came in."""
    for (key,) in connection.execute("select conversation_key from conversation order by platform, conversation_id"):
        yield key


def documents(connection: sqlite3.Connection, keys: Iterable[int] | None = None) -> Iterator[Document]:
    for key in conversation_keys(connection) if keys is None else keys:
        yield from document(connection, key)


def document(connection: sqlite3.Connection, key: int) -> Iterator[Document]:
    """One conversation, whole or in fragments past a size; metrics are counted anew from the messages.

    One of which the archive has only a part, with links to messages that never arrived, is a fragment as well.
    """
    header = _header(connection, key)
    stated = header.pop("metrics", None)
    tally = MetricsTally()
    messages: list[JsonObject] = []
    sequence = start = size_bytes = 0
    for row in connection.execute(_MESSAGES, (key,)):
        if size_bytes > FRAGMENT_BYTES:
            tally.add(messages)
            fragment = {"sequence": sequence, "final": False, "start": start}
            yield {**header, "messages": messages, "fragment": fragment}
            header.pop("summaries", None)
            sequence, start, size_bytes = sequence + 1, start + len(messages), 0
            messages = []
        messages.append(message_of(row))
        size_bytes += len(row[4]) + len(row[6])
    tally.add(messages)
    made: Document = {**header, "messages": messages, "metrics": _metrics(tally, stated)}
    if sequence or connection.execute(_IS_PART, (key,)).fetchone()[0]:
        made["fragment"] = {"sequence": sequence, "final": True, "start": start}
    yield made


def whole_document(connection: sqlite3.Connection, key: int) -> Document:
    """One conversation in one piece, however long it is."""
    first, *others = document(connection, key)
    messages = [message for fragment in (first, *others) for message in fragment["messages"]]
    whole: Document = {**first, **(others[-1] if others else {}), "messages": messages}
    if "summaries" in first:
        whole["summaries"] = first["summaries"]
    whole.pop("fragment", None)
    return whole


def _metrics(tally: MetricsTally, stated: JsonObject | None) -> JsonObject:
    """The totals; of those that the source stated, the ones that say something else."""
    counted = tally.metrics()
    return tally.metrics({name: value for name, value in (stated or {}).items() if counted.get(name) != value})


def message_of(row: tuple[Any, ...]) -> JsonObject:
    """A message from its columns, those of `MESSAGE`."""
    message_id, parent, role, timestamp, content, tokens, rest = row
    message: JsonObject = {"message_id": message_id}
    if parent is not None:
        message["parent_message_id"] = parent
    message["role"] = role
    message["timestamp"] = timestamp
    message["content"] = orjson.loads(content)
    if tokens is not None:
        message["tokens"] = orjson.loads(tokens)
    message.update(orjson.loads(rest))
    return message


def _header(connection: sqlite3.Connection, key: int) -> Document:
    platform, conversation_id, created_at, updated_at, header = connection.execute(
        "select platform, conversation_id, created_at, updated_at, cast(header as blob) from conversation "
        "where conversation_key = ?",
        (key,),
    ).fetchone()
    facts: JsonObject = orjson.loads(header)
    if rating := rating_of(connection, platform, conversation_id):
        facts = dict(sorted({**facts, "rating": rating}.items()))
    made: Document = {"schema_version": SCHEMA_VERSION, "conversation_id": conversation_id}
    for name in ("title", "platform", "session", "context"):
        if name in facts:
            made[name] = facts.pop(name)
    made["created_at"] = created_at
    if updated_at is not None:
        made["updated_at"] = updated_at
    made.update(facts)
    query = "select cast(summary as blob) from summary where conversation = ? order by position, timestamp, summary_id"
    if summaries := [orjson.loads(summary) for (summary,) in connection.execute(query, (key,))]:
        made["summaries"] = summaries
    if tags := tags_of(connection, key, platform, conversation_id):
        made["tags"] = tags
    return made


def rating_of(connection: sqlite3.Connection, platform: str, conversation_id: str) -> JsonObject | None:
    """The rating given by hand, which stands before that of a source."""
    query = "select feedback, rated_at, score from rating where platform = ? and conversation_id = ?"
    for found in connection.execute(query, (platform, conversation_id)):
        given = zip(("feedback", "rated_at", "score"), found, strict=True)
        return {name: value for name, value in given if value is not None}
    return None


def tags_of_all(connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, list[str]]:
    """The tags of some conversations, by key; those that have none are not in it."""
    marks = ", ".join("?" * len(keys))
    tags: dict[int, set[str]] = {}
    query = f"select conversation, tag from source_tag where conversation in ({marks})"  # noqa: S608 - only marks
    for key, tag in connection.execute(query, keys):
        tags.setdefault(key, set()).add(tag)
    query = (
        "select conversation_key, tag, is_removed from conversation join tag using (platform, conversation_id) "  # noqa: S608
        f"where conversation_key in ({marks})"
    )
    for key, tag, is_removed in connection.execute(query, keys):
        held = tags.setdefault(key, set())
        (held.discard if is_removed else held.add)(tag)
    return {key: sorted(held) for key, held in tags.items()}


def tags_of(connection: sqlite3.Connection, key: int, platform: str, conversation_id: str) -> list[str]:
    """The source's tags and those given by hand, without those taken away by hand."""
    tags = {tag for (tag,) in connection.execute("select tag from source_tag where conversation = ?", (key,))}
    query = "select tag, is_removed from tag where platform = ? and conversation_id = ?"
    for tag, is_removed in connection.execute(query, (platform, conversation_id)):
        (tags.discard if is_removed else tags.add)(tag)
    return sorted(tags)
