"""The input and output of the Responses API: a list of items, read into the turns of an exchange and written from them.

Consecutive items of the assistant (messages, reasoning, calls) are one turn; the first block of each message has notes
on the message (`item`), which also show where it starts. System and developer messages at the start belong to the
system prompt; a later one stays where it is, as a user turn whose notes have the role.
"""

from dataclasses import dataclass, field
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._unwritten import PROMPT_ROLES, prompt_role
from palaver.wire.openai._parts import LocatedBlock
from palaver.wire.openai._provider_data import (
    NO_ANSWER,
    RESPONSES,
    Dialect,
    Fields,
    Writer,
    apply_notes,
    attach_notes,
    merge_notes,
    notes_for,
    opaque_block,
    shape,
)
from palaver.wire.openai._responses_items import is_item, item_from_wire, item_role, item_to_wire
from palaver.wire.openai._responses_parts import (
    bracketed_call_ids,
    has_seed_parts,
    is_part,
    part_from_wire,
    part_to_wire,
    single_text,
)
from palaver.wire.openai._tools import CallIds


@dataclass(slots=True)
class ReadContext:
    """The state of reading one list of items."""

    items: list[Any]
    dialect: Dialect
    is_response: bool = False
    call_ids: CallIds = field(init=False)
    bracketed: set[str] = field(init=False)
    trial: Writer = field(init=False)

    def __post_init__(self) -> None:
        stated = [item.get("call_id") for item in self.items if isinstance(item, dict)]
        self.call_ids = CallIds({call_id for call_id in stated if isinstance(call_id, str)})
        self.bracketed = set() if self.is_response else bracketed_call_ids(self.items)
        self.trial = Writer(RESPONSES, self.dialect, is_response=self.is_response)


def turns_from_wire(items: list[Any], dialect: Dialect) -> tuple[list[JsonObject], list[JsonObject]]:
    """Return the blocks of the system prompt, and the turns."""
    context = ReadContext(items, dialect)
    system: list[JsonObject] = []
    turns: list[JsonObject] = []
    was_message = False
    for index, item in enumerate(items):
        role, blocks, notes = _item_from_wire(item, index, context)
        message_notes = notes or {}
        if not turns and message_notes.get("role") in PROMPT_ROLES and blocks:
            system += _with_message_notes(blocks, message_notes)
        elif role == "assistant":
            if not turns or turns[-1]["role"] != "assistant":
                turns.append({"role": role, "content": []})
                was_message = False
            turns[-1]["content"] += (
                _with_message_notes(blocks, notes) if notes or (was_message and notes is not None) else blocks
            )
        else:
            if role == "tool" and _are_parts(blocks) and turns and _are_parts(turns[-1]["content"]):
                message_notes = merge_notes(message_notes, {"shape": {"begins": True}})
            turns.append(attach_notes({"role": role, "content": blocks}, RESPONSES, message_notes))
        was_message = notes is not None
    return system, turns


def blocks_from_wire(output: list[Any]) -> list[JsonObject]:
    """Return the blocks of a response's output."""
    context = ReadContext(output, "seed" if has_seed_parts(output) else "api", is_response=True)
    content: list[JsonObject] = []
    was_message = False
    for index, item in enumerate(output):
        _, blocks, notes = _item_from_wire(item, index, context)
        content += _with_message_notes(blocks, notes) if notes or (was_message and notes is not None) else blocks
        was_message = notes is not None
    return content


def _with_message_notes(blocks: list[JsonObject], notes: JsonObject) -> list[JsonObject]:
    """Store the notes on a message with its first block, and return the blocks."""
    block_notes = (blocks[0].get("provider_data") or {}).get(RESPONSES) or {}
    blocks[0]["provider_data"] = {RESPONSES: {**block_notes, "item": notes}}
    return blocks


def _are_parts(blocks: list[JsonObject]) -> bool:
    """Return whether all are results that were read from the parts of a message."""
    notes_of_results = [
        (block.get("provider_data") or {}).get(RESPONSES) or {} for block in blocks if block["type"] == "tool_result"
    ]
    return (
        bool(blocks)
        and len(notes_of_results) == len(blocks)
        and all(shape(notes).get("part") for notes in notes_of_results)
    )


