"""From what the user pointed at to the kitchen: traces as they are, everything else imported first."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson

from palaver.cook.detection import Format
from palaver.cook.kitchen import Kitchen
from palaver.cook.noticed import NO_RECORD, NOT_VALID, ODD_STREAM
from palaver.errors import PalaverError
from palaver.importers import importer, judge, platforms, winner
from palaver.importers._shared.contract import Exchanging
from palaver.importers._shared.findings import UNFORESEEN
from palaver.model.report import SourceReport
from palaver.sources import discovery
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.discovery import Claim, Unit
from palaver.sources.elements import JsonElements
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.validation.recognition import own_form
from palaver.validation.schema import is_valid
from palaver.workflows.read_unit import read_unit, start_run

Advance = Callable[[int], None]

TRACE = "trace"
_TRACE_KEYS = {"response", "error", "duration_ms", "timestamp", "id"}


def look_up(paths: Iterable[Path]) -> discovery.Found:
    return discovery.look_up(paths, _claim, "neither a trace nor anything that an importer reads")


def _claim(source: Source) -> Claim | str | None:
    if not source.is_folder:
        if form := _trace_form(source):
            return Claim(TRACE, "a trace of API calls", form=form)
        own = own_form(source)
        if own and own.kind == "cooked":
            return "cooked already"
        if own:
            return Claim(own.kind, own.reason, form=own.form)
    won = winner(judge(source, platforms()), source.label)
    return Claim(won[0], won[1].reason, won[1].members, won[1].form, won[1].size_bytes) if won else None


def _trace_form(source: Source) -> str:
    """`array` or `lines` for a trace; empty where it is none."""
    value: Any = source.glimpse()
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
    units: Iterable[Unit], kitchen: Kitchen, stated: Format | None, *, advance: Advance = lambda _: None
) -> list[SourceReport]:
    """Put everything that was found into the kitchen; what became of its records."""
    return [_cook_unit(unit, kitchen, stated, advance) for unit in units]


def _cook_unit(unit: Unit, kitchen: Kitchen, stated: Format | None, advance: Advance) -> SourceReport:
    done = SourceReport(unit.source.label, unit.platform, unit.size_bytes)
    if unit.platform in {TRACE, "exchange"}:
        run = Run(unit.source.label, advance=advance)
        done.ledger, done.findings = run.ledger, run.findings
        try:
            _cook_records(unit, run, kitchen, stated)
        except (PalaverError, OSError) as error:
            done.failure = str(error)
        return done
    run = start_run(unit, done, {}, advance=advance)
    if isinstance(known := importer(unit.platform), Exchanging):
        _cook_exchanges(known, unit, run, kitchen, done)
        return done
    for document in read_unit(unit, run, done, lambda document: (document,), is_measured=False):
        kitchen.add_document(document)
    return done


def _cook_exchanges(known: Exchanging, unit: Unit, run: Run, kitchen: Kitchen, done: SourceReport) -> None:
    """Of API traffic, the requests as they were sent, rather than the conversations that they make."""
    try:
        for exchange in known.exchanges(unit.source, run):
            if is_valid(exchange, "exchange"):
                kitchen.add_exchange(exchange)
            else:
                run.set_aside(NOT_VALID, orjson.dumps(exchange, default=str), exchange["exchange_id"])
    except (PalaverError, OSError) as error:
        done.failure = str(error)


def _cook_records(unit: Unit, run: Run, kitchen: Kitchen, stated: Format | None) -> None:
    with unit.source.open() as stream:
        is_array = unit.form == "array"
        records = JsonElements(stream, run, takes_cut=True) if is_array else JsonLines(stream, run)
        for record in records:
            if not isinstance(record, dict):
                run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
            elif unit.platform == "exchange":
                if is_valid(record, "exchange"):
                    kitchen.add_exchange(record)
                    run.mapped()
                else:
                    run.quarantined(NOT_VALID, records.raw, records.where())
            elif not isinstance(record.get("request"), dict):
                run.quarantined(NO_RECORD, records.raw, records.where())
            else:
                try:
                    remarks = kitchen.add_record(record, stated)
                except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other records
                    message = f"{type(error).__name__}: {error}"
                    run.quarantined(UNFORESEEN, records.raw, records.where(), message)
                    continue
                for odd in remarks:
                    run.note(ODD_STREAM, records.where(), odd)
                run.mapped()
