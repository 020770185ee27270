"""`palaver quarantine`: what was set aside since it could not be read."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _archive
from palaver.cli._arguments import AsJson, Jobs
from palaver.cli._terminal import output
from palaver.cli._terminal.words import gist, place, plain, size, visible
from palaver.cli.findings import Codes, Sources

if TYPE_CHECKING:
    from rich.text import Text

    from palaver.archive.noticed import Entry, Sought
    from palaver.workflows.retry_quarantine import Retried

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="See and retry what could not be read.",
)

_OUTCOMES = {"read": ("read now", "green"), "refused": ("still refused", "red"), "kept": ("kept", "yellow")}


@app.command("list")
def list_(*, code: Codes = None, source: Sources = None, as_json: AsJson = False) -> None:
    """List what was set aside: where it lies in its source, and why.

    Exit codes: 0 it was listed, or nothing is set aside, 2 the archive could not be read.
    """
    from palaver.archive.noticed import entries

    with _archive.reading() as connection:
        found = list(entries(connection, _sought(code, source)))
    if as_json:
        output.answer_json({"entries": [_told(entry) for entry in found]})
    elif found:
        _show(found)
    else:
        output.tell("Nothing is set aside." if not (code or source) else "Nothing of the kind is set aside.")


@app.command()
def show(number: Annotated[int, typer.Argument(metavar="N", hidden=True)], *, as_json: AsJson = False) -> None:
    """Show the bytes that were set aside under a number of `palaver quarantine list`.

    A terminal gets them as text in which nothing steers it; a pipe or a file gets exactly the bytes.

    Exit codes: 0 they were shown, 2 there is no such number, or the archive could not be read.
    """
    from palaver.archive.noticed import entry

    with _archive.reading() as connection:
        found, raw = entry(connection, number)
    if as_json:
        output.answer_json({**_told(found), **_as_text(raw)})
    elif output.is_read_by_a_person():
        output.answer_text(visible(raw.decode(errors="backslashreplace")))
    else:
        output.answer_bytes([raw])


@app.command()
def retry(*, code: Codes = None, source: Sources = None, jobs: Jobs = None, as_json: AsJson = False) -> None:
    """Read the sources of what was set aside again, from their beginnings.

    A newer palaver may read what an older one could not, and a file may have been mended. What is read then is in the
    archive and no longer set aside; what is refused again stays, and so does what has no source any more.

    Exit codes: 0 everything was read, or nothing was set aside, 1 something is still set aside, 2 could not try.
    """
    from palaver.archive.connection import open_to_read
    from palaver.workflows.parallel import available_cores
    from palaver.workflows.retry_quarantine import retry as tried_again

    path = _archive.archive_path()
    open_to_read(path).close()
    with output.Progress(0) as progress:
        done = tried_again(path, _sought(code, source), jobs=jobs or available_cores(), advance=progress.advance)
    outcomes = [(one, one.outcome) for one in done.retried]
    if as_json:
        output.answer_json(
            {
                "entries": [{**_told(one.entry), "outcome": one.outcome, "reason": one.reason} for one, _ in outcomes],
                "new": [_told(entry) for entry in done.new],
            }
        )
    elif outcomes:
        _show_outcomes(done.retried)
        if done.new:
            output.tell(f"{len(done.new):,} more refused this time: `palaver quarantine list` shows what.")
    else:
        output.tell("Nothing is set aside." if not (code or source) else "Nothing of the kind is set aside.")
    raise typer.Exit(1 if done.new or any(outcome != "read" for _, outcome in outcomes) else 0)


def _sought(code: list[str] | None, source: list[str] | None) -> "Sought":
    from palaver.archive.noticed import Sought

    return Sought(codes=tuple(code or ()), sources=tuple(source or ()))


def _told(entry: "Entry") -> dict[str, Any]:
    return {**entry._asdict()}


def _as_text(raw: bytes) -> dict[str, str | None]:
    from base64 import b64encode

    try:
        return {"text": raw.decode(), "base64": None}
    except UnicodeDecodeError:
        return {"text": None, "base64": b64encode(raw).decode()}


def _show(found: "list[Entry]") -> None:
    from rich.text import Text

    rows = [
        (
            entry.source,
            (
                Text(str(entry.number), "bold", justify="right"),
                Text(plain(entry.where)),
                Text(plain(entry.code), "red"),
                Text(size(entry.size_bytes), justify="right", no_wrap=True),
                Text(entry.set_aside_at[:10], "dim", no_wrap=True),
                Text(gist(entry.message, 100), "dim"),
            ),
        )
        for entry in found
    ]
    _show_by_source(rows)


def _show_outcomes(retried: "list[Retried]") -> None:
    from rich.text import Text

    rows: list[tuple[str, tuple[Text, ...]]] = []
    for one in retried:
        word, style = _OUTCOMES[one.outcome]
        number = Text(str(one.entry.number), "bold", justify="right")
        where = Text(plain(one.entry.where))
        code, reason = Text(plain(one.entry.code), "dim"), Text(plain(one.reason), "yellow")
        rows.append((one.entry.source, (number, Text(word, style), where, code, reason)))
    _show_by_source(rows)


def _show_by_source(rows: "list[tuple[str, tuple[Text, ...]]]") -> None:
    """One block for each source, under its name."""
    from itertools import groupby

    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    for number, (source, own) in enumerate(groupby(rows, key=lambda row: row[0])):
        if number:
            output.answer("")
        table = Table.grid(padding=(0, 2, 0, 0))
        for _, cells in own:
            table.add_row(*cells)
        output.answer(Text(place(source)))
        output.answer(Padding(table, (0, 0, 0, 2)))
