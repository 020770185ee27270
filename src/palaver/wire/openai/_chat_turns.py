"""Messages of a Chat request, read into the turns of an exchange and written from them.

System and developer messages at the start are the system prompt. A later one stays where it is, as a user turn whose
notes have the role. Each tool result is a message of its own in Chat, so a turn with several results, or with text
beside them, becomes several messages.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._unwritten import PROMPT_ROLES, prompt_role
from palaver.wire.openai._chat_assistant import assistant_fields, assistant_from_wire
from palaver.wire.openai._chat_parts import (
    content_from_wire,
    content_to_wire,
    is_part,
    parts_from_wire,
    result_to_wire,
)
from palaver.wire.openai._parts import LocatedBlock
from palaver.wire.openai._provider_data import (
    CHAT,
    Fields,
    Writer,
    apply_notes,
    attach_notes,
    notes_for,
    opaque_block,
    shape,
)
from palaver.wire.openai._tools import CallIds


def turns_from_wire(messages: list[Any]) -> tuple[list[JsonObject], list[JsonObject]]:
    """Return the blocks of the system prompt, and the turns."""
    call_ids = CallIds(_payload_call_ids(messages))
    system: list[JsonObject] = []
    turns: list[JsonObject] = []
    for message in messages:
        blocks = _system_blocks(message, call_ids, is_first=not system) if not turns else None
        if blocks:
            system += blocks
        else:
            turns.append(_turn_from_wire(message, call_ids))
    return system, turns


def _payload_call_ids(messages: list[Any]) -> set[str]:
    call_ids: set[str] = set()
    for message in messages:
        if isinstance(message, dict):
            called = message.get("tool_calls")
            found = [call.get("id") for call in called if isinstance(call, dict)] if isinstance(called, list) else []
            call_ids |= {call_id for call_id in (*found, message.get("tool_call_id")) if isinstance(call_id, str)}
    return call_ids


def _system_blocks(message: Any, call_ids: CallIds, *, is_first: bool) -> list[JsonObject]:
    """Return the blocks of a system or developer message; an empty list for any other message."""
    if not isinstance(message, dict) or message.get("role") not in PROMPT_ROLES:
        return []
    blocks, form = content_from_wire(message.get("content"), call_ids)
    if not blocks:
        return []
    trial = Writer(CHAT)
    notes = _message_notes(message, [(block, "") for block in blocks], form, "system", trial)
    if notes is None:
        return []
    if notes or not is_first:
        block_notes = (blocks[0].get("provider_data") or {}).get(CHAT) or {}
        blocks[0]["provider_data"] = {CHAT: {**block_notes, "message": notes}}
    return blocks


def _message_notes(
    message: JsonObject, blocks: list[LocatedBlock], form: JsonObject, role: str, trial: Writer
) -> JsonObject | None:
    initial: JsonObject = {"shape": form} if form else {}
    if message["role"] != role:
        initial["role"] = message["role"]
    return notes_for(message, lambda notes: _message_fields(blocks, notes, role, "", trial), initial)


def _message_fields(blocks: list[LocatedBlock], notes: JsonObject, role: str, pointer: str, writer: Writer) -> Fields:
    known: JsonObject = {"role": notes.get("role", role)}
    content = content_to_wire(blocks, shape(notes), pointer, writer)
    if content is None:
        return Fields(known, {"content": ""})
    return Fields({**known, "content": content}, {})


def _turn_from_wire(message: Any, call_ids: CallIds) -> JsonObject:
    match message:
        case {"role": "assistant"}:
            blocks, notes = assistant_from_wire(message, call_ids)
            role = "assistant"
        case {"role": "tool" | "function" as wire_role}:
            blocks, notes = _result_from_wire(message, wire_role, call_ids)
            role = "tool"
        case {"role": str()}:
            role = "user"
            blocks, form = content_from_wire(message.get("content"), call_ids)
            notes = _message_notes(message, [(block, "") for block in blocks], form, role, Writer(CHAT))
        case _:
            blocks, role, notes = [], "user", None
    if notes is None:
        return {"role": role, "content": [opaque_block("message", message, CHAT, message=True)]}
    return attach_notes({"role": role, "content": blocks}, CHAT, notes)


def _result_from_wire(message: JsonObject, role: str, call_ids: CallIds) -> tuple[list[JsonObject], JsonObject | None]:
    name = message.get("name")
    stated_id = message.get("tool_call_id")
    call_id, is_found = call_ids.match_result(stated_id, name if isinstance(name, str) else None)
    content = message.get("content")
    if isinstance(content, list):
        content = parts_from_wire(content, call_ids)
    elif content is not None and not isinstance(content, str):
        return [], None
    block = build.tool_result(tool_use_id=call_id, content="" if content is None else content)
    initial: JsonObject = {"role": role} if role != "tool" else {}
    if is_found and role == "tool":
        initial["shape"] = {"id": "made"}
    trial = Writer(CHAT)
    return [block], notes_for(message, lambda notes: _result_fields(block, notes, "", trial), initial)


def _result_fields(block: JsonObject, notes: JsonObject, pointer: str, writer: Writer) -> Fields:
    known: JsonObject = {"role": notes.get("role", "tool")}
    if known["role"] == "tool" and shape(notes).get("id") != "made":
        known["tool_call_id"] = block["tool_use_id"]
    content = result_to_wire(block, pointer, writer)
    return Fields({**known, "content": content}, {}) if content else Fields(known, {"content": content})


def system_to_wire(request: JsonObject, writer: Writer) -> Iterator[JsonObject]:
    """Yield the messages of the system prompt."""
    groups: list[tuple[JsonObject, list[LocatedBlock]]] = []
    for index, block in enumerate(request.get("system") or ()):
        message_notes = writer.notes(block).get("message", _sibling_message_notes(block, writer))
        if message_notes is not None or not groups:
            groups.append((message_notes or {}, []))
        groups[-1][1].append((_without_message_notes(block), f"/system/{index}"))
    for notes, blocks in groups:
        writable = [
            (block, pointer)
            for block, pointer in blocks
            if block["type"] in {"text", "code"} or writer.owns(block) or writer.drop(block, pointer)
        ]
        if writable:
            yield apply_notes(*_message_fields(writable, notes, "system", "", writer), notes)


def _sibling_message_notes(block: JsonObject, writer: Writer) -> JsonObject | None:
    """Return notes for the message that a block starts in Responses; None if it starts none."""
    item = writer.sibling_notes(block).get("item")
    if not isinstance(item, dict):
        return None
    return {"role": item["role"]} if item.get("role") == "developer" else {}


def _without_message_notes(block: JsonObject) -> JsonObject:
    """Return the block without the notes on the message that it starts."""
    data = block.get("provider_data") or {}
    if "message" not in data.get(CHAT, {}):
        return block
    own = {key: value for key, value in data[CHAT].items() if key != "message"}
    return {**block, "provider_data": {**data, CHAT: own}}


def turns_to_wire(messages: list[JsonObject], writer: Writer) -> Iterator[Any]:
    for index, message in enumerate(messages):
        yield from _turn_to_wire(message, f"/messages/{index}", writer)


def _turn_to_wire(message: JsonObject, pointer: str, writer: Writer) -> Iterator[Any]:
    writer.report_turn(message, pointer)
    notes = writer.notes(message)
    content: list[JsonObject] = message["content"]
    if len(content) == 1 and shape(writer.notes(content[0])).get("message"):
        yield content[0]["raw"]
        return
    if message["role"] == "assistant":
        fields = assistant_fields(content, notes, pointer, writer)
        if content and fields.known.keys() == {"role"}:
            writer.losses.drop(pointer, "no part of this message can be written here")
        else:
            yield apply_notes(*fields, notes)
        return
    located = [(block, f"{pointer}/content/{index}") for index, block in enumerate(content)]
    groups = [
        (is_result, list(group)) for is_result, group in groupby(located, lambda entry: _is_result(entry[0], writer))
    ]
    _report_split(message, groups, pointer, writer)
    for is_result, group in groups:
        if is_result:
            yield from (
                _result_to_wire(block, notes if len(located) == 1 else {}, block_pointer, writer)
                for block, block_pointer in group
            )
        else:
            yield from _plain_message_to_wire(message, group, pointer, writer)
    if not groups:
        yield from _plain_message_to_wire(message, [], pointer, writer)


def _is_result(block: JsonObject, writer: Writer) -> bool:
    return block["type"] == "tool_result" and not is_part(block, writer)


def _report_split(
    message: JsonObject, groups: list[tuple[bool, list[LocatedBlock]]], pointer: str, writer: Writer
) -> None:
    results = sum(len(group) for is_result, group in groups if is_result)
    others = sum(not is_result for is_result, _ in groups)
    if results + others > 1 and others:
        writer.losses.change(pointer, "each tool result is a separate message here")
    elif message["role"] == "tool" and not results:
        writer.losses.change(f"{pointer}/role", "only tool results have the role `tool` here")


def _result_to_wire(block: JsonObject, notes: JsonObject, pointer: str, writer: Writer) -> JsonObject:
    writer.report_unwritten(block, ("type", "tool_use_id", "content", "is_error"), pointer, {"type"})
    if block.get("is_error"):
        writer.losses.drop(f"{pointer}/is_error", "a failure can only be stated in the text here")
    return apply_notes(*_result_fields(block, notes, pointer, writer), notes)


def _plain_message_to_wire(
    message: JsonObject, blocks: list[LocatedBlock], pointer: str, writer: Writer
) -> Iterator[JsonObject]:
    notes = writer.notes(message)
    if not notes and (role := prompt_role(message)) is not None:
        notes = {"role": role}
    fields = _message_fields(blocks, notes, "user", pointer, writer)
    if blocks and "content" in fields.defaults:
        if len(blocks) == len(message["content"]):
            writer.losses.drop(pointer, "no part of this message can be written here")
        return
    if "content" in fields.defaults and "content" not in notes and "content" not in shape(notes).get("absent", ()):
        writer.losses.change(f"{pointer}/content", "a message needs content")
    yield apply_notes(*fields, notes)
