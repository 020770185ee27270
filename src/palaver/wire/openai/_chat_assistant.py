"""The assistant's message in Chat, in a request and in a response: reasoning, content, refusal, audio, calls.

Each has a field of its own there, so that their order is fixed; in the exchange they stand as blocks in that order.
Reasoning has no official field. Servers call it `reasoning_content`, `reasoning` (with `reasoning_details`) or
`reasoning_text` (with `reasoning_opaque`): a response is written with the first, a request only with what this format
itself had there.
"""

from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._calls import (
    Calls,
    arguments_fields,
    arguments_from,
    arguments_notes,
    is_free_text,
)
from palaver.wire.openai._chat_parts import Placed, content_from, content_to, is_part
from palaver.wire.openai._citations import annotations_to, are_annotations
from palaver.wire.openai._notes import CHAT, Fields, Writing, annotate, kept, merged, noted, shape, told

_TEXTS = ("reasoning_content", "reasoning", "reasoning_text")
_SEALED = ("reasoning_details", "reasoning_opaque")
_ORDER = ("thinking", "content", "refusal", "audio", "function_call", "tool_calls")


def assistant_from(
    message: JsonObject, calls: Calls, *, is_response: bool = False
) -> tuple[list[JsonObject], JsonObject | None]:
    """The blocks of a message, and its notes; None where they would not give it back."""
    thoughts = _thoughts_from(message, is_response=is_response)
    content, facts = content_from(message.get("content"), calls)
    if is_response and isinstance(message.get("content"), list):
        facts = {"content": "list"}
    for block in content:
        if block["type"] not in {"text", "opaque"}:
            block.setdefault("provider_data", {CHAT: {}})
    cited = message.get("annotations")
    if is_response and cited and [block["type"] for block in content] == ["text"] and are_annotations(cited, CHAT):
        content[0]["citations"] = cited
    refused = message.get("refusal")
    refusal = [annotate(build.text(refused), CHAT, {"type": "refusal"})] if isinstance(refused, str) else []
    blocks = [*thoughts, *content, *refusal, *_audio_from(message.get("audio"))]
    if (call := _legacy_from(message.get("function_call"), calls)) is not None:
        blocks.append(call)
    if isinstance(message.get("tool_calls"), list):
        blocks += [call_from(call, calls) for call in message["tool_calls"]]
    reading = Writing(CHAT, is_response=is_response)
    first = {"shape": facts} if facts else {}
    return blocks, noted(message, lambda notes: assistant_fields(blocks, notes, "", reading), first)


def assistant_fields(blocks: list[JsonObject], notes: JsonObject, at: str, writing: Writing) -> Fields:
    """The fields of a message; a loss where they cannot keep the order of its blocks."""
    sorts: dict[str, list[Placed]] = {sort: [] for sort in _ORDER}
    found: list[int] = []
    for index, block in enumerate(blocks):
        where = f"{at}/content/{index}"
        sort = _sort(block, writing)
        if sort is None:
            writing.drop(block, where, _reason(block))
        else:
            found.append(_ORDER.index(sort))
            sorts[sort].append((block, where))
    if found != sorted(found):
        writing.losses.change(f"{at}/content", "reasoning, text and calls stand apart here, in this order")
    said: JsonObject = {}
    filled: JsonObject = {"role": "assistant", "content": None}
    if writing.is_response:
        filled |= {"refusal": None, "annotations": []}
    else:
        said["role"] = "assistant"
    content = content_to(sorts["content"], shape(notes), at, writing)
    if content is not None:
        said["content"] = content
    if writing.is_response and (cited := _annotations(sorts["content"], writing)):
        said["annotations"] = cited
    if sorts["refusal"]:
        said["refusal"] = _refusal_to(sorts["refusal"], at, writing)
    if calls := [call_to(block, where, writing) for block, where in sorts["tool_calls"]]:
        said["tool_calls"] = calls
    for block, where in sorts["function_call"]:
        said["function_call"] = _legacy_to(block, where, writing)
    for block, where in sorts["audio"]:
        said["audio"] = _audio_to(block, where, writing)
    return Fields(_thoughts_to(sorts["thinking"], at, writing) | said, filled)


