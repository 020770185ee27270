"""`palaver import`: read sources into the archive, a file, or standard output."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from palaver.cli import _import_run
from palaver.cli._archive import archive_path
from palaver.cli._arguments import (
    STANDARD,
    Again,
    AsJson,
    DryRun,
    ImporterOptions,
    Jobs,
    Paths,
    WithCost,
    importer_options,
    output_path,
    platform_and_paths,
)
from palaver.cli._terminal import output
from palaver.cli._terminal.words import display_path
from palaver.errors import SourceError
from palaver.model.report import Report

if TYPE_CHECKING:
    from palaver.sources.discovery import Unit


def import_(
    words: Paths,
    *,
    out: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write JSON Lines to FILE; - is standard output.",
            show_default="the archive",
        ),
    ] = None,
    quarantine: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the bytes of quarantined records to FILE.", show_default="beside the output"
        ),
    ] = None,
    usage: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write usage records to FILE as JSON Lines.", show_default="none"),
    ] = None,
    with_cost: WithCost = False,
    options: ImporterOptions = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    dry_run: DryRun = False,
    again: Again = False,
) -> None:
    """Import conversations from files, folders and ZIPs.

    PATH is a file, a folder, a ZIP, or - for standard input. PLATFORM is recognised when it is left out; `palaver
    sources` lists the platforms. The archive is in $PALAVER_HOME, or in the platform's data directory. Unchanged files
    are skipped, unless this version of palaver reads them better than the one that imported them.

    Usage records (token counts logged without the conversation, daily totals) go to the archive, too; with --output,
    they are written to the file that --usage names. With --output, --with-cost adds to each message what it would cost
    by public prices, as `palaver export --with-cost` does.

    Files in a folder that palaver does not read are listed and skipped; a PATH with nothing to import is an error.

    Exit codes: 0 everything was imported, 1 some records were quarantined, 2 a path could not be read.
    """
    began = time.perf_counter()
    if out == STANDARD and as_json and not dry_run:
        raise SourceError("--output - and --json both want standard output: give --output a file")
    for option, file in (("--quarantine", quarantine), ("--usage", usage)):
        if file and str(file) == STANDARD:
            raise SourceError(f"{option} - is not supported: give it a file")
    if quarantine and out is None:
        raise SourceError("--quarantine goes with --output: the archive keeps refused records itself")
    if usage and out is None:
        raise SourceError("--usage goes with --output: the archive keeps usage records itself")
    if with_cost and out is None:
        raise SourceError("--with-cost goes with --output: the archive computes costs whenever it is read")
    file = None if out is None or out == STANDARD else _documents_file(out)
    quarantine = output_path(quarantine, "--quarantine") if quarantine else None
    usage = output_path(usage, "--usage") if usage else None
    platform, paths = platform_and_paths(words)
    chosen = importer_options(options, platform)
    if out is None:
        _import_into_archive(
            paths, platform, chosen, jobs=jobs, began=began, as_json=as_json, dry_run=dry_run, again=again
        )

    from palaver.workflows.find_units import find_units

    units, report = find_units(paths, platform, refuses_barren=True)
    _report_refused(report, is_anything_found=bool(units), as_json=as_json)
    destination = _import_run.dry_run_destination() if dry_run else _destination(file, quarantine, usage, paths, units)
    effort = _import_run.import_units(units, report, destination, chosen, jobs=jobs, began=began, with_cost=with_cost)
    _finish(report, effort, destination.messages, as_json=as_json)


def _import_into_archive(
    paths: list[Path],
    platform: str | None,
    options: dict[str, dict[str, str]],
    *,
    jobs: int | None,
    began: float,
    as_json: bool,
    dry_run: bool,
    again: bool,
) -> NoReturn:
    from palaver.workflows.plan import Planner
    from palaver.workflows.reread_plan import add_rereads

    planner = Planner(archive_path(), options, is_again=again)
    plan = planner.plan(paths, platform, refuses_barren=True)
    add_rereads(plan, planner)
    report = plan.report
    # Files in folders are remembered, so that they are read once a later version of palaver can.
    is_anything_found = bool(plan.tasks or plan.released or report.unchanged or report.unclaimed)
    _report_refused(report, is_anything_found=is_anything_found, as_json=as_json)
    _import_run.announce_rereads(plan)
    if dry_run:
        destination = _import_run.dry_run_destination()
        units = [task.unit for task in plan.tasks]
        effort = _import_run.import_units(units, report, destination, options, jobs=jobs, began=began)
        _finish(report, effort, destination.messages, as_json=as_json)
    effort = _import_run.import_into_archive(plan, jobs=jobs, began=began)
    _finish(report, effort, _import_run.archive_messages(), as_json=as_json)


def _report_refused(report: Report, *, is_anything_found: bool, as_json: bool) -> None:
    """Print what cannot be read, and exit if there is nothing else."""
    for refusal in report.refused:
        output.report_error(refusal)
    if report.refused and not is_anything_found:
        if as_json:
            _import_run.answer_report(report)
        raise typer.Exit(report.exit_code)


def _finish(
    report: Report, effort: _import_run.Effort, messages: _import_run.ResultMessages, *, as_json: bool
) -> NoReturn:
    if as_json:
        _import_run.answer_report(report)
    elif report.sources or report.unchanged or report.released:
        from palaver.cli._terminal.summary import summary

        output.notify(*summary(report, effort, messages))
    raise typer.Exit(report.exit_code)


def _documents_file(out: str) -> Path:
    """Return the file for documents; refuse a name that promises another format than JSON Lines."""
    file = output_path(out)
    if file.suffix.lower() in _OTHER_FORMATS:
        raise SourceError(
            f"--output {out}: an import writes JSON Lines, so the name must end in .jsonl, .ndjson or .json; "
            "for other formats, import into the archive, then use `palaver export`"
        )
    return file


_OTHER_FORMATS = frozenset(
    {
        *(".html", ".htm", ".md", ".markdown", ".txt", ".pdf", ".docx", ".xml", ".yaml", ".yml"),
        *(".csv", ".tsv", ".xlsx", ".parquet", ".arrow", ".db", ".sqlite", ".sqlite3", ".duckdb"),
        *(".zip", ".tar", ".gz", ".tgz", ".zst", ".bz2", ".xz", ".7z"),
    }
)


def _destination(
    file: Path | None, quarantine: Path | None, usage: Path | None, paths: list[Path], units: "list[Unit]"
) -> _import_run.Destination:
    from palaver.workflows.outputs import JsonLinesFile, StandardOutput, is_replaceable

    _refuse_shared_file({"--output": file, "--quarantine": quarantine, "--usage": usage})
    for written in (file, quarantine, usage):
        if written and written.exists():
            _refuse_to_overwrite_source(written, paths, units)
    usage_message = "{records} written to " + display_path(usage) + "." if usage else _import_run.USAGE_NOT_WRITTEN
    refused_message = f"The quarantined records are in {display_path(quarantine)}." if quarantine else ""
    if file is None:
        messages = _import_run.ResultMessages(
            "Written to standard output.",
            refused_message or _REFUSED_MESSAGE,
            usage=usage_message,
        )
        return _import_run.Destination(
            StandardOutput(quarantine, usage), "standard output", messages, is_terminal=sys.stdout.isatty()
        )
    messages = _import_run.ResultMessages(
        f"Written to {display_path(file)}.",
        refused_message or _refused_message(file),
        f"`palaver validate {display_path(file)}` checks it again at any time." if is_replaceable(file) else "",
        usage=usage_message,
    )
    return _import_run.Destination(JsonLinesFile(file, quarantine, usage), display_path(file), messages)


_REFUSED_MESSAGE = "Records were quarantined; with --quarantine FILE their bytes are kept."


def _refused_message(file: Path) -> str:
    from palaver.workflows.outputs import quarantine_path

    beside = quarantine_path(file)
    return f"The quarantined records are in {display_path(beside)}." if beside else _REFUSED_MESSAGE


def _refuse_shared_file(files: dict[str, Path | None]) -> None:
    seen: dict[str, str] = {}
    for option, file in files.items():
        if file and (other := seen.setdefault(os.path.realpath(file), option)) != option:
            raise SourceError(f"{other} and {option} are the same file: {file}")


def _refuse_to_overwrite_source(written: Path, paths: list[Path], units: "list[Unit]") -> None:
    read = {str(path) for path in paths}
    for unit in units:
        # The folder of a ZIP member is the ZIP.
        read |= {unit.source.label, unit.source.folder.label}
    if any(os.path.exists(path) and os.path.samefile(written, path) for path in read):  # noqa: PTH110, PTH121 - labels
        raise SourceError(f"{written} is one of the sources: write to another file")
