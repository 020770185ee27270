"""Read one unit: every document is measured, checked against the published schema, and encoded.

Nothing in one source can end the run: a failure is written into that source's report, and the next source is read.
"""

import gc
import json
import traceback
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import orjson

from palaver.errors import OptionError, PalaverError
from palaver.importers import importer
from palaver.model.build import Document, JsonObject
from palaver.model.metrics import MetricsTally
from palaver.model.report import SourceReport
from palaver.sources.discovery import Unit
from palaver.sources.run import Cursor, Quarantined, Run
from palaver.validation.repair import INVALID_DOCUMENT, deliver_usage_records, make_serializable, repair_document
from palaver.validation.schema import is_valid, schema_errors

T = TypeVar("T")
Quarantine = Callable[[Quarantined], None]
UsageSink = Callable[[Document], Any]
"""Takes usage records, and encodes each at once, so that one that cannot be written fails here."""
Tallies = dict[tuple[str, str], MetricsTally]
Measure = Callable[[Document, Tallies, Document | None], MetricsTally]


def start_run(
    unit: Unit,
    report: SourceReport,
    options: dict[str, str],
    quarantine: Quarantine | None = None,
    advance: Callable[[int], None] = lambda _: None,
    *,
    cursors: Mapping[str, Cursor] | None = None,
    used: UsageSink | None = None,
    archived_prompts: Callable[[str], Iterator[list[JsonObject]]] | None = None,
) -> Run:
    """Prepare a run for one unit; given `cursors`, even an empty mapping, it records where the next can continue.

    `archived_prompts` yields what the archive holds of a conversation's prompts.
    """
    take = used or orjson.dumps

    def use(records: Sequence[Document]) -> None:
        report.usage_records += deliver_usage_records(records, same_run, take)

    report.size_bytes = unit.size_bytes
    if not unit.source.is_reopenable:
        advance = _count_bytes(report, advance)
    run = Run(
        unit.source.label,
        parse_options(unit.platform, options),
        form=unit.match.form,
        cursors=cursors,
        keeps_cursors=cursors is not None,
        quarantine=quarantine,
        advance=advance,
        used=use,
        archived_prompts=archived_prompts,
    )
    # A run that referred to itself would live on, with all its cursors, until the rare run of the collector.
    same_run: Run = weakref.proxy(run)
    report.ledger, report.findings = run.ledger, run.findings
    for kind, where, message in unit.remarks:
        run.note(kind, where, message, kept=False)
    return run


def read_unit(
    unit: Unit, run: Run, report: SourceReport, encode: Callable[[Document], Iterable[T]], *, is_measured: bool = True
) -> Iterator[T]:
    """Read one unit, and yield its valid documents as `encode` makes them.

    This is the page on which the verbs stand in order: the importer reads, every document is measured (unless the
    caller does not need the totals), checked against the published schema, repaired if need be, and encoded. Encoding
    may yield parts, of which one is held at a time; if it fails half way, the document is repaired and encoded from its
    beginning. Failures end up in the report: nothing in a source ends the run.
    """
    try:
        yield from _read_documents(unit, run, report, encode, _measure if is_measured else _set_start_only)
    except (PalaverError, OSError) as error:
        report.failure = str(error)
    except Exception as error:  # noqa: BLE001 - a bug in one importer must not end the run
        report.failure = f"{type(error).__name__}: {error} (this is a bug in palaver)"
        report.traceback = traceback.format_exc()
    gc.collect(0)  # frees what the unit held: an importer's objects may refer to each other
    if not (report.failure or run.ledger.adds_up):
        report.failure = f"{run.ledger.read} records were read, {run.ledger.accounted} accounted for (a bug in palaver)"


