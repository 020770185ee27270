"""Importing with progress and closing messages, shared by `import` and `scan`.

Workflows are imported when they run: a scan that finds nothing new must not load the readers.
"""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from palaver.cli._archive import archive_path, platform_title
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, display_path, listed, size
from palaver.errors import SourceError

if TYPE_CHECKING:
    from palaver.exporters._contract import MessageCost
    from palaver.model.report import Report
    from palaver.sources.discovery import Unit
    from palaver.workflows.outputs import Output
    from palaver.workflows.plan import Plan


_LONG_BYTES = 1 << 30
"""Reading this much takes about a minute."""
USAGE_NOT_WRITTEN = "{records} read but not written; --usage FILE writes them."


class ResultMessages(NamedTuple):
    """The sentences at the end of an import's summary."""

    written_to: str
    """Where the documents are: the path of the archive, else a sentence."""
    quarantine: str = ""
    """Where refused records are; shown if there are any."""
    next_step: str = ""
    usage: str = "{records} read."
    """Where usage records are; shown if there are any, with `{records}` replaced by their number."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where documents are written, and the messages that say so."""

    output: "Output"
    name: str
    messages: ResultMessages
    is_terminal: bool = False


@dataclass(frozen=True, slots=True)
class Effort:
    """What an import took."""

    size_bytes: int
    seconds: float


def dry_run_destination() -> Destination:
    from palaver.workflows.outputs import NullOutput

    return Destination(NullOutput(), "nowhere", ResultMessages("A dry run: nothing was written."))


def import_into_archive(plan: "Plan", *, jobs: int | None, began: float) -> Effort:
    """Import new and changed sources into the archive."""
    if plan.is_empty:
        plan.report.archive = dict.fromkeys(("added", "updated", "unchanged", "forgotten", "removed"), 0)
        return Effort(0, time.perf_counter() - began)

    from palaver.workflows.archive_import import import_into_archive
    from palaver.workflows.parallel import available_cores, collect_rarely

    collect_rarely()
    total_bytes = sum(task.unread_bytes for task in plan.tasks)
    if total_bytes > _LONG_BYTES and plan.rereads():
        output.notify(f"{size(total_bytes)} to read. You can interrupt this: the next run reads what is left.")
    with output.Progress(total_bytes) as progress:
        import_into_archive(
            plan.tasks,
            plan.report,
            archive_path(),
            unclaimed=plan.unclaimed,
            released=plan.released,
            jobs=jobs or available_cores(),
            advance=progress.advance,
        )
    return Effort(max(total_bytes, progress.done_bytes), time.perf_counter() - began)


def announce_rereads(plan: "Plan") -> None:
    """Say which sources are read again because palaver reads them better by now, and which change hands."""
    counts = plan.rereads()
    plan.report.reread = counts.total()
    plan.report.released = sorted(source.label for source in plan.released)
    if counts:
        titles = [platform_title(platform) for platform in counts]
        if len(counts) > 1:
            titles = [f"{platform_title(platform)} ({count:,})" for platform, count in counts.most_common()]
        when = "it was" if counts.total() == 1 else "they were"
        output.notify(
            f"Reading {counted(counts.total(), 'source')} again: "
            f"palaver reads {listed(titles)} better than when {when} imported."
        )
    for platform in sorted({source.platform for source in plan.released}):
        labels = sorted(source.label for source in plan.released if source.platform == platform)
        others = f" and {len(labels) - 1:,} more" if len(labels) > 1 else ""
        verb = "is" if len(labels) == 1 else "are"
        output.notify(
            f"{counted(len(labels), 'source')} {verb} no longer read as {platform_title(platform)}: "
            f"{display_path(labels[0])}{others}. {'Its' if len(labels) == 1 else 'Their'} conversations are removed "
            "from the archive, except those that you tagged or rated."
        )


def answer_report(report: "Report") -> None:
    """Print a report as JSON, one source at a time.

    With tens of thousands of sources, building it as a whole would take more memory than reading them.
    """
    output.answer_json_with_list(report.outline(), "sources", (source.to_json() for source in report.sources))


def archive_messages() -> ResultMessages:
    return ResultMessages(
        written_to=str(archive_path()),
        next_step="Safe to re-run. Conversations stay even if their source files are deleted.",
    )


def import_units(
    units: "list[Unit]",
    report: "Report",
    destination: Destination,
    options: dict[str, dict[str, str]],
    *,
    jobs: int | None,
    began: float,
    with_cost: bool = False,
) -> Effort:
    """Import the units platform by platform, since each has its own options; on any failure, discard the output.

    Empties the list `units`, so that finished units can be freed.
    """
    from palaver.workflows.import_files import import_files
    from palaver.workflows.parallel import available_cores, collect_rarely

    cost = _message_cost() if with_cost else None
    collect_rarely()
    total_bytes = sum(unit.size_bytes for unit in units)
    by_platform: dict[str, list[Unit]] = {}
    for unit in units:
        by_platform.setdefault(unit.platform, []).append(unit)
    units.clear()
    try:
        with output.Progress(total_bytes, is_quiet=destination.is_terminal) as progress:
            for platform, platform_units in by_platform.items():
                import_files(
                    platform_units,
                    report,
                    destination.output,
                    options.get(platform, {}),
                    jobs=jobs or available_cores(),
                    advance=progress.advance,
                    cost=cost,
                )
        destination.output.close(keep=True)
    except BaseException as error:
        destination.output.close(keep=False)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise SourceError(f"cannot write to {destination.name}: {error.strerror or error}") from error
        raise
    return Effort(max(total_bytes, progress.done_bytes), time.perf_counter() - began)


def _message_cost() -> "MessageCost":
    from palaver.config import config_path, load_config
    from palaver.workflows.export import message_cost

    return message_cost(load_config(config_path()))
