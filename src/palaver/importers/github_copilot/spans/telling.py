"""The document of a conversation of spans, with what its spans say beside what was said."""

from typing import Any

from palaver.importers.github_copilot.replays.authors import with_author
from palaver.importers.github_copilot.spans.calls import facts_of, model_of, span_of
from palaver.importers.github_copilot.spans.names import CONTENT
from palaver.importers.github_copilot.spans.records import Record
from palaver.importers.github_copilot.spans.spoken import listed
from palaver.importers.github_copilot.spans.tokens import tokens_in
from palaver.model import build
from palaver.model.build import JsonObject

PLATFORM = "github_copilot"
_TITLE_LETTERS = 200
_EDITORS = {
    "vs-copilot": "Visual Studio",
    "copilot-chat": "Visual Studio Code",
    "github-copilot-vscode": "Visual Studio Code",
}


def document_of(
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
    is_helper = (base.get("session") or {}).get("is_sidechain") is True
    messages = [with_author(message, texts, is_sidechain=bool(parent) or is_helper) for message in messages]
    stated = [one["timestamp"] for one in messages if "timestamp_inferred" not in (one.get("metadata") or {})]
    times = stated or [one["timestamp"] for one in messages]
    session: JsonObject = {"session_id": conversation_id.partition(":agent-")[0]}
    if parent:
        session |= {"parent_conversation_id": parent, "is_sidechain": True}
    elif is_helper:
        session["is_sidechain"] = True
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
    humans = (one for one in messages if one["role"] == "user" and one["metadata"].get("author_kind") == "human")
    said = next((block["text"] for one in humans for block in one["content"] if block["type"] == "text"), "")
    return " ".join((typed[0] if typed else said).split())[:_TITLE_LETTERS] or None


def _platform(base: JsonObject, records: list[Record]) -> JsonObject:
    told: JsonObject = {**base, "name": PLATFORM}
    resource = next((record.resource for record in records if record.resource), {})
    version = resource.get("service.version")
    if isinstance(version, str) and version:
        told["version"] = version
    models = [model for record in records if (model := model_of(record))]
    if models:
        told.setdefault("model", models[-1])
    if resource:
        told["metadata"] = {**(base.get("metadata") or {}), "resource": resource}
    return told


def _context(messages: list[JsonObject], records: list[Record], others: list[Record]) -> JsonObject | None:
    context: JsonObject = {}
    service = next((record.resource.get("service.name") for record in records if record.resource), None)
    if isinstance(service, str) and service in _EDITORS:
        context["environment"] = {"editor": _EDITORS[service]}
    said = "\n".join(_texts(messages)) if others else ""
    spans = [_entry(record, said) for record in others if not record.is_event]
    events = [_entry(record, said) for record in others if record.is_event]
    custom = {name: held for name, held in (("spans", spans), ("events", events)) if held}
    if custom:
        context["custom"] = custom
    return context or None


def _entry(record: Record, said: str) -> JsonObject:
    """A span as it is, without what stands in the messages already."""
    entry: JsonObject = span_of(record)
    for name, value in (("started_at", record.started_at), ("ended_at", record.ended_at)):
        if value:
            entry[name] = value
    if record.duration_ms is not None:
        entry["duration_ms"] = record.duration_ms
    if tokens := tokens_in(record.attributes):
        entry["tokens"] = tokens
    unsaid = {
        name: value
        for name, value in record.attributes.items()
        if name in CONTENT and value not in (None, "") and not _is_said(value, said)
    }
    return {**entry, "attributes": {**facts_of(record), **unsaid}}


def _is_said(value: Any, said: str) -> bool:
    """Whether every text of an attribute stands in the messages."""
    messages, is_cut = listed(value)
    if is_cut:
        return False
    stack: list[Any] = list(messages)
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack += [held for key, held in one.items() if key not in {"role", "type", "finish_reason"}]
        elif isinstance(one, list):
            stack += one
        elif isinstance(one, str) and one not in said:
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
