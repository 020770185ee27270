"""`palaver import`: sources into the archive, a file, or standard output."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from palaver.cli import _importing
from palaver.cli._arguments import (
    STANDARD,
    Again,
    AsJson,
    DryRun,
    ImporterOptions,
    Jobs,
    Paths,
    importer_options,
    output_path,
    platform_and_paths,
)
from palaver.cli._terminal import output as _output
from palaver.cli._terminal.words import counted, place
from palaver.errors import SourceError

if TYPE_CHECKING:
    from palaver.model.report import Report
    from palaver.sources.discovery import Unit


def import_(
    words: Paths,
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="JSON Lines; - is standard output.", show_default="the archive"
        ),
    ] = None,
    quarantine: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The bytes of refused records.", show_default="beside the output"),
    ] = None,
    usage: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What was used without a conversation, as JSON Lines.", show_default="none"),
    ] = None,
    options: ImporterOptions = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    dry_run: DryRun = False,
    again: Again = False,
) -> None:
    """Import conversations from files, folders and ZIPs.

    PATH may also be - for standard input. PLATFORM is recognised when it is left out; `palaver sources` lists them.
    The archive is in $PALAVER_HOME, or in the place that this system has for such things; what is in it and did not
    change since is not read again. Usage records (calls that were logged without their words, sums by day) go to the
    archive as well; with --output they are written to the file that --usage names.

    Exit codes: 0 everything was imported, 1 some records were refused, 2 a path could not be read.
    """
    began = time.perf_counter()
    if output == STANDARD and as_json and not dry_run:
        raise SourceError("--output - and --json both want standard output: give --output a file")
    if quarantine and output is None:
        raise SourceError("--quarantine goes with --output: the archive keeps refused records itself")
    if usage and output is None:
        raise SourceError("--usage goes with --output: the archive keeps usage records itself")
    platform, paths = platform_and_paths(words)
    chosen = importer_options(options, platform)
    if output is None:
        _into_archive(paths, platform, chosen, jobs=jobs, began=began, as_json=as_json, dry_run=dry_run, again=again)

    from palaver.workflows.find_units import find_units

    units, report = find_units(paths, platform)
    _refuse(report, is_anything_found=bool(units), as_json=as_json)
    destination = _importing.nowhere() if dry_run else _destination(output, quarantine, usage, paths, units)
    effort = _importing.import_all(units, report, destination, chosen, jobs=jobs, began=began)
    _tell(report, effort, destination.sentences, as_json=as_json)


def _into_archive(
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
    from palaver.cli._archive import archive_path
    from palaver.workflows.plan import Planner

    plan = Planner(archive_path(), options, is_again=again).plan(paths, platform)
    report = plan.report
    _refuse(report, is_anything_found=bool(plan.tasks or report.unchanged), as_json=as_json)
    if dry_run:
        destination = _importing.nowhere()
        units = [task.unit for task in plan.tasks]
        effort = _importing.import_all(units, report, destination, options, jobs=jobs, began=began)
        _tell(report, effort, destination.sentences, as_json=as_json)
    effort = _importing.keep_all(plan, jobs=jobs, began=began)
    _tell(report, effort, _importing.archive_told(), as_json=as_json)


def _refuse(report: "Report", *, is_anything_found: bool, as_json: bool) -> None:
    """Say what cannot be read; when that is all there is, end here."""
    for refusal in report.refused:
        _output.complain(refusal)
    if report.refused and not is_anything_found:
        if as_json:
            _importing.answer(report)
        raise typer.Exit(report.exit_code)


def _tell(report: "Report", effort: _importing.Effort, told: _importing.Sentences, *, as_json: bool) -> NoReturn:
    if as_json:
        _importing.answer(report)
    elif report.sources or report.unchanged:
        from palaver.cli._terminal.summary import summary

        _output.tell(*summary(report, effort, told))
    else:
        files = counted(len(report.unclaimed), "file")
        _output.tell(f"There is nothing to import: {files} found, none of which an importer reads.")
        _output.tell("`palaver sources` says what is known, `palaver identify PATH` what each file is.")
    raise typer.Exit(report.exit_code)


def _destination(
    output: str | None, quarantine: Path | None, usage: Path | None, paths: list[Path], units: "list[Unit]"
) -> _importing.Destination:
    from palaver.workflows.outputs import OneFile, StandardOutput

    quarantine = output_path(quarantine) if quarantine else None
    usage = output_path(usage) if usage else None
    file = output_path(output) if output and output != STANDARD else None
    _refuse_one_file_for_two({"--output": file, "--quarantine": quarantine, "--usage": usage})
    for written in (file, quarantine, usage):
        if written and written.exists():
            _refuse_to_overwrite_a_source(written, paths, units)
    used = "{records} written to " + place(usage) + "." if usage else _importing.USAGE_NOT_KEPT
    refused = f"The records that were refused are in {place(quarantine)}." if quarantine else ""
    if file is None:
        told = "Written to standard output."
        refused = refused or "Records were refused; with --quarantine FILE their bytes are kept."
        return _importing.Destination(
            StandardOutput(quarantine, usage),
            "standard output",
            told,
            refused,
            used_told=used,
            is_terminal=sys.stdout.isatty(),
        )
    return _importing.Destination(
        OneFile(file, quarantine, usage),
        place(file),
        f"Written to {place(file)}.",
        refused or f"The records that were refused are in {place(file.with_name(f'{file.name}.quarantine.jsonl'))}.",
        f"`palaver validate {place(file)}` checks it again at any time.",
        used_told=used,
    )


def _refuse_one_file_for_two(files: dict[str, Path | None]) -> None:
    seen: dict[str, str] = {}
    for option, file in files.items():
        if file and (other := seen.setdefault(os.path.realpath(file), option)) != option:
            raise SourceError(f"{other} and {option} are the same file: {file}")


def _refuse_to_overwrite_a_source(written: Path, paths: list[Path], units: "list[Unit]") -> None:
    read = {str(path) for path in paths}
    for unit in units:
        # The folder of a ZIP's member is the ZIP.
        read |= {unit.source.label, unit.source.folder.label}
    if any(os.path.exists(path) and os.path.samefile(written, path) for path in read):  # noqa: PTH110, PTH121 - labels
        raise SourceError(f"{written} is one of the sources: write to another file")
