"""From units to a written, told result: what `import` and `scan` share."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from palaver.cli._terminal import output as _output
from palaver.cli._terminal.words import place
from palaver.errors import SourceError

if TYPE_CHECKING:
    from palaver.model.report import Report
    from palaver.sources.discovery import Unit
    from palaver.workflows.outputs import Output
    from palaver.workflows.plan import Plan


USAGE_NOT_KEPT = "{records} read and not kept; with --usage FILE they are written."


class Sentences(NamedTuple):
    """Where the result is, where refused records are, what may follow, and where usage records are."""

    told: str
    set_aside: str
    following: str
    used: str
    """With `{records}` for how many there are."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where documents go, and the sentences that tell it."""

    output: "Output"
    name: str
    told: str
    set_aside_told: str = ""
    following: str = ""
    used_told: str = "{records} read."
    is_terminal: bool = False

    @property
    def sentences(self) -> Sentences:
        return Sentences(self.told, self.set_aside_told, self.following, self.used_told)


@dataclass(frozen=True, slots=True)
class Effort:
    size_bytes: int
    seconds: float


def nowhere() -> Destination:
    from palaver.workflows.outputs import Nowhere

    return Destination(Nowhere(), "nowhere", "A dry run: nothing was written.")


def keep_all(plan: "Plan", *, jobs: int | None, began: float) -> Effort:
    """Read what is new or has changed into the archive."""
    if plan.is_empty:
        plan.report.archive = {"added": 0, "updated": 0, "unchanged": 0, "forgotten": 0}
        return Effort(0, time.perf_counter() - began)

    from palaver.cli._archive import archive_path
    from palaver.workflows.archive_import import keep
    from palaver.workflows.parallel import available_cores, collect_rarely

    collect_rarely()
    total_bytes = sum(task.unread_bytes for task in plan.tasks)
    with _output.Progress(total_bytes) as progress:
        keep(
            plan.tasks,
            plan.report,
            archive_path(),
            unclaimed=plan.unclaimed,
            jobs=jobs or available_cores(),
            advance=progress.advance,
        )
    return Effort(max(total_bytes, progress.done_bytes), time.perf_counter() - began)


def answer(report: "Report") -> None:
    """Print a report as JSON, source by source: of ten thousands, all at once would take more than reading them."""
    _output.answer_json_with(report.outline(), "sources", (source.to_json() for source in report.sources))


def archive_told() -> Sentences:
    from palaver.cli._archive import archive_path

    return Sentences(
        f"The archive is {place(archive_path())}.",
        "The records that were refused are kept there: `palaver quarantine list`.",
        "Run it again at any time: what was found once stays, even when its source is deleted.",
        "{records} kept: `palaver stats --usage`.",
    )


def import_all(
    units: "list[Unit]",
    report: "Report",
    destination: Destination,
    options: dict[str, dict[str, str]],
    *,
    jobs: int | None,
    began: float,
) -> Effort:
    """Read the units platform by platform, since each has its own options; on any failure, leave nothing half done.

    Those that are done are not kept: the list is empty then.
    """
    from palaver.workflows.import_files import import_files
    from palaver.workflows.parallel import available_cores, collect_rarely

    collect_rarely()
    output = destination.output
    total_bytes = sum(unit.size_bytes for unit in units)
    by_platform: dict[str, list[Unit]] = {}
    for unit in units:
        by_platform.setdefault(unit.platform, []).append(unit)
    units.clear()
    try:
        with _output.Progress(total_bytes, is_quiet=destination.is_terminal) as progress:
            for platform, its_units in by_platform.items():
                import_files(
                    its_units,
                    report,
                    output,
                    options.get(platform, {}),
                    jobs=jobs or available_cores(),
                    advance=progress.advance,
                )
        output.close(keep=True)
    except BaseException as error:
        output.close(keep=False)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise SourceError(f"cannot write to {destination.name}: {error.strerror or error}") from error
        raise
    return Effort(max(total_bytes, progress.done_bytes), time.perf_counter() - began)
