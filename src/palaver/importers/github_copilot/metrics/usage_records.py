"""Usage records of reports.

A day gives one record for itself and one for every row of its tables; a bill, one for each item with quantities and
cost; a list of seats, one for each user, from assignment to last activity.
"""

import json
from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple

from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.importers.github_copilot.metrics.recognition import is_copilot_item
from palaver.importers.github_copilot.metrics.report_rows import (
    PLATFORM,
    Figures,
    Period,
    Table,
    day_of,
    identity_of,
    inferred_period,
    period_of,
    record_metadata,
    subject_of,
    usage_id,
    without_urls,
)
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.run import Run

_DATE_FIELDS = ("day", "date")
_DIMENSIONS = frozenset({"editor", "feature", "ide", "language", "model", "repository"})
"""Fields that the rows of a nested table inherit."""
_MAX_COUNT = 1 << 63
_TIME_FIELDS = ("created_at", "updated_at", "last_activity_at")


class DayRecords:
    """Emits the records of rows that each cover one day."""

    def __init__(self, run: Run, time: str, report: JsonObject) -> None:
        self._run = run
        self._time = time
        self._report = report

    def add(self, row: JsonObject, where: Callable[[], str]) -> bool:
        """Emit the records of a row; return False if it has no figures."""
        day = Figures(row)
        if day.is_empty:
            return False
        date_field = next((name for name in _DATE_FIELDS if isinstance(row.get(name), str)), "")
        period = day_of(row[date_field]) if date_field else None
        if period:
            del day.rest[date_field]
        else:
            period = inferred_period(self._time, self._run, where())
        self._run.used(*_DayRow(row, period, row[date_field] if date_field else "").records(day, self._report))
        return True


class _DayRow:
    """Builds the records of one row."""

    def __init__(self, row: JsonObject, period: Period, day: str) -> None:
        self._period = period
        self._subject = subject_of(row)
        self._template = build.usage(
            usage_id="",
            platform={"name": PLATFORM},
            kind="period",
            started_at=period.started_at,
            ended_at=period.ended_at,
            subject=self._subject,
        )
        """Fields common to all of them."""
        self._records: list[JsonObject] = []
        self._key = f"{day if period.is_inferred else period.started_at[:10]}-{_scope(row)}"
        self._keys: dict[str, int] = {}
        """How often each key was used: indistinguishable rows are numbered."""

    def records(self, day: Figures, report: JsonObject) -> list[JsonObject]:
        metadata = {**day.rest, "report": report} if report else day.rest
        if self._subject is not None and self._subject["id"] == metadata.get("user_login"):
            del metadata["user_login"]
        self._add(day, metadata, "", None)
        for table in day.tables:
            self._add_table(table, {})
        return self._records

    def _add_table(self, table: Table, outer: JsonObject) -> None:
        path = table.path
        for row in table.rows:
            figures = Figures(row, path, table.dimension)
            rest = figures.rest
            fields = {**outer, **rest} if outer else rest
            if figures.counts or figures.tokens or rest:
                metadata = {"table": path, **fields}
                model = metadata.pop("model") if isinstance(fields.get("model"), str) else None
                self._add(figures, metadata, f"-{path}-{identity_of(fields)}", model)
            if figures.tables:
                dimensions = {name: value for name, value in fields.items() if name in _DIMENSIONS}
                for inner in figures.tables:
                    self._add_table(inner, dimensions)

    def _add(self, figures: Figures, metadata: JsonObject, names: str, model: str | None) -> None:
        key = f"{self._key}{names}"
        count = self._keys[key] = self._keys.get(key, 0) + 1
        record = self._template.copy()
        record["usage_id"] = usage_id(key if count == 1 else f"{key}#{count}")
        if model is not None:
            record["model"] = model
        if figures.tokens:
            record["tokens"] = figures.tokens
        if figures.counts:
            record["counts"] = figures.counts
        if self._period.is_inferred:
            metadata["timestamp_inferred"] = True
        if metadata:
            record["metadata"] = metadata
        self._records.append(record)


def _scope(row: JsonObject) -> str:
    """Return what identifies a row; for one without names or ids, a hash of all its content."""
    if names := identity_of(row):
        return names
    encoded = json.dumps(row, sort_keys=True).encode()
    return blake2b(encoded, digest_size=16).hexdigest()


