"""Conversations read from the archive as documents; long ones come as fragments."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from palaver.archive.conversation_tags import conversation_tags
from palaver.model import SCHEMA_VERSION
from palaver.model.build import Document, JsonObject
from palaver.model.metrics import MetricsTally

FRAGMENT_BYTES = 1 << 23
"""Largest conversation that is one document. Reading or writing a document takes about ten times its size in memory."""
MESSAGE_COLUMNS = (
    "m.message_id, m.parent_message_id, m.role, m.timestamp, cast(b.content as blob), cast(m.tokens as blob), "
    "cast(m.rest as blob)"
)
# Sorts keys only, and reads messages in that order: a conversation of a gigabyte is never in memory.
_MESSAGES = (
    f"select {MESSAGE_COLUMNS} from (select message_key from message where conversation = ? "  # noqa: S608 - constants, bound values
    "order by position, timestamp, message_id limit -1) o "
    "cross join message m on m.message_key = o.message_key cross join body b on b.body_key = m.body"
)
_HAS_MISSING_PARENT = (
    "select exists (select 1 from message m where m.conversation = ?1 and m.parent_message_id is not null and "
    "not exists (select 1 from message p where p.conversation = ?1 and p.message_id = m.parent_message_id))"
)


_PROMPTS = (
    "select cast(b.content as blob) from conversation c join message m on m.conversation = c.conversation_key "
    "join body b on b.body_key = m.body where c.platform = ? and c.conversation_id = ? and m.role <> 'assistant' "
    "and m.author_kind is not 'tool'"
)


def prompt_contents(connection: sqlite3.Connection, platform: str, conversation_id: str) -> Iterator[list[JsonObject]]:
    """Yield the content of every message of a conversation that is neither an answer nor the result of a tool."""
    for (content,) in connection.execute(_PROMPTS, (platform, conversation_id)):
        yield orjson.loads(content)


def conversation_keys(connection: sqlite3.Connection) -> Iterator[int]:
    """Yield the keys of all conversations, in an order that does not depend on when they were imported."""
    for (key,) in connection.execute("select conversation_key from conversation order by platform, conversation_id"):
        yield key


def documents(connection: sqlite3.Connection, keys: Iterable[int] | None = None) -> Iterator[Document]:
    """Yield the documents of these conversations, by default of all."""
    for key in conversation_keys(connection) if keys is None else keys:
        yield from conversation_documents(connection, key)


def conversation_documents(connection: sqlite3.Connection, key: int) -> Iterator[Document]:
    """Yield one conversation as a document, or as fragments if it is long; metrics are recounted from the messages.

    A conversation with links to messages that were never imported is a fragment too.
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
        messages.append(message_document(row))
        size_bytes += len(row[4]) + len(row[6])
    tally.add(messages)
    made: Document = {**header, "messages": messages, "metrics": _metrics(tally, stated)}
    if sequence or connection.execute(_HAS_MISSING_PARENT, (key,)).fetchone()[0]:
        made["fragment"] = {"sequence": sequence, "final": True, "start": start}
    yield made


def whole_document(connection: sqlite3.Connection, key: int) -> Document:
    """Return one conversation as a single document, however long it is."""
    first, *others = conversation_documents(connection, key)
    messages = [message for fragment in (first, *others) for message in fragment["messages"]]
    whole: Document = {**first, **(others[-1] if others else {}), "messages": messages}
    if "summaries" in first:
        whole["summaries"] = first["summaries"]
    whole.pop("fragment", None)
    return whole


def _metrics(tally: MetricsTally, stated: JsonObject | None) -> JsonObject:
    """Return the counted totals, with the totals stated by the source where they differ."""
    counted = tally.metrics()
    return tally.metrics({name: value for name, value in (stated or {}).items() if counted.get(name) != value})


def message_document(row: tuple[Any, ...]) -> JsonObject:
    """Build a message from a row of `MESSAGE_COLUMNS`."""
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
    fields: JsonObject = orjson.loads(header)
    if rating := user_rating(connection, platform, conversation_id):
        fields = dict(sorted({**fields, "rating": rating}.items()))
    made: Document = {"schema_version": SCHEMA_VERSION, "conversation_id": conversation_id}
    for name in ("title", "platform", "session", "context"):
        if name in fields:
            made[name] = fields.pop(name)
    made["created_at"] = created_at
    if updated_at is not None:
        made["updated_at"] = updated_at
    made.update(fields)
    query = "select cast(summary as blob) from summary where conversation = ? order by position, timestamp, summary_id"
    if summaries := [orjson.loads(summary) for (summary,) in connection.execute(query, (key,))]:
        made["summaries"] = summaries
    if tags := conversation_tags(connection, key, platform, conversation_id):
        made["tags"] = tags
    return made


def user_rating(connection: sqlite3.Connection, platform: str, conversation_id: str) -> JsonObject | None:
    """Return the user's own rating, which takes precedence over that of a source, or None."""
    query = "select feedback, rated_at, score from rating where platform = ? and conversation_id = ?"
    for found in connection.execute(query, (platform, conversation_id)):
        values = zip(("feedback", "rated_at", "score"), found, strict=True)
        return {name: value for name, value in values if value is not None}
    return None
