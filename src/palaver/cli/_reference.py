"""The commands as data: usage, help text, arguments, options and exit codes.

`docs/cli.md` and the tests that run over all commands are made from it. Nothing here depends on a terminal.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer.main

from palaver.cli import app
from palaver.cli._commands import usage_of_argument

_EXIT_CODES = "Exit codes: "


@dataclass(frozen=True, slots=True)
class Option:
    words: str
    meaning: str
    default: str


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    """As typed after `palaver`; the name of a command in a group has several words."""
    usage: str
    paragraphs: list[str]
    exit_codes: dict[int, str]
    """Meanings by code, from the paragraph of the help text that starts with `Exit codes:`."""
    arguments: dict[str, str]
    """How often each can be given, by name."""
    options: list[Option]

    @property
    def has_json(self) -> bool:
        return any(option.words.split()[-1] == "--json" for option in self.options)


def commands(of: typer.Typer = app) -> list[Command]:
    """Return all commands but the hidden ones, in the order of `palaver --help`."""
    return list(_commands(typer.main.get_command(of), ""))


def _commands(group: Any, name: str) -> Iterator[Command]:
    for word, command in group.commands.items():
        if command.hidden:
            continue
        full_name = f"{name} {word}".strip()
        is_group = hasattr(command, "commands")
        if not is_group or command.invoke_without_command:
            yield _described(full_name, command, group.context_class(command, info_name=full_name))
        if is_group:
            yield from _commands(command, full_name)


def _described(name: str, command: Any, context: Any) -> Command:
    paragraphs = [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", command.help or "")]
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    records = [parameter.get_help_record(context) for parameter in command.params if parameter not in arguments]
    words = " ".join(["palaver", name, command.options_metavar, *map(usage_of_argument, arguments)])
    return Command(
        name=name,
        usage=words,
        paragraphs=[paragraph for paragraph in paragraphs if not paragraph.startswith(_EXIT_CODES)],
        exit_codes={code: meaning for paragraph in paragraphs for code, meaning in _exit_codes(paragraph)},
        arguments={_name(argument): _times(argument) for argument in arguments},
        options=[_option(*record) for record in records if record],
    )


def _exit_codes(paragraph: str) -> Iterator[tuple[int, str]]:
    """Parse `Exit codes: 0 done, 1 not, really.` into (0, "done") and (1, "not, really")."""
    if paragraph.startswith(_EXIT_CODES):
        listed = paragraph.removeprefix(_EXIT_CODES).removesuffix(".")
        for code, meaning in re.findall(r"(\d+) (.+?)(?=, \d+ |$)", listed):
            yield int(code), meaning


def _name(argument: Any) -> str:
    return argument.metavar or argument.name.upper()


def _times(argument: Any) -> str:
    times = "one or more" if argument.nargs == -1 else "one"
    return times if argument.required else "any number" if argument.nargs == -1 else "may be left out"


def _option(words: str, help_text: str) -> Option:
    """Split the meaning from what typer appends to it: `[default: 20; x>=0]`."""
    meaning, _, notes = help_text.partition("  [")
    defaults = [note.removeprefix("default: ") for note in notes.removesuffix("]").split("; ") if "default: " in note]
    return Option(words, meaning, "".join(defaults).removeprefix("(").removesuffix(")"))
