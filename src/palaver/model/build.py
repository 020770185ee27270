"""Builders for plain documents.

They neither check nor copy: the published schema validates every finished document. Passing `None` leaves a field out;
to write a null that the source states, set the key on the result.
"""

from typing import Any, Literal

from palaver.model import SCHEMA_VERSION

JsonObject = dict[str, Any]
Block = JsonObject
MessageDocument = JsonObject
Document = JsonObject

Role = Literal["user", "assistant", "system", "tool", "function"]
SourceType = Literal["base64", "url", "file"]
Status = Literal["active", "completed", "archived", "error"]
SummaryType = Literal["automatic", "user_generated", "system"]
UsageKind = Literal["request", "period"]


METADATA = frozenset(
    {
        *("accepted", "agent_id", "api_message_id", "author_kind", "completion_index", "context_incomplete"),
        *("duration_ms", "edit_count", "estimated_tokens", "hidden", "is_compact_summary", "known_from"),
        *("model_override", "on_active_path", "parent_inferred", "queued", "request_id", "sidechain_conversation_ids"),
        *("source_ids", "stop_reason", "timestamp_inferred", "tokens_partial", "user_type"),
    }
)
"""The documented keys of a message's metadata, for code that must not import the models."""


def conversation(
    *,
    conversation_id: str,
    platform: JsonObject,
    created_at: str,
    messages: list[MessageDocument],
    title: str | None = None,
    session: JsonObject | None = None,
    context: JsonObject | None = None,
    updated_at: str | None = None,
    status: Status | None = None,
    summaries: list[JsonObject] | None = None,
    metrics: JsonObject | None = None,
    tags: list[str] | None = None,
    rating: JsonObject | None = None,
    fragment: JsonObject | None = None,
) -> Document:
    document: Document = {"schema_version": SCHEMA_VERSION, "conversation_id": conversation_id}
    if title is not None:
        document["title"] = title
    document["platform"] = platform
    if session is not None:
        document["session"] = session
    if context is not None:
        document["context"] = context
    document["created_at"] = created_at
    if updated_at is not None:
        document["updated_at"] = updated_at
    if status is not None:
        document["status"] = status
    document["messages"] = messages
    if summaries is not None:
        document["summaries"] = summaries
    if metrics is not None:
        document["metrics"] = metrics
    if tags is not None:
        document["tags"] = tags
    if rating is not None:
        document["rating"] = rating
    if fragment is not None:
        document["fragment"] = fragment
    return document


def message(
    *,
    message_id: str,
    role: Role,
    timestamp: str,
    content: list[Block],
    parent_message_id: str | None = None,
    tokens: JsonObject | None = None,
    cost: JsonObject | None = None,
    metadata: JsonObject | None = None,
) -> MessageDocument:
    document: MessageDocument = {"message_id": message_id}
    if parent_message_id is not None:
        document["parent_message_id"] = parent_message_id
    document["role"] = role
    document["timestamp"] = timestamp
    document["content"] = content
    if tokens is not None:
        document["tokens"] = tokens
    if cost is not None:
        document["cost"] = cost
    if metadata is not None:
        document["metadata"] = metadata
    return document


def summary(
    *,
    summary_id: str,
    type: SummaryType,  # noqa: A002  (the field's name)
    text: str,
    timestamp: str,
    covers_messages: list[str] | None = None,
) -> JsonObject:
    document: JsonObject = {"summary_id": summary_id, "type": type, "text": text, "timestamp": timestamp}
    if covers_messages is not None:
        document["covers_messages"] = covers_messages
    return document


def usage(
    *,
    usage_id: str,
    platform: JsonObject,
    kind: UsageKind,
    started_at: str,
    ended_at: str | None = None,
    subject: JsonObject | None = None,
    model: str | None = None,
    request_id: str | None = None,
    api_message_id: str | None = None,
    tokens: JsonObject | None = None,
    counts: JsonObject | None = None,
    cost: JsonObject | None = None,
    duration_ms: float | None = None,
    metadata: JsonObject | None = None,
) -> JsonObject:
    """Build a usage record: consumption that belongs to no conversation."""
    record: JsonObject = {
        "schema_version": SCHEMA_VERSION,
        "usage_id": usage_id,
        "platform": platform,
        "kind": kind,
        "started_at": started_at,
    }
    if ended_at is not None:
        record["ended_at"] = ended_at
    if subject is not None:
        record["subject"] = subject
    if model is not None:
        record["model"] = model
    if request_id is not None:
        record["request_id"] = request_id
    if api_message_id is not None:
        record["api_message_id"] = api_message_id
    if tokens is not None:
        record["tokens"] = tokens
    if counts is not None:
        record["counts"] = counts
    if cost is not None:
        record["cost"] = cost
    if duration_ms is not None:
        record["duration_ms"] = duration_ms
    if metadata is not None:
        record["metadata"] = metadata
    return record


def subject(kind: str, id: str) -> JsonObject:  # noqa: A002  (the field's name)
    """Build the subject of a usage record, such as a caller, a user, a team or an organization."""
    return {"kind": kind, "id": id}


def text(text: str, *, citations: list[JsonObject] | None = None) -> Block:
    if citations is None:
        return {"type": "text", "text": text}
    return {"type": "text", "text": text, "citations": citations}


def code(
    code: str,
    *,
    language: str | None = None,
    file_path: str | None = None,
    line_range: JsonObject | None = None,
) -> Block:
    block: Block = {"type": "code", "code": code}
    if language is not None:
        block["language"] = language
    if file_path is not None:
        block["file_path"] = file_path
    if line_range is not None:
        block["line_range"] = line_range
    return block


def source(type: SourceType, data: str, *, media_type: str | None = None) -> JsonObject:  # noqa: A002  (the field's name)
    """Build the source of an image or file: where its bytes are."""
    if media_type is None:
        return {"type": type, "data": data}
    return {"type": type, "media_type": media_type, "data": data}


def image(source: JsonObject, *, alt_text: str | None = None) -> Block:
    block: Block = {"type": "image", "source": source}
    if alt_text is not None:
        block["alt_text"] = alt_text
    return block


def file(
    *,
    source: JsonObject | None = None,
    name: str | None = None,
    media_type: str | None = None,
    text: str | None = None,
) -> Block:
    block: Block = {"type": "file"}
    if source is not None:
        block["source"] = source
    if name is not None:
        block["name"] = name
    if media_type is not None:
        block["media_type"] = media_type
    if text is not None:
        block["text"] = text
    return block


def tool_use(*, id: str, name: str, input: JsonObject) -> Block:  # noqa: A002  (the fields' names)
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def tool_result(
    *,
    tool_use_id: str,
    content: str | list[Block],
    is_error: bool = False,
    metadata: JsonObject | None = None,
) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": is_error}
    if metadata is not None:
        block["metadata"] = metadata
    return block


def thinking(thinking: str, *, signature: str | None = None, redacted_data: str | None = None) -> Block:
    block: Block = {"type": "thinking", "thinking": thinking}
    if signature is not None:
        block["signature"] = signature
    if redacted_data is not None:
        block["redacted_data"] = redacted_data
    return block


def opaque(*, kind: str, raw: Any) -> Block:
    return {"type": "opaque", "kind": kind, "raw": raw}
