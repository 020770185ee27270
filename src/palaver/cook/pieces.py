"""Pieces of a conversation before they have ids, and how blocks and calls of all formats become such pieces."""

import json
from typing import Any

from palaver.model.build import JsonObject

Pieces = list[JsonObject]

IMAGE = "[image]"


def piece(
    role: str,
    content: str = "",
    *,
    tool_calls: list[JsonObject] | None = None,
    tool_use_id: str | None = None,
    is_error: bool | None = None,
) -> JsonObject:
    return {
        "role": role,
        "content": content,
        "tool_calls": tool_calls,
        "tool_use_id": tool_use_id,
        "is_error": is_error,
    }


def call(name: Any, arguments: Any, identifier: str) -> JsonObject:
    return {"name": _text(name), "arguments": arguments, "id": identifier}


def result(content: str, tool_use_id: str | None, *, is_error: Any = None) -> JsonObject:
    """A tool's result; one that does not say whether it failed did not."""
    return piece("tool_result", content, tool_use_id=tool_use_id, is_error=bool(is_error))


def tool(name: Any, description: Any, parameters: Any) -> JsonObject:
    return {
        "name": _text(name),
        "description": _text(description),
        "parameters": parameters if isinstance(parameters, dict) else {},
    }


def parsed_arguments(text: Any) -> JsonObject:
    """Arguments from the text that the model wrote; what is no object is kept as it was written."""
    if isinstance(text, dict):
        return text
    if text is None or text == "":
        return {}
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"raw": text if isinstance(text, str) else as_text(text)}


def as_text(value: Any) -> str:
    """Something that has no words of its own, as JSON."""
    return json.dumps(value, ensure_ascii=False)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else as_text(value)


class Pairing:
    """Gives calls without an id one, and finds for results without an id the call that waits longest."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}
        """Ids of calls without a result, in their order, with the tool's name."""
        self._made = 0
        self.seen: list[tuple[str, str | None]] = []
        """Ids that were stated since somebody emptied it: of calls with the tool's name, of results without."""
        self.has_guessed = False
        """Whether an id was made up or found since somebody said no: the same message may get another one elsewhere."""

    def replay(self, seen: list[tuple[str, str | None]]) -> None:
        """See the same ids again."""
        for identifier, name in seen:
            if name is None:
                self._waiting.pop(identifier, None)
            else:
                self._waiting[identifier] = name

    def called(self, identifier: Any, name: Any) -> str:
        name = name if isinstance(name, str) else ""
        if isinstance(identifier, str) and identifier:
            self.seen.append((identifier, name))
        else:
            identifier = f"call_{self._made}"
            self._made += 1
            self.has_guessed = True
        self._waiting[identifier] = name
        return identifier

    def answered(self, identifier: Any, name: str | None = None) -> str | None:
        if isinstance(identifier, str) and identifier:
            self.seen.append((identifier, None))
            self._waiting.pop(identifier, None)
            return identifier
        self.has_guessed = True
        for waiting, tool_name in self._waiting.items():
            if name is None or name == tool_name:
                del self._waiting[waiting]
                return waiting
        return None
