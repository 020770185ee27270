"""The first event of a stream that carries content: text, thoughts, or a tool call, and not only the answer's head.

The time from the request to it is the time to the first token. A response of Anthropic, for instance, begins with
`message_start` and `content_block_start`, which arrive before the model has written anything.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.streams._contract import Event
from palaver.streams._event_data import NOT_JSON, parse

_CHAT_CONTENT = ("content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call", "audio")
_EMPTY_AT_FIRST = frozenset({"text", "thinking", "message", "reasoning"})
"""Blocks and items that begin without content; a call of a tool begins with its name."""
_GEMINI_HEAD = frozenset({"thoughtSignature", "thought"})
"""Fields of a part that are no content by themselves."""


def is_content_event(event: Event) -> bool:
    """Return whether an event carries content; False for one that is damaged."""
    try:
        data = parse(event.data)
    except NOT_JSON:
        return False
    return isinstance(data, dict) and has_content(event.name, data)


def has_content(name: str, data: JsonObject) -> bool:
    """Return whether the data of an event carries content; `name` counts where the data has no type."""
    kind = data.get("type", name)
    match data:
        case {"choices": list(choices)}:
            return any(map(_is_chat_content, choices))
        case {"candidates": list(candidates)}:
            return any(map(_is_gemini_content, candidates))
        case {"delta": str(delta)}:
            return bool(delta) and isinstance(kind, str) and kind.startswith("response.")
        case {"delta": dict(delta)}:
            return kind == "content_block_delta" and any(delta[key] not in ("", None) for key in delta if key != "type")
        case {"content_block": {"type": str(begun)}} | {"item": {"type": str(begun)}}:
            return begun not in _EMPTY_AT_FIRST
        case _:
            return False


def _is_chat_content(choice: Any) -> bool:
    match choice:
        case {"delta": dict(delta)}:
            return any(delta.get(field) not in (None, "", []) for field in _CHAT_CONTENT)
        case {"text": str(text)}:
            return bool(text)
        case _:
            return False


def _is_gemini_content(candidate: Any) -> bool:
    match candidate:
        case {"content": {"parts": list(parts)}}:
            return any(
                isinstance(part, dict) and any(part.keys() - _GEMINI_HEAD) and part != {"text": ""} for part in parts
            )
        case _:
            return False
