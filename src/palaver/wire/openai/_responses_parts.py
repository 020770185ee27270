"""Parts of a Responses message, and the blocks they are.

The seed dialect has more kinds than the API: `output_image`, `tool_use` and `tool_result` among the parts. A third form
tells calls and results in brackets, as text: it is read as such where a call and a result name the same id.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._calls import arguments_fields, arguments_from
from palaver.wire.openai._citations import annotations_to, are_annotations
from palaver.wire.openai._media import audio_from, audio_to, fenced, file_from, file_to, source_from, url_to
from palaver.wire.openai._notes import CHAT, RESPONSES, Fields, Writing, annotate, kept, noted, shape, told

_TEXTS = ("input_text", "output_text", "text")
_IMAGES = ("input_image", "output_image")
_CALL = re.compile(r"\[Tool: (\S+) \((\S+)\)\]\nInput: (\{.*\})", re.DOTALL)
_RESULT = re.compile(r"\[Tool Result (\S+)\]\n(.*)", re.DOTALL)


def told_in_brackets(items: list[Any]) -> set[str]:
    """Ids of which there is one call and, later, one result in brackets."""
    called: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for item in items:
        for text in _texts(item):
            if item["role"] == "assistant" and (match := _CALL.fullmatch(text)):
                called[match[2]] += 1
            elif item["role"] == "user" and (match := _RESULT.fullmatch(text)) and match[1] in called:
                answered[match[1]] += 1
    return {call_id for call_id, count in answered.items() if count == 1 and called[call_id] == 1}


def _texts(item: Any) -> Iterator[str]:
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


def is_seed(items: list[Any]) -> bool:
    """Whether messages among items have parts that only the seed dialect knows."""
    return any(
        isinstance(part, dict) and part.get("type") in ("tool_use", "tool_result", "output_image")
        for item in items
        if isinstance(item, dict) and isinstance(item.get("content"), list)
        for part in item["content"]
    )


def part_from(part: Any, role: str, reading: Writing, bracketed: Collection[str] = ()) -> JsonObject:
    """The block that a part is; kept whole where it is none, or where its block would not give it back."""
    if not isinstance(part, dict):
        return kept("part", part, RESPONSES, part=True)
    block, first = _bracket_from(part, role, bracketed) or _block_from(part, role, reading)
    if block is None:
        return kept(part.get("type"), part, RESPONSES, part=True)
    notes = noted(part, lambda notes: _fields(block, notes, role, "", reading) or Fields({}, {}), first)
    return kept(part.get("type"), part, RESPONSES, part=True) if notes is None else annotate(block, RESPONSES, notes)


def _block_from(part: JsonObject, role: str, reading: Writing) -> tuple[JsonObject | None, JsonObject]:
    match part:
        case {"type": "input_text" | "output_text" | "text" as kind, "text": str(text)}:
            cited = part.get("annotations")
            is_cited = kind == "output_text" and cited and are_annotations(cited, RESPONSES)
            first = {"type": kind} if kind != _text_kind(role) else {}
            return build.text(text, citations=cited if is_cited else None), first
        case {"type": "refusal", "refusal": str(text)}:
            return build.text(text), {"type": "refusal"}
        case {"type": "input_image" | "output_image" as kind, **rest}:
            first = {"type": kind} if kind == "output_image" or role == "assistant" else {}
            match rest:
                case {"image_url": str(url)}:
                    return build.image(source_from(url)), first
                case {"file_id": str(file_id)}:
                    return build.image(build.source("file", file_id)), first
                case _:
                    return None, {}
        case {"type": "input_file"}:
            return file_from(part), {}
        case {"type": "input_audio", "input_audio": audio}:
            return audio_from(audio), {"type": "input_audio"}
        case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": dict(given)}:
            return build.tool_use(id=call_id, name=name, input=given), {"shape": {"part": True}}
        case {"type": "tool_result", "tool_use_id": str(call_id), "content": str() | list() as content}:
            inner = content if isinstance(content, str) else [part_from(one, "user", reading) for one in content]
            block = build.tool_result(tool_use_id=call_id, content=inner, is_error=part.get("is_error") is True)
            return block, {"shape": {"part": True}}
        case _:
            return None, {}


def _bracket_from(part: JsonObject, role: str, bracketed: Collection[str]) -> tuple[JsonObject, JsonObject] | None:
    text = part.get("text")
    if not isinstance(text, str) or part.get("type") != _text_kind(role):
        return None
    if role == "assistant" and (match := _CALL.fullmatch(text)) and match[2] in bracketed:
        block = build.tool_use(id=match[2], name=match[1], input=arguments_from(match[3]))
        return block, {"shape": {"bracket": True, "arguments": match[3]}}
    if role == "user" and (match := _RESULT.fullmatch(text)) and match[1] in bracketed:
        return build.tool_result(tool_use_id=match[1], content=match[2]), {"shape": {"bracket": True}}
    return None


def only_text(parts: list[Any], role: str) -> str | None:
    """The text of parts that are one, of the usual kind and with nothing else to it."""
    match parts:
        case [{"type": kind, "text": str(text), **rest}] if kind == _text_kind(role):
            return text if rest == ({"annotations": []} if role == "assistant" else {}) else None
        case _:
            return None


def _text_kind(role: str) -> str:
    return "output_text" if role == "assistant" else "input_text"


def is_part(block: JsonObject, writing: Writing) -> bool:
    """Whether a block is written among the parts of a message, not as an item of its own."""
    facts = shape(writing.notes(block))
    match block["type"]:
        case "thinking":
            return False
        case "tool_use":
            is_inline = facts.get("part") or shape(writing.sibling(block)).get("part")
            return bool(facts.get("bracket") or (is_inline and writing.dialect == "seed"))
        case "tool_result":
            return bool(facts.get("bracket") or (writing.dialect == "seed" and not writing.is_response))
        case "opaque":
            return bool(facts.get("part")) or _is_left_as_it_is(block, writing)
        case _:
            return True


def _is_left_as_it_is(block: JsonObject, writing: Writing) -> bool:
    """The seed dialect passes on parts of Chat that it does not know."""
    held = (block.get("provider_data") or {}).get(CHAT)
    return writing.dialect == "seed" and held == {} and isinstance(block["raw"], dict)


def part_to(block: JsonObject, role: str, at: str, writing: Writing) -> list[Any]:
    """The part for a block, alone; nothing where it is left out."""
    if block["type"] == "opaque" and (writing.owns(block) or _is_left_as_it_is(block, writing)):
        return [block["raw"]]
    notes = {key: value for key, value in writing.notes(block).items() if key != "item"}
    if block["type"] in {"tool_use", "tool_result"} and not shape(notes).keys() & {"part", "bracket"}:
        notes = {}
    fields = _fields(block, notes, role, at, writing)
    return [] if fields is None else [told(*fields, notes)]


def _fields(block: JsonObject, notes: JsonObject, role: str, at: str, writing: Writing) -> Fields | None:
    match block:
        case {"type": "text"}:
            return _text_fields(block, notes, role, at, writing)
        case {"type": "code"}:
            writing.losses.change(at, "code is written as text")
            return Fields({"type": _text_kind(role), "text": fenced(block)}, {})
        case {"type": "image"}:
            return _image_fields(block, notes, role, at, writing)
        case {"type": "file"} if role != "assistant":
            return _file_fields(block, notes, at, writing)
        case {"type": "tool_use" | "tool_result"} if shape(notes).get("bracket"):
            return Fields({"type": _text_kind(role), "text": _bracket_text(block, notes, writing)}, {})
        case {"type": "tool_use"}:
            writing.leave_out(block, ("type", "id", "name", "input"), at, {"shape", "part"})
            return Fields({key: block[key] for key in ("type", "id", "name", "input")}, {})
        case {"type": "tool_result"}:
            writing.leave_out(block, ("type", "tool_use_id", "content", "is_error"), at, {"shape", "part"})
            said = {
                "type": "tool_result",
                "tool_use_id": block["tool_use_id"],
                "content": result_to(block, at, writing),
            }
            if block.get("is_error") and shape(notes).get("part"):
                said["is_error"] = True
            elif block.get("is_error"):
                writing.losses.drop(f"{at}/is_error", "there is no place for a failure here but the text")
            return Fields(said, {})
        case _:
            writing.drop(block, at)
            return None


def _text_fields(block: JsonObject, notes: JsonObject, role: str, at: str, writing: Writing) -> Fields:
    kind = notes.get("type")
    if "refusal" in (kind, writing.sibling(block).get("type")) and role == "assistant":
        writing.leave_out(block, ("type", "text"), at, {"type"})
        return Fields({"type": "refusal", "refusal": block["text"]}, {})
    said = {"type": kind if kind in _TEXTS else _text_kind(role), "text": block["text"]}
    if said["type"] != "output_text":
        writing.leave_out(block, ("type", "text"), at)
        return Fields(said, {})
    writing.leave_out(block, ("type", "text", "citations"), at)
    if cited := annotations_to(block, at, writing):
        return Fields({**said, "annotations": cited}, {})
    return Fields(said, {"annotations": []} if writing.dialect == "api" else {})


def _image_fields(block: JsonObject, notes: JsonObject, role: str, at: str, writing: Writing) -> Fields | None:
    kind = notes.get("type")
    if kind not in _IMAGES:
        kind = "output_image" if role == "assistant" else "input_image"
    if kind == "output_image" and writing.dialect == "api":
        writing.drop(block, at, "the assistant's messages have no place for an image")
        return None
    writing.leave_out(block, ("type", "source"), at)
    source = block["source"]
    said: JsonObject = {"type": kind}
    if source["type"] == "file":
        writing.leave_out(source, ("type", "data"), f"{at}/source")
        said["file_id"] = source["data"]
    else:
        said["image_url"] = url_to(block, at, writing)
    return Fields(said, {"detail": "auto"} if writing.dialect == "api" else {})


def _file_fields(block: JsonObject, notes: JsonObject, at: str, writing: Writing) -> Fields | None:
    source = block.get("source")
    if source is None and block.get("text") is not None:
        writing.losses.change(at, "of a file, the text is written")
        return Fields({"type": "input_text", "text": block["text"]}, {})
    if source is None:
        writing.drop(block, at, "a file without its bytes, an address or an id has no place here")
        return None
    writing.leave_out(block, ("type", "source", "name", "media_type"), at)
    if notes.get("type") == "input_audio" and (audio := audio_to(block)) is not None:
        return Fields({"type": "input_audio", "input_audio": audio}, {})
    return Fields({"type": "input_file", **file_to(block, at, writing)}, {})


def _bracket_text(block: JsonObject, notes: JsonObject, writing: Writing) -> str:
    if block["type"] == "tool_result":
        content = block["content"]
        told_text = content if isinstance(content, str) else "".join(inner.get("text", "") for inner in content)
        return f"[Tool Result {block['tool_use_id']}]\n{told_text}"
    said, filled = arguments_fields(block, {"arguments": shape(notes)["arguments"]}, writing)
    return f"[Tool: {block['name']} ({block['id']})]\nInput: {said.get('arguments') or filled['arguments']}"


def result_to(block: JsonObject, at: str, writing: Writing) -> Any:
    """What a tool gave back: text, or parts of it."""
    content = block["content"]
    if isinstance(content, str):
        return content
    placed = [(inner, f"{at}/content/{index}") for index, inner in enumerate(content)]
    return [part for inner, where in placed for part in part_to(inner, "user", where, writing)]
