"""Conversations out of the archive, as the documents they are; a long one comes in fragments."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from palaver.model import SCHEMA_VERSION
from palaver.model.build import Document
from palaver.model.metrics import MetricsTally

Json = dict[str, Any]

FRAGMENT_BYTES = 1 << 24
_MESSAGES = (
    "select m.message_id, m.parent_message_id, m.role, m.timestamp, cast(b.content as blob), cast(m.tokens as blob), "
    "cast(m.rest as blob) from message m join body b on b.body_key = m.body where m.conversation = ? "
    "order by m.position, m.timestamp, m.message_id"
)


def conversation_keys(connection: sqlite3.Connection) -> Iterator[int]:
    """Every conversation, in an order that does not depend on when it came in."""
    for (key,) in connection.execute("select conversation_key from conversation order by platform, conversation_id"):
        yield key


def documents(connection: sqlite3.Connection, keys: Iterable[int] | None = None) -> Iterator[Document]:
    for key in conversation_keys(connection) if keys is None else keys:
        yield from document(connection, key)


def document(connection: sqlite3.Connection, key: int) -> Iterator[Document]:
    """One conversation, whole or in fragments past a size; metrics are counted anew from the messages."""
    header = _header(connection, key)
    stated = header.pop("metrics", None)
    tally = MetricsTally()
    messages: list[Json] = []
    sequence = start = size_bytes = 0
    for row in connection.execute(_MESSAGES, (key,)):
        if size_bytes > FRAGMENT_BYTES:
            tally.add(messages)
            fragment = {"sequence": sequence, "final": False, "start": start}
            yield {**header, "messages": messages, "fragment": fragment}
            header.pop("summaries", None)
            sequence, start, size_bytes = sequence + 1, start + len(messages), 0
            messages = []
        messages.append(_message(row))
        size_bytes += len(row[4]) + len(row[6])
    tally.add(messages)
    made: Document = {**header, "messages": messages, "metrics": tally.metrics(stated)}
    if sequence:
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


def _message(row: tuple[Any, ...]) -> Json:
    message_id, parent, role, timestamp, content, tokens, rest = row
    message: Json = {"message_id": message_id}
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
    facts: Json = orjson.loads(header)
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
    query = "select score, feedback, rated_at from rating where platform = ? and conversation_id = ?"
    if rating := connection.execute(query, (platform, conversation_id)).fetchone():
        given = zip(("score", "feedback", "rated_at"), rating, strict=True)
        made["rating"] = {name: value for name, value in given if value is not None}
    return made


def tags_of(connection: sqlite3.Connection, key: int, platform: str, conversation_id: str) -> list[str]:
    """The source's tags and those given by hand, without those taken away by hand."""
    tags = {tag for (tag,) in connection.execute("select tag from source_tag where conversation = ?", (key,))}
    query = "select tag, is_removed from tag where platform = ? and conversation_id = ?"
    for tag, is_removed in connection.execute(query, (platform, conversation_id)):
        (tags.discard if is_removed else tags.add)(tag)
    return sorted(tags)
