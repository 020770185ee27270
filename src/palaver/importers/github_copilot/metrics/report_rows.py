"""Rows of a report: their counts, tables and other fields, and the subject, period and id of their usage records."""

from datetime import date, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, cast

from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.model.timestamps import timestamp_or_empty
from palaver.redact.policy import mask_url
from palaver.sources.run import Run

PLATFORM = "github_copilot"
_SUBJECTS = (
    *(("user", name) for name in ("user_login", "user", "username", "user_id")),
    *(("organization", name) for name in ("organization_id", "organization", "organizationName")),
    *(("enterprise", name) for name in ("enterprise_id", "enterprise")),
)
_DAY_CACHE_SIZE = 1 << 12
_MAX_DEPTH = 8
_NON_ADDITIVE_PREFIXES = ("avg_", "average_", "weekly_", "monthly_", "rate_")
_DROPPED_FIELDS = frozenset({"node_id", "gravatar_id", "download_links"})
_MAX_COUNT = 1 << 63
_NAME_CACHE_SIZE = 1 << 12
_DAYS = frozenset({"day", "date"})
_TIMES = ("_at", "_day", "_date")
_TOKENS = {"prompt_tokens_sum": "input_tokens", "output_tokens_sum": "output_tokens"}
_DIMENSIONS = {"editors": "editor", "models": "model", "languages": "language", "repositories": "repository"}
"""What `name` means in the elements of these lists."""


class Table(NamedTuple):
    path: str
    rows: list[JsonObject]
    dimension: str
    """What a bare `name` in its rows means."""


class Figures:
    """The counts, tokens, tables and other fields of one object."""

    __slots__ = ("counts", "rest", "tables", "tokens")

    def __init__(self, row: JsonObject, path: str = "", dimension: str = "") -> None:
        self.counts: JsonObject = {}
        self.tokens: JsonObject = {}
        self.tables: list[Table] = []
        self.rest = self._split(row, f"{path}." if path else "", 0)
        if dimension and "name" in self.rest and dimension not in self.rest:
            self.rest = {dimension: self.rest.pop("name"), **self.rest}

    @property
    def is_empty(self) -> bool:
        return not (self.counts or self.tokens or self.tables)

    def _split(self, row: JsonObject, path: str, depth: int) -> JsonObject:
        """Extract counts and tables from an object and return the rest."""
        rest: JsonObject = {}
        counts, count_names, may_be_tokens = self.counts, _count_names(path), path.endswith("token_usage.")
        for name, value in row.items():
            kind = type(value)
            if kind is int or kind is float:
                try:
                    count_name = count_names[name]
                except KeyError:
                    count_name = _count_name(name, path, count_names)
                if not count_name or not 0 <= value < _MAX_COUNT:
                    rest[name] = value
                elif may_be_tokens and name in _TOKENS and kind is int:
                    self.tokens[_TOKENS[name]] = value
                else:
                    counts[count_name] = value
            elif kind is str:
                if _is_exported(name):
                    rest[name] = mask_url(value) if value.startswith("http") else value
            elif kind is dict:
                self._nested(name, value, path, depth, rest)
            elif kind is list and value and all(isinstance(item, dict) for item in value):
                self.tables.append(Table(f"{path}{name}", value, _DIMENSIONS.get(name, "")))
            elif _is_exported(name):
                rest[name] = value
        return rest

    def _nested(self, name: str, value: JsonObject, path: str, depth: int, rest: JsonObject) -> None:
        if name.startswith("totals_by_"):
            self.tables.append(Table(f"{path}{name}", [value], ""))
        elif name == "ai_adoption_phase" or depth >= _MAX_DEPTH:
            rest[name] = value
        elif remainder := self._split(value, f"{path}{name}.", depth + 1):
            rest[name] = remainder


def without_urls(value: JsonObject) -> JsonObject:
    """Return a user or team without the URLs of its pages."""
    exported: JsonObject = {}
    for name, item in value.items():
        if _is_exported(name) and not name.endswith("url"):
            exported[name] = without_urls(cast("JsonObject", item)) if isinstance(item, dict) else item
    return exported


