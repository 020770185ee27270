"""`palaver import`: sources into the data folder, a file, or standard output."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli import _importing, _output
from palaver.cli._arguments import (
    STANDARD,
    AsJson,
    DryRun,
    ImporterOptions,
    Jobs,
    Paths,
    data_folder,
    importer_options,
    output_path,
    platform_and_paths,
)
from palaver.cli._words import counted, place
from palaver.errors import SourceError

if TYPE_CHECKING:
    from palaver.sources.discovery import Unit


def import_(
    words: Paths,
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="JSON Lines; - is standard output.", show_default="the data folder"
        ),
    ] = None,
    quarantine: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The bytes of refused records.", show_default="beside the output"),
    ] = None,
    options: ImporterOptions = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    dry_run: DryRun = False,
) -> None:
    """Import conversations from files, folders and ZIPs.

    PATH may also be - for standard input. PLATFORM is recognised when it is left out; `palaver sources` lists them.
    The data folder is $PALAVER_HOME, or the place that this system has for such things.

    Exit codes: 0 everything was imported, 1 some records were refused, 2 a path could not be read.
    """
    began = time.perf_counter()
    if output == STANDARD and as_json and not dry_run:
        raise SourceError("--output - and --json both want standard output: give --output a file")
    platform, paths = platform_and_paths(words)
    chosen = importer_options(options, platform)

    from palaver.pipeline import find

    units, report = find(paths, platform)
    for refusal in report.refused:
        _output.complain(refusal)
    if report.refused and not units:
        if as_json:
            _output.answer_json(report.to_json())
        raise typer.Exit(report.exit_code)
    destination = _importing.nowhere() if dry_run else _destination(output, quarantine, paths, units)
    effort = _importing.import_all(units, report, destination, chosen, jobs=jobs, began=began)
    if as_json:
        _output.answer_json(report.to_json())
    elif units:
        from palaver.cli._summary import summary

        _output.tell(*summary(report, effort, destination))
    else:
        files = counted(len(report.unclaimed), "file")
        _output.tell(f"There is nothing to import: {files} found, none of which an importer reads.")
        _output.tell("`palaver sources` says what is known, `palaver identify PATH` what each file is.")
    raise typer.Exit(report.exit_code)


def _destination(
    output: str | None, quarantine: Path | None, paths: list[Path], units: "list[Unit]"
) -> _importing.Destination:
    from palaver.outputs import OneFile, StandardOutput

    quarantine = output_path(quarantine) if quarantine else None
    file = output_path(output) if output and output != STANDARD else None
    if file and quarantine and os.path.realpath(file) == os.path.realpath(quarantine):
        raise SourceError(f"--output and --quarantine are the same file: {file}")
    for written in (file, quarantine):
        if written and written.exists():
            _refuse_to_overwrite_a_source(written, paths, units)
    refused = f"The records that were refused are in {place(quarantine)}." if quarantine else ""
    if file is None and output is None:
        return _importing.into_folder(data_folder(), quarantine)
    if file is None:
        told = "Written to standard output."
        refused = refused or "Records were refused; with --quarantine FILE their bytes are kept."
        return _importing.Destination(
            StandardOutput(quarantine), "standard output", told, refused, is_terminal=sys.stdout.isatty()
        )
    return _importing.Destination(
        OneFile(file, quarantine),
        place(file),
        f"Written to {place(file)}.",
        refused or f"The records that were refused are in {place(file.with_name(f'{file.name}.quarantine.jsonl'))}.",
        f"`palaver validate {place(file)}` checks it again at any time.",
    )


def _refuse_to_overwrite_a_source(written: Path, paths: list[Path], units: "list[Unit]") -> None:
    read = {str(path) for path in paths}
    for unit in units:
        # The folder of a ZIP's member is the ZIP.
        read |= {unit.source.label, unit.source.folder.label}
    if any(os.path.exists(path) and os.path.samefile(written, path) for path in read):  # noqa: PTH110, PTH121 - labels
        raise SourceError(f"{written} is one of the sources: write to another file")
