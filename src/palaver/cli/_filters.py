"""The options that choose conversations, declared once for all commands that take them."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from palaver.archive.filters import Filters
from palaver.errors import OptionError

Platforms = Annotated[list[str] | None, typer.Option("--platform", "-p", metavar="NAME", help="Only this platform.")]
Projects = Annotated[
    list[str] | None,
    typer.Option("--project", metavar="FOLDER", help="Only this folder, or the end of its name."),
]
Models = Annotated[list[str] | None, typer.Option("--model", metavar="NAME", help="Only this model, or how it begins.")]
Since = Annotated[str | None, typer.Option(metavar="WHEN", help="Not before: a date, a time, or 7d, 12h, today.")]
Until = Annotated[str | None, typer.Option(metavar="WHEN", help="Before: a date, a time, or 7d, 12h, today.")]
Has = Annotated[
    list[str] | None, typer.Option("--has", metavar="WHAT", help="Only with: tool, error, branch, agent, tag, rating.")
]
Tools = Annotated[list[str] | None, typer.Option("--tool", metavar="NAME", help="Only where this tool was called.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with this tag.")]


def takes_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the filter options in place of its parameter `filters`.

    Typer reads the options from the signature, so the eight parameters of `_parse_filters` take the position of
    `filters` there, which is also their position in `--help`. The command itself receives the parsed `Filters`.
    """
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        parameters += _OPTIONS.values() if parameter.name == "filters" else [parameter]

    @wraps(command)
    def run(**values: Any) -> None:
        chosen = {name: values.pop(name) for name in _OPTIONS}
        command(**values, filters=_parse_filters(**chosen))

    decorated: Any = run
    decorated.__signature__ = inspect.Signature(parameters)
    decorated.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return decorated


def _parse_filters(
    *,
    platforms: Platforms = None,
    projects: Projects = None,
    models: Models = None,
    since: Since = None,
    until: Until = None,
    has: Has = None,
    tools: Tools = None,
    tags: Tags = None,
) -> Filters:
    return Filters(
        tuple(platforms or ()),
        tuple(projects or ()),
        tuple(models or ()),
        parse_time(since),
        parse_time(until),
        tuple(has or ()),
        tuple(tools or ()),
        tuple(tags or ()),
    )


_OPTIONS = inspect.signature(_parse_filters).parameters


def parse_time(word: str | None) -> str:
    """Return a time in the schema's format, or "" if none is given.

    Dates and times without a zone are in this machine's time zone; `7d` is seven days ago.
    """
    if not word:
        return ""
    import re
    from datetime import UTC, datetime, timedelta

    from palaver.model.timestamps import normalize_timestamp

    now = datetime.now(UTC).astimezone()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if word in {"today", "yesterday"}:
        return normalize_timestamp(midnight - timedelta(days=word == "yesterday"))
    if ago := re.fullmatch(r"(\d{1,6})([mhdw])", word):
        unit = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[ago[2]]
        return normalize_timestamp(now - timedelta(**{unit: int(ago[1])}))
    try:
        when = datetime.fromisoformat(word)
    except ValueError as error:
        raise OptionError(f"{word!r} is no time: write 2026-01-31, 2026-01-31T12:00, 7d, 12h, today") from error
    return normalize_timestamp(when if when.tzinfo else when.astimezone())
