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
        typer.Option("--chunks", metavar="FILE", help="Read stream chunks from FILE; repeatable."),
    ] = None,
    out: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE; - is standard output.")
    ] = STANDARD,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Merge stream chunks into the log of their requests.

    LOG has one request with its response per line, as claude-trace and other proxies write it. Chunks are lines with
    `timestamp`, `chunk_data` and usually `request_id`. Without --chunks, `X.stream.jsonl` beside `X.jsonl` is read, if
    it exists.

    Entries keep their order. Streamed entries get `streaming_details`: every event with its time, and the issues found,
    such as repeated chunks or a second message in one stream. Without chunks, the details come from `body_raw`, and
    every event gets the time of the response. An existing `body_raw` is kept and compared. Truncated, damaged and
    orphaned chunks follow as lines with an `error`. Authentication headers, cookies and URL parameters are masked.

    Exit codes: 0 done, 1 some chunks could not be read or contradict the log, 2 a file could not be read or written.
    """
    if as_json and out == STANDARD and not dry_run:
        raise SourceError("--output - and --json cannot share standard output: name a file with --output")
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
            raise SourceError(f"{path} is not a file" if path.exists() else f"{path} does not exist")
        sources.append(Source.at(path))
    log, *chunk_files = sources
    return log, chunk_files if chunk_words else chunks_beside(log)


def _refuse_to_overwrite(destination: Path, sources: list[Source]) -> None:
    for source in sources:
        path = source.folder.path_of(source.name)
        if path is not None and destination.exists() and destination.samefile(path):
            raise SourceError(f"{destination} is also an input: name another file with --output")


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
    destination = f", written to {display_path(written_to)}" if written_to else ""
    output.notify(f"{counted(merged.entries, 'entry')}: {streams}{destination}.")
    for label, counts in (("Issues", merged.issues), ("Lines with an error", merged.errors)):
        if counts:
            output.notify(f"{label}: {tallied(counts)}.")
    if dry_run:
        output.notify("Dry run: nothing was written.")