def _read_documents(
    unit: Unit, run: Run, report: SourceReport, encode: Callable[[Document], Iterable[T]], measure: Measure
) -> Iterator[T]:
    """Read the documents in a frame of their own, so that the last one is free before the collector runs."""
    tallies: Tallies = {}
    for document in importer(unit.platform).read(unit.source, run):
        if (yield from _check_and_encode(document, tallies, run, encode, measure)):
            report.conversations += document.get("fragment", _WHOLE)["final"]
            report.messages += len(document["messages"])


_WHOLE = {"final": True}


def _count_bytes(report: SourceReport, advance: Callable[[int], None]) -> Callable[[int], None]:
    """Add to the report's size while reading: standard input has no size before it is read."""

    def count(size_bytes: int) -> None:
        report.size_bytes += size_bytes
        advance(size_bytes)

    return count


def _check_and_encode(
    document: Document, tallies: Tallies, run: Run, encode: Callable[[Document], Iterable[T]], measure: Measure
) -> Generator[T, None, bool]:
    """Measure a document, check it against the published schema, and encode it; return False if it was quarantined."""
    stated = document.get("metrics")
    try:
        tally = measure(document, tallies, stated)
        if not is_valid(document):
            raise ValueError  # noqa: TRY301 - one path for every kind of defect
        yield from encode(document)
    except (TypeError, KeyError, AttributeError, ValueError):  # it cannot be measured or encoded, or is invalid
        document.pop("metrics", None)
        if stated is not None:
            document["metrics"] = stated
        make_serializable(document, run.note)
        if repair_document(document, run.note) is None:
            error = next(schema_errors(document))
            problem = f"{error.pointer}: {error.message}"
            run.quarantine_bytes(INVALID_DOCUMENT, orjson.dumps(document), "the document", problem)
            return False
        tally = measure(document, tallies, document.pop("metrics", None))
        if "metrics" in document:  # a sum may be past 64 bits, which only the standard library writes
            document["metrics"] = orjson.Fragment(
                json.dumps(document["metrics"], separators=(",", ":"), ensure_ascii=False)
            )
        yield from encode(document)
    if document.get("fragment", _WHOLE)["final"]:
        tallies.pop(_identity(document), None)
    else:
        tallies[_identity(document)] = tally
    return True


def _identity(document: Document) -> tuple[str, str]:
    return document["platform"]["name"], document["conversation_id"]


def _measure(document: Document, tallies: Tallies, stated: Document | None) -> MetricsTally:
    """Return the totals up to this document; set a fragment's start, and the metrics of the last fragment."""
    before = tallies.get(_identity(document))
    tally = before.copy() if before else MetricsTally()
    if "fragment" in document:
        _set_fragment_start(document["fragment"], before)
    tally.add(document["messages"])
    if document.get("fragment", _WHOLE)["final"]:
        document["metrics"] = tally.metrics(stated)
    return tally


def _set_start_only(document: Document, tallies: Tallies, stated: Document | None) -> MetricsTally:
    """Set a fragment's start without adding up totals; keep the metrics that the source states."""
    tally = MetricsTally()
    if "fragment" in document:
        before = tallies.get(_identity(document))
        _set_fragment_start(document["fragment"], before)
        tally.messages = (before.messages if before else 0) + len(document["messages"])
    if stated is not None:
        document["metrics"] = stated
    return tally


def _set_fragment_start(fragment: Document, before: MetricsTally | None) -> None:
    """Set where a fragment begins, unless it says so itself or the fragments before it were not read."""
    if before or not fragment["sequence"]:
        fragment.setdefault("start", before.messages if before else 0)


def parse_options(platform: str, options: dict[str, str]) -> Any:
    """Parse an importer's options from the words of the command line."""
    return _parse_options(platform, tuple(options.items()))


@cache
def _parse_options(platform: str, options: tuple[tuple[str, str], ...]) -> Any:
    from pydantic import ValidationError

    known = importer(platform).options
    try:
        return known.model_validate(dict(options))
    except ValidationError as error:
        names = ", ".join(known.model_fields) or "none"
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise OptionError(f"option {name!r} of {platform}: {first['msg']} (it has: {names})") from error
