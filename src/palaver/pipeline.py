"""The hallway: what the user pointed at becomes units, units become documents, valid documents are written.

    paths ──find──▶ units ──read──▶ documents ──check──▶ valid documents ──write──▶ JSON Lines
                                  └──▶ usage records ──check──▶ those as well, if a file is named

Nothing in one source can end the run: a failure is told in that source's report, and the next source is read.
"""

import gc
import json
import traceback
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import orjson

from palaver.errors import OptionError, PalaverError
from palaver.importers import importer, judge, platforms, winner
from palaver.model.metrics import MetricsTally
from palaver.model.report import Report, SourceReport
from palaver.outputs import BUFFER_BYTES, Output, line_of
from palaver.sources.cursors import Cursor
from palaver.sources.discovery import Claim, Recall, Unclaimed, Unit, discover, size_of
from palaver.sources.inventory import distinct
from palaver.sources.run import Quarantined, Run
from palaver.sources.source import Source
from palaver.validate.repair import INVALID_DOCUMENT, made_writable, repaired
from palaver.validate.schema import is_valid, schema_errors
from palaver.validate.usage import passed_on

T = TypeVar("T")
Document = dict[str, Any]
SetAside = Callable[[Quarantined], None]
Used = Callable[[Document], Any]
"""Whoever takes usage records: it encodes each at once, so that what cannot be written is found here."""
Tallies = dict[tuple[str, str], MetricsTally]
Measured = Callable[[Document, Tallies, Document | None], MetricsTally]


def find(
    paths: Iterable[Path],
    platform: str | None = None,
    recall: Recall = lambda _: None,
    unclaimed: dict[str, str] | None = None,
) -> tuple[list[Unit], Report]:
    """The units at or below some paths; the report begins with what nobody reads.

    `recall` answers for files that were judged before; `unclaimed` takes in what nobody reads, with the reason.
    """
    units: list[Unit] = []
    report = Report()
    asked = [platform] if platform else platforms()
    for path in distinct(paths):
        if problem := _problem(path):
            report.refused.append(problem)
            continue
        found = list(discover(path, lambda source: _claim(source, asked), recall))
        units += [unit for unit in found if isinstance(unit, Unit)]
        aside = [file for file in found if isinstance(file, Unclaimed)]
        report.refused += [file.problem for file in aside if file.problem]
        if unclaimed is not None:
            unclaimed.update((file.label, file.reason) for file in aside if not file.problem)
        if path.is_dir() or any(isinstance(unit, Unit) for unit in found):
            report.unclaimed += [file.label for file in aside if not (file.problem or file.reason)]
        elif platform and len(aside) == 1 and not aside[0].problem:
            source = aside[0].source or Source.at(path)
            units.append(Unit(source, platform, "named on the command line", size_bytes=size_of(source)))
        elif not any(file.problem for file in aside):
            report.refused.append(f"no importer reads {path}: see `palaver sources` for what is known")
    return units, report


def _problem(path: Path) -> str:
    try:
        if str(path) != "-":
            path.stat()
    except FileNotFoundError:
        return f"{path} does not exist"
    except OSError as error:
        return f"cannot read {path}: {error.strerror or error}"
    return ""


def _claim(source: Source, asked: list[str]) -> Claim | str | None:
    judgements = judge(source, asked)
    won = winner(judgements, source.label)
    if won is None:
        return next((match.reason for match in judgements.values() if match.reason), None)
    return Claim(won[0], won[1].reason, won[1].members, won[1].form, won[1].size_bytes)


