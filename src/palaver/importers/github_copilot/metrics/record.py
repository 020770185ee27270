"""Usage records of a report: whose they are, of which time, under which id."""

from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.model.timestamps import readable_timestamp
from palaver.sources.run import Run

PLATFORM = "github_copilot"
_SUBJECTS = (
    *(("user", name) for name in ("user_login", "user", "username", "user_id")),
    *(("organization", name) for name in ("organization_id", "organization", "organizationName")),
    *(("enterprise", name) for name in ("enterprise_id", "enterprise")),
)
_DAYS_KEPT = 1 << 12


class Period:
    """The time that a record is about."""

    __slots__ = ("ended_at", "is_inferred", "started_at")

    def __init__(self, started_at: str, ended_at: str | None = None, *, is_inferred: bool = False) -> None:
        self.started_at = started_at
        self.ended_at = ended_at
        self.is_inferred = is_inferred


def told(about: JsonObject, period: Period) -> JsonObject | None:
    """The metadata of a record."""
    return {**about, "timestamp_inferred": True} if period.is_inferred else about or None


def usage_id(key: str) -> str:
    return deterministic_uuid(f"{PLATFORM}-usage-{key}")


def subject_of(*places: JsonObject) -> JsonObject | None:
    """Whose usage it is, by the first place that says so."""
    for kind, name in _SUBJECTS:
        for place in places:
            match place.get(name):
                case (str() | int()) as whose if whose and not isinstance(whose, bool):
                    return build.subject(kind, str(whose))
                case _:
                    pass
    return None


@lru_cache(_DAYS_KEPT)
def day_of(text: str) -> Period | None:
    """The day, of UTC, that a text names; None where it names none."""
    started_at = readable_timestamp(text)
    return _until(started_at, 1) if started_at else None


def period_of(value: Any) -> Period | None:
    """The year, month or day of a bill."""
    match value:
        case {"year": int(year), "month": int(month), "day": int(day)}:
            return _spanning((year, month, day), 1)
        case {"year": int(year), "month": int(month)}:
            return _spanning((year, month, 1), 31)
        case {"year": int(year)}:
            return _spanning((year, 1, 1), 366)
        case _:
            return None


def inferred(time: str, run: Run, where: str) -> Period:
    """The last resort: when the file was written."""
    run.note(INFERRED_TIMESTAMP, where, "a row does not say which time it is about")
    return Period(time, is_inferred=True)


def _spanning(first: tuple[int, int, int], days: int) -> Period | None:
    """From a day to the beginning of the next day, month or year."""
    try:
        start = date(*first)
        end = start + timedelta(days)
        return Period(_midnight(start), _midnight(end if days == 1 else end.replace(day=1)))
    except (ValueError, OverflowError):
        return None


def _until(started_at: str, days: int) -> Period:
    try:
        end = date.fromisoformat(started_at[:10]) + timedelta(days)
    except (ValueError, OverflowError):
        return Period(started_at)
    return Period(started_at, _midnight(end))


def _midnight(day: date) -> str:
    return f"{day.isoformat()}T00:00:00.000Z"
