"""`palaver export`: write conversations of the archive to files or standard output."""

import sys
import time
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
from palaver.errors import SourceError
from palaver.exporters import exporter
from palaver.workflows.export import Export, message_cost
from palaver.workflows.export_target import DEFAULT_FORMAT, Target, export_target, names_folder, refuse_to_overwrite
from palaver.workflows.parallel import collect_rarely

Ids = Annotated[list[str] | None, typer.Argument(metavar="ID", hidden=True)]
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="NAME", help="jsonl, markdown, csv.", show_default="by FILE, or jsonl"),
]
Output = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="A file, a folder, or - for standard output."),
]
Agents = Annotated[bool, typer.Option("--agents/--no-agents", help="Include the agents that they started.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be written, and write nothing.")]


@takes_filters
def export(
    ids: Ids = None,
    *,
    format_name: Format = None,
    out: Output = STANDARD,
    filters: Filters,
    with_cost: WithCost = False,
    agents: Agents = True,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Write conversations of the archive to files.

    ID is a conversation's id, the beginning of one, or `latest`. Without it, every conversation that matches the
    filters is written. Conversations are in time order, the oldest first.

    jsonl keeps everything, and can be imported again on this machine or another. markdown is for reading, csv has a row
    per message; both leave something out (docs/exporters.md). The ending of FILE chooses the format: .jsonl, .ndjson,
    .md, .markdown or .csv, followed by .gz or .zst to compress it.

    A folder gets a file for each conversation, named by date, title and the beginning of the id. A folder is one that
    exists, a name that ends in a slash, or, for markdown of several conversations, a name without an ending; markdown
    adds an index page, index.md. Files of the same name are replaced, each only once it is complete; all others stay.

    Exit codes: 0 conversations were written, 1 no conversation matches, 2 they could not be written.
    """
    began = time.perf_counter()
    if as_json and out == STANDARD and not dry_run:
        raise SourceError("--output - and --json both write to standard output: pass a file or a folder to --output")
    destination = None if out == STANDARD else output_path(out)
    cost = message_cost(load_config(config_path())) if with_cost else None
    if destination is None:
        exporter(format_name or DEFAULT_FORMAT)  # an unknown format is refused before anything is read
    else:
        refuse_to_overwrite(_archive.archive_path(), destination)
        export_target(destination, format_name, conversations=1, is_folder=names_folder(out))
    collect_rarely()
    with _archive.open_for_reading() as connection:
        # One snapshot of the archive: concurrent writers are neither seen nor blocked.
        connection.execute("begin")
        keys = select_keys(connection, filters, ids or (), with_agents=agents)
        target = destination and export_target(
            destination, format_name, conversations=len(keys), is_folder=names_folder(out)
        )
        chosen_format = target.format if target else format_name or DEFAULT_FORMAT
        is_quiet = destination is None and not dry_run and sys.stdout.isatty()
        with output.Progress(estimate_bytes(connection, keys), is_quiet=is_quiet) as progress:
            run = Export(connection, chosen_format, cost=cost, advance=progress.advance)
            if keys:
                _write(run, keys, target, dry_run=dry_run)
    if as_json:
        output.answer_json(_answer(run, chosen_format, target if not dry_run else None))
    elif keys:
        output.notify(*_summary(run, time.perf_counter() - began, target, dry_run=dry_run))
    else:
        is_empty = filters.where()[0] == "true" and not ids
        output.notify(
            "The archive is empty. Start with `palaver scan`." if is_empty else "No conversation matches these filters."
        )
    raise typer.Exit(0 if keys else 1)


def _write(run: Export, keys: list[int], target: Target | None, *, dry_run: bool) -> None:
    if dry_run:
        for _ in run.pieces(keys):
            pass
    elif target is None:
        output.answer_bytes(run.pieces(keys))
    else:
        run.write(keys, target)


def _summary(run: Export, seconds: float, target: Target | None, *, dry_run: bool) -> list[str]:
    amounts = f"{counted(run.conversations, 'conversation')} and {counted(run.messages, 'message')}"
    if dry_run:
        return [f"{amounts}, {size(run.size_bytes)}. Dry run: nothing was written."]
    speed = f"{size(run.size_bytes)} in {duration(seconds)}, {rate(run.size_bytes, seconds)}"
    if target is None:
        return [amounts, speed]
    files = "" if len(run.files) == 1 else f"{counted(len(run.files), 'file')} in "
    lines = [amounts, speed, "", f"Written to {files}{display_path(target.path)}."]
    if run.foreign_index:
        lines.append(f"{display_path(run.foreign_index)} was not written by palaver: left unchanged, without an index.")
    return lines


def _answer(run: Export, format_name: str, target: Target | None) -> dict[str, Any]:
    return {
        "format": format_name,
        "output": str(target.path) if target else None,
        "conversations": run.conversations,
        "messages": run.messages,
        "bytes": run.size_bytes,
        "files": [
            {"path": str(file.path), "bytes": file.size_bytes, "conversations": file.conversations}
            for file in run.files
        ],
    }