def import_units(
    units: list[Unit],
    report: Report,
    output: Output,
    options: dict[str, str],
    *,
    jobs: int = 1,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Read the units and write their documents, in order, whatever the number of processes.

    Units that are done are not kept: in the end, the list is empty.
    """
    total = sum(unit.size_bytes for unit in units)
    if jobs > 1 and len(units) > 1 and total > _WORTH_PROCESSES and all(unit.source.can_move for unit in units):
        from palaver.workers import in_processes

        work = partial(_read_to_file, keeps_usage=output.keeps_usage)
        for unit, part, done, set_aside in in_processes(work, units, options, jobs=jobs, advance=advance):
            output.adopt(unit, part)
            if output.keeps_usage:
                output.adopt_usage(_usage_of(part))
            for quarantined in set_aside:
                output.set_aside(quarantined)
            output.end(unit)
            report.sources.append(done)
        return
    units.reverse()
    while units:
        unit = units.pop()
        done = SourceReport(unit.source.label, unit.platform)
        stream = output.begin(unit)
        troubles: list[Exception] = []
        set_aside = _told_apart(output.set_aside, troubles)
        used = _told_apart(output.used, troubles) if output.keeps_usage else None
        for line in documents(unit, done, options, set_aside, advance, used=used):
            stream.write(line)
        if troubles:
            raise troubles[0]
        output.end(unit)
        report.sources.append(done)


_WORTH_PROCESSES = 1 << 27
"""Below this many bytes, starting processes takes longer than they save."""


def _told_apart(write: Callable[[T], Any], troubles: list[Exception]) -> Callable[[T], None]:
    """The same, with trouble in writing kept for the run: the source that is being read is not to blame for it."""

    def attempt(value: T) -> None:
        try:
            write(value)
        except (PalaverError, OSError) as error:
            troubles.append(error)

    return attempt


def _read_to_file(
    unit: Unit, options: dict[str, str], part: Path, advance: Callable[[int], None], *, keeps_usage: bool = False
) -> tuple[SourceReport, list[Quarantined]]:
    report = SourceReport(unit.source.label, unit.platform)
    set_aside: list[Quarantined] = []
    with ExitStack() as files:
        stream = files.enter_context(part.open("wb", buffering=BUFFER_BYTES))
        usage = files.enter_context(_usage_of(part).open("wb", buffering=BUFFER_BYTES)) if keeps_usage else None
        used = (lambda record: usage.write(line_of(record))) if usage else None
        for line in documents(unit, report, options, set_aside.append, advance, used=used):
            stream.write(line)
    return report, set_aside


def _usage_of(part: Path) -> Path:
    return part.with_suffix(".usage")


def documents(
    unit: Unit,
    report: SourceReport,
    options: dict[str, str],
    set_aside: SetAside | None = None,
    advance: Callable[[int], None] = lambda _: None,
    *,
    used: Used | None = None,
) -> Iterator[bytes]:
    """Read one unit: its valid documents, each as a line of JSON; usage records go to `used`, if anybody wants them."""
    return read(unit, begin(unit, report, options, set_aside, advance, used=used), report, lambda one: (line_of(one),))


def begin(
    unit: Unit,
    report: SourceReport,
    options: dict[str, str],
    set_aside: SetAside | None = None,
    advance: Callable[[int], None] = lambda _: None,
    *,
    cursors: Mapping[str, Cursor] | None = None,
    used: Used | None = None,
) -> Run:
    """Prepare the reading of one unit; with `cursors`, even none, the run tells where the next one may continue."""
    take = used or orjson.dumps

    def use(records: Sequence[Document]) -> None:
        report.usage_records += passed_on(records, same_run, take)

    report.size_bytes = unit.size_bytes
    if not unit.source.can_move:
        advance = _counting(report, advance)
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


def read(
    unit: Unit, run: Run, report: SourceReport, encode: Callable[[Document], Iterable[T]], *, is_measured: bool = True
) -> Iterator[T]:
    """Read one unit: its valid documents, encoded; with the totals of its messages, unless nobody wants them.

    What a document is encoded to may come in parts: one is held at a time. Where that fails half way, the document is
    mended and encoded once more from its beginning.
    """
    try:
        yield from _read(unit, run, report, encode, _measured if is_measured else _placed)
    except (PalaverError, OSError) as error:
        report.failure = str(error)
    except Exception as error:  # noqa: BLE001 - a bug in one importer must not end the run
        report.failure = f"{type(error).__name__}: {error} (this is a bug of palaver)"
        report.traceback = traceback.format_exc()
    gc.collect(0)  # an importer's objects may refer to each other in circles: what a unit took up goes with it
    if not (report.failure or run.ledger.adds_up):
        report.failure = f"{run.ledger.read} records were read, {run.ledger.accounted} accounted for (a bug of palaver)"


def _read(
    unit: Unit, run: Run, report: SourceReport, encode: Callable[[Document], Iterable[T]], measured: Measured
) -> Iterator[T]:
    """The same; when it is done, nothing holds the last document, which the collector would else look through."""
    tallies: Tallies = {}
    for document in importer(unit.platform).read(unit.source, run):
        if (yield from _checked(document, tallies, run, encode, measured)):
            report.conversations += document.get("fragment", _WHOLE)["final"]
            report.messages += len(document["messages"])


_WHOLE = {"final": True}


def _counting(report: SourceReport, advance: Callable[[int], None]) -> Callable[[int], None]:
    """Standard input has no size before it is read."""

    def count(size_bytes: int) -> None:
        report.size_bytes += size_bytes
        advance(size_bytes)

    return count


def _checked(
    document: Document, tallies: Tallies, run: Run, encode: Callable[[Document], Iterable[T]], measured: Measured
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


def _measured(document: Document, tallies: Tallies, stated: Document | None) -> MetricsTally:
    """The totals up to this document; a fragment says where it begins, the last one carries the totals."""
    before = tallies.get(_identity(document))
    tally = before.copy() if before else MetricsTally()
    if "fragment" in document:
        _place(document["fragment"], before)
    tally.add(document["messages"])
    if document.get("fragment", _WHOLE)["final"]:
        document["metrics"] = tally.metrics(stated)
    return tally


def _placed(document: Document, tallies: Tallies, stated: Document | None) -> MetricsTally:
    """The same without the totals: only what the source stated stays."""
    tally = MetricsTally()
    if "fragment" in document:
        before = tallies.get(_identity(document))
        _place(document["fragment"], before)
        tally.messages = (before.messages if before else 0) + len(document["messages"])
    if stated is not None:
        document["metrics"] = stated
    return tally


def _place(fragment: Document, before: MetricsTally | None) -> None:
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
