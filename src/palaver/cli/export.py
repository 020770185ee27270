"""`palaver export`: conversations out of the archive, into files or standard output."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _archive
from palaver.cli._arguments import STANDARD, AsJson, output_path
from palaver.cli._terminal import output as _output
from palaver.cli._terminal.words import counted, duration, place, rate, size
from palaver.errors import OptionError, SourceError

if TYPE_CHECKING:
    from palaver.workflows.export import Export

Words = Annotated[list[str] | None, typer.Argument(metavar="CONVERSATION", hidden=True)]
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="NAME", help="jsonl, markdown, csv.", show_default="by FILE, or jsonl"),
]
OutputPlace = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="A file, a folder, or - for standard output."),
]
WithCost = Annotated[bool, typer.Option("--with-cost", help="Add what each message would cost by public prices.")]
WithAgents = Annotated[bool, typer.Option("--with-agents/--no-agents", help="Also the agents that they started.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be written.")]


def export(
    words: Words = None,
    *,
    name: Format = None,
    output: OutputPlace = STANDARD,
    platforms: _archive.Platforms = None,
    projects: _archive.Projects = None,
    models: _archive.Models = None,
    since: _archive.Since = None,
    until: _archive.Until = None,
    has: _archive.Has = None,
    tools: _archive.Tools = None,
    tags: _archive.Tags = None,
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
    from palaver.archive.choosing import bytes_of, chosen
    from palaver.config import config_path, load_config
    from palaver.workflows.export import Export, message_cost
    from palaver.workflows.parallel import collect_rarely

    began = time.perf_counter()
    if as_json and output == STANDARD and not dry_run:
        raise SourceError("--output - and --json both want standard output: give --output a file or a folder")
    destination = None if output == STANDARD else output_path(output)
    chosen_format = name or _format_of(destination)
    cost = message_cost(load_config(config_path())) if with_cost else None
    wanted = _archive.filters(
        platforms=platforms,
        projects=projects,
        models=models,
        since=since,
        until=until,
        has=has,
        tools=tools,
        tags=tags,
    )
    if destination:
        _refuse_the_archive(destination)
    collect_rarely()
    with _archive.reading() as connection:
        # One moment of the archive: whoever writes to it meanwhile is neither seen nor held up.
        connection.execute("begin")
        keys = chosen(connection, wanted, words or (), with_agents=with_agents)
        is_quiet = destination is None and not dry_run and sys.stdout.isatty()
        with _output.Progress(bytes_of(connection, keys), is_quiet=is_quiet) as progress:
            run = Export(connection, chosen_format, cost=cost, advance=progress.advance)
            if keys:
                _write(run, keys, destination, dry_run=dry_run, is_folder=_is_folder(output))
    if as_json:
        _output.answer_json(_described(run, chosen_format, None if dry_run else str(destination)))
    elif keys:
        _output.tell(*_told(run, time.perf_counter() - began, destination, dry_run=dry_run))
    else:
        is_empty = wanted.where()[0] == "true" and not words
        _output.tell("There is nothing in the archive yet." if is_empty else "No conversation is like that.")
    raise typer.Exit(0 if keys else 1)


def _write(run: "Export", keys: list[int], destination: Path | None, *, dry_run: bool, is_folder: bool) -> None:
    if dry_run:
        for _ in run.pieces(keys):
            pass
    elif destination is None:
        _output.answer_bytes(run.pieces(keys))
    elif is_folder:
        run.into_folder(keys, destination)
    else:
        run.into_file(keys, destination)


def _is_folder(word: str) -> bool:
    separators = tuple(filter(None, ("/", os.sep, os.altsep)))
    return word != STANDARD and (word.endswith(separators) or output_path(word).is_dir())


def _format_of(destination: Path | None) -> str:
    """The format that the name of a file asks for."""
    from palaver.exporters import exporter, formats

    suffix = destination.suffix.lower() if destination else ""
    return next((name for name in formats() if exporter(name).suffix == suffix), "jsonl")


def _refuse_the_archive(destination: Path) -> None:
    archive = _archive.archive_path()
    for suffix in ("", "-wal", "-shm"):
        kept = archive.with_name(archive.name + suffix)
        if destination.is_file() and kept.exists() and destination.samefile(kept):
            raise OptionError(f"{destination} is the archive itself: write to another file")


def _told(run: "Export", seconds: float, destination: Path | None, *, dry_run: bool) -> list[str]:
    amounts = f"{counted(run.conversations, 'conversation')} and {counted(run.messages, 'message')}"
    if dry_run:
        return [f"{amounts}, {size(run.size_bytes)}. A dry run: nothing was written."]
    speed = f"{size(run.size_bytes)} in {duration(seconds)}, {rate(run.size_bytes, seconds)}"
    if destination is None:
        return [amounts, speed]
    files = "" if len(run.files) == 1 else f"{counted(len(run.files), 'file')} in "
    return [amounts, speed, "", f"Written to {files}{place(destination)}."]


def _described(run: "Export", name: str, output: str | None) -> dict[str, Any]:
    return {
        "format": name,
        "output": output,
        "conversations": run.conversations,
        "messages": run.messages,
        "bytes": run.size_bytes,
        "files": [
            {"path": str(file.path), "bytes": file.size_bytes, "conversations": file.conversations}
            for file in run.files
        ],
    }
