"""The rows stored for a document, made in the worker processes that read documents."""

import hashlib
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import orjson

from palaver.archive.body_store import epoch_second
from palaver.archive.join import is_secondhand
from palaver.archive.messages import stated_request_id
from palaver.archive.search_text import encoded_index_texts
from palaver.model.build import Document, JsonObject

_STORED_SEPARATELY = frozenset(
    ("schema_version", "conversation_id", "messages", "summaries", "tags", "created_at", "updated_at", "fragment")
)
_IN_COLUMNS = frozenset(("message_id", "parent_message_id", "role", "timestamp", "content", "tokens"))
_SECONDHAND_IN_COLUMNS = _IN_COLUMNS - {"tokens"}
_SORTED = orjson.OPT_SORT_KEYS
_MAX_COUNT = (1 << 63) - 1

ROW_BYTES = 1 << 11
"""Approximate memory taken by the rows of a message besides its texts."""


class BodyRow(NamedTuple):
    hash: bytes
    second: int
    """Time of the message, in seconds since 1970; search returns bodies in order of the earliest one."""
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
    request_id: str | None = None
    """The id of the request, where it is needed: without an id of the answer, or in recorded API traffic."""
    sent_at: str | None = None
    sent_request: str | None = None
    """When the request of a recorded call was sent, and a hash that its repetitions share."""


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


pack_rows = msgspec.msgpack.Encoder().encode
"""Encode rows for another process."""
unpack_rows = msgspec.msgpack.Decoder(ConversationRows).decode
"""Decode rows from another process."""


def conversation_rows(document: Document) -> ConversationRows:
    """Return the rows to store for a document; equal documents give equal rows, wherever they were read."""
    (rows,) = conversation_row_parts(document, max_bytes=sys.maxsize)
    return rows


def conversation_row_parts(document: Document, max_bytes: int) -> Iterator[ConversationRows]:
    """Yield the rows of a document in parts of limited size; joined in the archive, they make one conversation."""
    start = document.get("fragment", _EMPTY).get("start", 0)
    header = orjson.dumps(
        {key: value for key, value in document.items() if key not in _STORED_SEPARATELY}, option=_SORTED
    )
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
        if size_bytes > max_bytes:
            yield whole._replace(messages=messages, bodies=bodies)
            messages, bodies, size_bytes = [], [], 0
        row, body = message_row(message, position)
        messages.append(row)
        bodies.append(body)
        size_bytes += 2 * len(body.content) + len(row.rest) + ROW_BYTES
    yield whole._replace(messages=messages, bodies=bodies)


_EMPTY: JsonObject = {}
_NO_CALL = (None, None, None)


def message_row(message: JsonObject, position: int) -> tuple[MessageRow, BodyRow]:
    content, role, timestamp = message["content"], message["role"], message["timestamp"]
    body = orjson.dumps(content, option=_SORTED)
    body_hash = hashlib.blake2b(body, digest_size=16, person=_PERSONS[role]).digest()
    metadata = message.get("metadata") or _EMPTY
    tokens = message.get("tokens")
    in_columns = _IN_COLUMNS
    if tokens is not None and is_secondhand(metadata):  # usage repeated in a later request belongs to another call
        in_columns, tokens = _SECONDHAND_IN_COLUMNS, None
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
        # If a message continues one from an earlier fragment, its own tokens are only what it adds.
        token_counts(metadata.get("answer_tokens") or tokens) if tokens else NO_COUNTS,
        orjson.dumps(tokens, option=_SORTED) if tokens is not None else None,
        body_hash,
        version.digest(),
        rest,
        *(_call_columns(metadata) if metadata else _NO_CALL),
    )
    tools: tuple[str, ...] = ()
    is_error = False
    for block in content:
        kind = block["type"]
        if kind == "tool_use":
            tools += (block["name"],)
        elif kind == "tool_result":
            is_error = is_error or bool(block.get("is_error"))
    return row, BodyRow(body_hash, epoch_second(timestamp), is_error, body, encoded_index_texts(content), tools)


def _call_columns(metadata: JsonObject) -> tuple[str | None, str | None, str | None]:
    """Return the id of the request, when it was sent, and its hash, as far as they are stored in columns."""
    request_id = stated_request_id(metadata)
    sent = metadata.get("sent")
    if isinstance(sent, dict) and isinstance(sent.get("at"), str):
        return request_id, sent["at"], _text(sent.get("request"))
    return request_id if _text(metadata.get("api_message_id")) is None else None, None, None


_PERSONS = {role: role.encode() for role in ("user", "assistant", "system", "tool", "function")}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


NO_COUNTS: tuple[int | None, ...] = (None,) * 6


def token_counts(tokens: JsonObject) -> tuple[int | None, ...]:
    """Return the counts that have columns: input, output, cache read, cache write, 1-hour cache write, thinking."""
    lifetimes = tokens.get("cache_creation") or _EMPTY
    counts = (
        tokens.get("input_tokens"),
        tokens.get("output_tokens"),
        tokens.get("cache_read_input_tokens"),
        tokens.get("cache_creation_input_tokens"),
        lifetimes.get("ephemeral_1h_input_tokens"),
        tokens.get("thinking_tokens"),
    )
    if any(count is not None and count > _MAX_COUNT for count in counts):
        return tuple(None if count is None else min(count, _MAX_COUNT) for count in counts)
    return counts
