"""Items of the Responses API other than messages: calls, results and reasoning, and opaque blocks for the rest."""

from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._provider_data import (
    RESPONSES,
    Fields,
    Writer,
    apply_notes,
    attach_notes,
    merge_notes,
    notes_for,
    opaque_block,
    shape,
)
from palaver.wire.openai._responses_parts import part_from_wire, result_to_wire
from palaver.wire.openai._tools import CallIds, arguments_fields, arguments_notes, is_free_text, parse_arguments

_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_CALLER_ITEMS = ("additional_tools", "configuration_update", "compaction_trigger")
_SEPARATOR = "\n\n"
_BLOCK_FIELDS = {
    "tool_use": ("type", "id", "name", "input"),
    "tool_result": ("type", "tool_use_id", "content", "is_error"),
    "thinking": ("type", "thinking"),
}


def item_role(item: Any) -> str:
    """Return the role of the turn that an item belongs to."""
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(kind, str):
        return "user"
    if kind in _CALLER_ITEMS:
        return "user"
    is_by_provider = item.get("execution") == "server" or kind == "program_output"
    if (kind.endswith("_output") and not is_by_provider) or kind == "mcp_approval_response":
        return "tool"
    return "assistant"


def item_from_wire(item: Any, index: int, call_ids: CallIds, trial: Writer) -> JsonObject:
    """Return the block of an item; an opaque block if there is no other, or it would not reproduce the item."""
    block, initial = _block_from_wire(item, call_ids, trial)
    if block is not None:
        notes = notes_for(item, lambda notes: _fields(block, notes, index, "", trial), initial)
        if notes is not None:
            _track_custom_call(attach_notes(block, RESPONSES, notes), trial)
            return block
    return opaque_block(item.get("type") if isinstance(item, dict) else "item", item, RESPONSES)


def _block_from_wire(item: Any, call_ids: CallIds, trial: Writer) -> tuple[JsonObject | None, JsonObject]:
    match item:
        case {"type": "function_call", "name": str(name), **rest} if isinstance(
            rest.get("arguments", ""), str | dict | None
        ):
            initial = arguments_notes(rest.get("arguments"))
            given = parse_arguments(rest.get("arguments"))
        case {"type": "custom_tool_call", "name": str(name), "input": str(text)}:
            initial, given = {"type": "custom_tool_call"}, {"input": text}
        case {"type": "function_call_output" | "custom_tool_call_output" as kind}:
            return _result_from_wire(item, kind, call_ids, trial)
        case {"type": "reasoning"}:
            return _thinking_from_wire(item)
        case _:
            return None, {}
    call_id, is_made_up = call_ids.register_call(item.get("call_id"), name)
    initial = merge_notes(initial, {"shape": {"id": "made"}}) if is_made_up else initial
    return build.tool_use(id=call_id, name=name, input=given), initial


def _result_from_wire(
    item: JsonObject, kind: str, call_ids: CallIds, trial: Writer
) -> tuple[JsonObject | None, JsonObject]:
    output = item.get("output")
    name = item.get("name")
    call_id, is_found = call_ids.match_result(item.get("call_id"), name if isinstance(name, str) else None)
    if isinstance(output, list):
        output = [part_from_wire(part, "user", trial) for part in output]
    elif output is not None and not isinstance(output, str):
        return None, {}
    initial: JsonObject = {"shape": {"id": "made"}} if is_found else {}
    if kind != _OUTPUTS[call_id in trial.custom]:
        initial["type"] = kind
    return build.tool_result(tool_use_id=call_id, content="" if output is None else output), initial


def _thinking_from_wire(item: JsonObject) -> tuple[JsonObject | None, JsonObject]:
    """Return reasoning with its full text if the item has it, else with its summary."""
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
            form: JsonObject = {"text": "content"} if field == "content" else {}
            if len(texts) > 1 or texts == [""]:
                form["lengths"] = [len(text) for text in texts]
            return build.thinking(_SEPARATOR.join(texts)), {"shape": form} if form else {}
    return None, {}


