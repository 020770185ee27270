"""Choices of a Chat response: answers, each with a message and the reason why it ended."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._answers import is_count
from palaver.wire.openai._chat_assistant import assistant_fields, assistant_from_wire
from palaver.wire.openai._provider_data import (
    CHAT,
    NO_ANSWER,
    Fields,
    Writer,
    apply_notes,
    attach_notes,
    difference,
    merge_notes,
    opaque_block,
    shape,
)
from palaver.wire.openai._tools import (
    CallIds,
)

_FINISH_REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
    "error": "error",
}
_WIRE_FINISH_REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
}


def answer_from_wire(choice: Any, position: int, *, is_first: bool) -> JsonObject:
    """Return the answer in a choice; a choice that is not an object becomes an opaque block."""
    if not isinstance(choice, dict):
        block = opaque_block("choice", choice, CHAT, choice=True)
        return {"index": position, "content": [block], "finish_reason": "unknown"}
    message = choice.get("message")
    content: list[JsonObject] = []
    notes: JsonObject | None = None
    if isinstance(message, dict):
        content, notes = assistant_from_wire(message, CallIds(set()), is_response=True)
    if notes is None:
        content = [opaque_block("message", message, CHAT)] if message is not None else []
        initial: JsonObject = {"shape": {"message": "raw" if message is not None else "none"}}
    else:
        initial = {"message": notes} if notes else {}
    reason = choice.get("finish_reason")
    answer: JsonObject = {
        "index": choice["index"] if is_count(choice.get("index")) else position,
        "content": content,
        "finish_reason": _FINISH_REASONS.get(reason, "unknown") if isinstance(reason, str) else "unknown",
    }
    written = {**answer, "index": 0} if is_first else answer
    fields = _choice_fields(written, initial, "", Writer(CHAT, is_response=True))
    rest = {key: value for key, value in choice.items() if key != "message" or value is None}
    return attach_notes(answer, CHAT, merge_notes(initial, difference(rest, *fields)))


def answer_to_wire(answer: JsonObject, notes: JsonObject, pointer: str, writer: Writer) -> Any:
    content: list[JsonObject] = answer["content"]
    if len(content) == 1 and shape(writer.notes(content[0])).get("choice"):
        return content[0]["raw"]
    known, defaults = _choice_fields(answer, notes, pointer, writer)
    if probabilities := _probabilities(content, writer):
        defaults["logprobs"] = {"content": probabilities, "refusal": None}
    made = apply_notes(known, defaults, notes)
    form = shape(notes).get("message")
    if form == "raw" and len(content) == 1 and "raw" in content[0]:
        return {**made, "message": content[0]["raw"]}
    if form == "none" and not content:
        return made
    message_notes: JsonObject = notes.get("message", {})
    message = apply_notes(*assistant_fields(content, message_notes, pointer, writer), message_notes)
    is_empty = not any(message.get(field) for field in ("tool_calls", "refusal", "audio"))
    if writer.dialect == "seed" and message.get("content") is None and is_empty:
        writer.losses.change(f"{pointer}/content", "a placeholder sentence replaces the missing answer")
        message["content"] = NO_ANSWER
    return {**made, "message": message}


def _probabilities(content: list[JsonObject], writer: Writer) -> list[Any]:
    """Return the probabilities of tokens that Responses noted with the texts of an answer."""
    noted = [writer.sibling_notes(block).get("logprobs") for block in content if block["type"] == "text"]
    return [entry for entries in noted if isinstance(entries, list) for entry in entries]


def _choice_fields(answer: JsonObject, notes: JsonObject, pointer: str, writer: Writer) -> Fields:
    reason = answer["finish_reason"]
    saved_reason = notes.get("finish_reason")
    known: JsonObject = {}
    defaults: JsonObject = {"index": answer["index"]}
    if reason in _WIRE_FINISH_REASONS:
        is_same = isinstance(saved_reason, str) and _FINISH_REASONS.get(saved_reason) == reason
        known["finish_reason"] = saved_reason if is_same else _WIRE_FINISH_REASONS[reason]
    else:
        if "finish_reason" not in notes and "finish_reason" not in shape(notes).get("absent", ()):
            writer.losses.change(f"{pointer}/finish_reason", f"{reason!r} cannot be expressed here")
        defaults["finish_reason"] = "stop"
    return Fields(known, defaults)
