"""Stand-ins for the values that the schema refused, so that rules can check the rest of a document.

Each problem is reported once, by the schema. Messages keep their positions, and no rule reports a stand-in.
"""

from collections.abc import Iterable
from typing import Any

from palaver.model.build import JsonObject
from palaver.model.rules import Path

_STAND_IN_TIME = "2020-01-01T00:00:00.000Z"
_STAND_IN_BLOCK: JsonObject = {"type": "opaque", "kind": "invalid", "raw": None}
_REFUSED = object()


def replace_refused_values(document: JsonObject, refused: Iterable[Path]) -> JsonObject:
    """Return a copy without the refused values, with stand-ins where rules need a value."""
    paths = [_removable_path(path) for path in refused]
    reduced: JsonObject = _without(document, paths)
    reduced["platform"] = {"name": "", **(reduced.get("platform") or {})}
    reduced.setdefault("created_at", reduced.get("updated_at") or _STAND_IN_TIME)
    messages: list[Any] = reduced.get("messages") or []
    reduced["messages"] = completed = list[JsonObject]()
    time = reduced["created_at"]
    for index, message in enumerate(messages):
        completed.append(_complete(message or {}, index, time))
        time = completed[-1]["timestamp"]
    if any(path[:1] == ("messages",) for path in paths):
        reduced.pop("metrics", None)  # totals no longer match without the refused values
    if ("fragment",) in {path[:1] for path in paths}:
        reduced["fragment"] = {"sequence": 0, "final": True}  # links may refer to other documents
    return reduced


def is_about_refused_value(path: Path, refused: Iterable[Path]) -> bool:
    """Return whether a rule reports a value that the schema refused already."""
    return any(
        path == ("messages",) if other == ("messages",) else other[:1] == path[:1] != ("messages",) for other in refused
    )


def _removable_path(path: Path) -> Path:
    """Return the path of the whole tokens or cost for a path inside: a part of them would not add up."""
    match path:
        case ("messages", int(), "tokens" | "cost", *_):
            return path[:3]
        case _:
            return path


def _without(value: Any, paths: list[Path], name: str | int = "") -> Any:
    """Return a copy without the values at some paths; the rest is shared."""
    if () in paths:
        return _REFUSED
    if not paths:
        return value
    below: dict[str | int, list[Path]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).append(tuple(rest))
    match value:
        case dict():
            parts = {key: _without(inner, below.get(key, []), key) for key, inner in value.items()}
            return {key: inner for key, inner in parts.items() if inner is not _REFUSED}
        case list():
            items = [_without(inner, below.get(index, [])) for index, inner in enumerate(value)]
            if name in {"messages", "content"}:  # the remaining items keep their positions
                return [None if inner is _REFUSED else inner for inner in items]
            return [inner for inner in items if inner is not _REFUSED]
        case _:
            return value


def _complete(message: JsonObject, index: int, time: str) -> JsonObject:
    content: Any = message.get("content")
    return {
        **message,
        "message_id": message.get("message_id") or f"\0{index}",
        "role": message.get("role") or "user",
        "timestamp": message.get("timestamp") or time,
        "content": list(map(_block_or_stand_in, content))
        if isinstance(content, list) and content
        else [_STAND_IN_BLOCK],
        "metadata": message.get("metadata") or {},
    }


_REQUIRED_FIELDS = {"text": "text", "tool_use": "id", "tool_result": "tool_use_id"}


def _block_or_stand_in(block: Any) -> JsonObject:
    match block:
        case {"type": str(kind)} if isinstance(block.get(_REQUIRED_FIELDS.get(kind, "type")), str):
            return block
        case _:
            return _STAND_IN_BLOCK
