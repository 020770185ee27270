"""`palaver cook`: requests, messages and tools of traces or conversations, each once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _archive
from palaver.cli._arguments import STANDARD, AsJson, given_paths, output_path
from palaver.cli._terminal import output as _output
from palaver.cli._terminal.words import counted, place
from palaver.errors import OptionError, SourceError

if TYPE_CHECKING:
    from palaver.cook.detection import Format
    from palaver.cook.kitchen import Kitchen
    from palaver.model.report import SourceReport

_AUTO = "auto"

Words = Annotated[list[str] | None, typer.Argument(metavar="[INPUT]...", hidden=True)]


def cook(
    words: Words = None,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where it goes; - is standard output.")
    ] = STANDARD,
    stated: Annotated[
        str, typer.Option("--format", metavar="NAME", help="Of traces: auto, openai, claude, gemini, responses.")
    ] = _AUTO,
    platforms: _archive.Platforms = None,
    projects: _archive.Projects = None,
    models: _archive.Models = None,
    since: _archive.Since = None,
    until: _archive.Until = None,
    has: _archive.Has = None,
    tools: _archive.Tools = None,
    tags: _archive.Tags = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything, write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Cook traces or conversations: messages and tools once each.

    INPUT is a trace of API calls (JSON Lines, an array, or a single record), a file of palaver's own documents, or
    anything that can be imported. Without any, the conversations of the archive that the filters let through are
    cooked. What comes out is one JSON object {messages, tools, requests} (`palaver schema cooked`): every request names
    what was sent and what came back by ids, and the request that it continues.

    Exit codes: 0 it was cooked, 1 some records were refused or there is nothing to cook, 2 a path could not be read.
    """
    from palaver.cook.detection import FORMATS
    from palaver.cook.kitchen import Kitchen

    if stated not in {_AUTO, *FORMATS}:
        raise OptionError(f"--format {stated}: there are {', '.join((_AUTO, *FORMATS))}")
    if as_json and output == STANDARD and not dry_run:
        raise SourceError("--output - and --json both want standard output: give --output a file")
    kitchen = Kitchen()
    wanted = _archive.filters(
        platforms=platforms, projects=projects, models=models, since=since, until=until, has=has, tools=tools, tags=tags
    )
    if words:
        if wanted.where()[0] != "true":
            raise OptionError("filters choose among the conversations of the archive: leave them out, or the INPUT")
        reports, refused, unclaimed = _from_paths(words, kitchen, stated)
    else:
        reports, refused, unclaimed = _from_archive(kitchen, wanted), [], []
    destination = None if output == STANDARD else output_path(output)
    if kitchen.requests and not dry_run:
        _write(kitchen, destination)
    told = str(destination) if destination and kitchen.requests and not dry_run else None
    if as_json:
        _output.answer_json(_answer(kitchen, reports, refused, unclaimed, told))
    else:
        _tell(kitchen, reports, refused, told, dry_run=dry_run)
    is_clean = all(report.is_clean for report in reports) and kitchen.requests
    raise typer.Exit(2 if refused else 0 if is_clean else 1)


def _from_paths(words: list[str], kitchen: "Kitchen", stated: str) -> "tuple[list[SourceReport], list[str], list[str]]":
    from palaver.cook.detection import FORMATS
    from palaver.workflows.cook import cook_units, look_up
    from palaver.workflows.parallel import collect_rarely

    collect_rarely()
    found = look_up(given_paths(words))
    for refusal in found.refused:
        _output.complain(refusal)
    named: Format | None = next((name for name in FORMATS if str(name) == stated), None)
    with _output.Progress(sum(unit.size_bytes for unit in found.units)) as progress:
        return cook_units(found.units, kitchen, named, advance=progress.advance), found.refused, found.unclaimed


def _from_archive(kitchen: "Kitchen", wanted: Any) -> "list[SourceReport]":
    from palaver.archive.choosing import bytes_of, chosen
    from palaver.archive.reading import document
    from palaver.workflows.parallel import collect_rarely

    collect_rarely()
    with _archive.reading() as connection:
        connection.execute("begin")
        keys = chosen(connection, wanted, (), with_agents=True)
        total_bytes = bytes_of(connection, keys)
        with _output.Progress(total_bytes) as progress:
            for key in keys:
                for part in document(connection, key):
                    kitchen.add_document(part)
                progress.advance(total_bytes // max(1, len(keys)))
    return []


def _write(kitchen: "Kitchen", destination: Path | None) -> None:
    from palaver.workflows.outputs import AtomicFile

    if destination is None:
        _output.answer_bytes(kitchen.cooked())
        return
    file = AtomicFile(destination)
    stream = file.open()
    try:
        for piece in kitchen.cooked():
            stream.write(piece)
    except BaseException:
        file.close(keep=False)
        raise
    file.close(keep=True)


def _answer(
    kitchen: "Kitchen", reports: "list[SourceReport]", refused: list[str], unclaimed: list[str], output: str | None
) -> dict[str, Any]:
    return {
        "output": output,
        "requests": kitchen.requests,
        "messages": kitchen.messages,
        "tools": kitchen.tools,
        "sources": [
            {
                "source": report.source,
                "read_as": report.platform,
                "records": report.ledger.to_json(),
                "findings": dict(sorted(report.findings.counts.items())),
                "failure": report.failure or None,
            }
            for report in reports
        ],
        "unclaimed": unclaimed,
        "refused": refused,
    }


def _tell(
    kitchen: "Kitchen", reports: "list[SourceReport]", refused: list[str], output: str | None, *, dry_run: bool
) -> None:
    for report in reports:
        if report.failure:
            _output.complain(f"{report.source}: {report.failure}")
        for finding in report.findings.first:
            if finding.severity == "error":
                _output.complain(f"{report.source}, {finding.where}: {finding.code}: {finding.message}")
    if not kitchen.requests:
        if not refused:
            _output.tell("There is nothing to cook: no request of a model was found.")
        return
    once = f"{counted(kitchen.messages, 'message')} and {counted(kitchen.tools, 'tool')}, once each"
    held = f"{counted(kitchen.requests, 'request')}, {once}"
    if dry_run:
        _output.tell(f"{held}. A dry run: nothing was written.")
    else:
        _output.tell(f"{held}{f', in {place(output)}' if output else ''}.")
