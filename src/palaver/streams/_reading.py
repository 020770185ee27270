"""An event's data as JSON, exactly where it is sound and generously where it is not, with what was odd written down.

msgspec is as fast as orjson here, and keeps integers past 64 bits as they are. What it refuses is tried again by
Python's own reader, which takes half of a surrogate pair (a character whose two escapes came in two events), control
characters and NaN.
"""

import json
from typing import Any, TypeGuard

import msgspec

from palaver.model.build import JsonObject
from palaver.streams._contract import Assembled, Event, Issue

parse = msgspec.json.Decoder().decode
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
UNLIKE_OTHERS = (*NOT_JSON, KeyError, TypeError, AttributeError, ValueError)
"""What the quick way through an event raises when the event is not of the usual kind."""

DONE = b"[DONE]"
TOO_DEEP = "it is nested too deeply"
_MOST_ISSUES = 1_000
_DETAIL_CHARACTERS = 200


class Issues:
    """Gathers what is odd about one stream."""

    __slots__ = ("_found", "_has_halves", "_uncounted", "has_lost")

    def __init__(self) -> None:
        self._found: list[Issue] = []
        self._uncounted = 0
        self._has_halves = False
        self.has_lost = False
        """Whether something could not be read at all."""

    def note(self, kind: str, sequence: int, detail: object = "") -> None:
        if len(self._found) < _MOST_ISSUES:
            self._found.append(Issue(kind, sequence, str(detail)[:_DETAIL_CHARACTERS]))
        else:
            self._uncounted += 1

    def lose(self, kind: str, sequence: int, detail: str) -> None:
        self.has_lost = True
        self.note(kind, sequence, detail)

    def parsed(self, event: Event, sequence: int) -> JsonObject | None:
        """The data as an object; None, and an issue, where it is none. `[DONE]` is none, but may end any stream."""
        try:
            data = parse(event.data)
        except NOT_JSON as error:
            if event.data.strip() == DONE:
                return None
            data = self._generously(event, sequence, str(error))
            if data is None:
                return None
        if isinstance(data, dict):
            return data
        self.lose("corrupted_data", sequence, f"an object was expected: {_start(event)}")
        return None

    def assembled(self, payload: JsonObject, events: int, *, is_complete: bool, closing: list[Issue]) -> Assembled:
        """The result; `closing` are issues that stand only if no more events follow."""
        issues = [*self._found, *closing]
        if self._uncounted:
            issues.append(Issue("more_issues", events, f"{self._uncounted:,} more"))
        return Assembled(_whole(payload) if self._has_halves else payload, is_complete, issues)

    def _generously(self, event: Event, sequence: int, reason: str) -> Any:
        try:
            data = json.loads(event.data.decode("utf-8", "replace"), strict=False, parse_constant=_nothing)
        except (ValueError, RecursionError):
            kind = "cut_event" if event.is_cut else "corrupted_data"
            self.lose(kind, sequence, f"{reason}: {_start(event)}")
            return None
        self._has_halves = True
        self.note("lenient_json", sequence, reason)
        return data


def merge(into: JsonObject, new: JsonObject) -> None:
    """Later values replace earlier ones; null replaces nothing."""
    for name, value in new.items():
        if value is not None or name not in into:
            into[name] = value


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def is_index(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _start(event: Event) -> str:
    return event.data[:_DETAIL_CHARACTERS].decode("utf-8", "replace")


def _nothing(_: str) -> None:
    """NaN and the infinities have no place in JSON."""


def _whole(payload: JsonObject) -> JsonObject:
    """With halves of characters joined where they met, and replaced where they stayed alone."""
    try:
        text = json.dumps(payload, ensure_ascii=False)
        return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    except RecursionError:
        return payload
