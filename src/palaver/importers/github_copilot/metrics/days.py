"""Days of a report: a record for the day itself, and one for every row of the tables in it."""

import json
from collections.abc import Callable
from hashlib import blake2b

from palaver.importers.github_copilot.metrics.figures import Figures, Table, names_of
from palaver.importers.github_copilot.metrics.record import (
    PLATFORM,
    Period,
    day_of,
    inferred,
    subject_of,
    usage_id,
)
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.sources.run import Run

_DAYS = ("day", "date")
_TELLING = frozenset({"editor", "feature", "ide", "language", "model", "repository"})
"""What a row of a table has from the rows around it."""


class Days:
    """Makes the records of rows, each of which is about one day."""

    def __init__(self, run: Run, time: str, report: JsonObject) -> None:
        self._run = run
        self._time = time
        self._report = report

    def take(self, row: JsonObject, where: Callable[[], str]) -> bool:
        """Hand over what a row tells; False if it tells no figures."""
        day = Figures(row)
        if day.is_empty:
            return False
        stated = next((name for name in _DAYS if isinstance(row.get(name), str)), "")
        period = day_of(row[stated]) if stated else None
        if period:
            del day.rest[stated]
        else:
            period = inferred(self._time, self._run, where())
        self._run.used(*_Row(row, period, row[stated] if stated else "").records(day, self._report))
        return True


class _Row:
    """The records of one row."""

    def __init__(self, row: JsonObject, period: Period, day: str) -> None:
        self._period = period
        self._subject = subject_of(row)
        self._alike = build.usage(
            usage_id="",
            platform={"name": PLATFORM},
            kind="period",
            started_at=period.started_at,
            ended_at=period.ended_at,
            subject=self._subject,
        )
        """What all of them begin with."""
        self._records: list[JsonObject] = []
        self._key = f"{day if period.is_inferred else period.started_at[:10]}-{_scope(row)}"
        self._keys: dict[str, int] = {}
        """How often each was given: rows that nothing tells apart are numbered."""

    def records(self, day: Figures, report: JsonObject) -> list[JsonObject]:
        metadata = {**day.rest, "report": report} if report else day.rest
        if self._subject is not None and self._subject["id"] == metadata.get("user_login"):
            del metadata["user_login"]
        self._add(day, metadata, "", None)
        for table in day.tables:
            self._rows_of(table, {})
        return self._records

    def _rows_of(self, table: Table, around: JsonObject) -> None:
        path = table.path
        for row in table.rows:
            figures = Figures(row, path, table.whose)
            rest = figures.rest
            known = {**around, **rest} if around else rest
            if figures.counts or figures.tokens or rest:
                metadata = {"table": path, **known}
                model = metadata.pop("model") if isinstance(known.get("model"), str) else None
                self._add(figures, metadata, f"-{path}-{names_of(known)}", model)
            if figures.tables:
                telling = {name: value for name, value in known.items() if name in _TELLING}
                for inner in figures.tables:
                    self._rows_of(inner, telling)

    def _add(self, figures: Figures, metadata: JsonObject, names: str, model: str | None) -> None:
        key = f"{self._key}{names}"
        count = self._keys[key] = self._keys.get(key, 0) + 1
        record = self._alike.copy()
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
    """Whose row it is; of a row that does not say so, all that it says."""
    if names := names_of(row):
        return names
    said = json.dumps(row, sort_keys=True).encode()
    return blake2b(said, digest_size=16).hexdigest()
