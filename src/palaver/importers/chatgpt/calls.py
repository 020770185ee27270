"""Calls of tools: an answer that is said to a tool is one, and what the tool says next is its result."""

from dataclasses import dataclass
from typing import Any

from palaver.importers.chatgpt.content import Blocks
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.sources.parse import NOT_JSON, parse

_TO_NOBODY = (None, "all", "assistant", "user")


@dataclass(slots=True)
class Call:
    """A call of a tool, with the one before it in the same turn."""

    message_id: str
    name: str
    before: "Call | None"
    is_answered: bool = False


def calls(recipient: Any) -> bool:
    """Whether what is said to a recipient is a call of a tool."""
    return isinstance(recipient, str) and recipient not in _TO_NOBODY and bool(recipient)


def answered_by(name: Any, nearest: Call | None) -> Call | None:
    """The call that a tool's message answers: one to the same tool, else the nearest if nothing has answered it."""
    service = name.partition(".")[0] if isinstance(name, str) else None
    call = nearest
    while call is not None:
        if call.name.partition(".")[0] == service:
            call.is_answered = True
            return call
        call = call.before
    if nearest is None or nearest.is_answered:
        return None
    nearest.is_answered = True
    return nearest


def call_of(key: str, name: str, made: Blocks) -> JsonObject:
    """A call of a tool, with its arguments where they are JSON, else with what was said to it."""
    first = made[0]
    words = first.get("code") if first["type"] == "code" else first.get("text")
    if len(made) > 1 or not isinstance(words, str):
        return build.tool_use(id=key, name=name, input={"content": made})
    arguments = _object(words)
    field = first["type"]
    rest = {name: value for name, value in first.items() if name not in {"type", field}}
    if arguments is None:
        return build.tool_use(id=key, name=name, input={field: words, **rest})
    made_call = build.tool_use(id=key, name=name, input=arguments)
    return {**rest, **made_call} if rest else made_call


def _object(words: str) -> JsonObject | None:
    if not words.lstrip().startswith("{"):
        return None
    try:
        value = parse(words)
    except NOT_JSON:
        return None
    return value if isinstance(value, dict) else None


def failed(ran: JsonObject) -> bool:
    status = ran.get("status")
    return bool(ran.get("in_kernel_exception") or ran.get("system_exception")) or (
        isinstance(status, str) and status.startswith("failed")
    )
