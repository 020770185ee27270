"""Messages of a Chat request, and the turns of an exchange that they are.

System and developer messages at the beginning are the system prompt. One later on keeps its place: it is a turn of the
user whose notes say the role. A result of a tool is a message of its own here, so that a turn with several, or with
text beside them, becomes several messages.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._calls import Calls
from palaver.wire.openai._chat_assistant import assistant_fields, assistant_from
from palaver.wire.openai._chat_parts import (
    Placed,
    content_from,
    content_to,
    is_part,
    parts_from,
    result_to,
)
from palaver.wire.openai._notes import CHAT, PROMPTING, Fields, Writing, annotate, kept, noted, shape, told


def turns_from(messages: list[Any]) -> tuple[list[JsonObject], list[JsonObject]]:
    """The blocks of the system prompt, and the turns."""
    calls = Calls(_stated_ids(messages))
    system: list[JsonObject] = []
    turns: list[JsonObject] = []
    for message in messages:
        blocks = _prompt_from(message, calls, is_first=not system) if not turns else None
        if blocks:
            system += blocks
        else:
            turns.append(_turn_from(message, calls))
    return system, turns


def _stated_ids(messages: list[Any]) -> set[str]:
    stated: set[str] = set()
    for message in messages:
        if isinstance(message, dict):
            called = message.get("tool_calls")
            found = [call.get("id") for call in called if isinstance(call, dict)] if isinstance(called, list) else []
            stated |= {one for one in (*found, message.get("tool_call_id")) if isinstance(one, str)}
    return stated


def _prompt_from(message: Any, calls: Calls, *, is_first: bool) -> list[JsonObject]:
    """The blocks of a message of the system prompt; none where it is no such message."""
    if not isinstance(message, dict) or message.get("role") not in PROMPTING:
        return []
    blocks, facts = content_from(message.get("content"), calls)
    if not blocks:
        return []
    reading = Writing(CHAT)
    notes = _message_notes(message, [(block, "") for block in blocks], facts, "system", reading)
    if notes is None:
        return []
    if notes or not is_first:
        noted_before = (blocks[0].get("provider_data") or {}).get(CHAT) or {}
        blocks[0]["provider_data"] = {CHAT: {**noted_before, "message": notes}}
    return blocks


def _message_notes(
    message: JsonObject, blocks: list[Placed], facts: JsonObject, role: str, reading: Writing
) -> JsonObject | None:
    first: JsonObject = {"shape": facts} if facts else {}
    if message["role"] != role:
        first["role"] = message["role"]
    return noted(message, lambda notes: _message_fields(blocks, notes, role, "", reading), first)


def _message_fields(blocks: list[Placed], notes: JsonObject, role: str, at: str, writing: Writing) -> Fields:
    said: JsonObject = {"role": notes.get("role", role)}
    content = content_to(blocks, shape(notes), at, writing)
    if content is None:
        return Fields(said, {"content": ""})
    return Fields({**said, "content": content}, {})


def _turn_from(message: Any, calls: Calls) -> JsonObject:
    match message:
        case {"role": "assistant"}:
            blocks, notes = assistant_from(message, calls)
            role = "assistant"
        case {"role": "tool" | "function" as told_role}:
            blocks, notes = _result_from(message, told_role, calls)
            role = "tool"
        case {"role": str()}:
            role = "user"
            blocks, facts = content_from(message.get("content"), calls)
            notes = _message_notes(message, [(block, "") for block in blocks], facts, role, Writing(CHAT))
        case _:
            blocks, role, notes = [], "user", None
    if notes is None:
        return {"role": role, "content": [kept("message", message, CHAT, message=True)]}
    return annotate({"role": role, "content": blocks}, CHAT, notes)


def _result_from(message: JsonObject, role: str, calls: Calls) -> tuple[list[JsonObject], JsonObject | None]:
    name = message.get("name")
    stated = message.get("tool_call_id")
    call_id, is_found = calls.answered(stated, name if isinstance(name, str) else None)
    content = message.get("content")
    if isinstance(content, list):
        content = parts_from(content, calls)
    elif content is not None and not isinstance(content, str):
        return [], None
    block = build.tool_result(tool_use_id=call_id, content="" if content is None else content)
    first: JsonObject = {"role": role} if role != "tool" else {}
    if is_found and role == "tool":
        first["shape"] = {"id": "made"}
    reading = Writing(CHAT)
    return [block], noted(message, lambda notes: _result_fields(block, notes, "", reading), first)


def _result_fields(block: JsonObject, notes: JsonObject, at: str, writing: Writing) -> Fields:
    said: JsonObject = {"role": notes.get("role", "tool")}
    if said["role"] == "tool" and shape(notes).get("id") != "made":
        said["tool_call_id"] = block["tool_use_id"]
    content = result_to(block, at, writing)
    return Fields({**said, "content": content}, {}) if content else Fields(said, {"content": content})


def system_to(request: JsonObject, writing: Writing) -> Iterator[JsonObject]:
    """The messages of the system prompt."""
    groups: list[tuple[JsonObject, list[Placed]]] = []
    for index, block in enumerate(request.get("system") or ()):
        begun = writing.notes(block).get("message")
        if begun is not None or not groups:
            groups.append((begun or {}, []))
        groups[-1][1].append((_without_message(block), f"/system/{index}"))
    for notes, blocks in groups:
        told_blocks = [
            (block, at)
            for block, at in blocks
            if block["type"] in {"text", "code"} or writing.owns(block) or writing.drop(block, at)
        ]
        if told_blocks:
            yield told(*_message_fields(told_blocks, notes, "system", "", writing), notes)


def _without_message(block: JsonObject) -> JsonObject:
    """The block with the notes that are its own."""
    held = block.get("provider_data") or {}
    if "message" not in held.get(CHAT, {}):
        return block
    own = {key: value for key, value in held[CHAT].items() if key != "message"}
    return {**block, "provider_data": {**held, CHAT: own}}


def turns_to(messages: list[JsonObject], writing: Writing) -> Iterator[Any]:
    for index, message in enumerate(messages):
        yield from _turn_to(message, f"/messages/{index}", writing)


def _turn_to(message: JsonObject, at: str, writing: Writing) -> Iterator[Any]:
    writing.leave_out(message, ("role", "content"), at, {"role"})
    notes = writing.notes(message)
    content: list[JsonObject] = message["content"]
    if len(content) == 1 and shape(writing.notes(content[0])).get("message"):
        yield content[0]["raw"]
        return
    if message["role"] == "assistant":
        fields = assistant_fields(content, notes, at, writing)
        if content and fields.said.keys() == {"role"}:
            writing.losses.drop(at, "nothing of this message has a place here")
        else:
            yield told(*fields, notes)
        return
    placed = [(block, f"{at}/content/{index}") for index, block in enumerate(content)]
    groups = [(is_result, list(group)) for is_result, group in groupby(placed, lambda one: _is_result(one[0], writing))]
    _tell_of_split(message, groups, at, writing)
    for is_result, group in groups:
        if is_result:
            yield from (_result_to(block, notes if len(placed) == 1 else {}, where, writing) for block, where in group)
        else:
            yield from _plain_to(message, group, at, writing)
    if not groups:
        yield from _plain_to(message, [], at, writing)


def _is_result(block: JsonObject, writing: Writing) -> bool:
    return block["type"] == "tool_result" and not is_part(block, writing)


def _tell_of_split(message: JsonObject, groups: list[tuple[bool, list[Placed]]], at: str, writing: Writing) -> None:
    results = sum(len(group) for is_result, group in groups if is_result)
    others = sum(not is_result for is_result, _ in groups)
    if results + others > 1:
        writing.losses.change(at, "each result of a tool is a message of its own here")
    elif results != (message["role"] == "tool"):
        writing.losses.change(f"{at}/role", "results of tools, and nothing else, come from `tool` here")


def _result_to(block: JsonObject, notes: JsonObject, at: str, writing: Writing) -> JsonObject:
    writing.leave_out(block, ("type", "tool_use_id", "content", "is_error"), at, {"type"})
    if block.get("is_error"):
        writing.losses.drop(f"{at}/is_error", "there is no place for a failure here but the text")
    return told(*_result_fields(block, notes, at, writing), notes)


def _plain_to(message: JsonObject, blocks: list[Placed], at: str, writing: Writing) -> Iterator[JsonObject]:
    notes = writing.notes(message)
    said_by = writing.sibling(message).get("role")
    if said_by in PROMPTING and not notes:
        notes = {"role": said_by}
    fields = _message_fields(blocks, notes, "user", at, writing)
    if blocks and "content" in fields.filled:
        if len(blocks) == len(message["content"]):
            writing.losses.drop(at, "nothing of this message has a place here")
        return
    if "content" in fields.filled and "content" not in notes and "content" not in shape(notes).get("absent", ()):
        writing.losses.change(f"{at}/content", "a message needs a content")
    yield told(*fields, notes)
