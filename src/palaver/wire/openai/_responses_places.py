"""Where Responses has the parts of an exchange, and what it calls their fields."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._places import Places, Pointers, block_pointers
from palaver.wire.openai._provider_data import RESPONSES
from palaver.wire.openai._tools import tool_places
from palaver.wire.openai._usage import count_places

_FIELDS = {
    "sampling": ("",),
    "thinking": ("reasoning", "summary", "content"),
    "thinking/level": ("reasoning/effort",),
    "thinking/include_summary": ("reasoning/summary", "reasoning/generate_summary"),
    "output_format": ("text/format",),
    "output_format/json_schema": ("text/format/schema",),
    "logprobs": ("include",),
    "response_id": ("id",),
    "finish_reason": ("incomplete_details/reason", "status"),
    **count_places(RESPONSES),
    "id": ("call_id",),
    "tool_use_id": ("call_id",),
    "input": ("arguments",),
    "content": ("output",),
    "citations": ("annotations",),
    "source/data": ("image_url", "file_data", "file_url", "file_id", "input_audio/data"),
    "name": ("filename",),
    "raw": ("",),
}


def responses_places(payload: JsonObject, part: JsonObject) -> Places:
    """Return where a request or response stands in the payload that it was read from."""
    if "messages" in part:
        return Places(payload, RESPONSES, _FIELDS, _turn_pointers(payload, part) | tool_places(payload, RESPONSES))
    items = payload.get("output")
    walk = _ItemWalk(items if isinstance(items, list) else [], "/output")
    return Places(payload, RESPONSES, _FIELDS, walk.blocks(part["content"], "/content"))


class _ItemWalk:
    """Goes through the items of a payload in the order in which they were read."""

    def __init__(self, items: list[Any], start: str) -> None:
        self._items = items
        self._start = start
        self._next = 0

    @property
    def pointer(self) -> str:
        """The pointer of the next item."""
        return f"{self._start}/{self._next}"

    def blocks(self, blocks: list[JsonObject], start: str, first: int = 0) -> Pointers:
        """Return the pointers of blocks that were read from the next items; `first` is the number of the first."""
        pointers: Pointers = {}
        found: list[str] = []
        while len(found) < len(blocks) and self._next < len(self._items):
            pointer = self.pointer
            for block in self._item_blocks(blocks[len(found)]):
                place = f"{start}/{first + len(found)}"
                pointers[place] = (block,)
                pointers[f"{place}/provider_data/{RESPONSES}/item"] = (pointer,)
                found.append(block)
            self._next += 1
        return pointers

    def skip(self) -> None:
        self._next += 1

    def _item_blocks(self, first: JsonObject) -> list[str]:
        """Return the pointers of the next item's blocks: the parts of a message, or the item itself."""
        item = self._items[self._next]
        is_message = isinstance(item, dict) and item.get("type", "message") == "message"
        if not is_message or first.get("raw") == item:
            return [self.pointer]
        return block_pointers(item.get("content"), f"{self.pointer}/content")


def _turn_pointers(payload: JsonObject, request: JsonObject) -> Pointers:
    pointers: Pointers = {}
    given = payload.get("input")
    prompts = [name for name in ("instructions", "system") if isinstance(payload.get(name), str)][:1]
    if prompts:
        pointers["/system/0"] = (f"/{prompts[0]}",)
    if not isinstance(given, list):
        return {**pointers, "/messages": ("/input",)}
    walk = _ItemWalk(given, "/input")
    pointers |= walk.blocks((request.get("system") or [])[len(prompts) :], "/system", len(prompts))
    for number, turn in enumerate(request["messages"]):
        pointers[f"/messages/{number}"] = (walk.pointer,)
        if turn["content"]:
            pointers |= walk.blocks(turn["content"], f"/messages/{number}/content")
        else:
            walk.skip()
    return pointers
