"""Commands that start quickly: each is made when it is called for, and converts only what it was given."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

_COMMANDS: dict[str, tuple[str, dict[str, Any]]] = {
    "import": ("import_", {"options_metavar": "[OPTIONS] [PLATFORM]"}),
    "scan": ("scan", {}),
    "sources": ("sources", {}),
    "identify": ("identify", {}),
    "validate": ("validate", {}),
    "findings": ("findings", {}),
    "list": ("list_", {}),
    "show": ("show", {}),
    "search": ("search", {}),
    "stats": ("stats", {}),
    "duplicates": ("duplicates", {}),
    "tag": ("tag", {"options_metavar": "[OPTIONS] [WORD]"}),
    "rate": ("rate", {}),
    "forget": ("forget", {}),
    "export": ("export", {"options_metavar": "[OPTIONS]"}),
    "cook": ("cook", {}),
    "merge": ("merge", {}),
    "convert": ("convert", {}),
    "schema": ("schema", {}),
    "doctor": ("doctor", {}),
    "quarantine": ("quarantine", {}),
}
"""In the order of `--help`, each with the module that holds its function, or an `app` of several commands."""


class Commands(TyperGroup):
    """All commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _OneByOne()

    def get_params(self, ctx: Any) -> list[Any]:
        return _converting_what_was_given(super().get_params(ctx))


class Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _converting_what_was_given(super().get_params(ctx))


class _OneByOne(Mapping[str, Any]):
    """The commands by their names: one of them needs nothing of the others."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _made(name, *_COMMANDS[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


def _made(name: str, room: str, settings: dict[str, Any]) -> Any:
    module = import_module(f"palaver.cli.{room}")
    app: typer.Typer | None = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, cls=getattr(module, "COMMAND", Command), **settings)(getattr(module, room))
    command: Any = typer.main.get_command(app)
    command.name = name
    return command


def _converting_what_was_given(parameters: list[Any]) -> list[Any]:
    """Leave alone what nobody gave: typer converts with pydantic, which takes as long to start as all else."""
    for parameter in parameters:
        if "process_value" not in vars(parameter):
            parameter.process_value = _conversion(parameter)
    return parameters


def _conversion(parameter: Any) -> Any:
    convert = parameter.process_value

    def process_value(ctx: Any, value: Any) -> Any:
        if value is not None or parameter.required:
            return convert(ctx, value)
        return parameter.callback(ctx, parameter, value) if parameter.callback else None

    return process_value
