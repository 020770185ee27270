"""Projects and memory: what the user, and the model about the user, wrote down beside the conversations."""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.exports import BAD_CONVERSATION
from palaver.importers.claude_ai.content import FILE_NAMES
from palaver.importers.claude_ai.reading import PLATFORM, Reading, Span, take_list, take_text, with_fields
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.sources.elements import JsonElements


def read_project(element: Any, elements: JsonElements, reading: Reading) -> Iterator[JsonObject]:
    """A project as a conversation of one message."""
    project_id = _begun(element, "project", "uuid", elements, reading)
    if project_id is None:
        return
    fields: JsonObject = element
    fields.pop("creator", None)
    span = reading.span(fields, (), f"{elements.where()}, {project_id}")
    blocks = [
        {**build.text(text), "field": name}
        for name in ("description", "prompt_template")
        if (text := take_text(fields, name))
    ]
    blocks += map(_document, take_list(fields, "docs"))
    yield build.conversation(
        conversation_id=project_id,
        title=take_text(fields, "name"),
        platform={"name": PLATFORM, "metadata": _metadata("project", fields)},
        created_at=span.created_at,
        updated_at=span.updated_at,
        status="archived" if fields.get("archived_at") else None,
        messages=[_message(project_id, blocks or [build.text("")], span)],
    )


def read_memory(element: Any, elements: JsonElements, reading: Reading) -> Iterator[JsonObject]:
    """What the model remembers: a message for all conversations, and one for each project."""
    memory_id = _begun(element, "memory", "account_uuid", elements, reading)
    if memory_id is None:
        return
    fields: JsonObject = element
    span = reading.span(fields, (), f"{elements.where()}, {memory_id}")
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


def _begun(element: Any, kind: str, name: str, elements: JsonElements, reading: Reading) -> str | None:
    """Take the id of a record out of it, and the record into the ledger; None for what is no record, or a copy."""
    run = reading.run
    if not isinstance(element, dict):
        what = f"a value of type {type(element).__name__} is no {kind}"
        run.quarantined(BAD_CONVERSATION, elements.raw, elements.where(), what)
        return None
    uuid = element.get(name)
    if not (isinstance(uuid, str) and uuid):
        uuid = conversation_uuid(PLATFORM, element.get("created_at"), element.get("name"))
    made = f"{kind}:{uuid}"
    if reading.copies.holds(made, elements.checksum(), elements.where()):
        run.skipped("copy")
        return None
    run.mapped()
    if made == f"{kind}:{element.get(name)}":
        del element[name]
    return made


def _metadata(kind: str, fields: JsonObject) -> JsonObject:
    return with_fields({"kind": kind}, fields, frozenset({"kind", "source_fields", "invalid_fields"}))


def _document(raw: Any) -> JsonObject:
    if not isinstance(raw, dict):
        return build.opaque(kind="document", raw=raw)
    made = build.file(name=take_text(raw, "filename"), text=take_text(raw, "content"))
    return with_fields(made, raw, FILE_NAMES)


def _message(message_id: str, content: list[JsonObject], span: Span, **metadata: Any) -> JsonObject:
    known: JsonObject = {"author_kind": "harness", "hidden": False, **metadata}
    if span.is_inferred:
        known["timestamp_inferred"] = True
    return build.message(
        message_id=message_id, role="system", timestamp=span.created_at, content=content, metadata=known
    )
