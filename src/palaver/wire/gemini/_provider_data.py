"""Gemini's `provider_data`: payload objects read field by field, with whatever is not taken saved for writing.

The saved data mirrors the payload: fields that the exchange cannot express are in `provider_data["gemini"]`, at their
own path. Beside them, `as_written` holds what the exchange's own fields do not show: the names that were in snake_case
(`spelled`), the usual fields that were missing or of another type (`without`), and original values of which only the
spelling matters. A value of which only a part of the meaning was taken (a budget for a level) stays at its path.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from palaver.model.build import JsonObject
from palaver.wire import _unwritten
from palaver.wire._contract import Losses

Predicate = Callable[[Any], bool]

NAME = "gemini"
_AS_WRITTEN = "as_written"
_REASONS = {
    "signature": "only the provider that sealed it can read it",
    "redacted_data": "only the provider that redacted it can read it",
    "citations": "Gemini cites for the whole answer, not within the text",
    "text": "Gemini takes a file without its text",
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


def is_text_list(value: Any) -> bool:
    return is_list(value) and all(map(is_text, value))


def is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def is_count(value: Any) -> bool:
    return is_whole(value) and value >= 0


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def key_of(value: JsonObject, name: str) -> str | None:
    """Return the key under which an object has a field, in either spelling; None if it has none."""
    return name if name in value else other if (other := snake(name)) in value else None


class FieldReader:
    """Reads an object of a payload; the fields that are not taken become its `provider_data`."""

    def __init__(self, value: JsonObject, as_written: JsonObject | None = None) -> None:
        self._unread = dict(value)
        self._taken: list[str] = []
        self._inner_readers: dict[str, FieldReader] = {}
        self._only_items: dict[str, FieldReader] = {}
        self._as_written: JsonObject = {} if as_written is None else as_written

    def take(self, name: str, fits: Predicate) -> Any:
        """Remove and return a field, in either spelling; None, and it stays, if it does not fit."""
        if (key := self._matching_key(name, fits)) is None:
            return None
        self._taken.append(key)
        return self._unread.pop(key)

    def look(self, name: str, fits: Predicate) -> Any:
        """Return a field, in either spelling, and leave it; None if it does not fit."""
        key = self._matching_key(name, fits)
        return None if key is None else self._unread[key]

    def keep(self, name: str, value: Any) -> None:
        """Keep what the exchange expresses only in part among the fields that are not taken."""
        self._unread[name if snake(name) not in self._taken else snake(name)] = value

    def expect(self, name: str, fits: Predicate) -> Any:
        """Take a field that is usually present, and record its absence, so that it is not written either."""
        if not self.has(name, fits):
            self._as_written.setdefault("without", []).append(name)
        return self.take(name, fits)

    def inner(self, name: str) -> "FieldReader | None":
        """Return a reader for an object in a field; None if there is none."""
        if (key := self._matching_key(name, is_object)) is None:
            return None
        self._inner_readers[key] = FieldReader(self._unread.pop(key), self._as_written)
        return self._inner_readers[key]

    def only_item(self, name: str, position: int) -> "FieldReader":
        """Take a list, and return a reader for the object at a position; the caller reads the others."""
        item: JsonObject = self._unread.pop(name)[position]
        self._only_items[name] = FieldReader(item, self._as_written)
        return self._only_items[name]

    def has(self, name: str, fits: Predicate) -> bool:
        return self._matching_key(name, fits) is not None

    def remember(self, name: str, value: Any) -> None:
        """Record how a value was written that the exchange expresses in its own words."""
        self._as_written[name] = value

    def provider_data(self) -> JsonObject:
        """Return an object with the field `provider_data`; empty if the exchange expresses everything."""
        saved = self.remaining()
        if spelled := sorted(set(self.snake_case_keys())):
            self._as_written["spelled"] = spelled
        if _AS_WRITTEN in saved:
            self._as_written["fields"] = {_AS_WRITTEN: saved.pop(_AS_WRITTEN)}
        if self._as_written:
            saved[_AS_WRITTEN] = self._as_written
        return {"provider_data": {NAME: saved}} if saved else {}

    def has_taken(self) -> bool:
        return bool(self._taken or self._only_items) or any(inner.has_taken() for inner in self._inner_readers.values())

    def remaining(self) -> JsonObject:
        remaining = dict(self._unread)
        for key, inner in self._inner_readers.items():
            if (rest := inner.remaining()) or not inner.has_taken():
                remaining[key] = rest
        for key, item_reader in self._only_items.items():
            if rest := item_reader.remaining():
                remaining[key] = [rest]
        return remaining

    def snake_case_keys(self) -> list[str]:
        keys = [key for key in (*self._taken, *self._inner_readers) if "_" in key]
        for inner in (*self._inner_readers.values(), *self._only_items.values()):
            keys += inner.snake_case_keys()
        return keys

    def _matching_key(self, name: str, fits: Predicate) -> str | None:
        return next((key for key in (name, snake(name)) if key in self._unread and fits(self._unread[key])), None)


class ProviderData:
    """The data that reading this format saved with a part, for writing it again."""

    def __init__(self, holder: JsonObject) -> None:
        own = (holder.get("provider_data") or {}).get(NAME)
        own = own if isinstance(own, dict) else {}
        as_written = own.get(_AS_WRITTEN)
        self._as_written: JsonObject = as_written if isinstance(as_written, dict) else {}
        self.extra: JsonObject = {key: value for key, value in own.items() if key != _AS_WRITTEN}
        self.extra |= self._as_written.get("fields", {})

    def original(self, name: str) -> Any:
        """Return how a value was written; the caller checks that it still has the same meaning."""
        return self._as_written.get(name)

    def stated(self, *path: str) -> Any:
        """Return a kept field, each part of its path in either spelling; None if there is none."""
        value: Any = self.extra
        for name in path:
            value = value[0] if isinstance(value, list) and value else value
            key = key_of(value, name) if isinstance(value, dict) else None
            if key is None:
                return None
            value = value[key]
        return value

    def discard(self, *path: str) -> None:
        """Leave out a kept field, because the exchange says something else by now."""
        self.extra = _without_path(self.extra, path)

    def lacks(self, name: str) -> bool:
        """Return whether a usual field was missing, or was of another type and is among the saved fields."""
        return name in self._as_written.get("without", ())

    def spell(self, value: JsonObject) -> JsonObject:
        """Return an object with its keys in the spelling of the original."""
        spelled = self._as_written.get("spelled", ())
        return {snake(key) if snake(key) in spelled else key: inner for key, inner in value.items()}

    def complete(self, payload: JsonObject) -> JsonObject:
        """Return a payload with the saved fields added; written fields take precedence."""
        return _merge(payload, self.extra)


def _without_path(value: Any, path: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_without_path(value[0], path), *value[1:]] if value else value
    key = key_of(value, path[0]) if isinstance(value, dict) else None
    if key is None:
        return value
    rest = {name: inner for name, inner in value.items() if name != key}
    return rest if len(path) == 1 else {**value, key: _without_path(value[key], path[1:])}


def _merge(written: JsonObject, extra: JsonObject) -> JsonObject:
    merged = dict(written)
    for key, value in extra.items():
        match written.get(key), value:
            case dict() as mine, dict():
                merged[key] = _merge(mine, value)
            case [dict() as mine], [dict() as first] if key == "candidates":
                merged[key] = [_merge(mine, first)]
            case _:
                merged.setdefault(key, value)
    return merged


def report_unwritten(holder: JsonObject, known: frozenset[str], pointer: str, losses: Losses) -> None:
    """Report as losses the fields that Gemini does not know, and what other formats kept beside them."""
    for key, reason in _REASONS.items():
        if key not in known and holder.get(key) is not None:
            losses.drop(f"{pointer}/{key}", reason)
    _unwritten.report_unwritten(holder, known | _REASONS.keys(), pointer, losses, own=NAME, title="Gemini")