def identity_of(row: JsonObject) -> str:
    """Return what distinguishes a row from others: its texts and ids, but not its times."""
    found: list[str] = []
    for name, is_id in _identifying_names(tuple(row)):
        value = row[name]
        if isinstance(value, str) or (is_id and type(value) is int):
            found.append(f"{name}={value}")
    return "-".join(found)


@lru_cache(1 << 12)
def _identifying_names(names: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Return the names that may distinguish a row from others, sorted, and whether each is an id."""
    return [(name, _is_id(name)) for name in sorted(names) if name not in _DAYS and not name.endswith(_TIMES)]


def _is_id(name: str) -> bool:
    return name == "id" or name.endswith(("_id", "Id"))


@lru_cache(1 << 8)
def _count_names(path: str) -> dict[str, str]:  # noqa: ARG001 - the key of the cache
    """Return the cache of count names below a path, by field name."""
    return {}


def _count_name(name: str, path: str, count_names: dict[str, str]) -> str:
    """Return the name under which a number is counted; empty if adding it to others makes no sense."""
    counts = not _is_id(name) and not name.startswith(_NON_ADDITIVE_PREFIXES) and "_rate" not in name
    count_name = f"{path}{name}" if counts else ""
    if len(count_names) < _NAME_CACHE_SIZE:
        count_names[name] = count_name
    return count_name


@lru_cache(1 << 12)
def _is_exported(name: str) -> bool:
    return name not in _DROPPED_FIELDS and not name.endswith("_url")


class Period:
    """The time that a record covers."""

    __slots__ = ("ended_at", "is_inferred", "started_at")

    def __init__(self, started_at: str, ended_at: str | None = None, *, is_inferred: bool = False) -> None:
        self.started_at = started_at
        self.ended_at = ended_at
        self.is_inferred = is_inferred


def record_metadata(metadata: JsonObject, period: Period) -> JsonObject | None:
    """Return the metadata of a record, or None if there are none."""
    return {**metadata, "timestamp_inferred": True} if period.is_inferred else metadata or None


def usage_id(key: str) -> str:
    return deterministic_uuid(f"{PLATFORM}-usage-{key}")


def subject_of(*sources: JsonObject) -> JsonObject | None:
    """Return whose usage it is, according to the first source that names a user, organization or enterprise."""
    for kind, name in _SUBJECTS:
        for source in sources:
            match source.get(name):
                case (str() | int()) as dimension if dimension and not isinstance(dimension, bool):
                    return build.subject(kind, str(dimension))
                case _:
                    pass
    return None


@lru_cache(_DAY_CACHE_SIZE)
def day_of(text: str) -> Period | None:
    """Return the UTC day that a text names, or None."""
    started_at = timestamp_or_empty(text)
    return _period_from(started_at, 1) if started_at else None


def period_of(value: Any) -> Period | None:
    """Return the year, month or day of a bill, or None."""
    match value:
        case {"year": int(year), "month": int(month), "day": int(day)}:
            return _calendar_period((year, month, day), 1)
        case {"year": int(year), "month": int(month)}:
            return _calendar_period((year, month, 1), 31)
        case {"year": int(year)}:
            return _calendar_period((year, 1, 1), 366)
        case _:
            return None


def inferred_period(time: str, run: Run, where: str) -> Period:
    """Return the time at which the file was written, as a last resort, and note it."""
    run.note(INFERRED_TIMESTAMP, where, "a row does not say which time it is about")
    return Period(time, is_inferred=True)


def _calendar_period(first: tuple[int, int, int], days: int) -> Period | None:
    """Return the period from a date to the start of the next day, month or year."""
    try:
        start = date(*first)
        end = start + timedelta(days)
        return Period(_midnight(start), _midnight(end if days == 1 else end.replace(day=1)))
    except (ValueError, OverflowError):
        return None


def _period_from(started_at: str, days: int) -> Period:
    try:
        end = date.fromisoformat(started_at[:10]) + timedelta(days)
    except (ValueError, OverflowError):
        return Period(started_at)
    return Period(started_at, _midnight(end))


def _midnight(day: date) -> str:
    return f"{day.isoformat()}T00:00:00.000Z"
