"""`palaver cook`: the requests of traces or conversations, with each message and tool stored once."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from palaver.archive.documents import conversation_documents
from palaver.archive.filters import Filters
from palaver.archive.selection import estimate_bytes, select_keys
from palaver.cli import _archive
from palaver.cli._arguments import STANDARD, AsJson, input_paths, output_path
from palaver.cli._filters import takes_filters
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, display_path, escaped_line
from palaver.cook.builder import CookBuilder
from palaver.errors import OptionError, SourceError
from palaver.model.finding import Finding
from palaver.model.report import SourceReport
from palaver.sources.run import Run
from palaver.workflows.cook import FORMATS, WIRE_FORMAT_NAMES, Format, cook_units, find_sources
from palaver.workflows.outputs import open_atomically
from palaver.workflows.parallel import collect_rarely

_AUTO = "auto"
_FORMATS: dict[str, Format | None] = {_AUTO: None, **{WIRE_FORMAT_NAMES[name]: name for name in FORMATS}}
"""Formats by their names in `palaver convert`."""
_ARCHIVE = "archive"

Words = Annotated[list[str] | None, typer.Argument(metavar="INPUT", hidden=True)]


@takes_filters
def cook(
    words: Words = None,
    *,
    out: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE; - is standard output.")
    ] = STANDARD,
    format_name: Annotated[
        str, typer.Option("--format", metavar="NAME", help=f"Read traces as: {', '.join(_FORMATS)}.")
    ] = _AUTO,
    keep_order: Annotated[
        bool,
        typer.Option("--keep-order", help="Keep the order of text and tool calls within a message."),
    ] = False,
    filters: Filters,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything, but write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Deduplicate the requests, messages and tools of traces or conversations.

    INPUT is a trace of API calls (JSON Lines, an array or a single record), a file of palaver's own documents, or
    anything that can be imported. Without INPUT, the conversations of the archive that match the filters are cooked.

    The output is one JSON object {messages, tools, requests} (`palaver schema cooked`) with deduplicated messages and
    tools, plus requests that reference them and the request they continue. Tool calls follow the text of their message,
    unless --keep-order is given. Images are replaced by their address or the hash of their bytes. An interrupted answer
    is followed by its error. Findings are listed on standard error, each kind once; --json lists more places.

    Exit codes: 0 done, 1 some records could not be read or there is nothing to cook, 2 a path could not be read.
    """
    if format_name not in _FORMATS:
        raise OptionError(f"--format {format_name} is not a format: choose {', '.join(_FORMATS)}")
    if as_json and out == STANDARD and not dry_run:
        raise SourceError("--output - and --json cannot share standard output: name a file with --output")
    destination = None if out == STANDARD else output_path(out)
    builder = CookBuilder(keeps_order=keep_order)
    if words:
        if filters.where()[0] != "true":
            raise OptionError("filters apply to the archive only: leave out either the filters or INPUT")
        reports, refused, unclaimed = _from_paths(words, builder, format_name)
    else:
        reports, refused, unclaimed = _from_archive(builder, filters), [], []
    if builder.requests and not dry_run:
        _write(builder, destination)
    written_to = str(destination) if destination and builder.requests and not dry_run else None
    if as_json:
        output.answer_json(_answer(builder, reports, refused, unclaimed, written_to))
    else:
        _show(builder, reports, refused, written_to, dry_run=dry_run)
    is_clean = all(report.is_clean for report in reports) and builder.requests
    raise typer.Exit(2 if refused else 0 if is_clean else 1)


def _from_paths(
    words: list[str], builder: CookBuilder, format_name: str
) -> tuple[list[SourceReport], list[str], list[str]]:
    collect_rarely()
    found = find_sources(input_paths(words))
    for refusal in found.refused:
        output.report_error(refusal)
    with output.Progress(sum(unit.size_bytes for unit in found.units)) as progress:
        return (
            cook_units(found.units, builder, _FORMATS[format_name], advance=progress.advance),
            found.refused,
            found.unclaimed,
        )


def _from_archive(builder: CookBuilder, filters: Filters) -> list[SourceReport]:
    collect_rarely()
    report = SourceReport(_ARCHIVE, _ARCHIVE)
    run = Run(_ARCHIVE)
    report.findings = run.findings
    with _archive.open_for_reading() as connection:
        connection.execute("begin")
        keys = select_keys(connection, filters, (), with_agents=True)
        total_bytes = estimate_bytes(connection, keys)
        with output.Progress(total_bytes) as progress:
            for key in keys:
                for part in conversation_documents(connection, key):
                    for kind, message in builder.add_document(part):
                        run.note(kind, part["conversation_id"], message)
                progress.advance(total_bytes // max(1, len(keys)))
    return [report]


def _write(builder: CookBuilder, destination: Path | None) -> None:
    if destination is None:
        output.answer_bytes(builder.json_chunks())
        return
    with open_atomically(destination) as stream:
        for piece in builder.json_chunks():
            stream.write(piece)


def _answer(
    builder: CookBuilder,
    reports: list[SourceReport],
    refused: list[str],
    unclaimed: list[str],
    written_to: str | None,
) -> dict[str, Any]:
    return {
        "output": written_to,
        "requests": builder.requests,
        "messages": builder.messages,
        "tools": builder.tools,
        "sources": [
            {
                "source": report.source,
                "read_as": report.platform,
                "records": report.ledger.to_json(),
                "findings": dict(sorted(report.findings.counts.items())),
                "first_findings": [
                    {name: getattr(finding, name) for name in ("code", "severity", "where", "message")}
                    for finding in report.findings.first
                ],
                "failure": report.failure or None,
            }
            for report in reports
        ],
        "unclaimed": unclaimed,
        "refused": refused,
    }


def _show(
    builder: CookBuilder, reports: list[SourceReport], refused: list[str], written_to: str | None, *, dry_run: bool
) -> None:
    for report in reports:
        if report.failure:
            output.report_error(f"{report.source}: {report.failure}")
    _show_findings(reports)
    if not builder.requests:
        if not refused:
            output.notify("Nothing to cook: no model request was found.")
        return
    deduplicated = f"{counted(builder.messages, 'message')} and {counted(builder.tools, 'tool')} after deduplication"
    held = f"{counted(builder.requests, 'request')}, {deduplicated}"
    if dry_run:
        output.notify(f"{held}. Dry run: nothing was written.")
    else:
        output.notify(f"{held}{f', written to {display_path(written_to)}' if written_to else ''}.")


def _show_findings(reports: list[SourceReport]) -> None:
    """Print one line for each kind of finding: how often, and the first case with its place."""
    first: dict[str, Finding] = {}
    times: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    for report in reports:
        times.update(report.findings.counts)
        sources.update(report.findings.counts.keys())
        for finding in report.findings.first:
            first.setdefault(finding.code, finding)
    for code, finding in first.items():
        places = f" in {counted(sources[code], 'source')}" if sources[code] > 1 else ""
        count = f" ({times[code]:,} times{places}, first shown)" if times[code] > 1 else ""
        line = f"{finding.source}, {finding.where}: {code}: {finding.message}{count}"
        if finding.severity == "error":
            output.report_error(line)
        else:
            output.notify(escaped_line(line))
