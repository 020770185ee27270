"""Reads a report: every row of a file, in any layout, becomes usage records."""

import json
from contextlib import closing
from typing import Any, BinaryIO, cast

from palaver.importers.github_copilot.metrics.recognition import Layout, layout_of
from palaver.importers.github_copilot.metrics.usage_records import BillRecords, DayRecords, SeatRecords, page_report
from palaver.importers.github_copilot.raw_records import MAX_DEPTH, is_deep, mask_record
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import NOT_AN_OBJECT, TOO_DEEP, replace_lone_surrogates
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import MaskedRun, Run
from palaver.sources.source import Source

BAD_ROW = finding_kind("bad-usage-row", "error", "A row of a usage report has no figures; it is quarantined.")
AROUND_ROWS = finding_kind("around-usage", "note", "Text after the rows of a large usage report is not kept.")


def read_report(source: Source, run: Run) -> None:
    layout = cast("Layout", run.form.partition(":")[2]) or layout_of(source)
    run = MaskedRun(run, mask_record)
    with source.open() as stream:
        _ReportReader(source, run, layout).read(stream)


class _ReportReader:
    def __init__(self, source: Source, run: Run, layout: Layout) -> None:
        self._run = run
        self._layout: Layout = layout
        self._report = _report_header(source.parsed_head(), layout)
        time = source.written_at()
        self._days = DayRecords(run, time, self._report if layout == "day_totals" else {})
        self._seats = SeatRecords(run, time)
        self._bills = BillRecords(run, time, self._report if layout == "usageItems" else {})

    def read(self, stream: BinaryIO) -> None:
        rows = self._reader(stream)
        with closing(self._seats):
            for row in rows:
                if not isinstance(row, dict):
                    self._run.quarantined(NOT_AN_OBJECT, rows.raw, rows.where())
                elif _may_be_deep(rows.raw) and is_deep(row):
                    self._run.quarantined(TOO_DEEP, rows.raw, rows.where())
                elif self._layout == "usageItems":
                    self._bills.add(cast("JsonObject", row), rows.where)
                elif self._layout == "seats" and "seats" not in row:
                    self._seats.add(cast("JsonObject", row), rows.where, self._report)
                else:
                    self._read_row(cast("JsonObject", row), rows)
        if isinstance(rows, JsonElements) and (unknown := rows.wrapper.keys() - self._report.keys()):
            self._run.note(AROUND_ROWS, rows.where(), ", ".join(sorted(unknown)), kept=False)

    def _reader(self, stream: BinaryIO) -> JsonLines | JsonElements:
        match self._layout:
            case "lines":
                return JsonLines(stream, self._run)
            case "array":
                return JsonElements(stream, self._run, accepts_truncated=True)
            case _:
                return JsonElements(stream, self._run, (self._layout,), accepts_truncated=True)

    def _read_row(self, row: JsonObject, rows: JsonLines | JsonElements) -> None:
        if isinstance(row.get("seats"), list):
            self._read_page(row, rows)
        elif self._days.add(row, rows.where):
            self._run.mapped()
        elif "download_links" in row:
            self._run.skipped("download-links")
        else:
            self._run.quarantined(BAD_ROW, rows.raw, rows.where())

    def _read_page(self, page: JsonObject, rows: JsonLines | JsonElements) -> None:
        """Read one page of a list of seats, as the API returns it."""
        seats: list[Any] = page["seats"]
        report = page_report(page)
        self._run.read(len(seats))
        self._run.folded("its seats")
        for seat in seats:
            if isinstance(seat, dict):
                self._seats.add(cast("JsonObject", seat), rows.where, report)
            else:
                self._run.quarantined(NOT_AN_OBJECT, json.dumps(seat).encode(), rows.where())


def _may_be_deep(raw: bytes) -> bool:
    """Return whether a row has enough brackets to be nested too deeply, which is quick to count."""
    return raw.count(b"{") + raw.count(b"[") > MAX_DEPTH


def _report_header(value: Any, layout: Layout) -> JsonObject:
    """Return the fields around the rows, as far as the head of the file shows them."""
    if not isinstance(value, dict) or layout in {"lines", "array"}:
        return {}
    header = {name: item for name, item in cast("JsonObject", value).items() if name not in {layout, "download_links"}}
    return replace_lone_surrogates(header)[0]
