"""Objects of a Gemini payload, field by field: both spellings are read, and whatever nobody takes is kept.

What is kept mirrors the payload: fields that the exchange has no place for stand in `provider_data["gemini"]` at their
own places. Beside them, under `as_written`, stands what the exchange's own fields do not tell: which names were in
snake_case (`spelled`), which usual fields it could not take (`without`), and values whose meaning alone was taken.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses

Fit = Callable[[Any], bool]

NAME = "gemini"
_AS_WRITTEN = "as_written"
_REASONS = {
    "signature": "only the provider that sealed it can read it",
    "redacted_data": "only the provider that redacted it can read it",
    "citations": "Gemini cites for the whole answer, not within a text",
    "text": "Gemini takes the file itself, and no text of it beside",
}


@cache
def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


@cache
def camel(name: str) -> str:
    return re.sub("(?<=[a-z0-9])_([a-z])", lambda letter: letter[1].upper(), name)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def is_list(value: Any) -> bool:
    return isinstance(value, list)


def is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def is_count(value: Any) -> bool:
    return is_whole(value) and value >= 0


def is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def key_of(value: JsonObject, name: str) -> str | None:
    """How an object spells one of its fields; None where it has no such field."""
    return name if name in value else other if (other := snake(name)) in value else None


class Fields:
    """One object that is read; what is not taken is left over."""

    def __init__(self, value: JsonObject, memory: JsonObject | None = None) -> None:
        self._left = dict(value)
        self._taken: list[str] = []
        self._within: dict[str, Fields] = {}
        self._rows: dict[str, tuple[Fields, list[Any]]] = {}
        self._memory: JsonObject = {} if memory is None else memory

    def take(self, name: str, fits: Fit) -> Any:
        """The field under either of its spellings; None, and it is left over, where it is of another kind."""
        if (key := self._fitting(name, fits)) is None:
            return None
        self._taken.append(key)
        return self._left.pop(key)

    def expect(self, name: str, fits: Fit) -> Any:
        """As `take`, a field that is usually there: what is read without it is written without it."""
        if not self.holds(name, fits):
            self._memory.setdefault("without", []).append(name)
        return self.take(name, fits)

    def inner(self, name: str) -> "Fields | None":
        """An object within, read in the same manner."""
        if (key := self._fitting(name, is_object)) is None:
            return None
        self._within[key] = Fields(self._left.pop(key), self._memory)
        return self._within[key]

    def first(self, name: str) -> "Fields | None":
        """The first object of a list; the others are left over."""
        key = self._fitting(name, lambda value: isinstance(value, list) and bool(value) and isinstance(value[0], dict))
        if key is None:
            return None
        first, *others = self._left.pop(key)
        self._rows[key] = Fields(first, self._memory), others
        return self._rows[key][0]

    def holds(self, name: str, fits: Fit) -> bool:
        return self._fitting(name, fits) is not None

    def remember(self, name: str, value: Any) -> None:
        """Keeps how something was written that the exchange tells in its own words."""
        self._memory[name] = value

    def beside(self) -> JsonObject:
        """The `provider_data` of what was read; nothing where the exchange tells it all."""
        kept = self.rest()
        if spelled := sorted(set(self.spelled())):
            self._memory["spelled"] = spelled
        if _AS_WRITTEN in kept:
            self._memory["fields"] = {_AS_WRITTEN: kept.pop(_AS_WRITTEN)}
        if self._memory:
            kept[_AS_WRITTEN] = self._memory
        return {"provider_data": {NAME: kept}} if kept else {}

    def is_read(self) -> bool:
        return bool(self._taken or self._rows) or any(inner.is_read() for inner in self._within.values())

    def rest(self) -> JsonObject:
        rest = dict(self._left)
        for key, inner in self._within.items():
            if (left := inner.rest()) or not inner.is_read():
                rest[key] = left
        for key, (row, others) in self._rows.items():
            if (left := row.rest()) or others:
                rest[key] = [left, *others]
        return rest

    def spelled(self) -> list[str]:
        keys = [key for key in (*self._taken, *self._rows, *self._within) if "_" in key]
        for inner in (*self._within.values(), *(row for row, _ in self._rows.values())):
            keys += inner.spelled()
        return keys

    def _fitting(self, name: str, fits: Fit) -> str | None:
        return next((key for key in (name, snake(name)) if key in self._left and fits(self._left[key])), None)


class Kept:
    """What a reader of this format kept beside something that is now written."""

    def __init__(self, holder: JsonObject) -> None:
        own = (holder.get("provider_data") or {}).get(NAME)
        own = own if isinstance(own, dict) else {}
        memory = own.get(_AS_WRITTEN)
        self._memory: JsonObject = memory if isinstance(memory, dict) else {}
        self.left: JsonObject = {key: value for key, value in own.items() if key != _AS_WRITTEN}
        self.left |= self._memory.get("fields", {})

    def original(self, name: str) -> Any:
        """How something was written; the caller checks that it still means the same."""
        return self._memory.get(name)

    def lacks(self, name: str) -> bool:
        """Whether a usual field was not there, or was of another kind and is left over."""
        return name in self._memory.get("without", ())

    def spell(self, value: JsonObject) -> JsonObject:
        """One object, its own fields spelled as they were."""
        spelled = self._memory.get("spelled", ())
        return {snake(key) if snake(key) in spelled else key: inner for key, inner in value.items()}

    def complete(self, payload: JsonObject) -> JsonObject:
        """With everything that was left over; what is written itself stands first."""
        return _joined(payload, self.left)


def _joined(written: JsonObject, left: JsonObject) -> JsonObject:
    joined = dict(written)
    for key, value in left.items():
        match written.get(key), value:
            case dict() as mine, dict():
                joined[key] = _joined(mine, value)
            case [dict() as mine], [dict() as first, *others] if key == "candidates":
                joined[key] = [_joined(mine, first), *others]
            case _:
                joined.setdefault(key, value)
    return joined


def drop_others(holder: JsonObject, known: frozenset[str], pointer: str, losses: Losses) -> None:
    """Names what stands beside the known fields: data of other formats, and fields that nobody knows here."""
    for key, value in holder.items():
        if key not in known and key != "provider_data" and value is not None:
            losses.drop(f"{pointer}/{_escaped(key)}", _REASONS.get(key, "Gemini has no place for it"))
    for name, data in (holder.get("provider_data") or {}).items():
        if name != NAME and data:
            losses.drop(f"{pointer}/provider_data/{_escaped(name)}", f"only {name} can read it")


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