def _item_from_wire(item: Any, index: int, context: ReadContext) -> tuple[str, list[JsonObject], JsonObject | None]:
    """Return the role of an item's turn, its blocks, and its notes if it is a message, else None."""
    match item:
        case {"role": str(role), "content": str() | list() as content} if item.get("type", "message") == "message":
            found = _message_from_wire(item, role, content, index, context)
            if found is not None:
                return found
        case _:
            pass
    role = item_role(item)
    if isinstance(item, dict) and item.get("type", "message") == "message":
        role = "assistant" if item.get("role") == "assistant" else "user"
        return role, [opaque_block("message", item, RESPONSES)], None
    return role, [item_from_wire(item, index, context.call_ids, context.trial)], None


def _message_from_wire(
    item: JsonObject, role: str, content: str | list[Any], index: int, context: ReadContext
) -> tuple[str, list[JsonObject], JsonObject] | None:
    turn_role = "assistant" if role == "assistant" else "user"
    initial: JsonObject = {"role": role} if role != turn_role else {}
    if isinstance(content, str):
        blocks = [build.text(content)]
        if context.is_response or context.dialect == "seed":
            initial["shape"] = {"content": "text"}
    else:
        blocks = [part_from_wire(part, turn_role, context.trial, context.bracketed) for part in content]
        if single_text(content, turn_role) is not None and not context.is_response and context.dialect == "api":
            initial["shape"] = {"content": "list"}
    if turn_role == "assistant" and not blocks:
        return None
    # The blocks reproduce the parts; what is left to note is the message around them.
    notes = notes_for(item, lambda notes: message_fields(content, notes, turn_role, index, context.trial), initial)
    if notes is None or (context.is_response and turn_role != "assistant"):
        return None
    is_result = role == "user" and blocks and all(block["type"] == "tool_result" for block in blocks)
    return ("tool" if is_result else turn_role), blocks, notes


def message_fields(content: str | list[Any], notes: JsonObject, role: str, index: int, writer: Writer) -> Fields:
    """Return the fields of a message with this content."""
    known = {"role": notes.get("role", role), "content": content}
    if isinstance(content, str):
        return Fields(known, {})
    if writer.dialect == "seed":
        return Fields(known, {"type": "message"} if writer.is_response else {})
    if role != "assistant":
        return Fields(known, {"type": "message"})
    return Fields(known, {"type": "message", "id": f"msg_{index}", "status": "completed"})


