"""`palaver schema`: the published JSON Schemas."""

from typing import Annotated

import typer

from palaver.cli._terminal import output
from palaver.model.schemas import published_kinds, published_schema


def schema(
    kind: Annotated[str, typer.Argument(metavar="KIND", hidden=True)] = "conversation",
    *,
    version: Annotated[str | None, typer.Option(metavar="V", help="A version other than the newest.")] = None,
    list_kinds: Annotated[bool, typer.Option("--list", help="List the kinds, each with its newest version.")] = False,
) -> None:
    """Print a published JSON Schema.

    KIND is the kind of document, `conversation` when it is left out. What a command prints with --json is of the
    kind COMMAND-answer, such as `import-answer`.

    Exit codes: 0 it was printed, 2 there is no such kind or version.
    """
    if not list_kinds:
        output.answer_json(published_schema(kind, version))
        return
    for name in published_kinds():
        output.answer_text(f"{name} {published_schema(name)['$id'].rpartition(':')[2]}")
