"""`palaver scan`: everything the importers know to find on this machine."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli import _importing
from palaver.cli._archive import Since, archive_path, moment
from palaver.cli._arguments import Again, AsJson, DryRun, ImporterOptions, Jobs, importer_options
from palaver.cli._terminal import output
from palaver.cli._terminal.words import place

if TYPE_CHECKING:
    from palaver.workflows.plan import Plan

Watch = Annotated[bool, typer.Option("--watch", help="Keep going: take in what changes, as soon as it does.")]


def scan(
    *,
    since: Since = None,
    options: ImporterOptions = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    dry_run: DryRun = False,
    again: Again = False,
    watch: Watch = False,
) -> None:
    """Import everything that assistants keep on this machine.

    The places are those that `palaver sources` lists. What was found once stays in the archive, even when its source
    is deleted; what did not change since is not read again. With --since, only files that changed since then are
    looked at.

    Exit codes: 0 everything that was found was imported, 1 some records were refused, 2 a place could not be read.
    """
    began = time.perf_counter()
    chosen = importer_options(options)

    from palaver.importers import locations

    places = locations()
    plan = _plan(places, chosen, since=since, again=again)
    report = plan.report
    for refusal in report.refused:
        output.complain(refusal)
    if not (plan.tasks or report.unchanged):
        if as_json:
            _importing.answer(report)
        elif since:
            output.tell(f"No file has changed since {moment(since)}.")
        else:
            _tell_nothing_was_found()
    else:
        told = _importing.archive_told()
        if dry_run:
            destination = _importing.nowhere()
            units = [task.unit for task in plan.tasks]
            effort = _importing.import_all(units, report, destination, chosen, jobs=jobs, began=began)
            told = destination.sentences
        else:
            effort = _importing.keep_all(plan, jobs=jobs, began=began)
        if as_json:
            _importing.answer(report)
        else:
            from palaver.cli._terminal.summary import found_where, summary

            table = found_where(report, {name: [str(path) for path in paths] for name, paths in places.items()})
            output.tell(table, "", *summary(report, effort, told))
    if watch and not dry_run:
        from palaver.cli._watching import follow

        output.flush()  # whoever reads the answer has it now, not when the watch ends

        def existing() -> list[Path]:
            return [path for paths in locations().values() for path in paths]

        follow(lambda: _plan(locations(), chosen), existing, jobs=jobs, as_json=as_json)
    raise typer.Exit(report.exit_code)


def _plan(
    places: dict[str, list[Path]],
    options: dict[str, dict[str, str]],
    *,
    since: str | None = None,
    again: bool = False,
) -> "Plan":
    from palaver.workflows.plan import Plan, Planner

    since_ns = 0
    if since:
        from palaver.model.timestamps import milliseconds_of

        since_ns = milliseconds_of(moment(since)) * 1_000_000
    planner = Planner(archive_path(), options, is_again=again, since_ns=since_ns)
    plan = Plan()
    for platform, paths in places.items():
        plan.add(planner.plan(paths, platform))
    return plan


def _tell_nothing_was_found() -> None:
    from rich.table import Table
    from rich.text import Text

    from palaver.importers import importer, platforms

    table = Table.grid(padding=(0, 2, 0, 0))
    for platform in platforms():
        title = importer(platform).title
        for path in importer(platform).locations():
            table.add_row(f"  {title}", Text(place(path), "dim", overflow="fold"))
            title = ""
    output.tell(
        "No conversations were found on this machine. These places were looked at:",
        "",
        table,
        "",
        "If yours are elsewhere, `palaver import PATH` reads them from there.",
        "A Claude Code folder in another place is found when CLAUDE_CONFIG_DIR names it.",
    )
