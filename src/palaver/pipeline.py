"""The hallway: what the user pointed at becomes units, units become documents, valid documents are written.

    paths ──find──▶ units ──read──▶ documents ──check──▶ valid documents ──write──▶ JSON Lines

Nothing in one source can end the run: a failure is told in that source's report, and the next source is read.
"""

import json
import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from palaver.errors import OptionError, PalaverError
from palaver.importers import importer, judge, platforms, winner
from palaver.model.metrics import MetricsTally
from palaver.model.report import Report, SourceReport
from palaver.outputs import BUFFER_BYTES, Output
from palaver.sources.discovery import Claim, Unclaimed, Unit, discover, size_of
from palaver.sources.run import Quarantined, Run
from palaver.sources.source import Source
from palaver.validate.repair import INVALID_DOCUMENT, made_writable, repaired
from palaver.validate.schema import is_valid, schema_errors
from palaver.workers import in_processes

Document = dict[str, Any]
SetAside = Callable[[Quarantined], None]


def find(paths: Iterable[Path], platform: str | None = None) -> tuple[list[Unit], Report]:
    """The units at or below some paths; the report begins with what nobody reads."""
    units: list[Unit] = []
    report = Report()
    asked = [platform] if platform else platforms()
    for path in _distinct(paths):
        if problem := _problem(path):
            report.refused.append(problem)
            continue
        found = list(discover(path, lambda source: _claim(source, asked)))
        units += [unit for unit in found if isinstance(unit, Unit)]
        aside = [file for file in found if isinstance(file, Unclaimed)]
        report.refused += [file.problem for file in aside if file.problem]
        if path.is_dir() or any(isinstance(unit, Unit) for unit in found):
            report.unclaimed += [file.label for file in aside if not (file.problem or file.reason)]
        elif platform and len(aside) == 1 and not aside[0].problem:
            source = aside[0].source or Source.at(path)
            units.append(Unit(source, platform, "named on the command line", size_bytes=size_of(source)))
        elif not any(file.problem for file in aside):
            report.refused.append(f"no importer reads {path}: see `palaver sources` for what is known")
    return units, report


def _distinct(paths: Iterable[Path]) -> list[Path]:
    """The paths without those that are, or lie below, another one: a conversation is imported once."""
    first: dict[Path, Path] = {}
    for path in paths:
        first.setdefault(path if str(path) == "-" else Path(os.path.realpath(path)), path)
    return [path for place, path in first.items() if first.keys().isdisjoint(place.parents)]


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
    """Read the units and write their documents, in order, whatever the number of processes."""
    total = sum(unit.size_bytes for unit in units)
    if jobs > 1 and len(units) > 1 and total > _WORTH_PROCESSES and all(unit.source.can_move for unit in units):
        for unit, part, done, set_aside in in_processes(_read_to_file, units, options, jobs=jobs, advance=advance):
            output.adopt(unit, part)
            for quarantined in set_aside:
                output.set_aside(quarantined)
            output.end(unit)
            report.sources.append(done)
        return
    for unit in units:
        done = SourceReport(unit.source.label, unit.platform)
        stream = output.begin(unit)
        troubles: list[Exception] = []
        for line in documents(unit, done, options, _told_apart(output.set_aside, troubles), advance):
            stream.write(line)
        if troubles:
            raise troubles[0]
        output.end(unit)
        report.sources.append(done)


_WORTH_PROCESSES = 1 << 27
"""Below this many bytes, starting processes takes longer than they save."""


def _told_apart(set_aside: SetAside, troubles: list[Exception]) -> SetAside:
    """The same, with trouble in writing kept for the run: the source that is being read is not to blame for it."""

    def attempt(quarantined: Quarantined) -> None:
        try:
            set_aside(quarantined)
        except (PalaverError, OSError) as error:
            troubles.append(error)

    return attempt


def _read_to_file(
    unit: Unit, options: dict[str, str], part: Path, advance: Callable[[int], None]
) -> tuple[SourceReport, list[Quarantined]]:
    report = SourceReport(unit.source.label, unit.platform)
    set_aside: list[Quarantined] = []
    with part.open("wb", buffering=BUFFER_BYTES) as stream:
        for line in documents(unit, report, options, set_aside.append, advance):
            stream.write(line)
    return report, set_aside


def documents(
    unit: Unit,
    report: SourceReport,
    options: dict[str, str],
    set_aside: SetAside | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[bytes]:
    """Read one unit: its valid documents, each as a line of JSON."""
    reader = importer(unit.platform)
    report.size_bytes = unit.size_bytes
    if not unit.source.can_move:
        advance = _counting(report, advance)
    parsed = parse_options(unit.platform, options)
    run = Run(unit.source.label, parsed, form=unit.form, set_aside=set_aside, advance=advance)
    report.ledger, report.findings = run.ledger, run.findings
    for kind, where, message in unit.remarks:
        run.note(kind, where, message, kept=False)
    tallies: dict[str, MetricsTally] = {}
    try:
        for document in reader.read(unit.source, run):
            if (line := _checked(document, tallies, run)) is not None:
                report.conversations += document.get("fragment", _WHOLE)["final"]
                report.messages += len(document["messages"])
                yield line
    except (PalaverError, OSError) as error:
        report.failure = str(error)
    except Exception as error:  # noqa: BLE001 - a bug in one importer must not end the run
        report.failure = f"{type(error).__name__}: {error} (this is a bug of palaver)"
        report.traceback = traceback.format_exc()
    if not (report.failure or run.ledger.adds_up):
        report.failure = f"{run.ledger.read} records were read, {run.ledger.accounted} accounted for (a bug of palaver)"


_WHOLE = {"final": True}


def _counting(report: SourceReport, advance: Callable[[int], None]) -> Callable[[int], None]:
    """Standard input has no size before it is read."""

    def count(size_bytes: int) -> None:
        report.size_bytes += size_bytes
        advance(size_bytes)

    return count


def _checked(document: Document, tallies: dict[str, MetricsTally], run: Run) -> bytes | None:
    """Add a document's metrics, write it down, check it against the published schema."""
    stated = document.get("metrics")
    try:
        tally = _measured(document, tallies, stated)
        line = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
        if not is_valid(document):
            raise ValueError  # noqa: TRY301 - one way for all that is not as it should be
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
            return None
        tally = _measured(document, tallies, document.pop("metrics", None))
        if "metrics" in document:  # a sum may be past 64 bits, which only the standard library writes
            document["metrics"] = orjson.Fragment(
                json.dumps(document["metrics"], separators=(",", ":"), ensure_ascii=False)
            )
        line = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    if document.get("fragment", _WHOLE)["final"]:
        tallies.pop(document["conversation_id"], None)
    else:
        tallies[document["conversation_id"]] = tally
    return line


def _measured(document: Document, tallies: dict[str, MetricsTally], stated: Document | None) -> MetricsTally:
    """The totals up to this document; the last one of a conversation carries them."""
    before = tallies.get(document["conversation_id"])
    tally = before.copy() if before else MetricsTally()
    tally.add(document["messages"])
    if document.get("fragment", _WHOLE)["final"]:
        document["metrics"] = tally.metrics(stated)
    return tally


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


def locations() -> dict[str, list[Path]]:
    """Where each platform keeps its files on this machine: those that exist."""
    return {platform: [path for path in importer(platform).locations() if path.exists()] for platform in platforms()}
