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
from palaver.model.metrics import MetricsTally
from palaver.model.report import SourceReport
from palaver.sources.cursors import Cursor
from palaver.sources.discovery import Unit
from palaver.sources.run import Quarantined, Run
from palaver.validation.repair import INVALID_DOCUMENT, made_writable, repaired
from palaver.validation.schema import is_valid, schema_errors
from palaver.validation.usage import passed_on

T = TypeVar("T")


Document = dict[str, Any]


Quarantine = Callable[[Quarantined], None]


UsageSink = Callable[[Document], Any]
"""Whoever takes usage records: it encodes each at once, so that what cannot be written is found here."""


Tallies = dict[tuple[str, str], MetricsTally]


Measure = Callable[[Document, Tallies, Document | None], MetricsTally]


def start_run(
    unit: Unit,
    report: SourceReport,
    options: dict[str, str],
    set_aside: Quarantine | None = None,
    advance: Callable[[int], None] = lambda _: None,
    *,
    cursors: Mapping[str, Cursor] | None = None,
    used: UsageSink | None = None,
) -> Run:
    """Prepare the reading of one unit; with `cursors`, even none, the run tells where the next one may continue."""
    take = used or orjson.dumps

    def use(records: Sequence[Document]) -> None:
        report.usage_records += passed_on(records, same_run, take)

    report.size_bytes = unit.size_bytes
    if not unit.source.can_move:
        advance = _count_bytes(report, advance)
    run = Run(
        unit.source.label,
        parse_options(unit.platform, options),
        form=unit.form,
        cursors=cursors,
        keeps_cursors=cursors is not None,
        set_aside=set_aside,
        advance=advance,
        used=use,
    )
    # A run that held itself would stay, with all its cursors, until the collector comes, which is rarely.
    same_run: Run = weakref.proxy(run)
    report.ledger, report.findings = run.ledger, run.findings
    for kind, where, message in unit.remarks:
        run.note(kind, where, message, kept=False)
    return run


def read_unit(
    unit: Unit, run: Run, report: SourceReport, encode: Callable[[Document], Iterable[T]], *, is_measured: bool = True
) -> Iterator[T]:
    """Read one unit: its valid documents, encoded; with the totals of its messages, unless nobody wants them.

    What a document is encoded to may come in parts: one is held at a time. Where that fails half way, the document is
    mended and encoded once more from its beginning.
    """
    try:
        yield from _read_documents(unit, run, report, encode, _measure if is_measured else _place_only)
    except (PalaverError, OSError) as error:
        report.failure = str(error)
    except Exception as error:  # noqa: BLE001 - a bug in one importer must not end the run
        report.failure = f"{type(error).__name__}: {error} (this is a bug of palaver)"
        report.traceback = traceback.format_exc()
    gc.collect(0)  # an importer's objects may refer to each other in circles: what a unit took up goes with it
    if not (report.failure or run.ledger.adds_up):
        report.failure = f"{run.ledger.read} records were read, {run.ledger.accounted} accounted for (a bug of palaver)"


def _read_documents(
    unit: Unit, run: Run, report: SourceReport, encode: Callable[[Document], Iterable[T]], measured: Measure
) -> Iterator[T]:
    """The same; when it is done, nothing holds the last document, which the collector would else look through."""
    tallies: Tallies = {}
    for document in importer(unit.platform).read(unit.source, run):
        if (yield from _check_and_encode(document, tallies, run, encode, measured)):
            report.conversations += document.get("fragment", _WHOLE)["final"]
            report.messages += len(document["messages"])


_WHOLE = {"final": True}


def _count_bytes(report: SourceReport, advance: Callable[[int], None]) -> Callable[[int], None]:
    """Standard input has no size before it is read."""

    def count(size_bytes: int) -> None:
        report.size_bytes += size_bytes
        advance(size_bytes)

    return count


def _check_and_encode(
    document: Document, tallies: Tallies, run: Run, encode: Callable[[Document], Iterable[T]], measured: Measure
) -> Generator[T, None, bool]:
    """Add a document's metrics, check it against the published schema, encode it; false if it had to be set aside."""
    stated = document.get("metrics")
    try:
        tally = measured(document, tallies, stated)
        if not is_valid(document):
            raise ValueError  # noqa: TRY301 - one way for all that is not as it should be
        yield from encode(document)
    except (
        TypeError,
        KeyError,
        AttributeError,
        ValueError,
    ):  # it cannot be counted, or not be written, or is not valid
        document.pop("metrics", None)
        if stated is not None:
            document["metrics"] = stated
        made_writable(document, run.note)
        if repaired(document, run.note) is None:
            error = next(schema_errors(document))
            problem = f"{error.pointer}: {error.message}"
            run.set_aside(INVALID_DOCUMENT, orjson.dumps(document), "the document", problem)
            return False
        tally = measured(document, tallies, document.pop("metrics", None))
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
    """The totals up to this document; a fragment says where it begins, the last one carries the totals."""
    before = tallies.get(_identity(document))
    tally = before.copy() if before else MetricsTally()
    if "fragment" in document:
        _set_fragment_start(document["fragment"], before)
    tally.add(document["messages"])
    if document.get("fragment", _WHOLE)["final"]:
        document["metrics"] = tally.metrics(stated)
    return tally


def _place_only(document: Document, tallies: Tallies, stated: Document | None) -> MetricsTally:
    """The same without the totals: only what the source stated stays."""
    tally = MetricsTally()
    if "fragment" in document:
        before = tallies.get(_identity(document))
        _set_fragment_start(document["fragment"], before)
        tally.messages = (before.messages if before else 0) + len(document["messages"])
    if stated is not None:
        document["metrics"] = stated
    return tally


def _set_fragment_start(fragment: Document, before: MetricsTally | None) -> None:
    """Say where a fragment begins, unless it says so itself, or what comes before it was not read."""
    if before or not fragment["sequence"]:
        fragment.setdefault("start", before.messages if before else 0)


def parse_options(platform: str, options: dict[str, str]) -> Any:
    """An importer's options from the command line's words."""
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
