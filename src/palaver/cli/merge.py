"""`palaver merge`: put recorded stream chunks into the entries of the log written beside them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from palaver.cli._arguments import STANDARD, AsJson, DryRun, input_paths, output_path
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, display_path, tallied
from palaver.errors import SourceError
from palaver.sources.source import Source
from palaver.workflows.merge_streams import MergeResult, chunks_beside
from palaver.workflows.merge_streams import merge as merge_streams
from palaver.workflows.outputs import open_atomically
from palaver.workflows.parallel import collect_rarely


def merge(
    word: Annotated[str, typer.Argument(metavar="LOG", hidden=True)],
    *,
    chunk_words: Annotated[
        list[str] | None,
        typer.Option("--chunks", metavar="FILE", help="Chunks of its streams; may be given several times."),
    ] = None,
    out: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where it goes; - is standard output.")
    ] = STANDARD,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Merge the chunks of streams into the log of their requests.

    LOG holds one request with its response a line, as claude-trace and other proxies write it. Chunks are lines with
    `timestamp`, `chunk_data` and mostly `request_id`; without --chunks, `X.stream.jsonl` beside `X.jsonl` is taken, if
    there is one. Every entry comes out in its order, and those that were streamed have `streaming_details`: every
    event with its time, and the issues found. A chunk that repeats the line before it is kept and remarked, and so is a
    second message in one stream. Without chunks the details come from `body_raw`, and all events have the time of the
    response, as their own is unknown. An existing `body_raw` is kept and compared. Chunks that belong to no entry, to
    more than one, or cannot be read follow as lines with an `error`. Authentication headers, cookies and the parameters
    of addresses are masked.

    Exit codes: 0 it was merged, 1 some chunks were refused, or say something else than the log, 2 a file could not be
    read or written.
    """
    if as_json and out == STANDARD and not dry_run:
        raise SourceError("--output - and --json both want standard output: give --output a file")
    written = None if out == STANDARD else output_path(out)
    destination = None if dry_run else written
    collect_rarely()
    log, chunk_files = _sources(word, chunk_words)
    if destination is not None:
        _refuse_to_overwrite(destination, [log, *chunk_files])
    merged = _merge(log, chunk_files, destination, dry_run=dry_run)
    written_to = str(destination) if destination else None
    if as_json:
        output.answer_json(_answer(merged, written_to))
    else:
        _show(merged, written_to, dry_run=dry_run)
    raise typer.Exit(0 if merged.is_clean else 1)


def _sources(word: str, chunk_words: list[str] | None) -> tuple[Source, list[Source]]:
    sources: list[Source] = []
    for path in input_paths([word, *(chunk_words or ())]):
        if str(path) != STANDARD and not path.is_file():
            raise SourceError(f"{path} is no file" if path.exists() else f"{path} does not exist")
        sources.append(Source.at(path))
    log, *chunk_files = sources
    return log, chunk_files if chunk_words else chunks_beside(log)


def _refuse_to_overwrite(destination: Path, sources: list[Source]) -> None:
    for source in sources:
        path = source.folder.path_of(source.name)
        if path is not None and destination.exists() and destination.samefile(path):
            raise SourceError(f"{destination} is read here: give --output another file")


def _merge(log: Source, chunk_files: list[Source], destination: Path | None, *, dry_run: bool) -> MergeResult:
    total_bytes = sum(source.size_bytes for source in (log, *chunk_files)) + (log.size_bytes if chunk_files else 0)
    with output.Progress(total_bytes) as progress:
        if dry_run:
            return merge_streams(log, chunk_files, len, advance=progress.advance)
        if destination is None:
            return merge_streams(log, chunk_files, lambda line: output.answer_bytes([line]), advance=progress.advance)
        with open_atomically(destination) as stream:
            return merge_streams(log, chunk_files, stream.write, advance=progress.advance)


def _answer(merged: MergeResult, written_to: str | None) -> dict[str, Any]:
    return {
        "output": written_to,
        "entries": merged.entries,
        "merged": merged.merged,
        "rebuilt": merged.rebuilt,
        "issues": dict(sorted(merged.issues.items())),
        "errors": dict(sorted(merged.errors.items())),
        "sources": [
            {
                "source": report.source,
                "read_as": report.platform,
                "records": report.ledger.to_json(),
                "findings": dict(sorted(report.findings.counts.items())),
                "failure": report.failure or None,
            }
            for report in (merged.log, *merged.chunks)
        ],
    }


def _show(merged: MergeResult, written_to: str | None, *, dry_run: bool) -> None:
    for report in (merged.log, *merged.chunks):
        if report.failure:
            output.report_error(f"{report.source}: {report.failure}")
        for finding in report.findings.first:
            if finding.severity == "error":
                output.report_error(f"{report.source}, {finding.where}: {finding.code}: {finding.message}")
    for remark in merged.remarks:
        output.report_error(f"{remark.where}: {remark.type}: {remark.detail}")
    chunks = sum(report.ledger.read for report in merged.chunks)
    streams = (
        f"{counted(merged.merged, 'stream')} from {counted(chunks, 'chunk')}, {merged.rebuilt:,} from recorded bodies"
    )
    output.notify(
        f"{counted(merged.entries, 'entry')}: {streams}{f', in {display_path(written_to)}' if written_to else ''}."
    )
    for words, counts in (("Noticed", merged.issues), ("Lines with an error", merged.errors)):
        if counts:
            output.notify(f"{words}: {tallied(counts)}.")
    if dry_run:
        output.notify("A dry run: nothing was written.")
