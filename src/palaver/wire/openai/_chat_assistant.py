"""The assistant's message in Chat, in a request and in a response: reasoning, content, refusal, audio and calls.

Each has a field of its own, so their order is fixed; in the exchange they are blocks in that order. Reasoning has no
official field. Servers call it `reasoning_content`, `reasoning` (with `reasoning_details`) or `reasoning_text` (with
`reasoning_opaque`). A response is written with the first; a request only has reasoning that was read from Chat.
"""

from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._chat_parts import content_from_wire, content_to_wire, is_part
from palaver.wire.openai._parts import LocatedBlock, annotations_to_wire, is_annotation_list
from palaver.wire.openai._provider_data import (
    CHAT,
    Fields,
    Writer,
    apply_notes,
    attach_notes,
    merge_notes,
    notes_for,
    opaque_block,
    shape,
)
from palaver.wire.openai._tools import (
    CallIds,
    arguments_fields,
    arguments_notes,
    is_free_text,
    parse_arguments,
)

_REASONING_TEXTS = ("reasoning_content", "reasoning", "reasoning_text")
_REASONING_DATA = ("reasoning_details", "reasoning_opaque")
_FIELD_ORDER = ("thinking", "content", "refusal", "audio", "function_call", "tool_calls")


def assistant_from_wire(
    message: JsonObject, call_ids: CallIds, *, is_response: bool = False
) -> tuple[list[JsonObject], JsonObject | None]:
    """Return the blocks of a message, and its notes; None for notes if these cannot reproduce the message."""
    thoughts = _thinking_from_wire(message, is_response=is_response)
    content, form = content_from_wire(message.get("content"), call_ids)
    if is_response and isinstance(message.get("content"), list):
        form = {"content": "list"}
    for block in content:
        if block["type"] not in {"text", "opaque"}:
            block.setdefault("provider_data", {CHAT: {}})
    cited = message.get("annotations")
    if is_response and cited and [block["type"] for block in content] == ["text"] and is_annotation_list(cited, CHAT):
        content[0]["citations"] = cited
    refused = message.get("refusal")
    refusal = [attach_notes(build.text(refused), CHAT, {"type": "refusal"})] if isinstance(refused, str) else []
    blocks = [*thoughts, *content, *refusal, *_audio_from_wire(message.get("audio"))]
    if (call := _legacy_call_from_wire(message.get("function_call"), call_ids)) is not None:
        blocks.append(call)
    if isinstance(message.get("tool_calls"), list):
        blocks += [call_from_wire(call, call_ids) for call in message["tool_calls"]]
    trial = Writer(CHAT, is_response=is_response)
    initial = {"shape": form} if form else {}
    return blocks, notes_for(message, lambda notes: assistant_fields(blocks, notes, "", trial), initial)


def assistant_fields(blocks: list[JsonObject], notes: JsonObject, pointer: str, writer: Writer) -> Fields:
    """Return the fields of a message, and report a loss if they cannot keep the order of its blocks."""
    by_field: dict[str, list[LocatedBlock]] = {field: [] for field in _FIELD_ORDER}
    positions: list[int] = []
    for index, block in enumerate(blocks):
        block_pointer = f"{pointer}/content/{index}"
        field = _field_of_block(block, writer)
        if field is None:
            writer.drop(block, block_pointer, _drop_reason(block))
        else:
            positions.append(_FIELD_ORDER.index(field))
            by_field[field].append((block, block_pointer))
    if positions != sorted(positions):
        writer.losses.change(f"{pointer}/content", "reasoning, text and calls are separate here, in this order")
    known: JsonObject = {}
    defaults: JsonObject = {"role": "assistant", "content": None}
    if writer.is_response:
        defaults |= {"refusal": None, "annotations": []}
    else:
        known["role"] = "assistant"
    content = content_to_wire(by_field["content"], shape(notes), pointer, writer)
    if content is not None:
        known["content"] = content
    if writer.is_response and (cited := _annotations(by_field["content"], writer)):
        known["annotations"] = cited
    if by_field["refusal"]:
        known["refusal"] = _refusal_to_wire(by_field["refusal"], pointer, writer)
    if tool_calls := [call_to_wire(block, block_pointer, writer) for block, block_pointer in by_field["tool_calls"]]:
        known["tool_calls"] = tool_calls
    for block, block_pointer in by_field["function_call"]:
        known["function_call"] = _legacy_call_to_wire(block, block_pointer, writer)
    for block, block_pointer in by_field["audio"]:
        known["audio"] = _audio_to_wire(block, block_pointer, writer)
    return Fields(_thinking_to_wire(by_field["thinking"], pointer, writer) | known, defaults)