class BillRecords:
    """Emits a record for every Copilot item of a bill."""

    def __init__(self, run: Run, time: str, report: JsonObject) -> None:
        self._run = run
        self._time = time
        self._report = report
        self._period = period_of(report.get("timePeriod"))
        self._keys: dict[str, int] = {}

    def add(self, item: JsonObject, where: Callable[[], str]) -> None:
        if not is_copilot_item(item):
            self._run.skipped("other-product")
            return
        date = item.get("date")
        period = (day_of(date) if isinstance(date, str) else None) or self._period
        period = period or inferred_period(self._time, self._run, where())
        scope = f"{identity_of(self._report)}-{identity_of(item)}"
        key = f"bill-{'' if period.is_inferred else period.started_at}-{period.ended_at}-{scope}"
        count = self._keys[key] = self._keys.get(key, 0) + 1
        counts, cost, rest = _split_item(item)
        model = rest.pop("model") if isinstance(item.get("model"), str) else None
        self._run.used(
            build.usage(
                usage_id=usage_id(key if count == 1 else f"{key}#{count}"),
                platform={"name": PLATFORM},
                kind="period",
                started_at=period.started_at,
                ended_at=period.ended_at,
                subject=subject_of(item, self._report),
                model=model,
                counts=counts or None,
                cost=cost,
                metadata=record_metadata({**rest, "report": self._report} if self._report else rest, period),
            )
        )
        self._run.mapped()


def _split_item(item: JsonObject) -> tuple[JsonObject, JsonObject | None, JsonObject]:
    """Return the quantities of an item, its cost, and its other fields."""
    unit = item.get("unitType")
    prefix = f"{unit}." if isinstance(unit, str) else ""
    counts: JsonObject = {}
    rest: JsonObject = {}
    cost: JsonObject | None = None
    for name, value in item.items():
        if type(value) not in {int, float} or not 0 <= value < _MAX_COUNT:
            rest[name] = value
        elif name.lower().endswith("quantity"):
            counts[prefix + name] = value
        elif name == "netAmount":
            cost = {"amount": value, "currency": "USD"}
        else:
            rest[name] = value
    return counts, cost, rest


class _Seat(NamedTuple):
    fields: JsonObject
    report: JsonObject
    """Fields around the list of seats."""
    period: Period


class SeatRecords:
    """Emits one record for each user, even one with seats through several teams."""

    def __init__(self, run: Run, time: str) -> None:
        self._run = run
        self._time = time
        self._by_login: dict[str, list[_Seat]] = {}

    def add(self, row: JsonObject, where: Callable[[], str], report: JsonObject) -> None:
        seat = _Seat(without_urls(row), report, self._period(row, where))
        login = _login(row)
        if not login:
            self._run.mapped()
            self._emit("", [seat])
        elif login in self._by_login:
            self._run.folded("the same user's seat")
            self._by_login[login].append(seat)
        else:
            self._run.mapped()
            self._by_login[login] = [seat]

    def close(self) -> None:
        """Emit the records of all users."""
        for login, seats in self._by_login.items():
            self._emit(login, seats)

    def _emit(self, login: str, seats: list[_Seat]) -> None:
        seat, *others = sorted(seats, key=lambda seat: seat.period.ended_at or "", reverse=True)
        metadata = dict(seat.fields)
        if not seat.period.is_inferred:
            del metadata["created_at"]
        if others:
            metadata["other_seats"] = [other.fields for other in others]
        if seat.report:
            metadata["report"] = seat.report
        self._run.used(
            build.usage(
                usage_id=usage_id(f"seat-{login or json.dumps(seat.fields, sort_keys=True)}"),
                platform={"name": PLATFORM},
                kind="period",
                started_at=seat.period.started_at,
                ended_at=seat.period.ended_at,
                subject=build.subject("user", login) if login else None,
                counts={"seats": 1},
                metadata=record_metadata(metadata, seat.period),
            )
        )

    def _period(self, seat: JsonObject, where: Callable[[], str]) -> Period:
        """Return the period from the assignment of a seat to its last activity."""
        created_at, *others = (timestamp_or_empty(seat.get(name)) for name in _TIME_FIELDS)
        started_at = created_at or next(filter(None, others), "")
        if not started_at:
            return inferred_period(self._time, self._run, where())
        if not created_at:
            self._run.note(INFERRED_TIMESTAMP, where(), "a seat does not say since when it is one")
        ended_at = others[-1] if others[-1] > started_at else None
        return Period(started_at, ended_at, is_inferred=not created_at)


def _login(seat: JsonObject) -> str:
    match seat.get("assignee"):
        case {"login": str(login)}:
            return login
        case {"id": int(number)}:
            return str(number)
        case _:
            return ""


def page_report(page: JsonObject) -> JsonObject:
    """Return the fields around the list of seats."""
    return {name: value for name, value in page.items() if name != "seats"}
