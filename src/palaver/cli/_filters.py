"""The options that choose conversations, declared once for all commands that take them."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from palaver.archive.filters import Filters
from palaver.cli import _archive
from palaver.workflows.parse_filters import parse_filters, platform_ids

_TIMES = "2026-01-31, 2026-02, 2026, 7d, 12h, today, month, 'last week'."
Platforms = Annotated[
    list[str] | None,
    typer.Option("--platform", "-p", metavar="NAME", help="Only this platform: chatgpt, 'Claude Code', ..."),
]
Projects = Annotated[
    list[str] | None,
    typer.Option("--project", metavar="FOLDER", help="Only this folder, or folders with this in their path."),
]
Models = Annotated[
    list[str] | None, typer.Option("--model", metavar="NAME", help="Only models with this in their name.")
]
Since = Annotated[str | None, typer.Option(metavar="WHEN", help=f"Not before this time: {_TIMES}")]
Until = Annotated[str | None, typer.Option(metavar="WHEN", help="Before this time, written as for --since.")]
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
    return parse_filters(
        _archive.open_for_reading,
        platforms=platforms or (),
        projects=projects or (),
        models=models or (),
        since=since,
        until=until,
        has=has or (),
        tools=tools or (),
        tags=tags or (),
    )


def resolve_platforms(names: list[str] | None) -> tuple[str, ...]:
    """Return the ids of platforms that people name as in tables, among importers and what the archive holds."""
    return platform_ids(_archive.open_for_reading, names or ())


_OPTIONS = inspect.signature(_parse_filters).parameters
