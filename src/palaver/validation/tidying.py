"""A document that breaks the schema, made fit for rules: what the schema refused is left out, so that it is told once.

Messages keep their places. What stands in for a refused value is nothing that a rule speaks of.
"""

from collections.abc import Iterable
from typing import Any

from palaver.model.build import JsonObject
from palaver.model.rules import Path

_UNKNOWN_TIME = "2020-01-01T00:00:00.000Z"
_NO_BLOCK: JsonObject = {"type": "opaque", "kind": "invalid", "raw": None}
_REFUSED = object()


def tidied(document: JsonObject, refused: Iterable[Path]) -> JsonObject:
    """A copy of what the schema did not refuse, with stand-ins where rules need something."""
    paths = [_whole(path) for path in refused]
    made: JsonObject = _without(document, paths)
    made["platform"] = {"name": "", **(made.get("platform") or {})}
    made.setdefault("created_at", made.get("updated_at") or _UNKNOWN_TIME)
    messages: list[Any] = made.get("messages") or []
    made["messages"] = tidy = list[JsonObject]()
    time = made["created_at"]
    for index, message in enumerate(messages):
        tidy.append(_complete(message or {}, index, time))
        time = tidy[-1]["timestamp"]
    if any(path[:1] == ("messages",) for path in paths):
        made.pop("metrics", None)  # what was left out cannot be added up
    if ("fragment",) in {path[:1] for path in paths}:
        made["fragment"] = {"sequence": 0, "final": True}  # links may lead anywhere
    return made


def speaks_of(path: Path, refused: Iterable[Path]) -> bool:
    """Whether a rule says something about what the schema refused."""
    return any(
        path == ("messages",) if other == ("messages",) else other[:1] == path[:1] != ("messages",) for other in refused
    )


def _whole(path: Path) -> Path:
    """What adds up goes as a whole: a part of it would not."""
    match path:
        case ("messages", int(), "tokens" | "cost", *_):
            return path[:3]
        case _:
            return path


def _without(value: Any, paths: list[Path], name: str | int = "") -> Any:
    """A copy without what stands at some paths; nothing else is copied."""
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
            kept = [_without(inner, below.get(index, [])) for index, inner in enumerate(value)]
            if name in {"messages", "content"}:  # the others keep their places
                return [None if inner is _REFUSED else inner for inner in kept]
            return [inner for inner in kept if inner is not _REFUSED]
        case _:
            return value


def _complete(message: JsonObject, index: int, time: str) -> JsonObject:
    content: Any = message.get("content")
    return {
        **message,
        "message_id": message.get("message_id") or f"\0{index}",
        "role": message.get("role") or "user",
        "timestamp": message.get("timestamp") or time,
        "content": list(map(_block, content)) if isinstance(content, list) and content else [_NO_BLOCK],
        "metadata": message.get("metadata") or {},
    }


_NEEDED = {"text": "text", "tool_use": "id", "tool_result": "tool_use_id"}


def _block(block: Any) -> JsonObject:
    match block:
        case {"type": str(kind)} if isinstance(block.get(_NEEDED.get(kind, "type")), str):
            return block
        case _:
            return _NO_BLOCK
