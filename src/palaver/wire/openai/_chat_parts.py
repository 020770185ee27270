"""Content of a Chat message: a text or a list of parts, and the blocks they are."""

from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._calls import Calls
from palaver.wire.openai._media import audio_from, audio_to, fenced, file_from, file_to, source_from, url_to
from palaver.wire.openai._notes import CHAT, Fields, Writing, annotate, is_plain, kept, noted, shape, told

Placed = tuple[JsonObject, str]
"""A block and where it stands."""


def content_from(content: Any, calls: Calls) -> tuple[list[JsonObject], JsonObject]:
    """The blocks of a content, and what decides how they are written."""
    match content:
        case None:
            return [], {}
        case str():
            return [build.text(content)], {}
        case list():
            blocks = [part_from(part, calls) for part in content]
            is_needed = not blocks or (len(blocks) == 1 and is_plain(blocks[0]))
            return blocks, {"content": "list"} if is_needed else {}
        case _:
            return [kept("content", content, CHAT)], {"content": "raw"}


def content_to(blocks: list[Placed], facts: JsonObject, at: str, writing: Writing) -> Any:
    """The content of a message; None where it has none."""
    if facts.get("content") == "raw" and len(blocks) == 1 and "raw" in blocks[0][0]:
        return blocks[0][0]["raw"]
    parts = [part for block, where in blocks for part in part_to(block, where, writing)]
    if facts.get("content") == "list":
        return parts
    texts = [part["text"] for part in parts if is_plain(part)]
    if len(texts) != len(parts) or (len(texts) > 1 and not writing.is_response):
        return parts
    if len(texts) > 1:
        writing.losses.change(f"{at}/content", "a response has one text; several are joined")
    return "".join(texts) if texts else None


def part_from(part: Any, calls: Calls) -> JsonObject:
    """The block that a part is; kept whole where it is none, or where its block would not give it back."""
    if not isinstance(part, dict):
        return kept("part", part, CHAT)
    block, first = _block_from(part, calls)
    reading = Writing(CHAT)
    notes = noted(part, lambda notes: _fields(block, notes, "", reading) or Fields({}, {}), first) if block else None
    if block is None or notes is None:
        return kept(part.get("type"), part, CHAT)
    return annotate(block, CHAT, notes)


def parts_from(parts: list[Any], calls: Calls) -> list[JsonObject]:
    """The blocks of parts that stand where this format has texts only: each says whose it is."""
    blocks = [part_from(part, calls) for part in parts]
    for block in blocks:
        if block["type"] != "text":
            block.setdefault("provider_data", {CHAT: {}})
    return blocks


def _block_from(part: JsonObject, calls: Calls) -> tuple[JsonObject | None, JsonObject]:
    match part:
        case {"type": "text", "text": str(text)}:
            return build.text(text), {}
        case {"type": "refusal", "refusal": str(text)}:
            return build.text(text), {"type": "refusal", "shape": {"part": True}}
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return build.image(source_from(url)), {}
        case {"type": "image_url", "image_url": str(url)}:
            return build.image(source_from(url)), {"shape": {"image_url": "text"}}
        case {"type": "input_audio", "input_audio": audio}:
            return audio_from(audio), {}
        case {"type": "file", "file": dict(file)}:
            return file_from(file), {}
        case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": dict(given)} if call_id:
            calls.opened(call_id, name)
            return build.tool_use(id=call_id, name=name, input=given), {"shape": {"part": True}}
        case {"type": "tool_result", "tool_use_id": str(call_id), "content": str() | list() as content} if call_id:
            calls.answered(call_id)
            inner = content if isinstance(content, str) else parts_from(content, calls)
            is_error = part.get("is_error") is True
            block = build.tool_result(tool_use_id=call_id, content=inner, is_error=is_error)
            return block, {"shape": {"part": True}}
        case _:
            return None, {}


def is_part(block: JsonObject, writing: Writing) -> bool:
    """Whether a block stood among the parts of a content, where others have it in a place of its own."""
    return shape(writing.notes(block)).get("part") is True


def part_to(block: JsonObject, at: str, writing: Writing) -> list[Any]:
    """The part for a block, alone; nothing where it is left out."""
    if block["type"] == "opaque" and writing.owns(block):
        return [block["raw"]]
    notes = writing.notes(block)
    fields = _fields(block, notes, at, writing)
    return [] if fields is None else [told(*fields, notes)]


def _fields(block: JsonObject, notes: JsonObject, at: str, writing: Writing) -> Fields | None:
    match block:
        case {"type": "text", "text": text}:
            writing.leave_out(block, ("type", "text", *(("citations",) if writing.is_response else ())), at, {"type"})
            kind = "refusal" if notes.get("type") == "refusal" else "text"
            return Fields({"type": kind, kind: text}, {})
        case {"type": "code"}:
            writing.losses.change(at, "code is written as text")
            return Fields({"type": "text", "text": fenced(block)}, {})
        case {"type": "image"}:
            return _image_fields(block, notes, at, writing)
        case {"type": "file"}:
            return _file_fields(block, at, writing)
        case {"type": "tool_use"} if shape(notes).get("part"):
            writing.leave_out(block, ("type", "id", "name", "input"), at)
            return Fields({key: block[key] for key in ("type", "id", "name", "input")}, {})
        case {"type": "tool_result"} if shape(notes).get("part"):
            writing.leave_out(block, ("type", "tool_use_id", "content", "is_error"), at)
            said = {
                "type": "tool_result",
                "tool_use_id": block["tool_use_id"],
                "content": result_to(block, at, writing),
            }
            return Fields(said | ({"is_error": True} if block["is_error"] else {}), {})
        case _:
            writing.drop(block, at)
            return None


def _image_fields(block: JsonObject, notes: JsonObject, at: str, writing: Writing) -> Fields:
    writing.leave_out(block, ("type", "source"), at)
    source = block["source"]
    if source["type"] == "file":
        writing.losses.change(at, "an image by its id is written as a file")
        writing.leave_out(source, ("type", "data"), f"{at}/source")
        return Fields({"type": "file", "file": {"file_id": source["data"]}}, {})
    url = url_to(block, at, writing)
    return Fields({"type": "image_url", "image_url": url if shape(notes).get("image_url") else {"url": url}}, {})


def _file_fields(block: JsonObject, at: str, writing: Writing) -> Fields | None:
    source = block.get("source")
    if source is None and block.get("text") is not None:
        writing.losses.change(at, "of a file, the text is written")
        return Fields({"type": "text", "text": block["text"]}, {})
    if source is None or source["type"] == "url":
        writing.drop(block, at, "a file without its bytes or an id has no place here")
        return None
    writing.leave_out(block, ("type", "source", "name", "media_type"), at)
    if (audio := audio_to(block)) is not None:
        writing.leave_out(source, ("type", "data", "media_type"), f"{at}/source")
        return Fields({"type": "input_audio", "input_audio": audio}, {})
    return Fields({"type": "file", "file": file_to(block, at, writing)}, {})


def result_to(block: JsonObject, at: str, writing: Writing) -> Any:
    """What a tool gave back: text, or parts; what is no text is written only where this format had it."""
    content = block["content"]
    if isinstance(content, str):
        return content
    parts: list[Any] = []
    for index, inner in enumerate(content):
        where = f"{at}/content/{index}"
        if inner["type"] in {"text", "code"} or writing.owns(inner):
            parts += part_to(inner, where, writing)
        else:
            writing.drop(inner, where, "the result of a tool is text here")
    return parts
