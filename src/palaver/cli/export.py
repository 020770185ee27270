"""`palaver export`: write conversations of the archive to files or standard output."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from palaver.archive.filters import Filters
from palaver.archive.selection import estimate_bytes, select_keys
from palaver.cli import _archive
from palaver.cli._arguments import STANDARD, AsJson, WithCost, output_path
from palaver.cli._filters import takes_filters
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, display_path, duration, rate, size
from palaver.config import config_path, load_config
from palaver.errors import OptionError, SourceError
from palaver.exporters import exporter, formats
from palaver.workflows.export import Export, message_cost
from palaver.workflows.parallel import collect_rarely

Words = Annotated[list[str] | None, typer.Argument(metavar="CONVERSATION", hidden=True)]
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="NAME", help="jsonl, markdown, csv.", show_default="by FILE, or jsonl"),
]
Output = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="A file, a folder, or - for standard output."),
]
WithAgents = Annotated[bool, typer.Option("--with-agents/--no-agents", help="Also the agents that they started.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be written.")]


@takes_filters
def export(
    words: Words = None,
    *,
    format_name: Format = None,
    out: Output = STANDARD,
    filters: Filters,
    with_cost: WithCost = False,
    with_agents: WithAgents = True,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Write conversations of the archive to files.

    CONVERSATION is the id of one, or how it begins, or `latest`; without any, all that the filters let through are
    written. jsonl can be imported again, on this machine or another; markdown is for reading, csv has a row for each
    message. A file appears whole or not at all, and replaces one of its name. In a folder (one that exists, or a name
    that ends in a slash) every conversation gets a file, named after its date, its title and the beginning of its id.

    Exit codes: 0 they were written, 1 no conversation is like that, 2 it could not be written.
    """
    began = time.perf_counter()
    if as_json and out == STANDARD and not dry_run:
        raise SourceError("--output - and --json both want standard output: give --output a file or a folder")
    destination = None if out == STANDARD else output_path(out)
    chosen_format = format_name or _format_of(destination)
    cost = message_cost(load_config(config_path())) if with_cost else None
    if destination:
        _refuse_the_archive(destination)
    collect_rarely()
    with _archive.open_for_reading() as connection:
        # One snapshot of the archive: concurrent writers are neither seen nor blocked.
        connection.execute("begin")
        keys = select_keys(connection, filters, words or (), with_agents=with_agents)
        is_quiet = destination is None and not dry_run and sys.stdout.isatty()
        with output.Progress(estimate_bytes(connection, keys), is_quiet=is_quiet) as progress:
            run = Export(connection, chosen_format, cost=cost, advance=progress.advance)
            if keys:
                _write(run, keys, destination, dry_run=dry_run, is_folder=_is_folder(out))
    if as_json:
        output.answer_json(_answer(run, chosen_format, None if dry_run else str(destination)))
    elif keys:
        output.notify(*_summary(run, time.perf_counter() - began, destination, dry_run=dry_run))
    else:
        is_empty = filters.where()[0] == "true" and not words
        output.notify("There is nothing in the archive yet." if is_empty else "No conversation is like that.")
    raise typer.Exit(0 if keys else 1)


def _write(run: Export, keys: list[int], destination: Path | None, *, dry_run: bool, is_folder: bool) -> None:
    if dry_run:
        for _ in run.pieces(keys):
            pass
    elif destination is None:
        output.answer_bytes(run.pieces(keys))
    elif is_folder:
        run.into_folder(keys, destination)
    else:
        run.into_file(keys, destination)


def _is_folder(word: str) -> bool:
    separators = tuple(filter(None, ("/", os.sep, os.altsep)))
    return word != STANDARD and (word.endswith(separators) or output_path(word).is_dir())


def _format_of(destination: Path | None) -> str:
    """Return the format that a file's suffix asks for; jsonl for any other suffix."""
    suffix = destination.suffix.lower() if destination else ""
    return next((name for name in formats() if exporter(name).suffix == suffix), "jsonl")


def _refuse_the_archive(destination: Path) -> None:
    archive = _archive.archive_path()
    for suffix in ("", "-wal", "-shm"):
        file = archive.with_name(archive.name + suffix)
        if destination.is_file() and file.exists() and destination.samefile(file):
            raise OptionError(f"{destination} is the archive itself: write to another file")


def _summary(run: Export, seconds: float, destination: Path | None, *, dry_run: bool) -> list[str]:
    amounts = f"{counted(run.conversations, 'conversation')} and {counted(run.messages, 'message')}"
    if dry_run:
        return [f"{amounts}, {size(run.size_bytes)}. A dry run: nothing was written."]
    speed = f"{size(run.size_bytes)} in {duration(seconds)}, {rate(run.size_bytes, seconds)}"
    if destination is None:
        return [amounts, speed]
    files = "" if len(run.files) == 1 else f"{counted(len(run.files), 'file')} in "
    return [amounts, speed, "", f"Written to {files}{display_path(destination)}."]


def _answer(run: Export, format_name: str, written_to: str | None) -> dict[str, Any]:
    return {
        "format": format_name,
        "output": written_to,
        "conversations": run.conversations,
        "messages": run.messages,
        "bytes": run.size_bytes,
        "files": [
            {"path": str(file.path), "bytes": file.size_bytes, "conversations": file.conversations}
            for file in run.files
        ],
    }
