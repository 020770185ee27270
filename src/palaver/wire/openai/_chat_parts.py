"""The content of a Chat message, a text or a list of parts, read into blocks and written from them."""

from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._parts import (
    LocatedBlock,
    audio_from_wire,
    audio_to_wire,
    fenced_code,
    file_from_wire,
    file_to_wire,
    media_url,
    source_from_url,
)
from palaver.wire.openai._provider_data import (
    CHAT,
    Fields,
    Writer,
    apply_notes,
    attach_notes,
    is_plain,
    notes_for,
    opaque_block,
    shape,
)
from palaver.wire.openai._tools import CallIds


def content_from_wire(content: Any, call_ids: CallIds) -> tuple[list[JsonObject], JsonObject]:
    """Return the blocks of a content, and the `shape` notes that decide how they are written."""
    match content:
        case None:
            return [], {}
        case str():
            return [build.text(content)], {}
        case list():
            blocks = [part_from_wire(part, call_ids) for part in content]
            is_needed = not blocks or (len(blocks) == 1 and is_plain(blocks[0]))
            return blocks, {"content": "list"} if is_needed else {}
        case _:
            return [opaque_block("content", content, CHAT)], {"content": "raw"}


def content_to_wire(blocks: list[LocatedBlock], form: JsonObject, pointer: str, writer: Writer) -> Any:
    """Return the content of a message; None if it has none."""
    if form.get("content") == "raw" and len(blocks) == 1 and "raw" in blocks[0][0]:
        return blocks[0][0]["raw"]
    parts = [part for block, block_pointer in blocks for part in part_to_wire(block, block_pointer, writer)]
    if form.get("content") == "list":
        return parts
    texts = [part["text"] for part in parts if is_plain(part)]
    if len(texts) != len(parts) or (len(texts) > 1 and not writer.is_response):
        return parts
    if len(texts) > 1:
        writer.losses.change(f"{pointer}/content", "a response has one text; several are joined")
    return "".join(texts) if texts else None


def part_from_wire(part: Any, call_ids: CallIds) -> JsonObject:
    """Return the block of a part; an opaque block if there is no other, or it would not reproduce the part."""
    if not isinstance(part, dict):
        return opaque_block("part", part, CHAT)
    block, initial = _block_from_wire(part, call_ids)
    trial = Writer(CHAT)
    notes = (
        notes_for(part, lambda notes: _fields(block, notes, "", trial) or Fields({}, {}), initial) if block else None
    )
    if block is None or notes is None:
        return opaque_block(part.get("type"), part, CHAT)
    return attach_notes(block, CHAT, notes)


def parts_from_wire(parts: list[Any], call_ids: CallIds) -> list[JsonObject]:
    """Return the blocks of a tool result's parts.

    Officially these are texts: other blocks are marked as read from Chat, so that writing Chat keeps them.
    """
    blocks = [part_from_wire(part, call_ids) for part in parts]
    for block in blocks:
        if block["type"] != "text":
            block.setdefault("provider_data", {CHAT: {}})
    return blocks


def _block_from_wire(part: JsonObject, call_ids: CallIds) -> tuple[JsonObject | None, JsonObject]:
    match part:
        case {"type": "text", "text": str(text)}:
            return build.text(text), {}
        case {"type": "refusal", "refusal": str(text)}:
            return build.text(text), {"type": "refusal", "shape": {"part": True}}
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return build.image(source_from_url(url)), {}
        case {"type": "image_url", "image_url": str(url)}:
            return build.image(source_from_url(url)), {"shape": {"image_url": "text"}}
        case {"type": "input_audio", "input_audio": audio}:
            return audio_from_wire(audio), {}
        case {"type": "file", "file": dict(file)}:
            return file_from_wire(file), {}
        case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": dict(given)} if call_id:
            call_ids.register_call(call_id, name)
            return build.tool_use(id=call_id, name=name, input=given), {"shape": {"part": True}}
        case {"type": "tool_result", "tool_use_id": str(call_id), "content": str() | list() as content} if call_id:
            call_ids.match_result(call_id)
            inner = content if isinstance(content, str) else parts_from_wire(content, call_ids)
            is_error = part.get("is_error") is True
            block = build.tool_result(tool_use_id=call_id, content=inner, is_error=is_error)
            return block, {"shape": {"part": True}}
        case _:
            return None, {}


