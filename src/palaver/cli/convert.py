"""`palaver convert`: API payloads from one provider's format to another."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import msgspec
import typer

from palaver.cli._arguments import STANDARD, input_paths, output_path
from palaver.cli._terminal import output
from palaver.cli._terminal.words import display_path, escaped_line
from palaver.errors import ContentError, OptionError, PalaverError, SourceError, VersionError
from palaver.sources.source import Source
from palaver.wire import Loss
from palaver.workflows.convert import DIALECTS, Converted, format_names
from palaver.workflows.convert import convert as convert_payload
from palaver.workflows.convert.records import Record, Refusal, read_records
from palaver.workflows.outputs import open_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SHOWN = 20


def convert(
    word: Annotated[str, typer.Argument(metavar="FILE", hidden=True)] = STANDARD,
    *,
    source: Annotated[str, typer.Option("--from", metavar="FORMAT", help="Format of FILE.")],
    target: Annotated[str, typer.Option("--to", metavar="FORMAT", help="Format to convert to.")],
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="Dialect of OpenAI formats: api (accepted by OpenAI) or seed.")
    ] = "api",
    out: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE; - is standard output.")
    ] = STANDARD,
    losses_file: Annotated[
        Path | None, typer.Option("--losses", metavar="FILE", help="Write everything lost to FILE, as JSON Lines.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if anything is lost.")] = False,
) -> None:
    """Convert API payloads from one provider's format to another.

    FORMAT is openai-chat, openai-responses, anthropic, gemini, exchange (palaver's format for API calls) or ucs
    (conversation documents). FILE has a request, a response, a pair {request, response}, a recorded stream, a message,
    or an array of messages or items. Without FILE, or with -, standard input is read. Several records, one per line or
    in an array, are converted one by one; an array that starts with a message is one record.

    The output has the same shape. A message that the target format splits becomes an array. With --to exchange, a
    request, with or without its response, becomes an exchange document, and a response alone becomes the `response` of
    one. With --to ucs, everything becomes a conversation document. Standard error lists everything the target format
    cannot express, with a JSON pointer into the record.

    Exit codes: 0 done, 1 something could not be converted, or was lost and --strict is given, 2 a file could not be
    read or written.
    """
    for option, name in (("--from", source), ("--to", target)):
        if name not in format_names():
            raise OptionError(f"{option} {name} is not a format: choose {', '.join(format_names())}")
    if dialect not in DIALECTS:
        raise OptionError(f"--dialect {dialect} is not a dialect: choose {', '.join(DIALECTS)}")
    destination = None if out == STANDARD else output_path(out)
    [path] = input_paths([word])
    if word != STANDARD and not path.is_file():
        raise SourceError(f"{path} is not a file" if path.exists() else f"{path} does not exist")
    losses = _Losses()
    with ExitStack() as closing:
        if losses_file:
            losses.file = closing.enter_context(open_atomically(output_path(losses_file, "--losses")))
        opened = Source.at(path)
        convert_value = partial(
            convert_payload, source=source, target=target, dialect=dialect, time=opened.written_at()
        )
        _write(_payloads(path, read_records(opened, source), convert_value, losses), destination)
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
        for loss in losses:
            self.total += 1
            if len(self.first) < _SHOWN:
                self.first.append((self.records, loss))
            if self.file:
                line = {"record": self.records, **loss._asdict()}
                self.file.write(msgspec.json.encode(line) + b"\n")
        self.records += 1


def _payloads(
    path: Path, records: "Iterable[Record | Refusal]", convert_value: "Callable[[Any], Converted]", losses: _Losses
) -> "Iterator[bytes]":
    """Yield the JSON of every record that could be converted; report the others, and the losses."""
    for record in records:
        outcome = record if isinstance(record, Refusal) else _outcome(record, convert_value)
        for remark in () if isinstance(record, Refusal) else record.remarks:
            output.notify(f"{display_path(path)}, {record.where}: {escaped_line(remark)}")
        if isinstance(outcome, Refusal):
            losses.failures += 1
            output.report_error(f"{display_path(path)}, {outcome.where}: {outcome.reason}")
        else:
            losses.add([*record.losses, *outcome.losses] if isinstance(record, Record) else outcome.losses)
            yield outcome.payload


def _outcome(record: Record, convert_value: "Callable[[Any], Converted]") -> "Converted | Refusal":
    """Convert a record to JSON; whatever is wrong with it, the next record is converted."""
    try:
        payload, losses = convert_value(record.value)
        return Converted(msgspec.json.encode(payload), losses)
    except (ContentError, VersionError) as error:
        return Refusal(record.where, str(error))
    except RecursionError:
        return Refusal(record.where, "nested too deeply to be written")
    except PalaverError:
        raise
    except Exception as error:  # noqa: BLE001 - one record must not cost the others
        return Refusal(record.where, f"{type(error).__name__}: {error} (this is a bug in palaver)")


def _write(payloads: "Iterator[bytes]", destination: Path | None) -> None:
    if destination is None:
        output.answer_bytes(_pieces(payloads))
        return
    with open_atomically(destination) as stream:
        for piece in _pieces(payloads):
            stream.write(piece)


def _pieces(payloads: "Iterator[bytes]") -> "Iterator[bytes]":
    """Return one payload indented for reading, several as JSON Lines."""
    first = list(islice(payloads, 2))
    if len(first) == 1:
        first = [msgspec.json.format(first[0], indent=2)]
    for payload in chain(first, payloads):
        yield payload + b"\n"


def _show(losses: _Losses) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in (*(("record",) if losses.records > 1 else ()), "lost", "change", "reason"):
        table.add_column(name, overflow="fold")
    for number, loss in losses.first:
        first = (str(number),) if losses.records > 1 else ()
        table.add_row(
            *first, Text(escaped_line(loss.pointer) or "the whole record"), loss.change, Text(escaped_line(loss.reason))
        )
    output.notify(table)
    if losses.total > _SHOWN:
        output.notify(f"and {losses.total - _SHOWN:,} more; --losses FILE writes all")
