"""Candidates of a Gemini response: answers, each with its parts and the reason why it ended."""

from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.gemini._call_ids import pair_calls
from palaver.wire.gemini._parts import PartWriter, blocks_from_wire, part_kind
from palaver.wire.gemini._provider_data import (
    NAME,
    FieldReader,
    ProviderData,
    is_count,
    is_list,
    is_object,
    is_text,
    report_unwritten,
)

_ANSWER = frozenset({"index", "content", "finish_reason"})
_WIRE_FINISH_REASONS = {
    "stop": "STOP",
    "tool_use": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "error": "OTHER",
    "unknown": None,
}
_FINISH_REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"),
    **dict.fromkeys(("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER"), "content_filter"),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"), "error"),
    **dict.fromkeys(("MALFORMED_RESPONSE", "LANGUAGE", "NO_IMAGE", "OTHER"), "error"),
}


def alternative_from_wire(candidate: Any, position: int) -> JsonObject:
    """Return a further answer; a candidate that is not an object becomes an opaque block."""
    if not is_object(candidate):
        block = build.opaque(kind="candidate", raw=candidate) | {"provider_data": {NAME: {}}}
        return {"index": position, "content": [block], "finish_reason": "unknown"}
    fields = FieldReader(candidate)
    stated = candidate.get("index")
    index: int = stated if is_count(stated) else position
    return {"index": index, **candidate_from_wire(fields, index)} | fields.provider_data()


def alternative_to_wire(alternative: JsonObject, pointer: str, losses: Losses) -> Any:
    match alternative["content"]:
        case [{"type": "opaque", "kind": "candidate"} as block] if NAME in (block.get("provider_data") or {}):
            return block["raw"]
        case _:
            pass
    report_unwritten(alternative, _ANSWER, pointer, losses)
    saved = ProviderData(alternative)
    written = candidate_to_wire(alternative, saved, pointer, losses)
    return saved.complete(written)


def candidate_from_wire(candidate: FieldReader, index: int) -> JsonObject:
    content = candidate.inner("content")
    parts = content.expect("parts", is_list) if content else candidate.expect("content", lambda _: False)
    if content:
        content.expect("role", lambda value: value == "model")
    candidate.expect("index", lambda value: is_count(value) and value == index)
    made = blocks_from_wire(parts or [], 0, pair_calls([parts or []], part_kind))
    wire_reason = candidate.take("finishReason", is_text)
    reason = _finish_reason(wire_reason, made)
    if wire_reason != _WIRE_FINISH_REASONS[reason]:
        candidate.keep("finishReason", wire_reason)
    return {"content": made, "finish_reason": reason}


def candidate_to_wire(
    answer: JsonObject, saved: ProviderData, pointer: str, losses: Losses, *, path: tuple[str, ...] = ()
) -> JsonObject:
    """Return the candidate of an answer; `path` leads to its fields in the saved data."""
    parts = PartWriter(call_names([answer["content"]]), losses).parts(answer["content"], f"{pointer}/content")
    content: JsonObject = {}
    if parts or not saved.lacks("parts"):
        content["parts"] = parts
    if not saved.lacks("role"):
        content["role"] = "model"
    candidate: JsonObject = {"content": content} if parts or not saved.lacks("content") else {}
    reason = answer["finish_reason"]
    wire_reason = saved.stated(*path, "finishReason")
    if not is_text(wire_reason) or _finish_reason(wire_reason, answer["content"]) != reason:
        if is_text(wire_reason):
            saved.discard(*path, "finishReason")
        wire_reason = _WIRE_FINISH_REASONS[reason]
        if _finish_reason(wire_reason, answer["content"]) != reason:
            losses.change(f"{pointer}/finish_reason", "Gemini shows function calls only in the parts")
    if wire_reason is not None:
        candidate["finishReason"] = wire_reason
    if not saved.lacks("index"):
        candidate["index"] = answer["index"]
    return saved.spell(candidate)


def call_names(contents: list[list[JsonObject]]) -> dict[str, str]:
    return {block["id"]: block["name"] for content in contents for block in content if block["type"] == "tool_use"}


def _finish_reason(wire_reason: str | None, content: list[JsonObject]) -> str:
    reason = _FINISH_REASONS.get(wire_reason or "", "unknown")
    return "tool_use" if reason == "stop" and any(block["type"] == "tool_use" for block in content) else reason


def finish_without_answer(payload: JsonObject) -> str:
    """Return the finish reason of a response without candidates, as a blocked prompt has it."""
    feedback = FieldReader(payload).inner("promptFeedback")
    return "content_filter" if feedback and feedback.take("blockReason", is_text) else "unknown"
