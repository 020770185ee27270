"""Items of the Responses API that are no message: calls, results, reasoning; and everything else, kept whole."""

from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._calls import Calls, arguments_fields, arguments_from, arguments_notes, is_free_text
from palaver.wire.openai._notes import RESPONSES, Fields, Writing, annotate, kept, merged, noted, shape, told
from palaver.wire.openai._responses_parts import part_from, result_to

_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_BY_CALLER = ("additional_tools", "configuration_update", "compaction_trigger")
_BETWEEN = "\n\n"


def role_of_item(item: Any) -> str:
    """Whose turn an item belongs to."""
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(kind, str):
        return "user"
    if kind in _BY_CALLER:
        return "user"
    is_by_provider = item.get("execution") == "server" or kind == "program_output"
    if (kind.endswith("_output") and not is_by_provider) or kind == "mcp_approval_response":
        return "tool"
    return "assistant"


def item_from(item: Any, index: int, calls: Calls, reading: Writing) -> JsonObject:
    """The block that an item is; kept whole where it is none, or where its block would not give it back."""
    block, first = _block_from(item, calls, reading)
    if block is not None:
        notes = noted(item, lambda notes: _fields(block, notes, index, "", reading), first)
        if notes is not None:
            return _remembered(annotate(block, RESPONSES, notes), reading)
    return kept(item.get("type") if isinstance(item, dict) else "item", item, RESPONSES)


def _block_from(item: Any, calls: Calls, reading: Writing) -> tuple[JsonObject | None, JsonObject]:
    match item:
        case {"type": "function_call", "name": str(name), **rest} if isinstance(
            rest.get("arguments", ""), str | dict | None
        ):
            first = arguments_notes(rest.get("arguments"))
            given = arguments_from(rest.get("arguments"))
        case {"type": "custom_tool_call", "name": str(name), "input": str(text)}:
            first, given = {"type": "custom_tool_call"}, {"input": text}
        case {"type": "function_call_output" | "custom_tool_call_output" as kind}:
            return _result_from(item, kind, calls, reading)
        case {"type": "reasoning"}:
            return _thought_from(item)
        case _:
            return None, {}
    call_id, is_made = calls.opened(item.get("call_id"), name)
    first = merged(first, {"shape": {"id": "made"}}) if is_made else first
    return build.tool_use(id=call_id, name=name, input=given), first


def _result_from(item: JsonObject, kind: str, calls: Calls, reading: Writing) -> tuple[JsonObject | None, JsonObject]:
    output = item.get("output")
    name = item.get("name")
    call_id, is_found = calls.answered(item.get("call_id"), name if isinstance(name, str) else None)
    if isinstance(output, list):
        output = [part_from(part, "user", reading) for part in output]
    elif output is not None and not isinstance(output, str):
        return None, {}
    first: JsonObject = {"shape": {"id": "made"}} if is_found else {}
    if kind != _OUTPUTS[call_id in reading.custom]:
        first["type"] = kind
    return build.tool_result(tool_use_id=call_id, content="" if output is None else output), first


def _thought_from(item: JsonObject) -> tuple[JsonObject | None, JsonObject]:
    """Reasoning in full where it is told, else its summary."""
    for field, kind in (("content", "reasoning_text"), ("summary", "summary_text")):
        parts = item.get(field) or []
        if not isinstance(parts, list) or any(
            not isinstance(part, dict) or part.keys() != {"type", "text"} or part["type"] != kind for part in parts
        ):
            return None, {}
        texts = [part["text"] for part in parts]
        if not all(isinstance(text, str) for text in texts):
            return None, {}
        if texts or field == "summary":
            facts: JsonObject = {"text": "content"} if field == "content" else {}
            if len(texts) > 1 or texts == [""]:
                facts["lengths"] = [len(text) for text in texts]
            return build.thinking(_BETWEEN.join(texts)), {"shape": facts} if facts else {}
    return None, {}