def item_to_wire(block: JsonObject, index: int, pointer: str, writer: Writer) -> Any:
    """Return the item of a block for which `is_item` is true."""
    if block["type"] == "opaque":
        return block["raw"]
    notes = writer.notes(block)
    if shape(notes).get("part"):  # read from a part of a message, which has other fields
        notes = {}
    writer.report_unwritten(block, _BLOCK_FIELDS[block["type"]], pointer, {"type", "function", "arguments"})
    if block.get("is_error"):
        writer.losses.drop(f"{pointer}/is_error", "a failure can only be stated in the text here")
    _track_custom_call(block, writer)
    return apply_notes(*_fields(block, notes, index, pointer, writer), notes)


def _track_custom_call(block: JsonObject, writer: Writer) -> None:
    """Remember a call with free text, so that its result is written as the matching kind."""
    if block["type"] == "tool_use" and is_free_text(block, writer):
        writer.custom.add(block["id"])


def is_item(block: JsonObject, writer: Writer) -> bool:
    return block["type"] in {"tool_use", "tool_result", "thinking"} or (
        block["type"] == "opaque" and writer.owns(block)
    )


def _fields(block: JsonObject, notes: JsonObject, index: int, pointer: str, writer: Writer) -> Fields:
    match block["type"]:
        case "tool_use":
            return _call_fields(block, notes, writer)
        case "tool_result":
            return _result_fields(block, notes, index, pointer, writer)
        case _:
            return _thinking_fields(block, notes, index)


def _call_fields(block: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
    free = block["input"]
    is_free = is_free_text(block, writer) or (notes.get("type") == "custom_tool_call" and free.keys() == {"input"})
    known: JsonObject = {"type": "custom_tool_call" if is_free else "function_call"}
    if shape(notes).get("id") != "made":
        known["call_id"] = block["id"]
    known["name"] = block["name"]
    defaults: JsonObject = {}
    if writer.is_response or writer.dialect == "seed":
        prefix = "ctc" if is_free else "fc"
        defaults["id"] = f"{prefix}_{block['id'].removeprefix('call_')}"
        defaults |= {} if is_free else {"status": "completed"}
    if is_free:
        return Fields({**known, "input": free["input"]}, defaults)
    arguments, missing = arguments_fields(block, notes, writer)
    return Fields({**known, **arguments}, {**missing, **defaults})


def _result_fields(block: JsonObject, notes: JsonObject, index: int, pointer: str, writer: Writer) -> Fields:
    kind = notes.get("type")
    known: JsonObject = {"type": kind if kind in _OUTPUTS else _OUTPUTS[block["tool_use_id"] in writer.custom]}
    if shape(notes).get("id") != "made":
        known["call_id"] = block["tool_use_id"]
    output = result_to_wire(block, pointer, writer)
    defaults: JsonObject = {"id": f"fco_{index}", "status": "completed"} if writer.is_response else {}
    return Fields({**known, "output": output}, defaults) if output else Fields(known, {"output": output, **defaults})


def _thinking_fields(block: JsonObject, notes: JsonObject, index: int) -> Fields:
    form = shape(notes)
    field, kind = ("content", "reasoning_text") if form.get("text") == "content" else ("summary", "summary_text")
    parts = [{"type": kind, "text": text} for text in _split(block["thinking"], form.get("lengths"))]
    known: JsonObject = {"type": "reasoning"}
    defaults: JsonObject = {"id": f"rs_{index}", "summary": []}
    return Fields({**known, field: parts} if parts else known, defaults)


def _split(text: str, lengths: list[int] | None) -> list[str]:
    """Return the texts that were joined; the whole text if their lengths no longer fit."""
    if lengths is None:
        return [text] if text else []
    texts: list[str] = []
    start = 0
    for length in lengths:
        texts.append(text[start : start + length])
        start += length + len(_SEPARATOR)
    return texts if _SEPARATOR.join(texts) == text else [text]
