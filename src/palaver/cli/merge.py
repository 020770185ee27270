"""`palaver merge`: the chunks of streams put into the entries of the log that they were written beside."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli._arguments import STANDARD, AsJson, DryRun, given_paths, output_path
from palaver.cli._terminal import output as _output
from palaver.cli._terminal.words import counted, place, tallied
from palaver.errors import SourceError

if TYPE_CHECKING:
    from palaver.sources.source import Source
    from palaver.workflows.merge_streams import Merged


def merge(
    word: Annotated[str, typer.Argument(metavar="LOG", hidden=True)],
    *,
    chunk_words: Annotated[
        list[str] | None,
        typer.Option("--chunks", metavar="FILE", help="Chunks of its streams; may be given several times."),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where it goes; - is standard output.")
    ] = STANDARD,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Merge the chunks of streams into the log of their requests.

    LOG holds one request with its response a line, as claude-trace and other proxies write it. Chunks are lines with
    `timestamp`, `chunk_data` and mostly `request_id`; without --chunks, `X.stream.jsonl` beside `X.jsonl` is taken, if
    there is one. Every entry comes out in its order, and those that were streamed have `streaming_details`: every
    event with its time, and what is not as it should be. Without chunks the details come from `body_raw`; nobody knows
    when its events came, so all have the time of the response. A `body_raw` that is there stays as it is, and is
    compared. Chunks that belong to no entry, to more than one, or cannot be read follow as lines with an `error`.
    Authentication headers, cookies and the parameters of addresses are masked.

    Exit codes: 0 it was merged, 1 some chunks were refused, or say something else than the log, 2 a file could not be
    read or written.
    """
    from palaver.workflows.parallel import collect_rarely

    if as_json and output == STANDARD and not dry_run:
        raise SourceError("--output - and --json both want standard output: give --output a file")
    collect_rarely()
    log, chunk_files = _sources(word, chunk_words)
    destination = None if output == STANDARD or dry_run else output_path(output)
    if destination is not None:
        _refuse_to_overwrite(destination, [log, *chunk_files])
    done = _merged(log, chunk_files, destination, dry_run=dry_run)
    told = str(destination) if destination else None
    if as_json:
        _output.answer_json(_answer(done, told))
    else:
        _tell(done, told, dry_run=dry_run)
    raise typer.Exit(0 if done.is_clean else 1)


def _sources(word: str, chunk_words: list[str] | None) -> "tuple[Source, list[Source]]":
    from palaver.sources.source import Source
    from palaver.workflows.merge_streams import chunks_beside

    sources: list[Source] = []
    for path in given_paths([word, *(chunk_words or ())]):
        if str(path) != STANDARD and not path.is_file():
            raise SourceError(f"{path} is no file" if path.exists() else f"{path} does not exist")
        sources.append(Source.at(path))
    log, *chunk_files = sources
    return log, chunk_files if chunk_words else chunks_beside(log)


def _refuse_to_overwrite(destination: Path, sources: "list[Source]") -> None:
    for source in sources:
        path = source.folder.path_of(source.name)
        if path is not None and destination.exists() and destination.samefile(path):
            raise SourceError(f"{destination} is read here: give --output another file")


def _merged(log: "Source", chunk_files: "list[Source]", destination: Path | None, *, dry_run: bool) -> "Merged":
    from palaver.workflows.merge_streams import merge as merged
    from palaver.workflows.outputs import AtomicFile

    total_bytes = sum(source.size_bytes for source in (log, *chunk_files)) + (log.size_bytes if chunk_files else 0)
    with _output.Progress(total_bytes) as progress:
        if dry_run:
            return merged(log, chunk_files, len, advance=progress.advance)
        if destination is None:
            return merged(log, chunk_files, lambda line: _output.answer_bytes([line]), advance=progress.advance)
        file = AtomicFile(destination)
        stream = file.open()
        try:
            done = merged(log, chunk_files, stream.write, advance=progress.advance)
        except BaseException:
            file.close(keep=False)
            raise
        file.close(keep=True)
        return done


def _answer(done: "Merged", output: str | None) -> dict[str, Any]:
    return {
        "output": output,
        "entries": done.entries,
        "merged": done.merged,
        "rebuilt": done.rebuilt,
        "issues": dict(sorted(done.issues.items())),
        "errors": dict(sorted(done.errors.items())),
        "sources": [
            {
                "source": report.source,
                "read_as": report.platform,
                "records": report.ledger.to_json(),
                "findings": dict(sorted(report.findings.counts.items())),
                "failure": report.failure or None,
            }
            for report in (done.log, *done.chunks)
        ],
    }


def _tell(done: "Merged", output: str | None, *, dry_run: bool) -> None:
    for report in (done.log, *done.chunks):
        if report.failure:
            _output.complain(f"{report.source}: {report.failure}")
        for finding in report.findings.first:
            if finding.severity == "error":
                _output.complain(f"{report.source}, {finding.where}: {finding.code}: {finding.message}")
    for remark in done.remarks:
        _output.complain(f"{remark.where}: {remark.type}: {remark.detail}")
    chunks = sum(report.ledger.read for report in done.chunks)
    streams = f"{counted(done.merged, 'stream')} from {counted(chunks, 'chunk')}, {done.rebuilt:,} from recorded bodies"
    _output.tell(f"{counted(done.entries, 'entry')}: {streams}{f', in {place(output)}' if output else ''}.")
    for words, counts in (("Noticed", done.issues), ("Lines with an error", done.errors)):
        if counts:
            _output.tell(f"{words}: {tallied(counts)}.")
    if dry_run:
        _output.tell("A dry run: nothing was written.")