def _sort(block: JsonObject, writing: Writing) -> str | None:
    """The field that a block belongs to; None where the assistant's message has none for it."""
    notes = writing.notes(block)
    match block["type"]:
        case "thinking":
            has_place = writing.owns(block) or (writing.is_response and block["thinking"])
            return "thinking" if has_place else None
        case "tool_use" if shape(notes).get("part"):
            return "content"
        case "tool_use":
            return "function_call" if shape(notes).get("legacy") else "tool_calls"
        case "opaque" if shape(notes).get("call"):
            return "tool_calls"
        case "file" if notes.get("type") == "audio":
            return "audio"
        case "text" if not is_part(block, writing) and "refusal" in (
            notes.get("type"),
            writing.sibling(block).get("type"),
        ):
            return "refusal"
        case "text" | "code":
            return "content"
        case _:
            return "content" if writing.owns(block) else None


def _reason(block: JsonObject) -> str:
    """Why the assistant's message has no place for a block; empty where its type says it."""
    return "there is no official place for reasoning here" if block["type"] == "thinking" else ""


def _annotations(content: list[Placed], writing: Writing) -> list[JsonObject]:
    made: list[JsonObject] = []
    offset = 0
    for block, at in content:
        made += annotations_to(block, at, writing, offset)
        offset += len(block.get("text") or "")
    return made


def _refusal_to(refusals: list[Placed], at: str, writing: Writing) -> str:
    for block, where in refusals:
        writing.leave_out(block, ("type", "text"), where, {"type"})
    if len(refusals) > 1:
        writing.losses.change(f"{at}/content", "a message has one refusal; several are joined")
    return "".join(block["text"] for block, _ in refusals)


def _thoughts_from(message: JsonObject, *, is_response: bool) -> list[JsonObject]:
    """The reasoning of a message, with every field that tells of it."""
    stated = {name: message[name] for name in (*_TEXTS, *_SEALED) if name in message}
    named = next((name for name in _TEXTS if isinstance(stated.get(name), str) and stated[name]), None)
    if named is None and not any(stated.get(name) for name in _SEALED):
        return []
    sealed = {name: value for name, value in stated.items() if name != named}
    notes = sealed if named == _TEXTS[0] else {**sealed, "shape": {"field": named}}
    block = build.thinking(stated[named] if named else _told_by(stated.get("reasoning_details")))
    if notes or not is_response:
        block["provider_data"] = {CHAT: notes}
    return [block]


def _told_by(details: Any) -> str:
    """What reasoning details say in words."""
    entries = [one for one in details if isinstance(one, dict)] if isinstance(details, list) else []
    texts = [one.get("text") or one.get("summary") for one in entries]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _thoughts_to(thoughts: list[Placed], at: str, writing: Writing) -> JsonObject:
    said: JsonObject = {}
    for block, where in thoughts:
        writing.leave_out(block, ("type", "thinking"), where)
        notes = writing.notes(block)
        field = shape(notes).get("field", _TEXTS[0])
        sealed = {name: value for name, value in notes.items() if name != "shape"}
        if field in said:
            writing.losses.change(f"{at}/content", "a message has one reasoning; several are joined")
            said[field] += "\n\n" + block["thinking"]
        elif field is not None:
            said[field] = block["thinking"]
        said |= {name: value for name, value in sealed.items() if name not in said}
    return said


