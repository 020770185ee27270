"""`palaver findings`: what was noticed when sources were read."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli._archive import Platforms, reading
from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, place, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from palaver.archive.noticed import Noticed

SEVERITIES = {"error": "bold red", "warning": "yellow", "note": "dim"}
_SOURCES_SHOWN = 20
_PLACES_SHOWN = 5

Codes = Annotated[list[str] | None, typer.Option("--code", metavar="CODE", help="Only of this code.")]
Sources = Annotated[
    list[str] | None,
    typer.Option("--source", metavar="PATH", help="Only from this file, this folder, or the end of such a name."),
]


def findings(
    *,
    code: Codes = None,
    severity: Annotated[
        list[str] | None, typer.Option("--severity", metavar="WORD", help="Only: error, warning, note.")
    ] = None,
    source: Sources = None,
    platform: Platforms = None,
    as_json: AsJson = False,
) -> None:
    """Show what was noticed when sources were read.

    That is damage that was repaired, records that were refused, and what is merely odd. Findings are counted by code,
    each with what it means; with --code or --source also where they are. What was noticed in a source is told anew
    whenever it is read from its beginning.

    Exit codes: 0 they were shown, or there are none, 2 the archive could not be read.
    """
    from palaver.archive.noticed import Sought
    from palaver.archive.noticed import findings as noticed_in

    sought = Sought(tuple(code or ()), tuple(source or ()), tuple(platform or ()), tuple(severity or ()))
    with reading() as connection:
        noticed = noticed_in(connection, sought)
    if as_json:
        output.answer_json({"findings": [_told(one) for one in noticed]})
    elif noticed:
        output.answer(_table(noticed, with_places=bool(code or source)))
    else:
        output.tell("Nothing was noticed." if sought == Sought() else "Nothing of the kind was noticed.")


def _told(one: "Noticed") -> dict[str, Any]:
    sources = [{**found._asdict(), "places": [place._asdict() for place in found.places]} for found in one.sources]
    return {
        "code": one.code,
        "severity": one.severity,
        "meaning": _meaning(one),
        "findings": one.findings,
        "sources": sources,
    }


def _meaning(one: "Noticed") -> str:
    """What its declaration says; a code of another version of palaver has none."""
    from importlib import import_module

    from palaver.importers import load_whole, platforms
    from palaver.model.finding import KINDS

    if one.code not in KINDS:
        import_module("palaver.workflows.read_unit")  # with it come all readers, which declare theirs
        for platform in {found.platform for found in one.sources} & set(platforms()):
            load_whole(platform)
    if one.code in KINDS:
        return KINDS[one.code].meaning
    return next((place.message for found in one.sources for place in found.places), "")


def _table(noticed: "list[Noticed]", *, with_places: bool) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    for one in noticed:
        style = "dim" if one.severity == "note" else ""
        meaning = _meaning(one)
        told = Text.assemble((one.code, f"bold {style}"), (f": {plain(meaning)}", style))
        lines: list[RenderableType] = [told]
        if with_places:
            lines += _places(one, meaning)
        else:
            told.append(f" ({counted(len(one.sources), 'source')})", "dim")
        table.add_row(
            Text(one.severity, SEVERITIES[one.severity]),
            Text(f"{one.findings:,}", style, justify="right"),
            Group(*lines),
        )
    return table


def _places(one: "Noticed", meaning: str) -> "Iterator[RenderableType]":
    from rich.padding import Padding
    from rich.text import Text

    for found in one.sources[:_SOURCES_SHOWN]:
        yield Text(place(found.source), overflow="fold")
        for spot in found.places[:_PLACES_SHOWN]:
            message = f": {plain(spot.message)}" if spot.message != meaning else ""
            yield Padding(Text(f"{plain(spot.where) or 'as a whole'}{message}", "dim"), (0, 0, 0, 2))
        if (more := found.findings - len(found.places[:_PLACES_SHOWN])) > 0:
            yield Padding(Text(f"and {more:,} more", "dim"), (0, 0, 0, 2))
    if (more := len(one.sources) - _SOURCES_SHOWN) > 0:
        yield Text(f"and in {more:,} more; --json lists them all", "dim")
