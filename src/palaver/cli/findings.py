"""`palaver findings`: problems and oddities found while reading sources."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive.findings import FindingFilters, FindingGroup, finding_groups
from palaver.cli._archive import open_for_reading
from palaver.cli._arguments import AsJson
from palaver.cli._filters import Platforms, resolve_platforms
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, display_path, escaped_line
from palaver.model.finding import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

SEVERITIES = {"error": "bold red", "warning": "yellow", "note": "dim"}
_SOURCES_SHOWN = 20
_POSITIONS_SHOWN = 5

Codes = Annotated[list[str] | None, typer.Option("--code", metavar="CODE", help="Only this code.")]
Sources = Annotated[
    list[str] | None,
    typer.Option("--source", metavar="PATH", help="Only this file or folder; the end of its name is enough."),
]


def findings(
    *,
    code: Codes = None,
    severity: Annotated[
        list[str] | None, typer.Option("--severity", metavar="NAME", help="Only this severity: error, warning or note.")
    ] = None,
    source: Sources = None,
    platform: Platforms = None,
    as_json: AsJson = False,
) -> None:
    """Show problems and oddities found while reading sources.

    Findings are repaired damage, quarantined records and unusual data, counted by code. With --code or --source, their
    places are listed too. Reading a source again from its beginning replaces its findings.

    Exit codes: 0 findings were shown or there are none, 2 the archive could not be read.
    """
    filters = FindingFilters(tuple(code or ()), tuple(source or ()), resolve_platforms(platform), tuple(severity or ()))
    with open_for_reading() as connection:
        groups = finding_groups(connection, filters)
    if as_json:
        output.answer_json({"findings": [_described(group) for group in groups]})
    elif groups:
        output.answer(_table(groups, with_positions=bool(code or source)))
    else:
        output.notify("No findings." if filters == FindingFilters() else "No finding matches these filters.")


def _described(group: FindingGroup) -> dict[str, Any]:
    sources = [
        {**found._asdict(), "places": [position._asdict() for position in found.places]} for found in group.sources
    ]
    return {
        "code": group.code,
        "severity": group.severity,
        "meaning": _meaning(group),
        "findings": group.findings,
        "sources": sources,
    }


def _meaning(group: FindingGroup) -> str:
    """Return the declared meaning; for a code of another palaver version, the first message."""
    from importlib import import_module

    from palaver.importers import load_all_modules, platforms

    if group.code not in KINDS:
        import_module("palaver.workflows.read_unit")  # imports every reader: each declares its finding kinds
        for platform in {found.platform for found in group.sources} & set(platforms()):
            load_all_modules(platform)
    if group.code in KINDS:
        return KINDS[group.code].meaning
    return next((position.message for found in group.sources for position in found.places), "")


def _table(groups: list[FindingGroup], *, with_positions: bool) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    for group in groups:
        style = "dim" if group.severity == "note" else ""
        meaning = _meaning(group)
        text = Text.assemble((group.code, f"bold {style}"), (f": {escaped_line(meaning)}", style))
        lines: list[RenderableType] = [text]
        if with_positions:
            lines += _positions(group, meaning)
        else:
            text.append(f" ({counted(len(group.sources), 'source')})", "dim")
        table.add_row(
            Text(group.severity, SEVERITIES[group.severity]),
            Text(f"{group.findings:,}", style, justify="right"),
            Group(*lines),
        )
    return table


def _positions(group: FindingGroup, meaning: str) -> "Iterator[RenderableType]":
    from rich.padding import Padding
    from rich.text import Text

    for found in group.sources[:_SOURCES_SHOWN]:
        yield Text(display_path(found.source), overflow="fold")
        for position in found.places[:_POSITIONS_SHOWN]:
            message = f": {escaped_line(position.message)}" if position.message != meaning else ""
            yield Padding(Text(f"{escaped_line(position.where) or 'whole file'}{message}", "dim"), (0, 0, 0, 2))
        if (more := found.findings - len(found.places[:_POSITIONS_SHOWN])) > 0:
            yield Padding(Text(f"and {more:,} more", "dim"), (0, 0, 0, 2))
    if (more := len(group.sources) - _SOURCES_SHOWN) > 0:
        yield Text(f"and {more:,} more sources; --json lists all", "dim")
