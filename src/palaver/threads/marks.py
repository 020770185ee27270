"""Marks: places in the lists of requests, by hashes of all that was said before them, and where they lead to.

Two lists that say the same up to a place lead to the same. How they are spelled does not count where it makes nothing
else of what is read: a mark for the cache, one text alone or as a block. Only this process asks for the hashes: its own
are the quickest.
"""

from typing import Any

import msgspec
import orjson

from palaver.model.build import JsonObject
from palaver.threads.chain import Chain
from palaver.threads.plainly import only_text
from palaver.wire.openai._responses_items import role_of_item

MOST_PLACES = 1 << 16
"""How many places are remembered; when there are more, all are forgotten, and requests are read whole again."""
PROMPTING = ("system", "developer")
_MARKED = ("text", "tool_use", "tool_result")
"""Blocks that say the same with a mark for the cache and without."""


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where in a conversation a request's list has come to."""

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


class Marks:
    """The places of one request's list, by hashes over all that comes before them."""

    def __init__(self, wire: str, items: list[Any], beginning: int, places: dict[int, Place]) -> None:
        self._places = places
        self._items, self._wire = items, wire
        self._hashes: list[int] = []
        self.skipped = 0
        """How many items need not be read."""
        self.known: Place | None = None
        """Where these lead to."""
        self.ends: list[int] = []
        """Of each turn that was read, which item of the list ends it."""
        numbers = range(len(items))
        self._first = next((at for at in numbers if _is_models(wire, items[at])), -1)
        self._last = next((at for at in reversed(numbers) if _is_models(wire, items[at])), -1)
        try:
            self._hashes = _marks(wire, items, beginning)
        except TypeError:  # half of a surrogate pair, or an integer past 64 bits: this one is read whole
            return
        if self._first >= 0:
            self.skipped, self.known = self._deepest()
        # What is known was looked at before.
        if wire == "openai-chat" and any(map(_needs_others, items[self.skipped :])):
            self._hashes, self.skipped, self.known = [], 0, None

    def _deepest(self) -> tuple[int, Place | None]:
        """Up to where a list is known; what follows the model's last turn is always read.

        Before the first turn of the model, it is not known yet which conversation it is.
        """
        for at in range(self._last, self._first - 1, -1):
            if (place := self._places.get(self._hashes[at])) and self._is_between_turns(at):
                return at + 1, place
        return 0, None

    def remember(self, turns: list[Turn], conversation_id: str) -> None:
        """Note where each turn that was read leads to."""
        if not self._hashes:
            return
        if len(self._places) > MOST_PLACES:
            self._places.clear()
        for at, turn in zip(reversed(self.ends), reversed(turns), strict=False):
            if at >= self._first >= 0:
                self._places[self._hashes[at]] = Place(turn.chain, turn.depth + 1, conversation_id)

    def expect(self, answer: list[JsonObject], place: Place) -> None:
        """Note where the list leads to with an answer behind it: so the next request has it, nearly always."""
        if self._hashes and (item := _repeated(self._wire, answer)) is not None:
            [mark] = _marks(self._wire, [item], self._hashes[-1])
            self._places[mark] = place

    def _is_between_turns(self, at: int) -> bool:
        """Whether a turn ends here: of the Responses API, several items may be one turn of the model."""
        following_item = self._items[at + 1] if at + 1 < len(self._items) else None
        if self._wire != "openai-responses":
            return not (isinstance(following_item, dict) and following_item.get("role") in PROMPTING)
        return not (_is_models(self._wire, self._items[at]) and _is_models(self._wire, following_item))


def _marks(wire: str, items: list[Any], before: int) -> list[int]:
    """Hashes of all that was said up to each item."""
    marks: list[int] = []
    for item in items:
        content = None
        if isinstance(item, dict) and len(item) == 2 and isinstance(item.get("role"), str):
            content = item.get("content")
            if wire == "anthropic" and isinstance(content, list) and content:
                # One text alone is the same as a string, which is seen at once where there is nothing else.
                block = content[0]
                if len(content) == 1 and isinstance(block, dict) and len(block) == 2 and block.get("type") == "text":
                    content = block.get("text") or content
                else:
                    item, content = _unmarked(item, content)
        said = (item["role"], content) if isinstance(content, str) else orjson.dumps(item)
        before = hash((before, said))
        marks.append(before)
    return marks


def _unmarked(item: JsonObject, content: list[Any]) -> tuple[JsonObject, Any]:
    """An item and its content without the mark for the cache, which stands in another message each time."""
    last = content[-1]
    if not isinstance(last, dict) or "cache_control" not in last or last.get("type") not in _MARKED:
        return item, content
    last = {name: value for name, value in last.items() if name != "cache_control"}
    content = [*content[:-1], last]
    return {**item, "content": content}, (only_text(last) or content if len(content) == 1 else content)


def _repeated(wire: str, answer: list[JsonObject]) -> JsonObject | None:
    """An answer as a later request says it again, where it is text alone, which is read as the answer was."""
    text = only_text(answer[0]) if len(answer) == 1 else None
    if not text or wire not in ("openai-chat", "anthropic"):
        return None
    return {"role": "assistant", "content": text}


def _is_models(wire: str, item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    if (role := item.get("role")) is not None:
        return role in ("assistant", "model")
    return wire == "openai-responses" and role_of_item(item) == "assistant"


def _needs_others(item: Any) -> bool:
    """Whether a message can be understood only together with those before it: a call or a result without an id."""
    if not isinstance(item, dict):
        return True
    if item.get("role") in ("tool", "function"):
        return not isinstance(item.get("tool_call_id"), str)
    if "function_call" in item:
        return True
    calls = item.get("tool_calls")
    return isinstance(calls, list) and any(not isinstance(call, dict) or not call.get("id") for call in calls)


def ends_of(wire: str, tail: list[Any], turns: int, skipped: int) -> list[int]:
    """Which item ends each turn; only the last one where that is not certain."""
    if wire == "openai-responses":
        ends = [
            at
            for at, item in enumerate(tail)
            if at + 1 == len(tail) or not (_is_models(wire, item) and _is_models(wire, tail[at + 1]))
        ]
    else:
        ends = list(range(len(tail)))
    ends = ends[len(ends) - turns :] if turns <= len(ends) else []
    if not ends:
        ends = [len(tail) - 1] if tail else []
    return [skipped + at for at in ends]
