"""Rows that other tools wrote in the place of the interface's: `{id, type, content}`, `{author, text}`."""

from typing import Any, NamedTuple

from palaver.importers._cline_family.blocks import block_of
from palaver.importers._cline_family.task import time_of
from palaver.model import build
from palaver.model.build import JsonObject

_ASSISTANTS = frozenset({"assistant", "agent", "ai", "bot", "model"})
_USERS = frozenset({"user", "human"})
_WORDS = ("content", "text", "message")


class Foreign(NamedTuple):
    role: build.Role
    author: str
    content: list[JsonObject]
    time: str
    rest: JsonObject


def foreign_of(raw: JsonObject) -> Foreign:
    """What a row of another shape says; one of which nothing is known is kept whole."""
    role: build.Role = "system"
    taken: set[str] = set()
    for name in ("type", "role", "author"):
        stated = raw.get(name)
        if isinstance(stated, str) and stated.lower() in _ASSISTANTS | _USERS:
            role = "assistant" if stated.lower() in _ASSISTANTS else "user"
            taken.add(name)
            break
    key = next((name for name in _WORDS if raw.get(name)), "")
    content = _content(raw.get(key)) if key else []
    if not content:
        return Foreign("system", "harness", [build.opaque(kind="row", raw=raw)], _time(raw)[0], {})
    time, name = _time(raw)
    taken |= {key, name}
    rest = {name: value for name, value in raw.items() if name not in taken}
    author = {"assistant": "model", "user": "human"}.get(role, "harness")
    return Foreign(role, author, content, time, rest)


def _content(value: Any) -> list[JsonObject]:
    match value:
        case str():
            return [build.text(value)]
        case {"text": str(text)} if len(value) == 1:
            return [build.text(text)]
        case list():
            return [block_of(one) for one in value]
        case _:
            return [block_of(value)]


def _time(raw: JsonObject) -> tuple[str, str]:
    """When it was written, and the field that says so."""
    for name in ("ts", "timestamp"):
        if time := time_of(raw.get(name)):
            return time, name
    return "", ""
