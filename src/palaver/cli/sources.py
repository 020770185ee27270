"""`palaver sources`: what can be read, and where it is looked for."""

from typing import TYPE_CHECKING, Any

from palaver.cli import _output
from palaver.cli._arguments import AsJson
from palaver.cli._words import place, plural

if TYPE_CHECKING:
    from rich.table import Table

    from palaver.importers._contract import Importer


def sources(*, as_json: AsJson = False) -> None:
    """List what can be imported, and where it is looked for."""
    from palaver.importers import importer, platforms

    known = [_described(importer(platform)) for platform in platforms()]
    if as_json:
        _output.answer_json({"sources": known})
        return
    for number, source in enumerate(known):
        if number:
            _output.answer("")
        _output.answer(_shown(source))


def _described(importer: "Importer") -> dict[str, Any]:
    return {
        "platform": importer.platform,
        "title": importer.title,
        "record": importer.record,
        "locations": [{"path": str(path), "exists": path.exists()} for path in importer.locations()],
        "options": [
            {
                "name": name,
                "type": "path" if "Path" in str(field.annotation) else getattr(field.annotation, "__name__", "text"),
                "default": field.get_default(call_default_factory=True),
                "description": field.description or "",
            }
            for name, field in importer.options.model_fields.items()
        ],
    }


def _shown(source: dict[str, Any]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_row(Text(source["title"], "bold"), Text(f"palaver import {source['platform']} PATH", "cyan"))
    table.add_row(Text("  counts", "dim"), plural(source["record"]))
    heading = "  places"
    for location in source["locations"]:
        told = Text.assemble(
            place(location["path"]), ("  found", "green") if location["exists"] else ("  not here", "dim")
        )
        table.add_row(Text(heading, "dim"), told)
        heading = ""
    if not source["locations"]:
        table.add_row(Text(heading, "dim"), Text("wherever you saved them", "dim"))
    heading = "  options"
    for option in source["options"]:
        told = Text.assemble(
            (f"-O {option['name']}={_example(option)}", "cyan"),
            f"  {option['description']}",
            (f"  [default: {_word(option['default'])}]", "dim"),
        )
        table.add_row(Text(heading, "dim"), told)
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
