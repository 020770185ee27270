"""`palaver scan`: everything the importers know to find on this machine."""

import time
from typing import TYPE_CHECKING

import typer

from palaver.cli import _importing, _output
from palaver.cli._arguments import AsJson, DryRun, ImporterOptions, Jobs, data_folder, importer_options
from palaver.cli._words import place

if TYPE_CHECKING:
    from palaver.sources.discovery import Unit


def scan(
    *, options: ImporterOptions = None, jobs: Jobs = None, as_json: AsJson = False, dry_run: DryRun = False
) -> None:
    """Import everything that assistants keep on this machine.

    The places are those that `palaver sources` lists. What was found once stays in the data folder, even when its
    source is deleted.

    Exit codes: 0 everything that was found was imported, 1 some records were refused, 2 a place could not be read.
    """
    began = time.perf_counter()
    chosen = importer_options(options)

    from palaver.model.report import Report
    from palaver.pipeline import find, locations

    places = locations()
    units: list[Unit] = []
    report = Report()
    for platform, paths in places.items():
        found, beginning = find(paths, platform)
        units += found
        report.unclaimed += beginning.unclaimed
        report.refused += beginning.refused
    for refusal in report.refused:
        _output.complain(refusal)
    if not units:
        if as_json:
            _output.answer_json(report.to_json())
        else:
            _tell_nothing_was_found()
        raise typer.Exit(report.exit_code)
    destination = _importing.nowhere() if dry_run else _importing.into_folder(data_folder())
    effort = _importing.import_all(units, report, destination, chosen, jobs=jobs, began=began)
    if as_json:
        _output.answer_json(report.to_json())
    else:
        from palaver.cli._summary import found_where, summary

        table = found_where(report, {platform: [str(path) for path in paths] for platform, paths in places.items()})
        _output.tell(table, "", *summary(report, effort, destination))
    raise typer.Exit(report.exit_code)


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
    _output.tell(
        "No conversations were found on this machine. These places were looked at:",
        "",
        table,
        "",
        "If yours are elsewhere, `palaver import PATH` reads them from there.",
        "A Claude Code folder in another place is found when CLAUDE_CONFIG_DIR names it.",
    )
