"""Parts of a Responses message, read into blocks and written from them.

The seed dialect has more kinds of parts than the API: `output_image`, `tool_use` and `tool_result`. A third form has
calls and results in brackets, as text: these are read as calls and results if a call and a result have the same id.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._parts import (
    annotations_to_wire,
    audio_from_wire,
    audio_to_wire,
    fenced_code,
    file_from_wire,
    file_to_wire,
    is_annotation_list,
    media_url,
    source_from_url,
)
from palaver.wire.openai._provider_data import (
    CHAT,
    RESPONSES,
    Fields,
    Writer,
    apply_notes,
    attach_notes,
    notes_for,
    opaque_block,
    shape,
)
from palaver.wire.openai._tools import arguments_fields, parse_arguments

_TEXTS = ("input_text", "output_text", "text")
_IMAGES = ("input_image", "output_image")
_BRACKETED_CALL = re.compile(r"\[Tool: (\S+) \((\S+)\)\]\nInput: (\{.*\})", re.DOTALL)
_BRACKETED_RESULT = re.compile(r"\[Tool Result (\S+)\]\n(.*)", re.DOTALL)


def bracketed_call_ids(items: list[Any]) -> set[str]:
    """Return the ids that have one call in brackets and, later, one result in brackets."""
    called: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for item in items:
        for text in _message_texts(item):
            if item["role"] == "assistant" and (match := _BRACKETED_CALL.fullmatch(text)):
                called[match[2]] += 1
            elif item["role"] == "user" and (match := _BRACKETED_RESULT.fullmatch(text)) and match[1] in called:
                answered[match[1]] += 1
    return {call_id for call_id, count in answered.items() if count == 1 and called[call_id] == 1}


def _message_texts(item: Any) -> Iterator[str]:
    match item:
        case {"role": "assistant" | "user", "content": [*parts]}:
            for part in parts:
                match part:
                    case {"type": "input_text" | "output_text", "text": str(text)}:
                        yield text
                    case _:
                        pass
        case _:
            pass


def has_seed_parts(items: list[Any]) -> bool:
    """Return whether any message has a part of a kind that only the seed dialect has."""
    return any(
        isinstance(part, dict) and part.get("type") in ("tool_use", "tool_result", "output_image")
        for item in items
        if isinstance(item, dict) and isinstance(item.get("content"), list)
        for part in item["content"]
    )


def part_from_wire(part: Any, role: str, trial: Writer, bracketed: Collection[str] = ()) -> JsonObject:
    """Return the block of a part; an opaque block if there is no other, or it would not reproduce the part."""
    if not isinstance(part, dict):
        return opaque_block("part", part, RESPONSES, part=True)
    block, initial = _bracketed_block(part, role, bracketed) or _block_from_wire(part, role, trial)
    if block is None:
        return opaque_block(part.get("type"), part, RESPONSES, part=True)
    notes = notes_for(part, lambda notes: _fields(block, notes, role, "", trial) or Fields({}, {}), initial)
    return (
        opaque_block(part.get("type"), part, RESPONSES, part=True)
        if notes is None
        else attach_notes(block, RESPONSES, notes)
    )


def _block_from_wire(part: JsonObject, role: str, trial: Writer) -> tuple[JsonObject | None, JsonObject]:
    match part:
        case {"type": "input_text" | "output_text" | "text" as kind, "text": str(text)}:
            cited = part.get("annotations")
            is_cited = kind == "output_text" and cited and is_annotation_list(cited, RESPONSES)
            initial = {"type": kind} if kind != _text_kind(role) else {}
            return build.text(text, citations=cited if is_cited else None), initial
        case {"type": "refusal", "refusal": str(text)}:
            return build.text(text), {"type": "refusal"}
        case {"type": "input_image" | "output_image" as kind, **rest}:
            initial = {"type": kind} if kind == "output_image" or role == "assistant" else {}
            match rest:
                case {"image_url": str(url)}:
                    return build.image(source_from_url(url)), initial
                case {"file_id": str(file_id)}:
                    return build.image(build.source("file", file_id)), initial
                case _:
                    return None, {}
        case {"type": "input_file"}:
            return file_from_wire(part), {}
        case {"type": "input_audio", "input_audio": audio}:
            return audio_from_wire(audio), {"type": "input_audio"}
        case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": dict(given)}:
            return build.tool_use(id=call_id, name=name, input=given), {"shape": {"part": True}}
        case {"type": "tool_result", "tool_use_id": str(call_id), "content": str() | list() as content}:
            inner = content if isinstance(content, str) else [part_from_wire(inner, "user", trial) for inner in content]
            block = build.tool_result(tool_use_id=call_id, content=inner, is_error=part.get("is_error") is True)
            return block, {"shape": {"part": True}}
        case _:
            return None, {}


def _bracketed_block(part: JsonObject, role: str, bracketed: Collection[str]) -> tuple[JsonObject, JsonObject] | None:
    text = part.get("text")
    if not isinstance(text, str) or part.get("type") != _text_kind(role):
        return None
    if role == "assistant" and (match := _BRACKETED_CALL.fullmatch(text)) and match[2] in bracketed:
        block = build.tool_use(id=match[2], name=match[1], input=parse_arguments(match[3]))
        return block, {"shape": {"bracket": True, "arguments": match[3]}}
    if role == "user" and (match := _BRACKETED_RESULT.fullmatch(text)) and match[1] in bracketed:
        return build.tool_result(tool_use_id=match[1], content=match[2]), {"shape": {"bracket": True}}
    return None


def single_text(parts: list[Any], role: str) -> str | None:
    """Return the text of a content with a single plain text of the role's usual kind; None for any other content."""
    match parts:
        case [{"type": kind, "text": str(text), **rest}] if kind == _text_kind(role):
            return text if rest == ({"annotations": []} if role == "assistant" else {}) else None
        case _:
            return None


