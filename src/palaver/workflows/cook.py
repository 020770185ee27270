"""Cook the files that the user named: traces are added directly, everything else is imported first."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson

from palaver.cook.builder import NO_RECORD, NOT_VALID, ODD_STREAM, CookBuilder, Format
from palaver.errors import PalaverError
from palaver.importers import importer, match_importers, platforms, winner
from palaver.importers._shared.contract import HasExchanges
from palaver.importers._shared.findings import UNFORESEEN
from palaver.model.report import SourceReport
from palaver.sources import discovery
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.discovery import Unit
from palaver.sources.jsonl import JsonLines
from palaver.sources.match import Claim, Match
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.validation.palaver_files import identify_palaver_file
from palaver.validation.schema import is_valid
from palaver.workflows.read_unit import read_unit, start_run

Advance = Callable[[int], None]

TRACE = "trace"
_TRACE_KEYS = {"response", "error", "duration_ms", "timestamp", "id"}


def find_sources(paths: Iterable[Path]) -> discovery.UnitsFound:
    """Find the units at or below some paths; a path without any is refused."""
    return discovery.units_at(paths, _claim, "neither a trace nor anything that an importer reads")


def _claim(source: Source) -> Claim | str | None:
    if not source.is_folder:
        if form := _trace_form(source):
            return Claim(TRACE, Match.yes("a trace of API calls", form=form))
        own = identify_palaver_file(source)
        if own and own.kind == "cooked":
            return "cooked already"
        if own:
            return Claim(own.kind, Match.yes(own.reason, form=own.form))
    return winner(match_importers(source, platforms()), source.label)


def _trace_form(source: Source) -> str:
    """Return `array` or `lines` for a trace; empty if the source is not a trace."""
    value: Any = source.parsed_head()
    form = "array" if isinstance(value, list) else "lines"
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, dict)), None)
    match value:
        case {"request": dict() as request} if "schema_version" not in value and not {"method", "url"} & request.keys():
            is_trace = not {"messages", "contents", "input"}.isdisjoint(request) or not _TRACE_KEYS.isdisjoint(value)
            return form if is_trace else ""
        case _:
            return ""


def cook_units(
    units: Iterable[Unit], builder: CookBuilder, stated_format: Format | None, *, advance: Advance = lambda _: None
) -> list[SourceReport]:
    """Add every unit to the builder, and return a report for each."""
    return [_cook_unit(unit, builder, stated_format, advance) for unit in units]


def _cook_unit(unit: Unit, builder: CookBuilder, stated_format: Format | None, advance: Advance) -> SourceReport:
    report = SourceReport(unit.source.label, unit.platform, unit.size_bytes)
    if unit.platform in {TRACE, "exchange"}:
        run = Run(unit.source.label, advance=advance)
        report.ledger, report.findings = run.ledger, run.findings
        try:
            _cook_records(unit, run, builder, stated_format)
        except (PalaverError, OSError) as error:
            report.failure = str(error)
        return report
    run = start_run(unit, report, {}, advance=advance)
    if isinstance(exchange_importer := importer(unit.platform), HasExchanges):
        _cook_exchanges(exchange_importer, unit, run, builder, report)
        return report
    for document in read_unit(unit, run, report, lambda document: (document,), is_measured=False):
        builder.add_document(document)
    return report


def _cook_exchanges(
    exchange_importer: HasExchanges, unit: Unit, run: Run, builder: CookBuilder, report: SourceReport
) -> None:
    """Add the requests of API traffic as they were sent, not the conversations that an import builds from them."""
    try:
        for exchange in exchange_importer.exchanges(unit.source, run):
            if is_valid(exchange, "exchange"):
                builder.add_exchange(exchange)
            else:
                run.quarantine_bytes(NOT_VALID, orjson.dumps(exchange, default=str), exchange["exchange_id"])
    except (PalaverError, OSError) as error:
        report.failure = str(error)


def _cook_records(unit: Unit, run: Run, builder: CookBuilder, stated_format: Format | None) -> None:
    with unit.source.open() as stream:
        is_array = unit.match.form == "array"
        records = JsonElements(stream, run, accepts_truncated=True) if is_array else JsonLines(stream, run)
        for record in records:
            if not isinstance(record, dict):
                run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
            elif unit.platform == "exchange":
                if is_valid(record, "exchange"):
                    builder.add_exchange(record)
                    run.mapped()
                else:
                    run.quarantined(NOT_VALID, records.raw, records.where())
            elif not isinstance(record.get("request"), dict):
                run.quarantined(NO_RECORD, records.raw, records.where())
            else:
                try:
                    remarks = builder.add_record(record, stated_format)
                except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other records
                    message = f"{type(error).__name__}: {error}"
                    run.quarantined(UNFORESEEN, records.raw, records.where(), message)
                    continue
                for remark in remarks:
                    run.note(ODD_STREAM, records.where(), remark)
                run.mapped()
