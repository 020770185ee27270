"""One conversation: what it says of itself, and its messages."""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.exports import AROUND_CONVERSATIONS, BAD_CONVERSATION, checksum
from palaver.importers.claude_ai.calls import pair
from palaver.importers.claude_ai.export import CONVERSATIONS
from palaver.importers.claude_ai.messages import Messages
from palaver.importers.claude_ai.reading import PLATFORM, Reading, bytes_of, take_text, with_fields
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind, finding_kind
from palaver.model.ids import conversation_uuid, deterministic_uuid
from palaver.sources.elements import JsonElements

BAD_MESSAGE = finding_kind("bad-message", "error", "A message is not an object; its bytes are set aside.")


def read_conversations(element: Any, elements: JsonElements, reading: Reading) -> Iterator[JsonObject]:
    """The conversation that an element is. Where the list around them is damaged, an element may hold several."""
    held = _held(element)
    if held is None:
        yield from _read(element, elements.raw, elements, reading)
        return
    if isinstance(element, dict) and len(element) > 1:
        around = [name for name, value in element.items() if value is not held]
        reading.run.note(AROUND_CONVERSATIONS, elements.where(), ", ".join(around), kept=False)
    elements.holds(len(held))
    for one in held:
        yield from _read(one, bytes_of(one, elements), elements, reading)


def _read(element: Any, raw: bytes, elements: JsonElements, reading: Reading) -> Iterator[JsonObject]:
    run = reading.run
    fields, around = CONVERSATIONS.unwrapped(element) or (element, {})
    listed = _messages_name(fields)
    if listed is None and _is_sent(fields):  # damage may leave a message alone
        fields, listed = {"chat_messages": [fields]}, "chat_messages"
    if listed is None:
        run.quarantined(BAD_CONVERSATION, raw, elements.where(), _known_by(element))
        return
    messages = fields.pop(listed)
    elements.holds(len(messages))
    uuid = fields.get("uuid")
    if not (isinstance(uuid, str) and uuid):
        uuid = conversation_uuid(PLATFORM, fields.get("created_at"), _first_id(messages) or fields.get("name"))
    conversation_id = uuid
    if reading.copies.holds(conversation_id, checksum(raw), elements.where()):
        run.skipped("copy", len(messages))
        return
    where = f"{elements.where()}, conversation {conversation_id}"
    drafts = Messages(conversation_id, reading, where)
    for message in messages:
        if isinstance(message, dict):
            drafts.add(message)
            run.mapped()
        else:
            run.quarantined(BAD_MESSAGE, bytes_of(message, elements), where)
    if fields.get("uuid") == conversation_id:
        del fields["uuid"]
    fields.pop("account", None)
    with_fields(fields, around, frozenset({*fields, "source_fields"}))
    yield _document(conversation_id, fields, drafts, reading, where)


def _document(conversation_id: str, fields: JsonObject, messages: Messages, reading: Reading, where: str) -> JsonObject:
    span = reading.span(fields, messages.times(), where)
    placed = messages.placed(fields.get("current_leaf_message_uuid"), span.created_at)

    def note(kind: FindingKind, message: str) -> None:
        reading.run.note(kind, where, message)

    pair(placed, note)
    title = take_text(fields, "name")
    if title is None:
        title = take_text(fields, "title")
    summary = take_text(fields, "summary")
    platform: JsonObject = {"name": PLATFORM}
    if (model := take_text(fields, "model")) is not None:
        platform["model"] = model
    if fields:
        platform["metadata"] = fields
    return build.conversation(
        conversation_id=conversation_id,
        title=title,
        platform=platform,
        created_at=span.created_at,
        updated_at=span.updated_at,
        messages=placed,
        summaries=[_summary(conversation_id, summary, span.updated_at)] if summary else None,
    )


def _summary(conversation_id: str, text: str, timestamp: str) -> JsonObject:
    return build.summary(
        summary_id=deterministic_uuid(f"{conversation_id}-summary-{text}"),
        type="automatic",
        text=text,
        timestamp=timestamp,
    )


def _held(element: Any) -> list[Any] | None:
    """The conversations that stand in a list, by itself or in an object."""
    lists = [element] if isinstance(element, list) else []
    if isinstance(element, dict) and _messages_name(element) is None:
        lists = [value for value in element.values() if isinstance(value, list)]
    return next((items for items in lists if any(_messages_name(item) for item in items)), None)


def _messages_name(fields: Any) -> str | None:
    """Under which name the messages stand: damage may have changed it, but not what they look like."""
    if not isinstance(fields, dict):
        return None
    if isinstance(fields.get("chat_messages"), list):
        return "chat_messages"
    return next((name for name, value in fields.items() if isinstance(value, list) and any(map(_is_sent, value))), None)


def _is_sent(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("sender"), str)


def _first_id(raws: list[Any]) -> Any:
    return next((raw["uuid"] for raw in raws if isinstance(raw, dict) and raw.get("uuid")), None)


def _known_by(element: Any) -> str:
    if not isinstance(element, dict):
        return f"a value of type {type(element).__name__} is no conversation"
    names = [name for key in ("uuid", "name") if isinstance(name := element.get(key), str) and name]
    return f"conversation {names[0] if names else 'without a name'}: there is no list of messages"