def _field_of_block(block: JsonObject, writer: Writer) -> str | None:
    """Return the field that a block is written to; None if the assistant's message has none for it."""
    notes = writer.notes(block)
    match block["type"]:
        case "thinking":
            is_writable = writer.owns(block) or (writer.is_response and block["thinking"])
            return "thinking" if is_writable else None
        case "tool_use" if shape(notes).get("part"):
            return "content"
        case "tool_use":
            return "function_call" if shape(notes).get("legacy") else "tool_calls"
        case "opaque" if shape(notes).get("call"):
            return "tool_calls"
        case "file" if notes.get("type") == "audio":
            return "audio"
        case "text" if not is_part(block, writer) and "refusal" in (
            notes.get("type"),
            writer.sibling_notes(block).get("type"),
        ):
            return "refusal"
        case "text" | "code":
            return "content"
        case _:
            return "content" if writer.owns(block) else None


def _drop_reason(block: JsonObject) -> str:
    """Return why a block is dropped; empty if its type is reason enough."""
    return "reasoning has no official field here" if block["type"] == "thinking" else ""


def _annotations(content: list[LocatedBlock], writer: Writer) -> list[JsonObject]:
    made: list[JsonObject] = []
    offset = 0
    for block, pointer in content:
        made += annotations_to_wire(block, pointer, writer, offset)
        offset += len(block.get("text") or "")
    return made


def _refusal_to_wire(refusals: list[LocatedBlock], pointer: str, writer: Writer) -> str:
    for block, block_pointer in refusals:
        writer.report_unwritten(block, ("type", "text"), block_pointer, {"type"})
    if len(refusals) > 1:
        writer.losses.change(f"{pointer}/content", "a message has one refusal; several are joined")
    return "".join(block["text"] for block, _ in refusals)


def _thinking_from_wire(message: JsonObject, *, is_response: bool) -> list[JsonObject]:
    """Return the reasoning of a message, with notes on every field that concerns it."""
    stated = {name: message[name] for name in (*_REASONING_TEXTS, *_REASONING_DATA) if name in message}
    text_field = next((name for name in _REASONING_TEXTS if isinstance(stated.get(name), str) and stated[name]), None)
    if text_field is None and not any(stated.get(name) for name in _REASONING_DATA):
        return []
    other_fields = {name: value for name, value in stated.items() if name != text_field}
    notes = other_fields if text_field == _REASONING_TEXTS[0] else {**other_fields, "shape": {"field": text_field}}
    block = build.thinking(stated[text_field] if text_field else _details_text(stated.get("reasoning_details")))
    if notes or not is_response:
        block["provider_data"] = {CHAT: notes}
    return [block]


def _details_text(details: Any) -> str:
    """Return the readable text in reasoning details."""
    entries = [entry for entry in details if isinstance(entry, dict)] if isinstance(details, list) else []
    texts = [entry.get("text") or entry.get("summary") for entry in entries]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _thinking_to_wire(thoughts: list[LocatedBlock], pointer: str, writer: Writer) -> JsonObject:
    known: JsonObject = {}
    for block, block_pointer in thoughts:
        writer.report_unwritten(block, ("type", "thinking"), block_pointer)
        notes = writer.notes(block)
        field = shape(notes).get("field", _REASONING_TEXTS[0])
        other_fields = {name: value for name, value in notes.items() if name != "shape"}
        if field in known:
            writer.losses.change(f"{pointer}/content", "a message has one reasoning; several are joined")
            known[field] += "\n\n" + block["thinking"]
        elif field is not None:
            known[field] = block["thinking"]
        known |= {name: value for name, value in other_fields.items() if name not in known}
    return known


