"""Turns of an exchange, written as items of the Responses API in one of its dialects."""

from dataclasses import dataclass, field
from typing import Any

from palaver.model.build import JsonObject
from palaver.wire.openai._notes import NO_ANSWER, PROMPTING, Writing, shape, told
from palaver.wire.openai._responses_items import is_item, item_to
from palaver.wire.openai._responses_parts import is_part, only_text, part_to
from palaver.wire.openai._responses_turns import message_fields

Placed = tuple[JsonObject, str]


@dataclass(slots=True)
class Items:
    """Items as they are written, one turn after the other."""

    writing: Writing
    written: list[Any] = field(default_factory=list[Any])
    _last: tuple[str, str] = ("", "")
    """Role and place of the turn before."""
    _is_group: bool = False
    """Whether the last item is a message of results that may take further ones."""

    def add_system(self, blocks: list[Placed]) -> None:
        """Messages of the system prompt that stood in the input."""
        for run in _runs(blocks, self.writing):
            notes = self.writing.notes(run[0][0])["item"]
            self._add_message(run, notes, "user", "")

    def add_turn(self, message: JsonObject, at: str) -> None:
        writing = self.writing
        writing.leave_out(message, ("role", "content"), at, {"role"})
        role: str = message["role"]
        placed = [(block, f"{at}/content/{number}") for number, block in enumerate(message["content"])]
        before, self._last = self._last, (role, at)
        count = len(self.written)
        if role == "assistant":
            if before[0] == "assistant":
                for place in (before[1], at):
                    writing.losses.change(place, "messages of the assistant in a row are one turn here")
            if any(block["type"] == "tool_result" and not is_part(block, writing) for block, _ in placed):
                writing.losses.change(at, "the result of a tool is no part of the assistant's turn here")
            self.add_answer(placed, at)
        elif self._may_join(message, before[0]):
            for place in (before[1], at):
                writing.losses.change(place, "results of tools in a row are one message here")
            self.written[-1]["content"] += self._parts(placed, "user")
            return
        else:
            self._add_caller(message, placed, at)
        if len(self.written) == count:
            writing.losses.drop(at, "nothing of this message has a place here")
        self._is_group = role != "assistant" and _are_results(placed) and writing.dialect == "seed"

    def add_answer(self, placed: list[Placed], at: str) -> None:
        """What the assistant thought, said and called."""
        for group in self._groups(placed):
            if is_part(group[0][0], self.writing):
                self._add_message(group, self.writing.notes(group[0][0]).get("item") or {}, "assistant", at)
            else:
                self._add_item(*group[0])
        if placed:
            return
        if not self.writing.is_response:
            self.writing.losses.change(f"{at}/content", "a message of the assistant without content is kept as it is")
            self.written.append(told(*message_fields([], {}, "assistant", len(self.written), self.writing), {}))
        elif self.writing.dialect == "seed":
            self.writing.losses.change(f"{at}/content", "a sentence stands where there is no answer")
            self._add_message([({"type": "text", "text": NO_ANSWER}, "")], {}, "assistant", at)

    def _may_join(self, message: JsonObject, before: str) -> bool:
        is_result = message["role"] != "assistant" and _are_results([(block, "") for block in message["content"]])
        begins = shape(self.writing.notes(message)).get("begins")
        return self._is_group and is_result and before != "assistant" and not begins

    def _add_caller(self, message: JsonObject, placed: list[Placed], at: str) -> None:
        """What the caller said, and what tools gave back."""
        writing = self.writing
        groups = self._groups(placed)
        kinds = {"tool" if _are_results(group) else "user" for group in groups}
        notes = writing.notes(message)
        if len(groups) > 1:
            writing.losses.change(at, "each result of a tool is an item of its own here")
        elif not placed:
            self._add_message([], notes, "user", at)
        elif groups and message["role"] not in kinds and not _is_raw(groups[0]):
            writing.losses.change(f"{at}/role", "results of tools, and nothing else, come from `tool` here")
        said_by = writing.sibling(message).get("role")
        if said_by in PROMPTING and not notes:
            notes = {"role": said_by}
        for group in groups:
            if is_part(group[0][0], writing):
                self._add_message(group, notes, "user", at)
            else:
                self._add_item(*group[0])

    def _add_message(self, blocks: list[Placed], notes: JsonObject, role: str, at: str) -> None:
        writing = self.writing
        form = shape(notes).get("content")
        is_usual = writing.dialect == "seed" or writing.is_response
        is_list = form == "list" or (is_usual and form != "text")
        content: str | list[Any] = self._parts(blocks, role)
        if not is_list and (text := only_text(content, role)) is not None:
            content = text
        if content == [] and writing.dialect == "seed" and role == "user":
            content = [{"type": "input_text", "text": ""}]
            writing.losses.change(f"{at}/content", "a message of the user must have content")
        if content == [] and blocks:
            return
        self.written.append(told(*message_fields(content, notes, role, len(self.written), writing), notes))

    def _parts(self, blocks: list[Placed], role: str) -> list[Any]:
        return [part for block, at in blocks for part in part_to(block, role, at, self.writing)]

    def _add_item(self, block: JsonObject, at: str) -> None:
        self.written.append(item_to(block, len(self.written), at, self.writing))

    def _groups(self, placed: list[Placed]) -> list[list[Placed]]:
        """Blocks that make one message together, and each other block by itself; what has no place is left out."""
        groups: list[list[Placed]] = []
        is_open = False
        for block, at in placed:
            is_inside = is_part(block, self.writing)
            if not is_inside and not is_item(block, self.writing):
                self.writing.drop(block, at)
            elif is_inside and is_open and "item" not in self.writing.notes(block):
                groups[-1].append((block, at))
            else:
                groups.append([(block, at)])
                is_open = is_inside
        return groups


def _runs(blocks: list[Placed], writing: Writing) -> list[list[Placed]]:
    """Blocks of the system prompt, each message's together."""
    runs: list[list[Placed]] = []
    for block, at in blocks:
        if "item" in writing.notes(block) or not runs:
            runs.append([])
        runs[-1].append((block, at))
    return runs


def _are_results(blocks: list[Placed]) -> bool:
    return bool(blocks) and all(block["type"] == "tool_result" for block, _ in blocks)


def _is_raw(blocks: list[Placed]) -> bool:
    return blocks[0][0]["type"] == "opaque"
