"""The command line as scripts for completion need it: every command, its options, and which values they take."""

import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import typer.main

from palaver.archive.conversation_list import Sort
from palaver.archive.filters import HAS
from palaver.archive.tally import GROUPINGS
from palaver.archive.usage_record_statistics import USAGE_GROUPINGS
from palaver.cli import app
from palaver.cli._commands import COMMANDS
from palaver.cli.findings import SEVERITIES
from palaver.exporters import formats as export_formats
from palaver.importers import platforms
from palaver.model.schemas import published_kinds
from palaver.validation.judge import Level
from palaver.workflows.convert import DIALECTS, format_names
from palaver.workflows.cook import FORMATS, WIRE_FORMAT_NAMES
from palaver.workflows.validate import all_rules


@dataclass(frozen=True, slots=True)
class Values:
    """What can be typed in one place; everything is empty where any text can."""

    choices: tuple[str, ...] = ()
    archive: str = ""
    """The kind of values of the archive, as `palaver complete-values` names it."""
    files: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    names: tuple[str, ...]
    help: str
    values: Values | None
    """None for an option without a value."""
    metavar: str
    can_repeat: bool


@dataclass(frozen=True, slots=True)
class Argument:
    metavar: str
    values: Values


@dataclass(frozen=True, slots=True)
class CommandNode:
    path: tuple[str, ...]
    """The words that lead here, without `palaver`."""
    summary: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    is_last_repeated: bool
    """Whether the last argument can be given any number of times."""
    commands: tuple["CommandNode", ...]

    def walk(self) -> Iterator["CommandNode"]:
        yield self
        for command in self.commands:
            yield from command.walk()


TEXT = Values()
FILES = Values(files=True)
_ID = Values(archive="id")
_TIMES = Values(("today", "yesterday", "week", "month", "year", "7d", "30d"))
_OPTIONS: dict[str, Callable[[], Values]] = {
    "--platform": lambda: Values(archive="platform"),
    "--project": lambda: Values(archive="project"),
    "--model": lambda: Values(archive="model"),
    "--tag": lambda: Values(archive="tag"),
    "--tool": lambda: Values(archive="tool"),
    "--has": lambda: Values(HAS),
    "--since": lambda: _TIMES,
    "--until": lambda: _TIMES,
    "--severity": lambda: Values(tuple(SEVERITIES)),
    "--rule": lambda: Values(_rule_names()),
    "--no-rule": lambda: Values(_rule_names()),
    "--from": lambda: Values(tuple(format_names())),
    "--to": lambda: Values(tuple(format_names())),
    "--dialect": lambda: Values(DIALECTS),
    "list --sort": lambda: Values(tuple(Sort)),
    "stats --by": lambda: Values(tuple(dict.fromkeys((*GROUPINGS, *USAGE_GROUPINGS)))),
    "export --format": lambda: Values(tuple(export_formats())),
    "cook --format": lambda: Values(("auto", *(WIRE_FORMAT_NAMES[name] for name in FORMATS))),
    "validate --level": lambda: Values(tuple(Level)),
    "duplicates --level": lambda: Values(("1", "2", "3", "4")),
    "show --branch": lambda: Values(("all",)),
}
"""Values by option, or by command and option where the same option means different things."""
_ARGUMENTS: dict[str, Callable[[], tuple[Values, ...]]] = {
    "import": lambda: (Values(tuple(platforms()), files=True), FILES),
    "show": lambda: (_ID,),
    "export": lambda: (_ID,),
    "tag": lambda: (_ID, Values(archive="tag")),
    "rate": lambda: (_ID, Values(tuple("012345"))),
    "forget": lambda: (_ID,),
    "schema": lambda: (Values(tuple(published_kinds())),),
    "completion": lambda: (Values(("bash", "zsh", "fish")),),
}
"""Values of the arguments by command; the last entry is for all further ones. Others take files, or any text."""
_FILE_METAVARS = {"PATH", "FILE", "INPUT", "LOG", "DIR", "FOLDER"}


def command_line() -> CommandNode:
    """Return palaver itself, with all commands that are not hidden."""
    group: Any = typer.main.get_command(app)
    return _node(group, (), "")


def _node(command: Any, path: tuple[str, ...], summary: str) -> CommandNode:
    parameters = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    help_option = Option(("--help", "-h"), "Show the help text and exit.", None, "", can_repeat=False)
    children = {
        name: child for name, child in getattr(command, "commands", dict[str, Any]()).items() if not child.hidden
    }
    raw_arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    arguments = _arguments(" ".join(path), raw_arguments)
    return CommandNode(
        path=path,
        summary=summary,
        options=(*(_option(path, parameter) for parameter in parameters if not parameter.hidden), help_option),
        arguments=arguments,
        is_last_repeated=bool(raw_arguments) and raw_arguments[-1].nargs == -1,
        commands=tuple(
            _node(child, (*path, name), COMMANDS[name].summary if not path else _first_sentence(child.help))
            for name, child in children.items()
        ),
    )


def _arguments(command: str, parameters: list[Any]) -> tuple[Argument, ...]:
    if not parameters:
        return ()
    metavars = [parameter.metavar or parameter.name.upper() for parameter in parameters]
    if command in _ARGUMENTS:
        values = _ARGUMENTS[command]()
        return tuple(Argument(metavars[min(index, len(metavars) - 1)], each) for index, each in enumerate(values))
    return tuple(Argument(metavar, FILES if metavar in _FILE_METAVARS else TEXT) for metavar in metavars)


def _option(path: tuple[str, ...], parameter: Any) -> Option:
    return Option(
        names=(*parameter.opts, *parameter.secondary_opts),
        help=" ".join((parameter.help or "").split()),
        values=None if parameter.is_flag else _values(path, parameter),
        metavar=parameter.metavar or parameter.name.upper(),
        can_repeat=parameter.multiple,
    )


def _values(path: tuple[str, ...], parameter: Any) -> Values:
    for name in parameter.opts:
        for key in (" ".join((*path, name)), name):
            if key in _OPTIONS:
                return _OPTIONS[key]()
    if choices := _fixed_choices(parameter.type_descriptor.annotation):
        return Values(choices)
    return FILES if parameter.metavar in _FILE_METAVARS else TEXT


def _fixed_choices(annotation: Any) -> tuple[str, ...]:
    """Return the values of an enumeration or a Literal, also as the elements of a list."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(str(member.value) for member in annotation)
    if typing.get_origin(annotation) is typing.Literal:
        return tuple(map(str, typing.get_args(annotation)))
    return next(filter(None, map(_fixed_choices, typing.get_args(annotation))), ())


def _rule_names() -> tuple[str, ...]:
    return tuple(sorted(rule.name for rule in all_rules() if rule.scope != "schema"))


def _first_sentence(help_text: str | None) -> str:
    return " ".join((help_text or "").split("\n\n")[0].split())
