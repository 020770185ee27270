"""`palaver convert`: payloads of one provider's API as those of another."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from palaver.cli._arguments import STANDARD, given_paths, output_path
from palaver.cli._terminal import output as _output
from palaver.cli._terminal.words import place, plain
from palaver.errors import ContentError, OptionError, SourceError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

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
    from palaver.workflows.convert import DIALECTS, names

    for option, name in (("--from", source), ("--to", target)):
        if name not in names():
            raise OptionError(f"{option} {name}: there are {', '.join(names())}")
    if dialect not in DIALECTS:
        raise OptionError(f"--dialect {dialect}: there are {', '.join(DIALECTS)}")
    [path] = given_paths([word])
    if word != STANDARD and not path.is_file():
        raise SourceError(f"{path} is no file" if path.exists() else f"{path} does not exist")
    told = _Told()
    with ExitStack() as closing:
        if losses_file:
            told.file = closing.enter_context(_opened(output_path(losses_file)))
        _write(_payloads(path, _outcomes(path, source, target, dialect), told), output)
    if told.losses:
        _show(told)
    raise typer.Exit(1 if told.failures or (strict and told.losses) else 0)


@dataclass(slots=True)
class _Told:
    """What is to be said about a conversion; all losses go to a file, and the first are shown."""

    records: int = 0
    failures: int = 0
    losses: int = 0
    first: "list[tuple[int, Loss]]" = field(default_factory=list["tuple[int, Loss]"])
    file: BinaryIO | None = None

    def add(self, losses: "Iterable[Loss]") -> None:
        import orjson

        for loss in losses:
            self.losses += 1
            if len(self.first) < _SHOWN:
                self.first.append((self.records, loss))
            if self.file:
                line = {"record": self.records, **loss._asdict()}
                self.file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        self.records += 1


def _payloads(path: Path, outcomes: "Iterator[Any]", told: _Told) -> "Iterator[Any]":
    for outcome in outcomes:
        if isinstance(outcome, str):
            told.failures += 1
            _output.complain(f"{place(path)}, {outcome}")
        else:
            told.add(outcome.losses)
            yield outcome.payload


def _outcomes(path: Path, source: str, target: str, dialect: str) -> "Iterator[Any]":
    """What each record became, or a sentence for one that could not be converted."""
    from palaver.sources.source import Source
    from palaver.workflows.convert import convert as converted

    opened = Source.at(path)
    time = opened.written_at()
    for where, value, odd in _values(opened, source):
        for remark in odd:
            _output.tell(f"{place(path)}, {where}: {plain(remark)}")
        try:
            if isinstance(value, ContentError):
                raise value
            yield converted(value, source, target, dialect=dialect, time=time)
        except ContentError as error:
            yield f"{where}: {error}"


def _values(opened: "Source", source: str) -> "Iterator[tuple[str, Any, list[str]]]":
    """The records of a file, each with its place and what was odd about it; an error for one that cannot be read."""
    from palaver.sources.elements import JsonElements
    from palaver.sources.jsonl import JsonLines
    from palaver.sources.run import Run
    from palaver.workflows.convert import stream_payload

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
            yield finding.where, ContentError(finding.message), []


def _write(payloads: "Iterator[Any]", output: str) -> None:
    if output == STANDARD:
        _output.answer_bytes(_pieces(payloads))
        return
    with _opened(output_path(output)) as stream:
        for piece in _pieces(payloads):
            stream.write(piece)


def _pieces(payloads: "Iterator[Any]") -> "Iterator[bytes]":
    """One payload for reading, several as JSON Lines."""
    import orjson

    begun = list(islice(payloads, 2))
    option = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_INDENT_2 if len(begun) == 1 else 0)
    for payload in chain(begun, payloads):
        yield orjson.dumps(payload, option=option)


@contextmanager
def _opened(path: Path) -> "Generator[BinaryIO]":
    """A file that appears whole or not at all."""
    from palaver.workflows.outputs import AtomicFile

    file = AtomicFile(path)
    stream = file.open()
    try:
        yield stream
    except BaseException:
        file.close(keep=False)
        raise
    file.close(keep=True)


def _show(told: _Told) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in (*(("record",) if told.records > 1 else ()), "lost", "how", "why"):
        table.add_column(name, overflow="fold")
    for number, loss in told.first:
        first = (str(number),) if told.records > 1 else ()
        table.add_row(*first, Text(plain(loss.pointer)), loss.change, Text(plain(loss.reason)))
    _output.tell(table)
    if told.losses > _SHOWN:
        _output.tell(f"and {told.losses - _SHOWN:,} more; --losses FILE has them all")
