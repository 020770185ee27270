"""`palaver schema`: the published JSON Schemas."""

from typing import Annotated

import typer

from palaver.cli._terminal import output
from palaver.model.schemas import published_kinds, published_schema


def schema(
    kind: Annotated[str, typer.Argument(metavar="KIND", hidden=True)] = "conversation",
    *,
    version: Annotated[str | None, typer.Option(metavar="V", help="Print this version instead of the newest.")] = None,
    list_kinds: Annotated[bool, typer.Option("--list", help="List all kinds with their newest versions.")] = False,
) -> None:
    """Print a published JSON Schema.

    KIND is a kind of document, by default `conversation`. The --json output of a command has the kind COMMAND-answer,
    such as `import-answer`.

    Exit codes: 0 the schema was printed, 2 the kind or version does not exist.
    """
    if not list_kinds:
        output.answer_json(published_schema(kind, version))
        return
    for name in published_kinds():
        output.answer_text(f"{name} {published_schema(name)['$id'].rpartition(':')[2]}")