def _audio_from(audio: Any) -> list[JsonObject]:
    match audio:
        case {"data": str(data)}:
            source = build.source("base64", data)
        case {"id": str(audio_id)}:
            source = build.source("file", audio_id)
        case _:
            return []
    told_text = audio.get("transcript")
    block = build.file(source=source, text=told_text if isinstance(told_text, str) else None)
    notes = noted(audio, lambda _: _audio_fields(block))
    return [] if notes is None else [annotate(block, CHAT, {"type": "audio", "audio": notes})]


def _audio_fields(block: JsonObject) -> Fields:
    source = block["source"]
    said = {"id" if source["type"] == "file" else "data": source["data"]}
    return Fields(said | ({"transcript": block["text"]} if block.get("text") is not None else {}), {})


def _audio_to(block: JsonObject, at: str, writing: Writing) -> JsonObject:
    writing.leave_out(block, ("type", "source", "text"), at)
    return told(*_audio_fields(block), writing.notes(block).get("audio", {}))


def call_from(call: Any, calls: Calls) -> JsonObject:
    """The block of a call; kept whole where it is neither a function's nor a custom tool's."""
    match call:
        case {"type": "custom", "custom": {"name": str(name), "input": str(text)}}:
            given, first = {"input": text}, {"type": "custom"}
        case {"function": {"name": str(name), **rest}} if isinstance(rest.get("arguments", ""), str | dict | None):
            given = arguments_from(rest.get("arguments"))
            inner = arguments_notes(rest.get("arguments"))
            first = {"function": inner} if inner else {}
        case _:
            kind = call.get("type") if isinstance(call, dict) else None
            return kept(kind or "tool_call", call, CHAT, call=True)
    call_id, is_made = calls.opened(call.get("id"), name)
    if is_made:
        first = merged(first, {"shape": {"id": "made"}})
    block = build.tool_use(id=call_id, name=name, input=given)
    reading = Writing(CHAT)
    notes = noted(call, lambda notes: _call_fields(block, notes, reading), first)
    return kept(call.get("type"), call, CHAT, call=True) if notes is None else annotate(block, CHAT, notes)


def call_to(block: JsonObject, at: str, writing: Writing) -> JsonObject:
    if block["type"] == "opaque":
        return block["raw"]
    writing.leave_out(block, ("type", "id", "name", "input"), at, {"type", "arguments"})
    notes = writing.notes(block)
    return told(*_call_fields(block, notes, writing), notes)


def _call_fields(block: JsonObject, notes: JsonObject, writing: Writing) -> Fields:
    said: JsonObject = {} if shape(notes).get("id") == "made" else {"id": block["id"]}
    free = block["input"]
    if is_free_text(block, writing) or (notes.get("type") == "custom" and free.keys() == {"input"}):
        return Fields({**said, "type": "custom", "custom": {"name": block["name"], "input": free["input"]}}, {})
    function, missing = arguments_fields(block, notes.get("function") or {}, writing)
    return Fields({**said, "function": {"name": block["name"], **function}}, {"type": "function", "function": missing})


def _legacy_from(call: Any, calls: Calls) -> JsonObject | None:
    """A call in the older form, one to a message and without an id."""
    match call:
        case {"name": str(name), **rest} if isinstance(rest.get("arguments", ""), str | None):
            call_id, _ = calls.opened(None, name)
            block = build.tool_use(id=call_id, name=name, input=arguments_from(rest.get("arguments")))
            reading = Writing(CHAT)
            notes = noted(call, lambda notes: _legacy_fields(block, notes, reading))
            return None if notes is None else annotate(block, CHAT, merged(notes, {"shape": {"legacy": True}}))
        case _:
            return None


def _legacy_to(block: JsonObject, at: str, writing: Writing) -> JsonObject:
    writing.leave_out(block, ("type", "id", "name", "input"), at)
    notes = writing.notes(block)
    return told(*_legacy_fields(block, notes, writing), notes)


def _legacy_fields(block: JsonObject, notes: JsonObject, writing: Writing) -> Fields:
    said, filled = arguments_fields(block, notes, writing)
    return Fields({"name": block["name"], **said}, filled)