def item_to(block: JsonObject, index: int, at: str, writing: Writing) -> Any:
    """The item for a block, of which the format has one."""
    if block["type"] == "opaque":
        return block["raw"]
    notes = writing.notes(block)
    if shape(notes).get("part"):  # it stood among the parts of a message, whose fields are others
        notes = {}
    said = {
        "tool_use": ("type", "id", "name", "input"),
        "tool_result": ("type", "tool_use_id", "content", "is_error"),
        "thinking": ("type", "thinking"),
    }
    writing.leave_out(block, said[block["type"]], at, {"type", "function", "arguments"})
    if block.get("is_error"):
        writing.losses.drop(f"{at}/is_error", "there is no place for a failure here but the text")
    return told(*_fields(_remembered(block, writing), notes, index, at, writing), notes)


def _remembered(block: JsonObject, writing: Writing) -> JsonObject:
    """The block; if it is a call with free text, its result will be of the matching kind."""
    if block["type"] == "tool_use" and is_free_text(block, writing):
        writing.custom.add(block["id"])
    return block


def is_item(block: JsonObject, writing: Writing) -> bool:
    return block["type"] in {"tool_use", "tool_result", "thinking"} or (
        block["type"] == "opaque" and writing.owns(block)
    )


def _fields(block: JsonObject, notes: JsonObject, index: int, at: str, writing: Writing) -> Fields:
    match block["type"]:
        case "tool_use":
            return _call_fields(block, notes, writing)
        case "tool_result":
            return _result_fields(block, notes, index, at, writing)
        case _:
            return _thought_fields(block, notes, index)


def _call_fields(block: JsonObject, notes: JsonObject, writing: Writing) -> Fields:
    free = block["input"]
    is_free = is_free_text(block, writing) or (notes.get("type") == "custom_tool_call" and free.keys() == {"input"})
    said: JsonObject = {"type": "custom_tool_call" if is_free else "function_call"}
    if shape(notes).get("id") != "made":
        said["call_id"] = block["id"]
    said["name"] = block["name"]
    filled: JsonObject = {}
    if writing.is_response or writing.dialect == "seed":
        prefix = "ctc" if is_free else "fc"
        filled["id"] = f"{prefix}_{block['id'].removeprefix('call_')}"
        filled |= {} if is_free else {"status": "completed"}
    if is_free:
        return Fields({**said, "input": free["input"]}, filled)
    arguments, missing = arguments_fields(block, notes, writing)
    return Fields({**said, **arguments}, {**missing, **filled})


def _result_fields(block: JsonObject, notes: JsonObject, index: int, at: str, writing: Writing) -> Fields:
    kind = notes.get("type")
    said: JsonObject = {"type": kind if kind in _OUTPUTS else _OUTPUTS[block["tool_use_id"] in writing.custom]}
    if shape(notes).get("id") != "made":
        said["call_id"] = block["tool_use_id"]
    output = result_to(block, at, writing)
    filled: JsonObject = {"id": f"fco_{index}", "status": "completed"} if writing.is_response else {}
    return Fields({**said, "output": output}, filled) if output else Fields(said, {"output": output, **filled})


def _thought_fields(block: JsonObject, notes: JsonObject, index: int) -> Fields:
    facts = shape(notes)
    field, kind = ("content", "reasoning_text") if facts.get("text") == "content" else ("summary", "summary_text")
    parts = [{"type": kind, "text": text} for text in _split(block["thinking"], facts.get("lengths"))]
    said: JsonObject = {"type": "reasoning"}
    filled: JsonObject = {"id": f"rs_{index}", "summary": []}
    return Fields({**said, field: parts} if parts else said, filled)


def _split(text: str, lengths: list[int] | None) -> list[str]:
    """The texts that were joined, while their lengths still fit."""
    if lengths is None:
        return [text] if text else []
    texts: list[str] = []
    start = 0
    for length in lengths:
        texts.append(text[start : start + length])
        start += length + len(_BETWEEN)
    return texts if _BETWEEN.join(texts) == text else [text]
