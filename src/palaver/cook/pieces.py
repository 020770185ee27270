"""Pieces, the messages of a cooked object, and the table that numbers each unique piece and tool."""

import json
import math
from array import array
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import orjson

from palaver.model.build import JsonObject
from palaver.model.ids import MESSAGE_FIELDS, TOOL_FIELDS

Pieces = list[JsonObject]


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


def tool_call(name: Any, arguments: Any, identifier: str) -> JsonObject:
    return {"name": _text(name), "arguments": arguments, "id": identifier}


def tool_result(content: str, tool_use_id: str | None, *, is_error: Any = None) -> JsonObject:
    """Return the piece of a tool's result, which succeeded unless it states an error."""
    return piece("tool_result", content, tool_use_id=tool_use_id, is_error=bool(is_error))


def tool_definition(name: Any, description: Any, parameters: Any) -> JsonObject:
    return {
        "name": _text(name),
        "description": _text(description),
        "parameters": parameters if isinstance(parameters, dict) else {},
    }


def parse_arguments(text: Any, note_constant: Callable[[str], None] = lambda _: None) -> JsonObject:
    """Parse the arguments that the model wrote; anything but a JSON object is stored unchanged under `raw`.

    NaN and the infinities become null, and are noted by their name.
    """
    if isinstance(text, dict):
        return text
    if text is None or text == "":
        return {}
    try:
        value = json.loads(text, parse_constant=note_constant)
    except (TypeError, ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"raw": text if isinstance(text, str) else json_text(text)}


def json_text(value: Any) -> str:
    """Return a value without text of its own as JSON."""
    return json.dumps(value, ensure_ascii=False)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json_text(value)


class PieceTable:
    """The unique messages and tools, numbered in order of appearance; an id is a letter and that number."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        """The JSON of each message, without its id."""
        self.tools: list[bytes] = []
        self._messages: dict[bytes, int] = {}
        self._tools: dict[bytes, int] = {}

    def add_messages(self, pieces: list[JsonObject]) -> "array[int]":
        return array("I", [_number(piece, MESSAGE_FIELDS, self._messages, self.messages) for piece in pieces])

    def add_tools(self, tools: list[JsonObject]) -> "array[int]":
        """Return the numbers of a request's tools, each once."""
        numbers = [_number(tool, TOOL_FIELDS, self._tools, self.tools) for tool in tools]
        return array("I", dict.fromkeys(numbers))


def _number(entry: JsonObject, fields: tuple[str, ...], known: dict[bytes, int], entries: list[bytes]) -> int:
    content = {name: entry[name] for name in fields}
    # Canonical JSON identifies equal entries as well as the published hash does, in a fifth of the time.
    key = blake2b(encode_json(content, is_sorted=True), digest_size=16).digest()
    number = known.setdefault(key, len(entries))
    if number == len(entries):
        entries.append(encode_json(content))
    return number


def encode_json(value: JsonObject, *, is_sorted: bool = False) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if is_sorted else None)
    except TypeError:  # an integer beyond 64 bits, a lone surrogate, or too deeply nested
        return json.dumps(_strict(value), sort_keys=is_sorted, separators=(",", ":"), allow_nan=False).encode()


def _strict(value: Any) -> Any:
    """Return a value that every JSON parser accepts: no NaN, and no half of a surrogate pair."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [_strict(item) for item in value]
        case dict():
            return {_strict(key): _strict(item) for key, item in value.items()}
        case _:
            return value
