"""Reading a report: every row of a file, whatever the file is made of, becomes usage records."""

import json
from contextlib import closing
from typing import Any, BinaryIO, cast

from palaver.importers.github_copilot.completions.inner import DEEPEST, is_deep
from palaver.importers.github_copilot.completions.secrets import DiscreetRun
from palaver.importers.github_copilot.metrics.bills import Bills
from palaver.importers.github_copilot.metrics.days import Days
from palaver.importers.github_copilot.metrics.seats import Seats, report_of
from palaver.importers.github_copilot.metrics.shapes import Layout, layout_of
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.damage import NOT_AN_OBJECT, TOO_DEEP, without_surrogates
from palaver.sources.elements import JsonElements
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

BAD_ROW = finding_kind("bad-usage-row", "error", "A row of a report of usage has no figures; its bytes are set aside.")
AROUND_ROWS = finding_kind(
    "around-usage", "note", "What stands behind the rows of a large report of usage is not kept with them."
)


def take_in(source: Source, run: Run) -> None:
    layout = cast("Layout", run.form.partition(":")[2]) or layout_of(source)
    run = DiscreetRun(run)
    with source.open() as stream:
        _Reading(source, run, layout).take(stream)


class _Reading:
    def __init__(self, source: Source, run: Run, layout: Layout) -> None:
        self._run = run
        self._layout: Layout = layout
        self._report = _around(source.glimpse(), layout)
        time = source.written_at()
        self._days = Days(run, time, self._report if layout == "day_totals" else {})
        self._seats = Seats(run, time)
        self._bills = Bills(run, time, self._report if layout == "usageItems" else {})

    def take(self, stream: BinaryIO) -> None:
        rows = self._reader(stream)
        with closing(self._seats):
            for row in rows:
                if not isinstance(row, dict):
                    self._run.quarantined(NOT_AN_OBJECT, rows.raw, rows.where())
                elif _opens_much(rows.raw) and is_deep(row):
                    self._run.quarantined(TOO_DEEP, rows.raw, rows.where())
                elif self._layout == "usageItems":
                    self._bills.take(cast("JsonObject", row), rows.where)
                elif self._layout == "seats" and "seats" not in row:
                    self._seats.take(cast("JsonObject", row), rows.where, self._report)
                else:
                    self._take_row(cast("JsonObject", row), rows)
        if isinstance(rows, JsonElements) and (unknown := rows.wrapper.keys() - self._report.keys()):
            self._run.note(AROUND_ROWS, rows.where(), ", ".join(sorted(unknown)), kept=False)

    def _reader(self, stream: BinaryIO) -> JsonLines | JsonElements:
        match self._layout:
            case "lines":
                return JsonLines(stream, self._run)
            case "array":
                return JsonElements(stream, self._run, takes_cut=True)
            case _:
                return JsonElements(stream, self._run, (self._layout,), takes_cut=True)

    def _take_row(self, row: JsonObject, rows: JsonLines | JsonElements) -> None:
        if isinstance(row.get("seats"), list):
            self._take_page(row, rows)
        elif self._days.take(row, rows.where):
            self._run.mapped()
        elif "download_links" in row:
            self._run.skipped("download-links")
        else:
            self._run.quarantined(BAD_ROW, rows.raw, rows.where())

    def _take_page(self, page: JsonObject, rows: JsonLines | JsonElements) -> None:
        """One of the answers of which a list of seats was put together."""
        seats: list[Any] = page["seats"]
        report = report_of(page)
        self._run.read(len(seats))
        self._run.folded("its seats")
        for seat in seats:
            if isinstance(seat, dict):
                self._seats.take(cast("JsonObject", seat), rows.where, report)
            else:
                self._run.quarantined(NOT_AN_OBJECT, json.dumps(seat).encode(), rows.where())


def _opens_much(raw: bytes) -> bool:
    """Whether there are enough brackets in a row for it to be nested deeply, which is soon counted."""
    return raw.count(b"{") + raw.count(b"[") > DEEPEST


def _around(value: Any, layout: Layout) -> JsonObject:
    """What a file says around its rows, as far as its beginning shows it."""
    if not isinstance(value, dict) or layout in {"lines", "array"}:
        return {}
    around = {name: one for name, one in cast("JsonObject", value).items() if name not in {layout, "download_links"}}
    return without_surrogates(around)[0]
