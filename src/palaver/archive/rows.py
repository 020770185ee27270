"""From a document to what the archive stores of it; this runs where documents are made, in many processes at once."""

import hashlib
import sys
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import orjson

from palaver.archive.merge import is_retold
from palaver.archive.words import encoded
from palaver.model.build import Document, JsonObject

_APART = frozenset(
    ("schema_version", "conversation_id", "messages", "summaries", "tags", "created_at", "updated_at", "fragment")
)
_IN_COLUMNS = frozenset(("message_id", "parent_message_id", "role", "timestamp", "content", "tokens"))
_RETOLD_IN_COLUMNS = _IN_COLUMNS - {"tokens"}
_SORTED = orjson.OPT_SORT_KEYS
_LARGEST = (1 << 63) - 1

ROW_BYTES = 1 << 11
"""About what the rows of a message take up in memory besides its texts."""
BODY_BITS = 31
_LAST_SECOND = (1 << 32) - 1


class BodyRow(NamedTuple):
    hash: bytes
    second: int
    """When it was first said, as far as this message knows; search answers in this order."""
    is_error: bool
    content: bytes
    words: tuple[bytes, bytes, bytes]
    tools: tuple[str, ...]


class MessageRow(NamedTuple):
    message_id: str
    position: int
    parent_message_id: str | None
    role: str
    author_kind: str | None
    timestamp: str
    model: str | None
    api_message_id: str | None
    counts: tuple[int | None, ...]
    tokens: bytes | None
    body: bytes
    version: bytes
    rest: bytes


class SummaryRow(NamedTuple):
    summary_id: str
    position: int
    timestamp: str
    summary: bytes


class ConversationRows(NamedTuple):
    platform: str
    conversation_id: str
    created_at: str
    updated_at: str | None
    header: bytes
    state_hash: bytes
    messages: list[MessageRow]
    bodies: list[BodyRow]
    summaries: list[SummaryRow]
    tags: list[str]


packed = msgspec.msgpack.Encoder().encode
"""Rows as bytes, for another process."""
unpacked = msgspec.msgpack.Decoder(ConversationRows).decode
"""The rows again."""


def rows_of(document: Document) -> ConversationRows:
    """What a document says, ready to be stored; the same document gives the same rows, wherever it was read."""
    (rows,) = parts_of(document, at_most_bytes=sys.maxsize)
    return rows


def parts_of(document: Document, at_most_bytes: int) -> Iterator[ConversationRows]:
    """The same in parts of a size, for whoever does not want to hold all of it; joined they are one."""
    start = document.get("fragment", _WHOLE).get("start", 0)
    header = orjson.dumps({key: value for key, value in document.items() if key not in _APART}, option=_SORTED)
    summaries = [
        SummaryRow(
            summary["summary_id"], (start << 16) + index, summary["timestamp"], orjson.dumps(summary, option=_SORTED)
        )
        for index, summary in enumerate(document.get("summaries") or ())
    ]
    whole = ConversationRows(
        document["platform"]["name"],
        document["conversation_id"],
        document["created_at"],
        document.get("updated_at"),
        header,
        hashlib.blake2b(header, digest_size=16).digest(),
        [],
        [],
        summaries,
        document.get("tags") or [],
    )
    messages: list[MessageRow] = []
    bodies: list[BodyRow] = []
    size_bytes = 0
    for position, message in enumerate(document["messages"], start):
        if size_bytes > at_most_bytes:
            yield whole._replace(messages=messages, bodies=bodies)
            messages, bodies, size_bytes = [], [], 0
        row, body = message_row(message, position)
        messages.append(row)
        bodies.append(body)
        size_bytes += 2 * len(body.content) + len(row.rest) + ROW_BYTES
    yield whole._replace(messages=messages, bodies=bodies)


_WHOLE: JsonObject = {}


def message_row(message: JsonObject, position: int) -> tuple[MessageRow, BodyRow]:
    content, role, timestamp = message["content"], message["role"], message["timestamp"]
    body = orjson.dumps(content, option=_SORTED)
    body_hash = hashlib.blake2b(body, digest_size=16, person=_PERSONS[role]).digest()
    metadata = message.get("metadata") or _WHOLE
    tokens = message.get("tokens")
    in_columns = _IN_COLUMNS
    if tokens is not None and is_retold(metadata):  # what a later request carries was not used by it
        in_columns, tokens = _RETOLD_IN_COLUMNS, None
    rest = orjson.dumps({key: value for key, value in message.items() if key not in in_columns}, option=_SORTED)
    parent = message.get("parent_message_id")
    version = hashlib.blake2b(
        b"%b%b\n%b\n%b" % (body_hash, f"{parent}".encode(), timestamp.encode(), rest), digest_size=8
    )
    row = MessageRow(
        message["message_id"],
        position,
        parent,
        role,
        metadata.get("author_kind"),
        timestamp,
        _text(metadata.get("model_override")),
        _text(metadata.get("api_message_id")),
        # A message may continue one that left with an earlier fragment: then its own tokens are only what it adds.
        token_counts(metadata.get("answer_tokens") or tokens) if tokens else NO_COUNTS,
        orjson.dumps(tokens, option=_SORTED) if tokens is not None else None,
        body_hash,
        version.digest(),
        rest,
    )
    tools: tuple[str, ...] = ()
    is_error = False
    for block in content:
        kind = block["type"]
        if kind == "tool_use":
            tools += (block["name"],)
        elif kind == "tool_result":
            is_error = is_error or bool(block.get("is_error"))
    return row, BodyRow(body_hash, second_of(timestamp), is_error, body, encoded(content), tools)


_PERSONS = {role: role.encode() for role in ("user", "assistant", "system", "tool", "function")}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


NO_COUNTS: tuple[int | None, ...] = (None,) * 6


def token_counts(tokens: JsonObject) -> tuple[int | None, ...]:
    """The numbers that have columns: input, output, cache read, cache write, of that for an hour, thinking."""
    lifetimes = tokens.get("cache_creation") or _WHOLE
    counts = (
        tokens.get("input_tokens"),
        tokens.get("output_tokens"),
        tokens.get("cache_read_input_tokens"),
        tokens.get("cache_creation_input_tokens"),
        lifetimes.get("ephemeral_1h_input_tokens"),
        tokens.get("thinking_tokens"),
    )
    if any(count is not None and count > _LARGEST for count in counts):
        return tuple(None if count is None else min(count, _LARGEST) for count in counts)
    return counts


def second_of(timestamp: str) -> int:
    """Seconds since 1970, within what a search key can hold."""
    return min(_minute_of(timestamp[:16]) + int(timestamp[17:19]), _LAST_SECOND)


@lru_cache(1 << 12)
def _minute_of(minute: str) -> int:
    return _day_of(minute[:10]) + 3600 * int(minute[11:13]) + 60 * int(minute[14:])


@lru_cache(1 << 12)
def _day_of(day: str) -> int:
    try:
        return max(0, 86_400 * (date.fromisoformat(day).toordinal() - _EPOCH))
    except ValueError:  # the schema does not know the calendar
        return 0


_EPOCH = date(1970, 1, 1).toordinal()
