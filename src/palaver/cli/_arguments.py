"""Arguments and options that several commands share, and how they are parsed."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from palaver.errors import OptionError, SourceError, UnrecognizedError
from palaver.importers import importer, platforms

STANDARD = "-"
"""As a path, standard input; as an output file, standard output."""

# Hidden from the list of arguments: each command's help text explains its own, and a type such as `list[str]` does not.
Paths = Annotated[list[str], typer.Argument(metavar="PATH", hidden=True)]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, metavar="N", help="Processes at a time.", show_default="all cores"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Read and check everything, write nothing.")]
WithCost = Annotated[bool, typer.Option("--with-cost", help="Add what each message would cost by public prices.")]
Again = Annotated[bool, typer.Option("--again", help="Read also what did not change since it was read.")]
ImporterOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-O",
        metavar="KEY=VALUE",
        help="An option of an importer, or PLATFORM.KEY=VALUE; `palaver sources` lists them.",
    ),
]


def data_folder() -> Path:
    """Return the archive's folder: $PALAVER_HOME, or the system's folder for user data."""
    if configured := os.environ.get("PALAVER_HOME"):
        return Path(configured).expanduser()
    from platformdirs import user_data_path

    return user_data_path("palaver", appauthor=False)


def platform_and_paths(words: list[str]) -> tuple[str | None, list[Path]]:
    """Split an optional platform from the paths after it; a single word that exists is a path."""
    first, *rest = words
    if first not in platforms() or (not rest and Path(first).exists()):
        return None, input_paths(words)
    if not rest:
        advice = ", or try `palaver scan` to look in its usual places" if importer(first).locations() else ""
        raise UnrecognizedError(f"{first} is a platform: say what to read with `palaver import {first} PATH`{advice}")
    return first, input_paths(rest)


def input_paths(words: list[str]) -> list[Path]:
    if words.count(STANDARD) > 1:
        raise SourceError("standard input (-) can be read once only")
    if STANDARD in words and not sys.stdin:
        raise SourceError("standard input (-) is closed")
    return [Path(word) for word in words]


def importer_options(words: list[str] | None, platform: str | None = None) -> dict[str, dict[str, str]]:
    """Parse and check `key=value` and `platform.key=value`; return them by platform.

    A key without a platform applies to every importer that has it.
    """
    if not words:
        return {}
    from palaver.workflows.read_unit import parse_options

    candidates = [platform] if platform else platforms()
    chosen: dict[str, dict[str, str]] = {}
    for word in words:
        qualified_key, equals, value = word.partition("=")
        owner, _, key = qualified_key.rpartition(".")
        if not equals or not key:
            raise OptionError(f"-O {word}: an option is written as key=value")
        if owner and owner not in candidates:
            raise OptionError(f"-O {word}: {_unknown_platform(owner, platform)}")
        searched = [owner] if owner else candidates
        owners = [name for name in searched if key in importer(name).options.model_fields]
        if not owners:
            known = "; ".join(
                f"{name} has: {', '.join(importer(name).options.model_fields) or 'none'}" for name in searched
            )
            raise OptionError(f"-O {word}: there is no option {key!r}; {known}")
        for name in owners:
            chosen.setdefault(name, {})[key] = value
    for name, options in chosen.items():
        parse_options(name, options)
    return chosen


def _unknown_platform(name: str, platform: str | None) -> str:
    if platform:
        return f"this import is of {platform} only"
    return f"there is no importer {name!r}; known: {', '.join(platforms())}"


def output_path(word: str | Path) -> Path:
    # Shells expand `~` only at the start of a word, so `--output=~/x` arrives unexpanded.
    return Path(word).expanduser()
