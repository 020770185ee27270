"""The input and output of the Responses API: items in a row, and the turns of an exchange that they make.

What the assistant said, thought and called in a row of items is one turn; the first block of each message notes where
that began and what it carried (`item`). System and developer messages at the beginning belong to the system prompt; one
later on keeps its place, as a turn of the user whose notes say the role.
"""

from dataclasses import dataclass, field
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._calls import Calls
from palaver.wire.openai._notes import (
    PROMPTING,
    RESPONSES,
    Dialect,
    Fields,
    Writing,
    annotate,
    kept,
    merged,
    noted,
    shape,
)
from palaver.wire.openai._responses_items import item_from, role_of_item
from palaver.wire.openai._responses_parts import is_seed, only_text, part_from, told_in_brackets


@dataclass(slots=True)
class Reading:
    """What readers of one list of items share."""

    items: list[Any]
    dialect: Dialect
    is_response: bool = False
    calls: Calls = field(init=False)
    bracketed: set[str] = field(init=False)
    writing: Writing = field(init=False)

    def __post_init__(self) -> None:
        stated = [item.get("call_id") for item in self.items if isinstance(item, dict)]
        self.calls = Calls({one for one in stated if isinstance(one, str)})
        self.bracketed = set() if self.is_response else told_in_brackets(self.items)
        self.writing = Writing(RESPONSES, self.dialect, is_response=self.is_response)


def turns_from(items: list[Any], dialect: Dialect) -> tuple[list[JsonObject], list[JsonObject]]:
    """The blocks of the system prompt, and the turns."""
    reading = Reading(items, dialect)
    system: list[JsonObject] = []
    turns: list[JsonObject] = []
    was_message = False
    for index, item in enumerate(items):
        role, blocks, notes = _item_from(item, index, reading)
        notes_of_message = notes or {}
        if not turns and notes_of_message.get("role") in PROMPTING and blocks:
            system += _begun(blocks, notes_of_message)
        elif role == "assistant":
            if not turns or turns[-1]["role"] != "assistant":
                turns.append({"role": role, "content": []})
                was_message = False
            turns[-1]["content"] += _begun(blocks, notes) if notes or (was_message and notes is not None) else blocks
        else:
            if role == "tool" and _are_parts(blocks) and turns and _are_parts(turns[-1]["content"]):
                notes_of_message = merged(notes_of_message, {"shape": {"begins": True}})
            turns.append(annotate({"role": role, "content": blocks}, RESPONSES, notes_of_message))
        was_message = notes is not None
    return system, turns


def blocks_from(output: list[Any]) -> list[JsonObject]:
    """The blocks of a response."""
    reading = Reading(output, "seed" if is_seed(output) else "api", is_response=True)
    content: list[JsonObject] = []
    was_message = False
    for index, item in enumerate(output):
        _, blocks, notes = _item_from(item, index, reading)
        content += _begun(blocks, notes) if notes or (was_message and notes is not None) else blocks
        was_message = notes is not None
    return content


def _begun(blocks: list[JsonObject], notes: JsonObject) -> list[JsonObject]:
    """Blocks of which the first one notes the message that they are."""
    before = (blocks[0].get("provider_data") or {}).get(RESPONSES) or {}
    blocks[0]["provider_data"] = {RESPONSES: {**before, "item": notes}}
    return blocks


def _are_parts(blocks: list[JsonObject]) -> bool:
    """Whether all are results that stood among the parts of a message."""
    held = [
        (block.get("provider_data") or {}).get(RESPONSES) or {} for block in blocks if block["type"] == "tool_result"
    ]
    return bool(blocks) and len(held) == len(blocks) and all(shape(notes).get("part") for notes in held)


def _item_from(item: Any, index: int, reading: Reading) -> tuple[str, list[JsonObject], JsonObject | None]:
    """Whose turn an item belongs to, its blocks, and the notes of a message; None where it is no message."""
    match item:
        case {"role": str(role), "content": str() | list() as content} if item.get("type", "message") == "message":
            found = _message_from(item, role, content, index, reading)
            if found is not None:
                return found
        case _:
            pass
    role = role_of_item(item)
    if isinstance(item, dict) and item.get("type", "message") == "message":
        role = "assistant" if item.get("role") == "assistant" else "user"
        return role, [kept("message", item, RESPONSES)], None
    return role, [item_from(item, index, reading.calls, reading.writing)], None


def _message_from(
    item: JsonObject, role: str, content: str | list[Any], index: int, reading: Reading
) -> tuple[str, list[JsonObject], JsonObject] | None:
    base = "assistant" if role == "assistant" else "user"
    first: JsonObject = {"role": role} if role != base else {}
    if isinstance(content, str):
        blocks = [build.text(content)]
        if reading.is_response or reading.dialect == "seed":
            first["shape"] = {"content": "text"}
    else:
        blocks = [part_from(part, base, reading.writing, reading.bracketed) for part in content]
        if only_text(content, base) is not None and not reading.is_response and reading.dialect == "api":
            first["shape"] = {"content": "list"}
    if base == "assistant" and not blocks:
        return None
    # Parts give themselves back; what is left to note is the message around them.
    notes = noted(item, lambda notes: message_fields(content, notes, base, index, reading.writing), first)
    if notes is None or (reading.is_response and base != "assistant"):
        return None
    is_result = role == "user" and blocks and all(block["type"] == "tool_result" for block in blocks)
    return ("tool" if is_result else base), blocks, notes


def message_fields(content: str | list[Any], notes: JsonObject, role: str, index: int, writing: Writing) -> Fields:
    """A message around its content."""
    said = {"role": notes.get("role", role), "content": content}
    if isinstance(content, str):
        return Fields(said, {})
    if writing.dialect == "seed":
        return Fields(said, {"type": "message"} if writing.is_response else {})
    if role != "assistant":
        return Fields(said, {"type": "message"})
    return Fields(said, {"type": "message", "id": f"msg_{index}", "status": "completed"})