def _text_kind(role: str) -> str:
    return "output_text" if role == "assistant" else "input_text"


def is_part(block: JsonObject, writer: Writer) -> bool:
    """Return whether a block is written as a part of a message, not as an item of its own."""
    form = shape(writer.notes(block))
    match block["type"]:
        case "thinking":
            return False
        case "tool_use":
            is_inline = form.get("part") or shape(writer.sibling_notes(block)).get("part")
            return bool(form.get("bracket") or (is_inline and writer.dialect == "seed"))
        case "tool_result":
            return bool(form.get("bracket") or (writer.dialect == "seed" and not writer.is_response))
        case "opaque":
            return bool(form.get("part")) or _is_passed_through(block, writer)
        case _:
            return True


def _is_passed_through(block: JsonObject, writer: Writer) -> bool:
    """Return whether this is a part of Chat that the seed dialect does not know and passes through."""
    chat_notes = (block.get("provider_data") or {}).get(CHAT)
    return writer.dialect == "seed" and chat_notes == {} and isinstance(block["raw"], dict)


def part_to_wire(block: JsonObject, role: str, pointer: str, writer: Writer) -> list[Any]:
    """Return a list of the one part of a block, or an empty list if it is dropped."""
    if block["type"] == "opaque" and (writer.owns(block) or _is_passed_through(block, writer)):
        return [block["raw"]]
    notes = {key: value for key, value in writer.notes(block).items() if key != "item"}
    if block["type"] in {"tool_use", "tool_result"} and not shape(notes).keys() & {"part", "bracket"}:
        notes = {}
    fields = _fields(block, notes, role, pointer, writer)
    return [] if fields is None else [apply_notes(*fields, notes)]


def _fields(block: JsonObject, notes: JsonObject, role: str, pointer: str, writer: Writer) -> Fields | None:
    match block:
        case {"type": "text"}:
            return _text_fields(block, notes, role, pointer, writer)
        case {"type": "code"}:
            writer.losses.change(pointer, "code is written as text")
            return Fields({"type": _text_kind(role), "text": fenced_code(block)}, {})
        case {"type": "image"}:
            return _image_fields(block, notes, role, pointer, writer)
        case {"type": "file"} if role != "assistant":
            return _file_fields(block, notes, pointer, writer)
        case {"type": "tool_use" | "tool_result"} if shape(notes).get("bracket"):
            return Fields({"type": _text_kind(role), "text": _bracket_text(block, notes, writer)}, {})
        case {"type": "tool_use"}:
            writer.report_unwritten(block, ("type", "id", "name", "input"), pointer, {"shape", "part"})
            return Fields({key: block[key] for key in ("type", "id", "name", "input")}, {})
        case {"type": "tool_result"}:
            writer.report_unwritten(block, ("type", "tool_use_id", "content", "is_error"), pointer, {"shape", "part"})
            known = {
                "type": "tool_result",
                "tool_use_id": block["tool_use_id"],
                "content": result_to_wire(block, pointer, writer),
            }
            if block.get("is_error") and shape(notes).get("part"):
                known["is_error"] = True
            elif block.get("is_error"):
                writer.losses.drop(f"{pointer}/is_error", "a failure can only be stated in the text here")
            return Fields(known, {})
        case _:
            writer.drop(block, pointer)
            return None


