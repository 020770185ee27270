"""`palaver sources`: the platforms that can be imported, and where their files are."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.cli._terminal.words import display_path, plural
from palaver.importers import importer, platforms
from palaver.importers._shared.contract import Importer

if TYPE_CHECKING:
    from rich.table import Table


def sources(*, as_json: AsJson = False) -> None:
    """List what can be imported, and where it is looked for.

    Exit codes: 0 it was listed, 2 it could not be.
    """
    known = [_described(importer(platform)) for platform in platforms()]
    if as_json:
        output.answer_json({"sources": known})
        return
    for number, source in enumerate(known):
        if number:
            output.answer("")
        output.answer(_shown(source))


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


def _shown(source: dict[str, Any]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_row(Text(source["title"], "bold"), Text(f"palaver import {source['platform']} PATH", "cyan"))
    table.add_row(Text("  counts", "dim"), plural(source["record"]))
    heading = "  places"
    for location in source["locations"]:
        text = Text.assemble(
            display_path(location["path"]), ("  found", "green") if location["exists"] else ("  not here", "dim")
        )
        table.add_row(Text(heading, "dim"), text)
        heading = ""
    if not source["locations"]:
        table.add_row(Text(heading, "dim"), Text("wherever you saved them", "dim"))
    heading = "  options"
    for option in source["options"]:
        text = Text.assemble(
            (f"-O {option['name']}={_example(option)}", "cyan"),
            f"  {option['description']}",
            (f"  [default: {_word(option['default'])}]", "dim"),
        )
        table.add_row(Text(heading, "dim"), text)
        heading = ""
    return table


def _example(option: dict[str, Any]) -> str:
    return "yes|no" if option["type"] == "bool" else str(option["type"]).upper()


def _word(value: Any) -> str:
    return (
        {True: "yes", False: "no", None: "none"}.get(value, str(value))
        if isinstance(value, bool | None)
        else str(value)
    )
