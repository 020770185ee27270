"""Arguments and options that several commands share, and how they are parsed."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from palaver.errors import OptionError, SourceError, UnrecognizedError
from palaver.importers import importer, platforms
from palaver.importers._shared.platform_names import is_platform, resolve_platform

STANDARD = "-"
"""As a path, standard input; as an output file, standard output."""

# Hidden from the list of arguments: each command's help text explains its own, and a type such as `list[str]` does not.
Paths = Annotated[list[str], typer.Argument(metavar="PATH", hidden=True)]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")]
NoPager = Annotated[bool, typer.Option("--no-pager", help="Print on a terminal without a pager.")]
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


def platform_and_paths(words: list[str]) -> tuple[str | None, list[Path]]:
    """Split an optional platform from the paths after it.

    A word that exists is a path, unless it is a platform's id with paths after it. Raise UnrecognizedError if the word
    before the paths is neither a platform nor spelled like a path: nothing is read after a typo.
    """
    first, *rest = words
    if (Path(first).exists() and (not rest or first not in platforms())) or _is_spelled_as_path(first):
        return None, input_paths(words)
    if not rest and not is_platform(first):
        return None, input_paths(words)
    platform = resolve_platform(first)
    if not rest:
        advice = ", or try `palaver scan` to look in its usual places" if importer(platform).locations() else ""
        raise UnrecognizedError(f"{first} is a platform: name what to read, `palaver import {platform} PATH`{advice}")
    return platform, input_paths(rest)


def _is_spelled_as_path(word: str) -> bool:
    """Return whether a word names a path, existing or not: `-`, `~/x`, `x/y`, `x.zip`, but not a platform's title."""
    if word == STANDARD or word.startswith("~") or Path(word).name != word:
        return True
    return bool(Path(word).suffix) and not is_platform(word)


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
        if owner:
            owner = _option_owner(owner, word)
        if owner and owner not in candidates:
            raise OptionError(f"-O {word}: this import is of {platform} only")
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


def _option_owner(name: str, word: str) -> str:
    try:
        return resolve_platform(name)
    except UnrecognizedError as error:
        raise OptionError(f"-O {word}: {error}") from error


def output_path(word: str | Path, option: str = "--output") -> Path:
    """Return the path to write to; raise SourceError if the option has an empty value."""
    if not word or word == Path():  # typer makes the path `.` of an empty text
        raise SourceError(f"{option} needs the name of a file")
    # Shells expand `~` only at the start of a word, so `--output=~/x` arrives unexpanded.
    return Path(word).expanduser()