def _text_fields(block: JsonObject, notes: JsonObject, role: str, pointer: str, writer: Writer) -> Fields:
    kind = notes.get("type")
    if "refusal" in (kind, writer.sibling_notes(block).get("type")) and role == "assistant":
        writer.report_unwritten(block, ("type", "text"), pointer, {"type"})
        return Fields({"type": "refusal", "refusal": block["text"]}, {})
    known = {"type": kind if kind in _TEXTS else _text_kind(role), "text": block["text"]}
    if known["type"] != "output_text":
        writer.report_unwritten(block, ("type", "text"), pointer, {"role"} if writer.dialect == "api" else ())
        return Fields(known, {})
    writer.report_unwritten(block, ("type", "text", "citations"), pointer)
    if cited := annotations_to_wire(block, pointer, writer):
        return Fields({**known, "annotations": cited}, {})
    return Fields(known, {"annotations": []} if writer.dialect == "api" else {})


def _image_fields(block: JsonObject, notes: JsonObject, role: str, pointer: str, writer: Writer) -> Fields | None:
    kind = notes.get("type")
    if kind not in _IMAGES:
        kind = "output_image" if role == "assistant" else "input_image"
    if kind == "output_image" and writer.dialect == "api":
        writer.drop(block, pointer, "assistant messages cannot have images")
        return None
    writer.report_unwritten(block, ("type", "source"), pointer)
    source = block["source"]
    known: JsonObject = {"type": kind}
    if source["type"] == "file":
        writer.report_unwritten(source, ("type", "data"), f"{pointer}/source")
        known["file_id"] = source["data"]
    else:
        known["image_url"] = media_url(block, pointer, writer)
    return Fields(known, {"detail": "auto"} if writer.dialect == "api" else {})


def _file_fields(block: JsonObject, notes: JsonObject, pointer: str, writer: Writer) -> Fields | None:
    source = block.get("source")
    if source is None and block.get("text") is not None:
        writer.losses.change(pointer, "a file is written as its text")
        return Fields({"type": "input_text", "text": block["text"]}, {})
    if source is None:
        writer.drop(block, pointer, "a file needs bytes, a URL or an id here")
        return None
    writer.report_unwritten(block, ("type", "source", "name", "media_type"), pointer)
    if notes.get("type") == "input_audio" and (audio := audio_to_wire(block)) is not None:
        return Fields({"type": "input_audio", "input_audio": audio}, {})
    return Fields({"type": "input_file", **file_to_wire(block, pointer, writer)}, {})


def _bracket_text(block: JsonObject, notes: JsonObject, writer: Writer) -> str:
    if block["type"] == "tool_result":
        content = block["content"]
        text = content if isinstance(content, str) else "".join(inner.get("text", "") for inner in content)
        return f"[Tool Result {block['tool_use_id']}]\n{text}"
    known, defaults = arguments_fields(block, {"arguments": shape(notes)["arguments"]}, writer)
    return f"[Tool: {block['name']} ({block['id']})]\nInput: {known.get('arguments') or defaults['arguments']}"


def result_to_wire(block: JsonObject, pointer: str, writer: Writer) -> Any:
    """Return a tool's result: text, or parts."""
    content = block["content"]
    if isinstance(content, str):
        return content
    located = [(inner, f"{pointer}/content/{index}") for index, inner in enumerate(content)]
    return [part for inner, block_pointer in located for part in part_to_wire(inner, "user", block_pointer, writer)]
