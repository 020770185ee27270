"""Cook the files that the user named: calls of APIs and exchanges as they are, everything else as it is imported."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from palaver.cook.builder import NOT_VALID, CookBuilder, Remark
from palaver.errors import PalaverError
from palaver.importers import importer, match_importers, platforms, winner
from palaver.importers._shared.call_errors import quarantine_on_error
from palaver.importers._shared.contract import HasCalls
from palaver.model.build import JsonObject
from palaver.model.report import SourceReport
from palaver.sources import discovery
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import BOM, NOT_AN_OBJECT, SPACE
from palaver.sources.discovery import Unit
from palaver.sources.jsonl import JsonLines
from palaver.sources.match import Claim, Match
from palaver.sources.run import Run
from palaver.sources.source import HEAD_BYTES, Source
from palaver.sources.source_head import parse_head
from palaver.validation.palaver_files import identify_palaver_file
from palaver.validation.schema import is_valid
from palaver.wire._detection import FORMATS, WIRE_FORMAT_NAMES, Format
from palaver.workflows.read_unit import read_unit, start_run

__all__ = ["FORMATS", "WIRE_FORMAT_NAMES", "Format", "cook_units", "find_sources"]

Advance = Callable[[int], None]

_TRACE = "api_trace"
_COOKED_ALREADY = "already cooked: check it with `palaver validate`, or cook the trace it was made from"
_TRACE_REASON = "a trace of API calls"
_PROMPT_KEYS = {"messages", "contents", "input"}
_TRACE_KEYS = {"response", "error", "duration_ms", "timestamp", "id"}
_ANSWER_KEYS = {"choices", "content", "candidates", "output", "sse_lines"}
_SEARCHED_BYTES = 1 << 23
"""How far a file is searched for records, whatever stands before them."""


def find_sources(paths: Iterable[Path]) -> discovery.UnitsFound:
    """Find the units at or below some paths; a path without any is refused."""
    return discovery.units_at(paths, _claim, "not a trace, and no importer reads it")


def _claim(source: Source) -> Claim | str | None:
    if source.is_folder:
        return winner(match_importers(source, platforms()), source.label)
    if form := _form_of_trace(source) or _form_beyond_head(source):
        return Claim(_TRACE, Match.yes(_TRACE_REASON, form=form))
    own = identify_palaver_file(source)
    if own:
        return _COOKED_ALREADY if own.kind == "cooked" else Claim(own.kind, Match.yes(own.reason, form=own.form))
    found = winner(match_importers(source, platforms()), source.label)
    if found is None and (form := _form_of_answers(source)):
        return Claim(_TRACE, Match.yes(_TRACE_REASON, form=form))
    return found


def _form_of_trace(source: Source) -> str:
    """Return the form of a file that begins with records, or has some after lines of any other kind; else ""."""
    first: Any = source.parsed_head()
    if isinstance(first, list) and any(map(_is_trace_record, first)):
        return "array"
    return "lines" if _is_trace_record(first) or _has_record_lines(source.head()) else ""


def _is_trace_record(value: Any) -> bool:
    match _logged_request(value):
        case None:
            return False
        case request:
            return not _PROMPT_KEYS.isdisjoint(request) or not _TRACE_KEYS.isdisjoint(value)


def _is_prompt_record(value: Any) -> bool:
    request = _logged_request(value)
    return request is not None and not _PROMPT_KEYS.isdisjoint(request)


def _logged_request(value: Any) -> JsonObject | None:
    """Return the request of a record, parsed if it is a text; None if the value is no record of a trace."""
    match value:
        case {"schema_version": _}:
            return None
        case {"request": dict() as request}:
            return None if {"method", "url"} & request.keys() else request
        case {"request": str(text), "response": _}:
            parsed = parse_head(text.encode(errors="replace"))
            return parsed if isinstance(parsed, dict) and not _PROMPT_KEYS.isdisjoint(parsed) else None
        case _:
            return None


def _form_of_answers(source: Source) -> str:
    """Return the form of a file that begins with an answer whose request is missing; else ""."""
    first: Any = source.parsed_head()
    form = "array" if isinstance(first, list) else "lines"
    match first[:1] if isinstance(first, list) else [first]:
        case [{"response": dict() as response, "timestamp": _} as record] if record.get("request") is None:
            return "" if _ANSWER_KEYS.isdisjoint(response) else form
        case _:
            return ""


def _has_record_lines(head: bytes) -> bool:
    """Return whether lines after the first are records, and not the elements of an array that the file begins with."""
    lines = [line.strip() for line in head.splitlines()[1:] if b'"request"' in line]
    least = 1
    if _begins_with_array(head):
        lines = [line for line in lines if not line.endswith(b",")]
        least = 2  # the last element of an array has no comma either
    return sum(map(_is_prompt_record, map(parse_head, lines))) >= least


def _begins_with_array(head: bytes) -> bool:
    """Return whether the first line begins an array that later lines continue, and is not a line of its own."""
    line = head.lstrip(BOM + SPACE + b"\0").partition(b"\n")[0].strip()
    return line.startswith(b"[") and (line == b"[" or line.endswith(b",") or b'"request"' in line)


def _form_beyond_head(source: Source) -> str:
    """Return the form of a file whose records come after the part by which files are recognized; else ""."""
    head = source.head()
    if len(head) < HEAD_BYTES or b"\0" in head:
        return ""
    return "lines" if _has_record_lines(source.first_bytes(_SEARCHED_BYTES)) else ""


def cook_units(
    units: Iterable[Unit], builder: CookBuilder, stated_format: Format | None, *, advance: Advance = lambda _: None
) -> list[SourceReport]:
    """Add every unit to the builder, and return a report for each."""
    return [_cook_unit(unit, builder, stated_format, advance) for unit in units]


def _cook_unit(unit: Unit, builder: CookBuilder, stated_format: Format | None, advance: Advance) -> SourceReport:
    report = SourceReport(unit.source.label, unit.platform, unit.size_bytes)
    if unit.platform == "exchange":
        with _run(unit, report, advance) as run:
            _cook_exchanges(unit, run, builder)
    elif isinstance(traffic_importer := importer(unit.platform), HasCalls):
        with _run(unit, report, advance) as run:
            _cook_calls(traffic_importer, unit, run, builder, stated_format)
    else:
        run = start_run(unit, report, {}, advance=advance)
        for document in read_unit(unit, run, report, lambda document: (document,), is_measured=False):
            _note(builder.add_document(document), run, document["conversation_id"])
    return report


@contextmanager
def _run(unit: Unit, report: SourceReport, advance: Advance) -> Generator[Run]:
    """Start a run without options, which writes into the report, also why the source could not be read to its end."""
    run = Run(unit.source.label, form=unit.match.form, advance=advance)
    report.ledger, report.findings = run.ledger, run.findings
    for kind, where, message in unit.remarks:
        run.note(kind, where, message, kept=False)
    try:
        yield run
    except (PalaverError, OSError) as error:
        report.failure = str(error)


def _cook_calls(
    traffic_importer: HasCalls, unit: Unit, run: Run, builder: CookBuilder, stated_format: Format | None
) -> None:
    """Add the requests of API traffic as they were sent, not the conversations that an import builds from them."""
    for call in traffic_importer.calls(unit.source, run):
        if stated_format is not None:
            call.wire = WIRE_FORMAT_NAMES[stated_format]
        with quarantine_on_error(call, run):
            _note(builder.add_call(call), run, call.where)


def _cook_exchanges(unit: Unit, run: Run, builder: CookBuilder) -> None:
    with unit.source.open() as stream:
        is_array = unit.match.form == "array"
        records = JsonElements(stream, run, accepts_truncated=True) if is_array else JsonLines(stream, run)
        for record in records:
            if not isinstance(record, dict):
                run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
            elif is_valid(record, "exchange"):
                _note(builder.add_exchange(record), run, records.where())
                run.mapped()
            else:
                run.quarantined(NOT_VALID, records.raw, records.where())


def _note(remarks: list[Remark], run: Run, where: str) -> None:
    for kind, message in remarks:
        run.note(kind, where, message)
