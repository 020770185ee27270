"""`palaver scan`: import everything the importers find on this machine, once or whenever it changes."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from palaver.archive.filter_times import parse_time
from palaver.cli import _import_run
from palaver.cli._archive import archive_path, platform_title
from palaver.cli._arguments import Again, AsJson, DryRun, ImporterOptions, Jobs, importer_options
from palaver.cli._filters import Since
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, display_path
from palaver.importers import locations
from palaver.model.timestamps import milliseconds_of
from palaver.workflows.plan import Plan, Planner
from palaver.workflows.reread_plan import add_rereads

_NEW_LOCATIONS_MS = 5_000
"""How often to look for a location that did not exist before: a handful of system calls."""

Watch = Annotated[bool, typer.Option("--watch", help="Keep running, and import changes as they happen.")]


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

    `palaver sources` lists the places. Conversations stay in the archive even if their source files are deleted.
    Unchanged files are skipped, unless this version of palaver reads them better than the one that imported them.
    With --since, only files that changed since then are read. Exports in the downloads folder are named, with the
    command that imports them.

    Exit codes: 0 everything found was imported, 1 some records could not be read, 2 a place could not be read.
    """
    began = time.perf_counter()
    chosen = importer_options(options)
    paths_by_platform = locations()
    plan = _plan(paths_by_platform, chosen, since=since, again=again)
    report = plan.report
    for refusal in report.refused:
        output.report_error(refusal)
    if not (plan.tasks or plan.released or report.unchanged):
        if as_json:
            _import_run.answer_report(report)
        elif since:
            output.notify(f"No file has changed since {parse_time(since)}.")
        else:
            from palaver.cli._terminal.empty_machine import EmptyMachine

            output.notify(EmptyMachine())
    else:
        messages = _import_run.archive_messages()
        _import_run.announce_rereads(plan)
        if dry_run:
            destination = _import_run.dry_run_destination()
            units = [task.unit for task in plan.tasks]
            effort = _import_run.import_units(units, report, destination, chosen, jobs=jobs, began=began)
            messages = destination.messages
        else:
            effort = _import_run.import_into_archive(plan, jobs=jobs, began=began)
        if as_json:
            _import_run.answer_report(report)
        else:
            from palaver.cli._terminal.platform_table import PlatformTable
            from palaver.cli._terminal.summary import summary

            table = PlatformTable(
                report, {name: [str(path) for path in paths] for name, paths in paths_by_platform.items()}
            )
            output.notify(*([table, ""] if table else []), *summary(report, effort, messages))
    if not as_json:
        _notify_of_exports()
    if watch and not dry_run:
        output.flush()  # print the answer now, not when the watch ends

        def watched_paths() -> list[Path]:
            return [path for paths in locations().values() for path in paths]

        _watch(lambda: _plan(locations(), chosen), watched_paths, jobs=jobs, as_json=as_json)
    raise typer.Exit(report.exit_code)


def _plan(
    paths_by_platform: dict[str, list[Path]],
    options: dict[str, dict[str, str]],
    *,
    since: str | None = None,
    again: bool = False,
) -> Plan:
    since_ns = 0
    if since:
        since_ns = milliseconds_of(parse_time(since)) * 1_000_000
    planner = Planner(archive_path(), options, is_again=again, since_ns=since_ns)
    plan = Plan()
    for platform, paths in paths_by_platform.items():
        plan.add(planner.plan(paths, platform))
    add_rereads(plan, planner, everywhere=not since)
    return plan


def _notify_of_exports() -> None:
    from palaver.workflows.find_exports import find_exports

    if exports := find_exports(archive_path()):
        from palaver.cli._terminal.next_steps import exports_to_import

        output.notify("", *exports_to_import([(export.path, platform_title(export.platform)) for export in exports]))


def _watch(
    make_plan: Callable[[], Plan], watched_paths: Callable[[], list[Path]], *, jobs: int | None, as_json: bool
) -> None:
    """Import what changes until interrupted, as the operating system reports it: waiting costs nothing."""
    from watchfiles import watch

    while True:
        watched = watched_paths()
        output.notify(f"Watching {counted(len(watched), 'place')}; Ctrl-C ends it.")
        is_first = True
        for changes in watch(*watched, rust_timeout=_NEW_LOCATIONS_MS, yield_on_timeout=True, raise_interrupt=True):
            if changes or is_first:  # something may have changed between the last import and the start of this watch
                _import_changes(make_plan(), jobs=jobs, as_json=as_json)
                is_first = False
            if watched_paths() != watched:
                break


def _import_changes(plan: Plan, *, jobs: int | None, as_json: bool) -> None:
    report = plan.report
    for refusal in report.refused:
        output.report_error(refusal)
    if not (plan.tasks or plan.released):
        return
    _import_run.announce_rereads(plan)
    _import_run.import_into_archive(plan, jobs=jobs, began=time.perf_counter())
    if as_json:
        output.answer_json_line(report.to_json())
        return
    totals = report.totals()
    sources = [display_path(source.source) for source in report.sources]
    origin = sources[0] if len(sources) == 1 else counted(len(sources), "source")
    messages = counted(totals["messages"], "message")
    output.notify(f"{time.strftime('%H:%M:%S')}  {messages} from {origin}")
    for source in report.sources:
        if source.failure:
            output.report_error(f"{source.source}: {source.failure}")
