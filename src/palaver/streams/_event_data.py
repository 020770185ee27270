"""JSON in events: strict parsing with a lenient fallback, the issues found on the way, and truncated JSON.

msgspec is as fast as orjson here, and preserves integers beyond 64 bits. What it rejects goes to the standard library,
which accepts lone surrogates (a character whose two escapes came in two events), control characters and NaN.
"""

import json
import re
from typing import Any, TypeGuard

import msgspec

from palaver.model.build import JsonObject
from palaver.streams._contract import Assembled, Event, Issue

parse = msgspec.json.Decoder().decode
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
FAST_PATH_ERRORS = (*NOT_JSON, KeyError, TypeError, AttributeError, ValueError)
"""What an assembler's fast path raises for an event that is not of the usual kind."""

DONE = b"[DONE]"
TOO_DEEP = "nested too deeply"
_MAX_ISSUES = 1_000
_MAX_DETAIL_CHARACTERS = 200


class Issues:
    """The issues of one stream."""

    __slots__ = ("_found", "_has_surrogates", "_unlisted", "has_unreadable")

    def __init__(self) -> None:
        self._found: list[Issue] = []
        self._unlisted = 0
        self._has_surrogates = False
        self.has_unreadable = False
        """Whether the data of some event could not be read at all."""

    def note(self, kind: str, sequence: int, detail: object = "") -> None:
        if len(self._found) < _MAX_ISSUES:
            self._found.append(Issue(kind, sequence, str(detail)[:_MAX_DETAIL_CHARACTERS]))
        else:
            self._unlisted += 1

    def note_unreadable(self, kind: str, sequence: int, detail: str) -> None:
        self.has_unreadable = True
        self.note(kind, sequence, detail)

    def parse_object(self, event: Event, sequence: int) -> JsonObject | None:
        """Return an event's data; None for `[DONE]`, and None with an issue for anything but an object."""
        try:
            data = parse(event.data)
        except NOT_JSON as error:
            if event.data.strip() == DONE:
                return None
            data = self._parse_leniently(event, sequence, str(error))
            if data is None:
                return None
        if isinstance(data, dict):
            return data
        self.note_unreadable("corrupted_data", sequence, f"an object was expected: {_start(event)}")
        return None

    def assembled(self, payload: JsonObject, events: int, *, is_complete: bool, closing: list[Issue]) -> Assembled:
        """Return the result; `closing` are issues that hold only if no more events follow."""
        issues = [*self._found, *closing]
        if self._unlisted:
            issues.append(Issue("more_issues", events, f"{self._unlisted:,} more"))
        return Assembled(_with_joined_surrogates(payload) if self._has_surrogates else payload, is_complete, issues)

    def _parse_leniently(self, event: Event, sequence: int, reason: str) -> Any:
        try:
            data = json.loads(event.data.decode("utf-8", "replace"), strict=False, parse_constant=_null)
        except (ValueError, RecursionError):
            kind = "cut_event" if event.is_cut else "corrupted_data"
            self.note_unreadable(kind, sequence, f"{reason}: {_start(event)}")
            return None
        self._has_surrogates = True
        self.note("lenient_json", sequence, reason)
        return data


def with_following(messages: list[Assembled]) -> Assembled:
    """Return the first message of a stream, with those that followed it."""
    first, *others = messages
    return first._replace(following=tuple(others)) if others else first


def merge_fields(target: JsonObject, new: JsonObject) -> None:
    """Update an object in place; null replaces no value."""
    for name, value in new.items():
        if value is not None or name not in target:
            target[name] = value


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def is_index(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _start(event: Event) -> str:
    return event.data[:_MAX_DETAIL_CHARACTERS].decode("utf-8", "replace")


def _null(_: str) -> None:
    """Replace NaN and the infinities, which are not JSON, by null."""


def _with_joined_surrogates(payload: JsonObject) -> JsonObject:
    """Return a copy with adjacent surrogates joined to one character, and lone ones replaced."""
    try:
        text = json.dumps(payload, ensure_ascii=False)
        return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    except RecursionError:
        return payload


_TOKEN = re.compile(r'[\[\]{},:]|"[^"\\]*(?:\\.[^"\\]*)*("?)|[^\s\[\]{},:"]+', re.DOTALL)
_VALID_STRING_START = re.compile(
    r"""" (?: [^"\\]+ | \\["\\/bfnrt]
            | \\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
            | \\u(?![dD][89a-fA-F])[0-9a-fA-F]{4} )*""",  # no *+, which matches too much before Python 3.11.5
    re.VERBOSE,
)
_LITERALS = {"true", "false", "null"}
_CLOSER = {"{": "}", "[": "]"}


def close_truncated_json(text: str) -> Any:
    """Return what is certain of a JSON text that breaks off, such as a tool's input.

    A truncated string keeps its beginning. A key without a value, and a number or word that might have continued, are
    left out.

    Raises:
        ValueError: The text is not the beginning of JSON, or lacks even a first value.
    """
    open_brackets: list[str] = []
    is_value_next = True
    # The text up to `end` needs only closing brackets to be complete; `truncated` ends with a string that was cut off.
    end, truncated = 0, ""
    for token in _TOKEN.finditer(text):
        symbol = token[0]
        if symbol in _CLOSER:
            open_brackets.append(symbol)
            end, is_value_next = token.end(), symbol == "["
        elif symbol in {"}", "]"}:
            if not open_brackets:
                raise ValueError(f"nothing to close with {symbol}")
            open_brackets.pop()
            end = token.end()
        elif symbol == ":":
            is_value_next = True
        elif symbol == ",":
            is_value_next = open_brackets[-1:] == ["["]
        elif is_value_next:
            is_value_next = False
            if token[1] == "":
                valid = _VALID_STRING_START.match(text, token.start())
                truncated = text[: valid.end() if valid else end] + '"'
                break
            if symbol.startswith('"') or token.end() < len(text) or symbol in _LITERALS:
                end = token.end()
    closing = "".join(_CLOSER[bracket] for bracket in reversed(open_brackets))
    return msgspec.json.decode((truncated or text[:end]) + closing)
