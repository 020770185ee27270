"""An index of message list prefixes: finds how much of a request earlier requests already contained.

Two message lists with the same prefix lead to the same position in a conversation. Differences in spelling that do not
change what is read are ignored: cache markers, and one text as a string or as a block. The hashes are used in this
process only, so Python's own `hash` serves, being the fastest.
"""

from typing import Any

import msgspec
import orjson

from palaver.model.build import JsonObject
from palaver.threads.chain import Chain
from palaver.threads.plain_text import only_text
from palaver.wire.openai._responses_items import item_role

MAX_POSITIONS = 1 << 16
"""How many positions are remembered; beyond that the index is cleared, and requests are read whole again."""
SYSTEM_ROLES = ("system", "developer")
_CACHEABLE_TYPES = ("text", "tool_use", "tool_result")
"""Types of blocks whose meaning does not depend on a cache marker."""


class Position(msgspec.Struct, frozen=True, gc=False):
    """The position in a conversation that a message list leads to."""

    chain: Chain
    depth: int
    """How many messages come before the next one."""
    conversation_id: str


class Turn(msgspec.Struct, frozen=True, gc=False):
    role: str
    content: list[JsonObject]
    chain: Chain
    before: Chain
    depth: int
    metadata: JsonObject


class RequestPrefixes:
    """The prefixes of one request's message list, by their hashes."""

    def __init__(self, wire: str, items: list[Any], beginning: int, positions: dict[int, Position]) -> None:
        self._positions = positions
        self._items, self._wire = items, wire
        self._hashes: list[int] = []
        self.skipped_items = 0
        """How many leading items are known and need not be read."""
        self.known_position: Position | None = None
        """The position that the skipped items lead to."""
        self.turn_ends: list[int] = []
        """The index of the last item of each turn that was read."""
        numbers = range(len(items))
        self._first_answer = next((at for at in numbers if _is_from_model(wire, items[at])), -1)
        self._last_answer = next((at for at in reversed(numbers) if _is_from_model(wire, items[at])), -1)
        try:
            self._hashes = _prefix_hashes(wire, items, beginning)
        except TypeError:  # half of a surrogate pair, or an integer past 64 bits: read this request whole
            return
        if self._first_answer >= 0:
            self.skipped_items, self.known_position = self._longest_known_prefix()
        # The known items passed this check when they were read.
        if wire == "openai-chat" and any(map(_needs_earlier_items, items[self.skipped_items :])):
            self._hashes, self.skipped_items, self.known_position = [], 0, None

    def _longest_known_prefix(self) -> tuple[int, Position | None]:
        """Return the length of the longest known prefix and its position; items after the model's last turn are read.

        Before the model's first turn, the conversation cannot be known.
        """
        for at in range(self._last_answer, self._first_answer - 1, -1):
            if (position := self._positions.get(self._hashes[at])) and self._is_between_turns(at):
                return at + 1, position
        return 0, None

    def remember(self, turns: list[Turn], conversation_id: str) -> None:
        """Store the position that each newly read turn leads to."""
        if not self._hashes:
            return
        if len(self._positions) > MAX_POSITIONS:
            self._positions.clear()
        for at, turn in zip(reversed(self.turn_ends), reversed(turns), strict=False):
            if at >= self._first_answer >= 0:
                self._positions[self._hashes[at]] = Position(turn.chain, turn.depth + 1, conversation_id)

    def remember_answer(self, answer: list[JsonObject], position: Position) -> None:
        """Store the position after the answer, since the next request nearly always repeats the list and the answer."""
        if self._hashes and (item := _repeated_item(self._wire, answer)) is not None:
            [prefix_hash] = _prefix_hashes(self._wire, [item], self._hashes[-1])
            self._positions[prefix_hash] = position

    def _is_between_turns(self, at: int) -> bool:
        """Return whether a turn ends at this item; in the Responses API, several items may form one model turn."""
        next_item = self._items[at + 1] if at + 1 < len(self._items) else None
        if self._wire != "openai-responses":
            return not (isinstance(next_item, dict) and next_item.get("role") in SYSTEM_ROLES)
        return not (_is_from_model(self._wire, self._items[at]) and _is_from_model(self._wire, next_item))


def _prefix_hashes(wire: str, items: list[Any], before: int) -> list[int]:
    """Return a hash of each prefix, continuing from the hash `before`."""
    hashes: list[int] = []
    for item in items:
        content = None
        if isinstance(item, dict) and len(item) == 2 and isinstance(item.get("role"), str):
            content = item.get("content")
            if wire == "anthropic" and isinstance(content, list) and content:
                # A single text block equals a string; this branch is a shortcut for the plainest case.
                block = content[0]
                if len(content) == 1 and isinstance(block, dict) and len(block) == 2 and block.get("type") == "text":
                    content = block.get("text") or content
                else:
                    item, content = _without_cache_marker(item, content)
        hashable = (item["role"], content) if isinstance(content, str) else orjson.dumps(item)
        before = hash((before, hashable))
        hashes.append(before)
    return hashes


def _without_cache_marker(item: JsonObject, content: list[Any]) -> tuple[JsonObject, Any]:
    """Return an item and its content without the cache marker, which moves to another message each time."""
    last = content[-1]
    if not isinstance(last, dict) or "cache_control" not in last or last.get("type") not in _CACHEABLE_TYPES:
        return item, content
    last = {name: value for name, value in last.items() if name != "cache_control"}
    content = [*content[:-1], last]
    return {**item, "content": content}, (only_text(last) or content if len(content) == 1 else content)


def _repeated_item(wire: str, answer: list[JsonObject]) -> JsonObject | None:
    """Return an answer of one plain text as later requests repeat it; None for any other answer."""
    text = only_text(answer[0]) if len(answer) == 1 else None
    if not text or wire not in ("openai-chat", "anthropic"):
        return None
    return {"role": "assistant", "content": text}


def _is_from_model(wire: str, item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    if (role := item.get("role")) is not None:
        return role in ("assistant", "model")
    return wire == "openai-responses" and item_role(item) == "assistant"


def _needs_earlier_items(item: Any) -> bool:
    """Return whether a message needs earlier ones to be understood: a tool call or a result without an id."""
    if not isinstance(item, dict):
        return True
    if item.get("role") in ("tool", "function"):
        return not isinstance(item.get("tool_call_id"), str)
    if "function_call" in item:
        return True
    calls = item.get("tool_calls")
    return isinstance(calls, list) and any(not isinstance(call, dict) or not call.get("id") for call in calls)


def turn_ends(wire: str, tail: list[Any], turns: int, skipped: int) -> list[int]:
    """Return the index of the last item of each turn; only the very last one if the turns do not match the items."""
    if wire == "openai-responses":
        ends = [
            at
            for at, item in enumerate(tail)
            if at + 1 == len(tail) or not (_is_from_model(wire, item) and _is_from_model(wire, tail[at + 1]))
        ]
    else:
        ends = list(range(len(tail)))
    ends = ends[len(ends) - turns :] if turns <= len(ends) else []
    if not ends:
        ends = [len(tail) - 1] if tail else []
    return [skipped + at for at in ends]
