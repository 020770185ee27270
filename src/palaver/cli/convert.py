"""`palaver convert`: payloads of one provider's API as those of another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _output
from palaver.cli._arguments import STANDARD, given_paths, output_path
from palaver.cli._words import counted, place, plain
from palaver.errors import ContentError, OptionError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from palaver.sources.source import Source
    from palaver.wire._contract import Loss

_SHOWN = 20


def convert(
    word: Annotated[str, typer.Argument(metavar="FILE", hidden=True)] = STANDARD,
    *,
    source: Annotated[str, typer.Option("--from", metavar="FORMAT", help="What it is in.")],
    target: Annotated[str, typer.Option("--to", metavar="FORMAT", help="What it becomes.")],
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="Of OpenAI's formats: api (what the service takes) or seed.")
    ] = "api",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where it goes; - is standard output.")
    ] = STANDARD,
    losses_file: Annotated[
        Path | None, typer.Option("--losses", metavar="FILE", help="What is lost, as JSON Lines.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if anything is lost.")] = False,
) -> None:
    """Convert API payloads from one provider's format to another.

    FORMAT is openai-chat, openai-responses, anthropic, gemini, or ucs (conversation documents). FILE holds a request, a
    response, a pair {request, response}, a recorded stream, or several on a line each; - or none is standard input.
    Everything that the other format has no place for is told on standard error.

    Exit codes: 0 it was converted, 1 something was lost (with --strict) or could not be converted, 2 nothing could be
    read or written.
    """
    from palaver.converting import DIALECTS, names

    for option, name in (("--from", source), ("--to", target)):
        if name not in names():
            raise OptionError(f"{option} {name}: there are {', '.join(names())}")
    if dialect not in DIALECTS:
        raise OptionError(f"--dialect {dialect}: there are {', '.join(DIALECTS)}")
    [path] = given_paths([word])
    if word != STANDARD and not path.is_file():
        raise SourceError(f"{path} is no file" if path.exists() else f"{path} does not exist")
    made: list[Any] = []
    losses: list[tuple[int, Loss]] = []
    failures = 0
    for number, outcome in enumerate(_outcomes(path, source, target, dialect)):
        if isinstance(outcome, str):
            failures += 1
            _output.complain(f"{place(path)}, {outcome}")
            continue
        made.append(outcome.payload)
        losses += [(number, loss) for loss in outcome.losses]
    _write(made, output)
    if losses_file:
        _write_losses(losses, output_path(losses_file))
    if losses:
        _show(losses, len(made))
    raise typer.Exit(1 if failures or (strict and losses) else 0)


def _outcomes(path: Path, source: str, target: str, dialect: str) -> "Iterator[Any]":
    """What each record became, or a sentence for one that could not be converted."""
    from palaver.converting import convert as converted
    from palaver.sources.source import Source

    opened = Source.at(path)
    time = opened.written_at()
    for where, value, odd in _values(opened, source):
        for remark in odd:
            _output.tell(f"{place(path)}, {where}: {plain(remark)}")
        try:
            yield converted(value, source, target, dialect=dialect, time=time)
        except ContentError as error:
            yield f"{where}: {error}"


def _values(opened: "Source", source: str) -> "Iterator[tuple[str, Any, list[str]]]":
    """The records of a file, each with its place and what was odd about it."""
    from palaver.converting import stream_payload
    from palaver.sources.elements import JsonElements
    from palaver.sources.jsonl import JsonLines
    from palaver.sources.run import Run

    run = Run(opened.label)
    head = opened.head().lstrip(b"\xef\xbb\xbf \r\n")
    if head.startswith((b"data:", b"event:", b":", b"id:", b"retry:")):
        with opened.open() as stream:
            payload, odd = stream_payload(stream.read(), source)
        yield "the stream", payload, odd
        return
    with opened.open() as stream:
        is_array = head.startswith(b"[")
        records = JsonElements(stream, run, takes_cut=True) if is_array else JsonLines(stream, run)
        for value in records:
            yield records.where(), value, []
    for finding in run.findings.first:
        if finding.severity == "error":
            _output.complain(f"{place(opened.label)}, {finding.where}: {finding.message}")
    if run.ledger.quarantined:
        raise SourceError(f"{opened.label}: {counted(run.ledger.quarantined.total(), 'record')} could not be read")


def _write(made: list[Any], output: str) -> None:
    """One payload for reading, several as JSON Lines."""
    import orjson

    option = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_INDENT_2 if len(made) == 1 else 0)
    pieces = [orjson.dumps(payload, option=option) for payload in made]
    if output == STANDARD:
        _output.answer_bytes(pieces)
        return
    file = output_path(output)
    try:
        file.write_bytes(b"".join(pieces))
    except OSError as error:
        raise SourceError(f"cannot write to {file}: {error.strerror or error}") from error


def _write_losses(losses: "list[tuple[int, Loss]]", file: Path) -> None:
    import orjson

    lines = [
        orjson.dumps({"record": number, **loss._asdict()}, option=orjson.OPT_APPEND_NEWLINE) for number, loss in losses
    ]
    try:
        file.write_bytes(b"".join(lines))
    except OSError as error:
        raise SourceError(f"cannot write to {file}: {error.strerror or error}") from error


def _show(losses: "list[tuple[int, Loss]]", records: int) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in (*(("record",) if records > 1 else ()), "lost", "how", "why"):
        table.add_column(name, overflow="fold")
    for number, loss in losses[:_SHOWN]:
        first = (str(number),) if records > 1 else ()
        table.add_row(*first, Text(plain(loss.pointer)), loss.change, Text(plain(loss.reason)))
    _output.tell(table)
    if len(losses) > _SHOWN:
        _output.tell(f"and {len(losses) - _SHOWN:,} more; --losses FILE has them all")
