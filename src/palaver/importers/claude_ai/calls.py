"""Tool calls and their results, brought together: exports often leave out the ids by which they find each other."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from palaver.importers._shared.findings import MADE_CALL_ID
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind


@dataclass(slots=True, eq=False)
class _Call:
    block: JsonObject
    is_named: bool
    """Whether its id is the source's own."""


def pair(messages: Iterable[JsonObject], note: Callable[[FindingKind, str], None]) -> None:
    """Give an id to each call and each result that has none, so that every result names its call."""
    waiting: list[_Call] = []
    for message in messages:
        made_id = f"{message['message_id']}:tool-"
        blocks = [block for block in message["content"] if block["type"] in {"tool_use", "tool_result"}]
        for number, block in enumerate(blocks):
            if block["type"] == "tool_use":
                is_named = _has_id(block, "id")
                if not is_named:
                    block["id"] = f"{made_id}{number}"
                    note(MADE_CALL_ID, f"message {message['message_id']}: the call of {block.get('name')!r}")
                waiting.append(_Call(block, is_named))
                continue
            is_named = _has_id(block, "tool_use_id")
            call = _answered(waiting, block, is_named=is_named)
            if call is not None:
                waiting.remove(call)
            if is_named:
                if call is not None:
                    call.block["id"] = block["tool_use_id"]
                continue
            if call is None or call.is_named:
                note(MADE_CALL_ID, f"message {message['message_id']}: the result of {block.get('name')!r}")
            block["tool_use_id"] = call.block["id"] if call else f"{made_id}{number}"


def _has_id(block: JsonObject, name: str) -> bool:
    value = block.pop(name, None)
    if isinstance(value, str) and value:
        block[name] = value
        return True
    if value is not None:
        block["source_fields"] = {name: value}
    return False


def _answered(waiting: list[_Call], result: JsonObject, *, is_named: bool) -> _Call | None:
    """The first call that a result can belong to."""
    if is_named:
        for call in waiting:
            if call.block["id"] == result["tool_use_id"]:
                return call
    name = result.get("name")
    for call in waiting:
        if (name is None or name == call.block.get("name")) and not (is_named and call.is_named):
            return call
    return None