def _audio_from_wire(audio: Any) -> list[JsonObject]:
    match audio:
        case {"data": str(data)}:
            source = build.source("base64", data)
        case {"id": str(audio_id)}:
            source = build.source("file", audio_id)
        case _:
            return []
    transcript = audio.get("transcript")
    block = build.file(source=source, text=transcript if isinstance(transcript, str) else None)
    notes = notes_for(audio, lambda _: _audio_fields(block))
    return [] if notes is None else [attach_notes(block, CHAT, {"type": "audio", "audio": notes})]


def _audio_fields(block: JsonObject) -> Fields:
    source = block["source"]
    known = {"id" if source["type"] == "file" else "data": source["data"]}
    return Fields(known | ({"transcript": block["text"]} if block.get("text") is not None else {}), {})


def _audio_to_wire(block: JsonObject, pointer: str, writer: Writer) -> JsonObject:
    writer.report_unwritten(block, ("type", "source", "text"), pointer)
    return apply_notes(*_audio_fields(block), writer.notes(block).get("audio", {}))


def call_from_wire(call: Any, call_ids: CallIds) -> JsonObject:
    """Return the block of a call; an opaque block unless it is a function's or a custom tool's."""
    match call:
        case {"type": "custom", "custom": {"name": str(name), "input": str(text)}}:
            given, initial = {"input": text}, {"type": "custom"}
        case {"function": {"name": str(name), **rest}} if isinstance(rest.get("arguments", ""), str | dict | None):
            given = parse_arguments(rest.get("arguments"))
            inner = arguments_notes(rest.get("arguments"))
            initial = {"function": inner} if inner else {}
        case _:
            kind = call.get("type") if isinstance(call, dict) else None
            return opaque_block(kind or "tool_call", call, CHAT, call=True)
    call_id, is_made_up = call_ids.register_call(call.get("id"), name)
    if is_made_up:
        initial = merge_notes(initial, {"shape": {"id": "made"}})
    block = build.tool_use(id=call_id, name=name, input=given)
    trial = Writer(CHAT)
    notes = notes_for(call, lambda notes: _call_fields(block, notes, trial), initial)
    return opaque_block(call.get("type"), call, CHAT, call=True) if notes is None else attach_notes(block, CHAT, notes)


def call_to_wire(block: JsonObject, pointer: str, writer: Writer) -> JsonObject:
    if block["type"] == "opaque":
        return block["raw"]
    writer.report_unwritten(block, ("type", "id", "name", "input"), pointer, {"type", "arguments"})
    notes = writer.notes(block)
    return apply_notes(*_call_fields(block, notes, writer), notes)


def _call_fields(block: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
    known: JsonObject = {} if shape(notes).get("id") == "made" else {"id": block["id"]}
    free = block["input"]
    if is_free_text(block, writer) or (notes.get("type") == "custom" and free.keys() == {"input"}):
        return Fields({**known, "type": "custom", "custom": {"name": block["name"], "input": free["input"]}}, {})
    function, missing = arguments_fields(block, notes.get("function") or {}, writer)
    return Fields({**known, "function": {"name": block["name"], **function}}, {"type": "function", "function": missing})


def _legacy_call_from_wire(call: Any, call_ids: CallIds) -> JsonObject | None:
    """Return the block of a legacy call: a message has at most one, without an id."""
    match call:
        case {"name": str(name), **rest} if isinstance(rest.get("arguments", ""), str | None):
            call_id, _ = call_ids.register_call(None, name)
            block = build.tool_use(id=call_id, name=name, input=parse_arguments(rest.get("arguments")))
            trial = Writer(CHAT)
            notes = notes_for(call, lambda notes: _legacy_call_fields(block, notes, trial))
            return None if notes is None else attach_notes(block, CHAT, merge_notes(notes, {"shape": {"legacy": True}}))
        case _:
            return None


def _legacy_call_to_wire(block: JsonObject, pointer: str, writer: Writer) -> JsonObject:
    writer.report_unwritten(block, ("type", "id", "name", "input"), pointer)
    notes = writer.notes(block)
    return apply_notes(*_legacy_call_fields(block, notes, writer), notes)


def _legacy_call_fields(block: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
    known, defaults = arguments_fields(block, notes, writer)
    return Fields({"name": block["name"], **known}, defaults)
