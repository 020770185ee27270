"""Projects and memory: what the user, and the model, wrote down outside of conversations."""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.findings import BAD_CONVERSATION
from palaver.importers.claude_ai.content import FILE_FIELDS
from palaver.importers.claude_ai.export import PLATFORM, ReadContext, TimeSpan, add_fields, take_list, take_text
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.sources.arrays.elements import JsonElements


def read_project(element: Any, elements: JsonElements, context: ReadContext) -> Iterator[JsonObject]:
    """Yield a project as a conversation of one message."""
    project_id = _register(element, "project", "uuid", elements, context)
    if project_id is None:
        return
    fields: JsonObject = element
    fields.pop("creator", None)
    span = context.span(fields, (), f"{elements.where()}, {project_id}")
    blocks = [
        {**build.text(text), "field": name}
        for name in ("description", "prompt_template")
        if (text := take_text(fields, name))
    ]
    blocks += map(_document_block, take_list(fields, "docs"))
    yield build.conversation(
        conversation_id=project_id,
        title=take_text(fields, "name"),
        platform={"name": PLATFORM, "metadata": _metadata("project", fields)},
        created_at=span.created_at,
        updated_at=span.updated_at,
        status="archived" if fields.get("archived_at") else None,
        messages=[_message(project_id, blocks or [build.text("")], span)],
    )


def read_memory(element: Any, elements: JsonElements, context: ReadContext) -> Iterator[JsonObject]:
    """Yield the model's memory as a conversation: a message for the whole, and one for each project."""
    memory_id = _register(element, "memory", "account_uuid", elements, context)
    if memory_id is None:
        return
    fields: JsonObject = element
    span = context.span(fields, (), f"{elements.where()}, {memory_id}")
    messages: list[JsonObject] = []
    if (text := take_text(fields, "conversations_memory")) is not None:
        messages.append(_message(memory_id, [build.text(text)], span))
    memories = fields.pop("project_memories", None)
    if not isinstance(memories, dict):
        memories = dict(enumerate([] if memories is None else [memories]))
    for project, memory in memories.items():
        block = build.text(memory) if isinstance(memory, str) else build.opaque(kind="project_memory", raw=memory)
        messages.append(_message(f"{memory_id}:{project}", [block], span, project_uuid=project))
    yield build.conversation(
        conversation_id=memory_id,
        platform={"name": PLATFORM, "metadata": _metadata("memory", fields)},
        created_at=span.created_at,
        updated_at=span.updated_at,
        messages=messages,
    )


def _register(element: Any, kind: str, name: str, elements: JsonElements, context: ReadContext) -> str | None:
    """Count a record in the ledger and take its id out of it; return None if it is malformed or a copy."""
    run = context.run
    if not isinstance(element, dict):
        what = f"a value of type {type(element).__name__} is not a {kind}"
        run.quarantined(BAD_CONVERSATION, elements.raw, elements.where(), what)
        return None
    uuid = element.get(name)
    if not (isinstance(uuid, str) and uuid):
        uuid = conversation_uuid(PLATFORM, element.get("created_at"), element.get("name"))
    record_id = f"{kind}:{uuid}"
    if context.copies.is_copy(record_id, elements.checksum(), elements.where()):
        run.skipped("copy")
        return None
    run.mapped()
    if record_id == f"{kind}:{element.get(name)}":
        del element[name]
    return record_id


def _metadata(kind: str, fields: JsonObject) -> JsonObject:
    return add_fields({"kind": kind}, fields, frozenset({"kind", "source_fields", "invalid_fields"}))


def _document_block(raw: Any) -> JsonObject:
    if not isinstance(raw, dict):
        return build.opaque(kind="document", raw=raw)
    block = build.file(name=take_text(raw, "filename"), text=take_text(raw, "content"))
    return add_fields(block, raw, FILE_FIELDS)


def _message(message_id: str, content: list[JsonObject], span: TimeSpan, **metadata: Any) -> JsonObject:
    known: JsonObject = {"author_kind": "harness", "hidden": False, **metadata}
    if span.is_inferred:
        known["timestamp_inferred"] = True
    return build.message(
        message_id=message_id, role="system", timestamp=span.created_at, content=content, metadata=known
    )
