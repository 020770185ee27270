"""`palaver quarantine`: records that could not be read."""

from typing import TYPE_CHECKING, Annotated

import typer

from palaver.archive.connection import open_to_read
from palaver.archive.findings import FindingFilters, QuarantineEntry, quarantine_entries, quarantine_entry
from palaver.cli import _archive
from palaver.cli._arguments import AsJson, Jobs
from palaver.cli._commands import Command
from palaver.cli._terminal import output
from palaver.cli._terminal.words import display_path, escaped_line, escaped_text, gist, size
from palaver.cli.findings import Codes, Sources
from palaver.workflows.parallel import available_cores
from palaver.workflows.retry_quarantine import RetriedEntry
from palaver.workflows.retry_quarantine import retry as retry_quarantine

if TYPE_CHECKING:
    from rich.text import Text

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="List, show and retry records that could not be read.",
)

_OUTCOMES = {"read": ("read now", "green"), "refused": ("still unreadable", "red"), "kept": ("kept", "yellow")}


@app.command("list", cls=Command)
def list_(*, code: Codes = None, source: Sources = None, as_json: AsJson = False) -> None:
    """List quarantined records with their place and the reason.

    Exit codes: 0 records were listed or there are none, 2 the archive could not be read.
    """
    with _archive.open_for_reading() as connection:
        found = list(quarantine_entries(connection, _filters(code, source)))
    if as_json:
        output.answer_json({"entries": [entry._asdict() for entry in found]})
    elif found:
        _show(found)
    else:
        output.notify(
            "Nothing is quarantined." if not (code or source) else "No quarantined record matches these filters."
        )


@app.command(cls=Command)
def show(number: Annotated[int, typer.Argument(metavar="N", hidden=True)], *, as_json: AsJson = False) -> None:
    """Show the bytes of a quarantined record.

    N is a number from `palaver quarantine list`. On a terminal, control characters are escaped; a pipe or a file gets
    the exact bytes.

    Exit codes: 0 the record was shown, 2 no record has this number, or the archive could not be read.
    """
    with _archive.open_for_reading() as connection:
        found, raw = quarantine_entry(connection, number)
    if as_json:
        output.answer_json({**found._asdict(), **_decoded(raw)})
    elif output.is_terminal():
        output.answer_text(escaped_text(raw.decode(errors="backslashreplace")))
    else:
        output.answer_bytes([raw])


@app.command(cls=Command)
def retry(*, code: Codes = None, source: Sources = None, jobs: Jobs = None, as_json: AsJson = False) -> None:
    """Read the sources of quarantined records again.

    Useful after an upgrade of palaver, or once a damaged file was corrected. Records that can be read now move into the
    archive. Records that still cannot be read stay quarantined, and so do records whose source no longer exists.

    Exit codes: 0 nothing is quarantined any more, 1 some records still are, 2 the sources could not be read again.
    """
    path = _archive.archive_path()
    open_to_read(path).close()
    with output.Progress(0) as progress:
        done = retry_quarantine(path, _filters(code, source), jobs=jobs or available_cores(), advance=progress.advance)
    if as_json:
        output.answer_json(
            {
                "entries": [
                    {**retried.entry._asdict(), "outcome": retried.outcome, "reason": retried.reason}
                    for retried in done.retried
                ],
                "new": [entry._asdict() for entry in done.new],
            }
        )
    elif done.retried:
        _show_outcomes(done.retried)
        if done.new:
            output.notify(f"{len(done.new):,} more quarantined this time: see `palaver quarantine list`.")
    else:
        output.notify(
            "Nothing is quarantined." if not (code or source) else "No quarantined record matches these filters."
        )
    raise typer.Exit(1 if done.new or any(retried.outcome != "read" for retried in done.retried) else 0)


def _filters(code: list[str] | None, source: list[str] | None) -> FindingFilters:
    return FindingFilters(codes=tuple(code or ()), sources=tuple(source or ()))


def _decoded(raw: bytes) -> dict[str, str | None]:
    from base64 import b64encode

    try:
        return {"text": raw.decode(), "base64": None}
    except UnicodeDecodeError:
        return {"text": None, "base64": b64encode(raw).decode()}


def _show(found: list[QuarantineEntry]) -> None:
    from rich.text import Text

    rows = [
        (
            entry.source,
            (
                Text(str(entry.number), "bold", justify="right"),
                Text(escaped_line(entry.where)),
                Text(escaped_line(entry.code), "red"),
                Text(size(entry.size_bytes), justify="right", no_wrap=True),
                Text(entry.set_aside_at[:10], "dim", no_wrap=True),
                Text(gist(entry.message, 100), "dim"),
            ),
        )
        for entry in found
    ]
    _show_by_source(rows)


def _show_outcomes(retried: list[RetriedEntry]) -> None:
    from rich.text import Text

    rows: list[tuple[str, tuple[Text, ...]]] = []
    for attempt in retried:
        word, style = _OUTCOMES[attempt.outcome]
        number = Text(str(attempt.entry.number), "bold", justify="right")
        where = Text(escaped_line(attempt.entry.where))
        code, reason = Text(escaped_line(attempt.entry.code), "dim"), Text(escaped_line(attempt.reason), "yellow")
        rows.append((attempt.entry.source, (number, Text(word, style), where, code, reason)))
    _show_by_source(rows)


def _show_by_source(rows: "list[tuple[str, tuple[Text, ...]]]") -> None:
    """Print one table per source, under the source's name."""
    from itertools import groupby

    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    for number, (source, group) in enumerate(groupby(rows, key=lambda row: row[0])):
        if number:
            output.answer("")
        table = Table.grid(padding=(0, 2, 0, 0))
        for _, cells in group:
            table.add_row(*cells)
        output.answer(Text(display_path(source)))
        output.answer(Padding(table, (0, 0, 0, 2)))
