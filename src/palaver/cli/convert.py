"""`palaver convert`: API payloads from one provider's format to another."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from palaver.cli._arguments import STANDARD, input_paths, output_path
from palaver.cli._terminal import output
from palaver.cli._terminal.words import display_path, escaped_line
from palaver.errors import ContentError, OptionError, SourceError
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.wire._contract import Loss
from palaver.workflows.convert import DIALECTS, format_names, stream_payload
from palaver.workflows.convert import convert as convert_payload
from palaver.workflows.outputs import open_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHOWN = 20


def convert(
    word: Annotated[str, typer.Argument(metavar="FILE", hidden=True)] = STANDARD,
    *,
    source: Annotated[str, typer.Option("--from", metavar="FORMAT", help="What it is in.")],
    target: Annotated[str, typer.Option("--to", metavar="FORMAT", help="What it becomes.")],
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="Of OpenAI's formats: api (what the service takes) or seed.")
    ] = "api",
    out: Annotated[
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
    for option, name in (("--from", source), ("--to", target)):
        if name not in format_names():
            raise OptionError(f"{option} {name}: there are {', '.join(format_names())}")
    if dialect not in DIALECTS:
        raise OptionError(f"--dialect {dialect}: there are {', '.join(DIALECTS)}")
    [path] = input_paths([word])
    if word != STANDARD and not path.is_file():
        raise SourceError(f"{path} is no file" if path.exists() else f"{path} does not exist")
    losses = _Losses()
    with ExitStack() as closing:
        if losses_file:
            losses.file = closing.enter_context(open_atomically(output_path(losses_file)))
        _write(_payloads(path, _outcomes(path, source, target, dialect), losses), out)
    if losses.total:
        _show(losses)
    raise typer.Exit(1 if losses.failures or (strict and losses.total) else 0)


@dataclass(slots=True)
class _Losses:
    """What a conversion lost: all losses go to a file, the first are shown."""

    records: int = 0
    failures: int = 0
    total: int = 0
    first: list[tuple[int, Loss]] = field(default_factory=list[tuple[int, Loss]])
    file: BinaryIO | None = None

    def add(self, losses: "Iterable[Loss]") -> None:
        import orjson

        for loss in losses:
            self.total += 1
            if len(self.first) < _SHOWN:
                self.first.append((self.records, loss))
            if self.file:
                line = {"record": self.records, **loss._asdict()}
                self.file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        self.records += 1


def _payloads(path: Path, outcomes: "Iterator[Any]", losses: _Losses) -> "Iterator[Any]":
    for outcome in outcomes:
        if isinstance(outcome, str):
            losses.failures += 1
            output.report_error(f"{display_path(path)}, {outcome}")
        else:
            losses.add(outcome.losses)
            yield outcome.payload


def _outcomes(path: Path, source: str, target: str, dialect: str) -> "Iterator[Any]":
    """Yield what each record became, or an error message for a record that could not be converted."""
    opened = Source.at(path)
    time = opened.written_at()
    for where, value, remarks in _values(opened, source):
        for remark in remarks:
            output.notify(f"{display_path(path)}, {where}: {escaped_line(remark)}")
        try:
            if isinstance(value, ContentError):
                raise value
            yield convert_payload(value, source, target, dialect=dialect, time=time)
        except ContentError as error:
            yield f"{where}: {error}"


def _values(opened: Source, source: str) -> "Iterator[tuple[str, Any, list[str]]]":
    """Yield every record with its position and remarks; a record that cannot be read is yielded as an error."""
    run = Run(opened.label)
    head = opened.head().lstrip(b"\xef\xbb\xbf \r\n")
    if head.startswith((b"data:", b"event:", b":", b"id:", b"retry:")):
        with opened.open() as stream:
            payload, remarks = stream_payload(stream.read(), source)
        yield "the stream", payload, remarks
        return
    with opened.open() as stream:
        is_array = head.startswith(b"[")
        records = JsonElements(stream, run, accepts_truncated=True) if is_array else JsonLines(stream, run)
        for value in records:
            yield records.where(), value, []
    for finding in run.findings.first:
        if finding.severity == "error":
            yield finding.where, ContentError(finding.message), []


def _write(payloads: "Iterator[Any]", out: str) -> None:
    if out == STANDARD:
        output.answer_bytes(_pieces(payloads))
        return
    with open_atomically(output_path(out)) as stream:
        for piece in _pieces(payloads):
            stream.write(piece)


def _pieces(payloads: "Iterator[Any]") -> "Iterator[bytes]":
    """Return one payload indented for reading, several as JSON Lines."""
    import orjson

    first = list(islice(payloads, 2))
    option = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_INDENT_2 if len(first) == 1 else 0)
    for payload in chain(first, payloads):
        yield orjson.dumps(payload, option=option)


def _show(losses: _Losses) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in (*(("record",) if losses.records > 1 else ()), "lost", "how", "why"):
        table.add_column(name, overflow="fold")
    for number, loss in losses.first:
        first = (str(number),) if losses.records > 1 else ()
        table.add_row(*first, Text(escaped_line(loss.pointer)), loss.change, Text(escaped_line(loss.reason)))
    output.notify(table)
    if losses.total > _SHOWN:
        output.notify(f"and {losses.total - _SHOWN:,} more; --losses FILE has them all")
