"""The conversation document, with the remaining spans and events in its context."""

from typing import Any

from palaver.importers.github_copilot.replays.documents import is_helper, with_author
from palaver.importers.github_copilot.spans.attributes import CONTENT, token_counts
from palaver.importers.github_copilot.spans.message_attributes import attribute_values
from palaver.importers.github_copilot.spans.operations import model_of, other_attributes, span_fields
from palaver.importers.github_copilot.spans.records import Record
from palaver.model import build
from palaver.model.build import JsonObject

PLATFORM = "github_copilot"
_MAX_TITLE_LENGTH = 200
_EDITORS = {
    "vs-copilot": "Visual Studio",
    "copilot-chat": "Visual Studio Code",
    "github-copilot-vscode": "Visual Studio Code",
}


def conversation_document(
    *,
    conversation_id: str,
    parent: str,
    messages: list[JsonObject],
    base: JsonObject,
    records: list[Record],
    others: list[Record],
    typed: list[str],
) -> JsonObject:
    texts = sorted(typed, key=len, reverse=True)
    is_from_program = bool(parent) or is_helper(messages)
    messages = [with_author(message, texts, is_from_program=is_from_program) for message in messages]
    stated = [
        message["timestamp"] for message in messages if "timestamp_inferred" not in (message.get("metadata") or {})
    ]
    times = stated or [message["timestamp"] for message in messages]
    session: JsonObject = {"session_id": conversation_id.partition(":agent-")[0]}
    if parent:
        session |= {"parent_conversation_id": parent, "is_sidechain": True}
    return build.conversation(
        conversation_id=conversation_id,
        title=_title(messages, typed),
        platform=_platform(base.get("platform") or {}, records),
        session=session,
        context=_context(messages, records, others),
        created_at=min(times),
        updated_at=max(stated, default=None),
        messages=messages,
    )


def _title(messages: list[JsonObject], typed: list[str]) -> str | None:
    prompts = (
        message
        for message in messages
        if message["role"] == "user" and message["metadata"].get("author_kind") == "human"
    )
    texts = (block["text"] for prompt in prompts for block in prompt["content"] if block["type"] == "text")
    return " ".join((typed[0] if typed else next(texts, "")).split())[:_MAX_TITLE_LENGTH] or None


def _platform(base: JsonObject, records: list[Record]) -> JsonObject:
    platform: JsonObject = {**base, "name": PLATFORM}
    resource = next((record.resource for record in records if record.resource), {})
    version = resource.get("service.version")
    if isinstance(version, str) and version:
        platform["version"] = version
    models = [model for record in records if (model := model_of(record))]
    if models:
        platform.setdefault("model", models[-1])
    if resource:
        platform["metadata"] = {**(base.get("metadata") or {}), "resource": resource}
    return platform


def _context(messages: list[JsonObject], records: list[Record], others: list[Record]) -> JsonObject | None:
    context: JsonObject = {}
    service = next((record.resource.get("service.name") for record in records if record.resource), None)
    if isinstance(service, str) and service in _EDITORS:
        context["environment"] = {"editor": _EDITORS[service]}
    message_text = "\n".join(_texts(messages)) if others else ""
    spans = [_context_entry(record, message_text) for record in others if not record.is_event]
    events = [_context_entry(record, message_text) for record in others if record.is_event]
    custom = {name: held for name, held in (("spans", spans), ("events", events)) if held}
    if custom:
        context["custom"] = custom
    return context or None


def _context_entry(record: Record, message_text: str) -> JsonObject:
    """Return a span or event without the content that the messages contain."""
    entry: JsonObject = span_fields(record)
    for name, value in (("started_at", record.started_at), ("ended_at", record.ended_at)):
        if value:
            entry[name] = value
    if record.duration_ms is not None:
        entry["duration_ms"] = record.duration_ms
    if tokens := token_counts(record.attributes):
        entry["tokens"] = tokens
    content = {
        name: value
        for name, value in record.attributes.items()
        if name in CONTENT and value not in (None, "") and not _is_in_messages(value, message_text)
    }
    return {**entry, "attributes": {**other_attributes(record), **content}}


def _is_in_messages(value: Any, message_text: str) -> bool:
    """Return whether the messages contain every text of an attribute."""
    messages, is_cut = attribute_values(value)
    if is_cut:
        return False
    stack: list[Any] = list(messages)
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += [held for key, held in item.items() if key not in {"role", "type", "finish_reason"}]
        elif isinstance(item, list):
            stack += item
        elif isinstance(item, str) and item not in message_text:
            return False
    return True


def _texts(messages: list[JsonObject]) -> list[str]:
    found: list[str] = []
    stack: list[Any] = [block for message in messages for block in message["content"]]
    while stack:
        block = stack.pop()
        found += [value for value in block.values() if isinstance(value, str)]
        content = block.get("content")
        if isinstance(content, list):
            stack += content
    return found
