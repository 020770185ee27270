"""What several commands take from the command line, and how its words are understood."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from palaver.errors import OptionError, SourceError, UnrecognizedError

STANDARD = "-"
"""Standard input as a path, standard output as a file."""

# Told in the words of each command instead of a list of their own: a type such as `list[str]` tells users nothing.
Paths = Annotated[list[str], typer.Argument(metavar="PATH", hidden=True)]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, metavar="N", help="Processes at a time.", show_default="all cores"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Read and check everything, write nothing.")]
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
    """Where the archive is unless the user says otherwise."""
    if configured := os.environ.get("PALAVER_HOME"):
        return Path(configured).expanduser()
    from platformdirs import user_data_path

    return user_data_path("palaver", appauthor=False)


def platform_and_paths(words: list[str]) -> tuple[str | None, list[Path]]:
    """Tell an optional platform from the paths that follow; a lone word that exists is a path."""
    from palaver.importers import importer, platforms

    first, *rest = words
    if first not in platforms() or (not rest and Path(first).exists()):
        return None, given_paths(words)
    if not rest:
        advice = ", or try `palaver scan` to look in its usual places" if importer(first).locations() else ""
        raise UnrecognizedError(f"{first} is a platform: say what to read with `palaver import {first} PATH`{advice}")
    return first, given_paths(rest)


def given_paths(words: list[str]) -> list[Path]:
    if words.count(STANDARD) > 1:
        raise SourceError("standard input (-) can be read once only")
    if STANDARD in words and not sys.stdin:
        raise SourceError("standard input (-) is closed")
    return [Path(word) for word in words]


def importer_options(words: list[str] | None, platform: str | None = None) -> dict[str, dict[str, str]]:
    """`key=value` or `platform.key=value`, by platform and checked; a bare key is for each importer that has it."""
    if not words:
        return {}
    from palaver.importers import importer, platforms
    from palaver.workflows.read_unit import parse_options

    among = [platform] if platform else platforms()
    chosen: dict[str, dict[str, str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        owner, _, key = name.rpartition(".")
        if not equals or not key:
            raise OptionError(f"-O {word}: an option is written as key=value")
        if owner and owner not in among:
            raise OptionError(f"-O {word}: {_no_platform(owner, platform)}")
        asked = [owner] if owner else among
        takers = [taker for taker in asked if key in importer(taker).options.model_fields]
        if not takers:
            known = "; ".join(
                f"{taker} has: {', '.join(importer(taker).options.model_fields) or 'none'}" for taker in asked
            )
            raise OptionError(f"-O {word}: there is no option {key!r}; {known}")
        for taker in takers:
            chosen.setdefault(taker, {})[key] = value
    for taker, options in chosen.items():
        parse_options(taker, options)
    return chosen


def _no_platform(name: str, platform: str | None) -> str:
    from palaver.importers import platforms

    if platform:
        return f"this import is of {platform} only"
    return f"there is no importer {name!r}; known: {', '.join(platforms())}"


def output_path(word: str | Path) -> Path:
    # `--output=~/x` reaches us as it is: shells put the home folder in only where a word begins.
    return Path(word).expanduser()