@dataclass(slots=True)
class ItemWriter:
    """Writes turns as items, one turn after the other."""

    writer: Writer
    items: list[Any] = field(default_factory=list[Any])
    _previous: tuple[str, str] = ("", "")
    """Role and pointer of the previous turn."""
    _takes_results: bool = False
    """Whether the last item is a message of results that may take more of them."""

    def add_system(self, blocks: list[LocatedBlock]) -> None:
        """Write the messages of the system prompt that were read from the input."""
        for run in _message_runs(blocks, self.writer):
            notes = self.writer.notes(run[0][0])["item"]
            self._add_message(run, notes, "user", "")

    def add_turn(self, message: JsonObject, pointer: str) -> None:
        writer = self.writer
        writer.report_turn(message, pointer)
        role: str = message["role"]
        located = [(block, f"{pointer}/content/{number}") for number, block in enumerate(message["content"])]
        previous, self._previous = self._previous, (role, pointer)
        count = len(self.items)
        if role == "assistant":
            if previous[0] == "assistant":
                for turn_pointer in (previous[1], pointer):
                    writer.losses.change(turn_pointer, "consecutive assistant messages are one turn here")
            if any(block["type"] == "tool_result" and not is_part(block, writer) for block, _ in located):
                writer.losses.change(pointer, "a tool result cannot be part of an assistant turn here")
            self.add_assistant_blocks(located, pointer)
        elif self._joins_previous(message, previous[0]):
            self.items[-1]["content"] += self._parts(located, "user")
            return
        else:
            self._add_caller_turn(message, located, pointer)
        if len(self.items) == count:
            writer.losses.drop(pointer, "no part of this message can be written here")
        self._takes_results = role != "assistant" and _are_results(located) and writer.dialect == "seed"

    def add_assistant_blocks(self, located: list[LocatedBlock], pointer: str) -> None:
        """Write the reasoning, messages and calls of the assistant."""
        for group in self._groups(located):
            if is_part(group[0][0], self.writer):
                self._add_message(group, self.writer.notes(group[0][0]).get("item") or {}, "assistant", pointer)
            else:
                self._add_item(*group[0])
        if located:
            return
        if not self.writer.is_response:
            self.writer.losses.change(f"{pointer}/content", "an assistant message without content stays empty")
            self.items.append(apply_notes(*message_fields([], {}, "assistant", len(self.items), self.writer), {}))
        elif self.writer.dialect == "seed":
            self.writer.losses.change(f"{pointer}/content", "a placeholder sentence replaces the missing answer")
            self._add_message([({"type": "text", "text": NO_ANSWER}, "")], {}, "assistant", pointer)

    def _joins_previous(self, message: JsonObject, previous_role: str) -> bool:
        is_result = message["role"] != "assistant" and _are_results([(block, "") for block in message["content"]])
        begins = shape(self.writer.notes(message)).get("begins")
        return self._takes_results and is_result and previous_role != "assistant" and not begins

    def _add_caller_turn(self, message: JsonObject, located: list[LocatedBlock], pointer: str) -> None:
        """Write a turn of the user, or of tools."""
        writer = self.writer
        groups = self._groups(located)
        kinds = {"tool" if _are_results(group) else "user" for group in groups}
        notes = writer.notes(message)
        if len(groups) > 1 and "user" in kinds:
            writer.losses.change(pointer, "each tool result is a separate item here")
        elif not located:
            self._add_message([], notes, "user", pointer)
        elif groups and message["role"] == "tool" and "tool" not in kinds and not _is_raw(groups[0]):
            writer.losses.change(f"{pointer}/role", "only tool results have the role `tool` here")
        if not notes and (noted_role := prompt_role(message)) is not None:
            notes = {"role": noted_role}
        for group in groups:
            if is_part(group[0][0], writer):
                self._add_message(group, notes, "user", pointer)
            else:
                self._add_item(*group[0])

    def _add_message(self, blocks: list[LocatedBlock], notes: JsonObject, role: str, pointer: str) -> None:
        writer = self.writer
        form = shape(notes).get("content")
        is_list_usual = writer.dialect == "seed" or writer.is_response
        is_list = form == "list" or (is_list_usual and form != "text")
        content: str | list[Any] = self._parts(blocks, role)
        if not is_list and (text := single_text(content, role)) is not None:
            content = text
        if content == [] and writer.dialect == "seed" and role == "user":
            content = [{"type": "input_text", "text": ""}]
            writer.losses.change(f"{pointer}/content", "a user message needs content")
        if content == [] and blocks:
            return
        self.items.append(apply_notes(*message_fields(content, notes, role, len(self.items), writer), notes))

    def _parts(self, blocks: list[LocatedBlock], role: str) -> list[Any]:
        return [part for block, pointer in blocks for part in part_to_wire(block, role, pointer, self.writer)]

    def _add_item(self, block: JsonObject, pointer: str) -> None:
        self.items.append(item_to_wire(block, len(self.items), pointer, self.writer))

    def _groups(self, located: list[LocatedBlock]) -> list[list[LocatedBlock]]:
        """Group the blocks that make up a message, and each other block by itself; drop those with no counterpart."""
        groups: list[list[LocatedBlock]] = []
        is_open = False
        for block, pointer in located:
            is_inside = is_part(block, self.writer)
            if not is_inside and not is_item(block, self.writer):
                self.writer.drop(block, pointer)
            elif is_inside and is_open and "item" not in self.writer.notes(block):
                groups[-1].append((block, pointer))
            else:
                groups.append([(block, pointer)])
                is_open = is_inside
        return groups


def _message_runs(blocks: list[LocatedBlock], writer: Writer) -> list[list[LocatedBlock]]:
    """Group the blocks of the system prompt by message."""
    runs: list[list[LocatedBlock]] = []
    for block, pointer in blocks:
        if "item" in writer.notes(block) or not runs:
            runs.append([])
        runs[-1].append((block, pointer))
    return runs


def _are_results(blocks: list[LocatedBlock]) -> bool:
    return bool(blocks) and all(block["type"] == "tool_result" for block, _ in blocks)


def _is_raw(blocks: list[LocatedBlock]) -> bool:
    return blocks[0][0]["type"] == "opaque"
