"""Import files without an archive: read units, in several processes if there is much to read, and write JSON Lines."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from palaver.errors import PalaverError
from palaver.exporters._contract import MessageCost
from palaver.exporters.jsonl import with_costs
from palaver.model.build import Document
from palaver.model.report import Report, SourceReport
from palaver.sources.discovery import Unit
from palaver.sources.run import Quarantined
from palaver.workflows.outputs import BUFFER_BYTES, Output, json_line
from palaver.workflows.read_unit import Quarantine, UsageSink, read_unit, start_run

T = TypeVar("T")


def import_files(
    units: list[Unit],
    report: Report,
    output: Output,
    options: dict[str, str],
    *,
    jobs: int = 1,
    advance: Callable[[int], None] = lambda _: None,
    cost: MessageCost | None = None,
) -> None:
    """Read the units and write their documents in order, whatever the number of processes.

    With `cost`, every message that states no cost gets a computed one, as in an export. Units are removed from the list
    once they are read: in the end, it is empty.
    """
    total = sum(unit.size_bytes for unit in units)
    if (
        jobs > 1
        and len(units) > 1
        and total > _PARALLEL_THRESHOLD_BYTES
        and all(unit.source.is_reopenable for unit in units)
    ):
        from palaver.workflows.parallel import run_in_order

        work = partial(_read_to_file, keeps_usage=output.keeps_usage, cost=cost)
        for unit, part, done, quarantined in run_in_order(work, units, options, jobs=jobs, advance=advance):
            output.adopt(unit, part)
            if output.keeps_usage:
                output.adopt_usage(_usage_path(part))
            for entry in quarantined:
                output.quarantine(entry)
            output.end(unit)
            report.sources.append(done)
        return
    units.reverse()
    while units:
        unit = units.pop()
        done = SourceReport(unit.source.label, unit.platform)
        stream = output.begin(unit)
        errors: list[Exception] = []
        quarantine = _defer_errors(output.quarantine, errors)
        used = _defer_errors(output.used, errors) if output.keeps_usage else None
        for line in document_lines(unit, done, options, quarantine, advance, used=used, cost=cost):
            stream.write(line)
        if errors:
            raise errors[0]
        output.end(unit)
        report.sources.append(done)


_PARALLEL_THRESHOLD_BYTES = 1 << 27
"""Below this many bytes, starting processes takes longer than it saves."""


def _defer_errors(write: Callable[[T], Any], errors: list[Exception]) -> Callable[[T], None]:
    """Return `write` with its errors collected for the run: the source being read is not to blame for them."""

    def attempt(value: T) -> None:
        try:
            write(value)
        except (PalaverError, OSError) as error:
            errors.append(error)

    return attempt


def _read_to_file(
    unit: Unit,
    options: dict[str, str],
    part: Path,
    advance: Callable[[int], None],
    *,
    keeps_usage: bool = False,
    cost: MessageCost | None = None,
) -> tuple[SourceReport, list[Quarantined]]:
    report = SourceReport(unit.source.label, unit.platform)
    quarantined: list[Quarantined] = []
    with ExitStack() as files:
        stream = files.enter_context(part.open("wb", buffering=BUFFER_BYTES))
        usage = files.enter_context(_usage_path(part).open("wb", buffering=BUFFER_BYTES)) if keeps_usage else None
        used = (lambda record: usage.write(json_line(record))) if usage else None
        for line in document_lines(unit, report, options, quarantined.append, advance, used=used, cost=cost):
            stream.write(line)
    return report, quarantined


def _usage_path(part: Path) -> Path:
    return part.with_suffix(".usage")


def document_lines(
    unit: Unit,
    report: SourceReport,
    options: dict[str, str],
    quarantine: Quarantine | None = None,
    advance: Callable[[int], None] = lambda _: None,
    *,
    used: UsageSink | None = None,
    cost: MessageCost | None = None,
) -> Iterator[bytes]:
    """Read one unit, and yield its valid documents as lines of JSON; usage records go to `used`."""
    encode = json_line if cost is None else partial(_json_line_with_costs, cost)
    return read_unit(
        unit,
        start_run(unit, report, options, quarantine, advance, used=used),
        report,
        lambda document: (encode(document),),
    )


def _json_line_with_costs(cost: MessageCost, document: Document) -> bytes:
    return json_line(with_costs(document, cost))
