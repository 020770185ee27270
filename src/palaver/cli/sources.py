"""`palaver sources`: the platforms that can be imported, and where their files are."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.importers import importer, platforms
from palaver.importers._shared.contract import HasExport, Importer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.table import Table

_MISSING_SHOWN = 3


def sources(
    *,
    every_place: Annotated[bool, typer.Option("--all", "-a", help="List also the places that do not exist.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what can be imported, and where it is looked for.

    Only the places that exist on this machine are listed; --all and --json add the others.

    Exit codes: 0 the sources were listed, 2 they could not be.
    """
    known = [importer(platform) for platform in platforms()]
    if as_json:
        output.answer_json({"sources": [_described(product) for product in known]})
        return
    for number, product in enumerate(known):
        if number:
            output.answer("")
        output.answer(_table(product, every_place=every_place))


def _described(importer: Importer) -> dict[str, Any]:
    return {
        "platform": importer.platform,
        "title": importer.title,
        "record": importer.record,
        "locations": [{"path": str(path), "exists": path.exists()} for path in importer.locations()],
        "options": [
            {
                "name": name,
                "type": _type(field.annotation),
                "default": _default(field.get_default(call_default_factory=True)),
                "description": field.description or "",
            }
            for name, field in importer.options.model_fields.items()
        ],
    }


def _type(annotation: Any) -> str:
    """Return the name of an option's type; `Path | None` is a path."""
    alternatives = get_args(annotation) or (annotation,)
    for alternative, word in ((Path, "path"), (bool, "bool"), (int, "int"), (float, "float")):
        if alternative in alternatives:
            return word
    return "text"


def _default(value: Any) -> bool | float | str | None:
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _table(product: Importer, *, every_place: bool) -> "Table":
    from rich.table import Table
    from rich.text import Text

    source = _described(product)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_row(Text(source["title"], "bold"), Text(f"palaver import {source['platform']} PATH", "cyan"))
    table.add_row(Text("  counts", "dim"), f"every {source['record']}")
    heading = "  places"
    for place in _places(product, source["locations"], every_place=every_place):
        table.add_row(Text(heading, "dim"), place)
        heading = ""
    heading = "  options"
    for option in source["options"]:
        text = Text.assemble(
            (f"-O {option['name']}={_example(option)}", "cyan"),
            f"  {option['description']}",
            (f"  [default: {default}]" if (default := _word(option["default"])) else "", "dim"),
        )
        table.add_row(Text(heading, "dim"), text)
        heading = ""
    return table


def _places(product: Importer, locations: list[dict[str, Any]], *, every_place: bool) -> "Iterator[RenderableType]":
    from rich.text import Text

    from palaver.cli._terminal.paths import PathLine

    if isinstance(product, HasExport):
        yield Text(f"wherever you saved an export: ask for one in {product.export_menu}", "dim")
    elif not locations:
        yield Text("wherever you saved them", "dim")
    missing = sum(not location["exists"] for location in locations)
    for location in locations:
        if location["exists"]:
            yield PathLine(location["path"], after="  found", style="green")
        elif every_place or missing <= _MISSING_SHOWN:
            yield PathLine(location["path"], after="  not here")
    if missing > _MISSING_SHOWN and not every_place:
        other = "other " if missing < len(locations) else ""
        yield Text(f"{missing:,} {other}places are not here: --all lists them", "dim")


def _example(option: dict[str, Any]) -> str:
    return "yes|no" if option["type"] == "bool" else str(option["type"]).upper()


def _word(value: Any) -> str:
    return (
        {True: "yes", False: "no", None: "none"}.get(value, str(value))
        if isinstance(value, bool | None)
        else str(value)
    )
