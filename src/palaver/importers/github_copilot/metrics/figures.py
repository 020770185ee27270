"""An object of a report taken apart: what it counts, what it says beside that, and the tables in it."""

from functools import lru_cache
from typing import NamedTuple, cast

from palaver.model.build import JsonObject
from palaver.redact import masked_url

_DEEPEST = 8
_NO_SUMS = ("avg_", "average_", "weekly_", "monthly_", "rate_")
_NOT_KEPT = frozenset({"node_id", "gravatar_id", "download_links"})
_LARGEST = 1 << 63
_NAMES_KEPT = 1 << 12
_DAYS = frozenset({"day", "date"})
_TIMES = ("_at", "_day", "_date")
_TOKENS = {"prompt_tokens_sum": "input_tokens", "output_tokens_sum": "output_tokens"}
_SINGULAR = {"editors": "editor", "models": "model", "languages": "language", "repositories": "repository"}
"""What the name of an element in one of these lists is the name of."""


class Table(NamedTuple):
    path: str
    rows: list[JsonObject]
    whose: str
    """What a bare `name` in its rows names."""


class Figures:
    """What one object says."""

    __slots__ = ("counts", "rest", "tables", "tokens")

    def __init__(self, row: JsonObject, path: str = "", whose: str = "") -> None:
        self.counts: JsonObject = {}
        self.tokens: JsonObject = {}
        self.tables: list[Table] = []
        self.rest = self._split(row, f"{path}." if path else "", 0)
        if whose and "name" in self.rest and whose not in self.rest:
            self.rest = {whose: self.rest.pop("name"), **self.rest}

    @property
    def is_empty(self) -> bool:
        return not (self.counts or self.tokens or self.tables)

    def _split(self, row: JsonObject, path: str, depth: int) -> JsonObject:
        """Take counts and tables out of an object; what is left of it."""
        rest: JsonObject = {}
        counts, counted_as, may_be_tokens = self.counts, _counted_below(path), path.endswith("token_usage.")
        for name, value in row.items():
            kind = type(value)
            if kind is int or kind is float:
                try:
                    counted = counted_as[name]
                except KeyError:
                    counted = _learned(name, path, counted_as)
                if not counted or not 0 <= value < _LARGEST:
                    rest[name] = value
                elif may_be_tokens and name in _TOKENS and kind is int:
                    self.tokens[_TOKENS[name]] = value
                else:
                    counts[counted] = value
            elif kind is str:
                if _is_kept(name):
                    rest[name] = masked_url(value) if value.startswith("http") else value
            elif kind is dict:
                self._nested(name, value, path, depth, rest)
            elif kind is list and value and all(isinstance(one, dict) for one in value):
                self.tables.append(Table(f"{path}{name}", value, _SINGULAR.get(name, "")))
            elif _is_kept(name):
                rest[name] = value
        return rest

    def _nested(self, name: str, value: JsonObject, path: str, depth: int, rest: JsonObject) -> None:
        if name.startswith("totals_by_"):
            self.tables.append(Table(f"{path}{name}", [value], ""))
        elif name == "ai_adoption_phase" or depth >= _DEEPEST:
            rest[name] = value
        elif left := self._split(value, f"{path}{name}.", depth + 1):
            rest[name] = left


def without_addresses(value: JsonObject) -> JsonObject:
    """Who or what somebody is, without the ways to their pages."""
    kept: JsonObject = {}
    for name, one in value.items():
        if _is_kept(name) and not name.endswith("url"):
            kept[name] = without_addresses(cast("JsonObject", one)) if isinstance(one, dict) else one
    return kept


def names_of(row: JsonObject) -> str:
    """What stands in a row and tells it from others: texts and ids, but no times."""
    found: list[str] = []
    for name, is_id in _telling(tuple(row)):
        value = row[name]
        if isinstance(value, str) or (is_id and type(value) is int):
            found.append(f"{name}={value}")
    return "-".join(found)


@lru_cache(1 << 12)
def _telling(names: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Names under which something may stand that tells a row from others, in order; and whether each is an id's."""
    return [(name, _is_id(name)) for name in sorted(names) if name not in _DAYS and not name.endswith(_TIMES)]


def _is_id(name: str) -> bool:
    return name == "id" or name.endswith(("_id", "Id"))


@lru_cache(1 << 8)
def _counted_below(path: str) -> dict[str, str]:  # noqa: ARG001 - it is what the names are kept by
    """By the name of a number, what it is counted as, as far as that is known."""
    return {}


def _learned(name: str, path: str, counted_as: dict[str, str]) -> str:
    """What a number is counted as; empty where it cannot be added to others."""
    counts = not _is_id(name) and not name.startswith(_NO_SUMS) and "_rate" not in name
    counted = f"{path}{name}" if counts else ""
    if len(counted_as) < _NAMES_KEPT:
        counted_as[name] = counted
    return counted


@lru_cache(1 << 12)
def _is_kept(name: str) -> bool:
    return name not in _NOT_KEPT and not name.endswith("_url")