def is_part(block: JsonObject, writer: Writer) -> bool:
    """Return whether a block was read from a content part, although it usually has a field or message of its own."""
    return shape(writer.notes(block)).get("part") is True


def part_to_wire(block: JsonObject, pointer: str, writer: Writer) -> list[Any]:
    """Return a list of the one part of a block, or an empty list if it is dropped."""
    if block["type"] == "opaque" and writer.owns(block):
        return [block["raw"]]
    notes = writer.notes(block)
    fields = _fields(block, notes, pointer, writer)
    return [] if fields is None else [apply_notes(*fields, notes)]


def _fields(block: JsonObject, notes: JsonObject, pointer: str, writer: Writer) -> Fields | None:
    match block:
        case {"type": "text", "text": text}:
            writer.report_unwritten(
                block,
                ("type", "text", *(("citations",) if writer.is_response else ())),
                pointer,
                ("type", "role", *(("logprobs",) if writer.is_response else ())),
            )
            kind = "refusal" if notes.get("type") == "refusal" else "text"
            return Fields({"type": kind, kind: text}, {})
        case {"type": "code"}:
            writer.losses.change(pointer, "code is written as text")
            return Fields({"type": "text", "text": fenced_code(block)}, {})
        case {"type": "image"}:
            return _image_fields(block, notes, pointer, writer)
        case {"type": "file"}:
            return _file_fields(block, pointer, writer)
        case {"type": "tool_use"} if shape(notes).get("part"):
            writer.report_unwritten(block, ("type", "id", "name", "input"), pointer)
            return Fields({key: block[key] for key in ("type", "id", "name", "input")}, {})
        case {"type": "tool_result"} if shape(notes).get("part"):
            writer.report_unwritten(block, ("type", "tool_use_id", "content", "is_error"), pointer)
            known = {
                "type": "tool_result",
                "tool_use_id": block["tool_use_id"],
                "content": result_to_wire(block, pointer, writer),
            }
            return Fields(known | ({"is_error": True} if block["is_error"] else {}), {})
        case _:
            writer.drop(block, pointer)
            return None


def _image_fields(block: JsonObject, notes: JsonObject, pointer: str, writer: Writer) -> Fields:
    writer.report_unwritten(block, ("type", "source"), pointer)
    source = block["source"]
    if source["type"] == "file":
        writer.losses.change(pointer, "an image by its id is written as a file")
        writer.report_unwritten(source, ("type", "data"), f"{pointer}/source")
        return Fields({"type": "file", "file": {"file_id": source["data"]}}, {})
    url = media_url(block, pointer, writer)
    return Fields({"type": "image_url", "image_url": url if shape(notes).get("image_url") else {"url": url}}, {})


def _file_fields(block: JsonObject, pointer: str, writer: Writer) -> Fields | None:
    source = block.get("source")
    if source is None and block.get("text") is not None:
        writer.losses.change(pointer, "a file is written as its text")
        return Fields({"type": "text", "text": block["text"]}, {})
    if source is None or source["type"] == "url":
        writer.drop(block, pointer, "a file needs bytes or an id here")
        return None
    writer.report_unwritten(block, ("type", "source", "name", "media_type"), pointer)
    if (audio := audio_to_wire(block)) is not None:
        writer.report_unwritten(source, ("type", "data", "media_type"), f"{pointer}/source")
        return Fields({"type": "input_audio", "input_audio": audio}, {})
    return Fields({"type": "file", "file": file_to_wire(block, pointer, writer)}, {})


def result_to_wire(block: JsonObject, pointer: str, writer: Writer) -> Any:
    """Return a tool's result: text, or parts. Blocks other than text are written only if they were read from Chat."""
    content = block["content"]
    if isinstance(content, str):
        return content
    parts: list[Any] = []
    for index, inner in enumerate(content):
        block_pointer = f"{pointer}/content/{index}"
        if inner["type"] in {"text", "code"} or writer.owns(inner):
            parts += part_to_wire(inner, block_pointer, writer)
        else:
            writer.drop(inner, block_pointer, "a tool result must be text here")
    return parts
