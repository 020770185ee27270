"""Slash commands, shell commands and notes: what a person typed, out of the tags in which Claude Code stores it.

`/plan the week` is stored as `<command-message>plan</command-message> <command-name>/plan</command-name>
<command-args>the week</command-args>`, in any order, with or without empty parts. Versions around 1.0.0 wrote the name
without its slash, and what the command expands to in `<command-contents>`. Skills that the model starts are stored in
such tags, too, but have neither a slash nor a tag for arguments, or the line names the call that started them.

`!ls` is stored as `<bash-input>ls</bash-input>`, and a note that begins with `#` in `<user-memory-input>`.
"""

import re
from typing import Any, NamedTuple

from palaver.model.build import JsonObject

_PREFIX = "<command-"
_PART = re.compile(
    r"\s*(?:<command-(name|message|contents)>(.*?)</command-\1>|<command-(args)>(.*)</command-args>)\s*", re.DOTALL
)
"""Arguments end at the last tag that ends them: the person may have typed that tag, too."""
_INPUT = re.compile(r"\s*<(bash-input|user-memory-input)>(.*)</\1>\s*", re.DOTALL)
_SIGNS = {"bash-input": "!", "user-memory-input": "#"}


class Command(NamedTuple):
    """A command in tags."""

    name: str
    arguments: str | None
    """None without a tag for them."""
    rest: str
    """Text behind the tags; commonly empty."""

    @property
    def is_typed(self) -> bool:
        return bool(self.name) and (self.name.startswith("/") or self.arguments is not None)

    @property
    def text(self) -> str:
        """The command as a person types it."""
        return f"/{self.name.removeprefix('/')} {self.arguments or ''}".rstrip()


def parse_command(text: str) -> Command | None:
    """Return the command that a text begins with; None if it begins with anything else."""
    if text[:1] not in _FIRST_CHARACTERS or not text.lstrip().startswith(_PREFIX):
        return None
    parts: dict[str, str] = {}
    position = 0
    while (part := _PART.match(text, position)) is not None:
        parts.setdefault(part[1] or part[3], (part[2] or part[4] or "").strip())
        position = part.end()
    if not parts:
        return None
    return Command(parts.get("name", ""), parts.get("args"), text[position:])


_FIRST_CHARACTERS = frozenset("< \t\r\n")


def parse_input(text: str) -> str | None:
    """Return a shell command or a note for the memory as a person types it; None for any other text."""
    if text[:1] not in _FIRST_CHARACTERS or (found := _INPUT.fullmatch(text)) is None:
        return None
    return _SIGNS[found[1]] + found[2]


def typed_content(record: JsonObject, content: Any) -> Any | None:
    """Return the content of a line with a command or note as a person typed it; None if it holds any other text."""
    match content:
        case str(text):
            rest: list[Any] = []
        case [{"type": "text", "text": str(text), **more}, *rest] if not more and all(map(_is_picture, rest)):
            pass
        case _:
            return None
    if (command := parse_command(text)) is not None:
        typed = command.text if command.is_typed and not command.rest else None
    else:
        typed = parse_input(text)
    if typed is None or is_from_program(record):
        return None
    return [{"type": "text", "text": typed}, *rest] if rest else typed


def _is_picture(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in {"image", "document"}


def is_from_program(fields: JsonObject) -> bool:
    """Return whether the fields of a line say that Claude Code or the model made it, whatever its text."""
    if fields.get("isMeta") or fields.get("isCompactSummary") or fields.get("sourceToolUseID"):
        return True
    origin = fields.get("origin")
    return isinstance(origin, dict) and isinstance(origin.get("kind"), str) and origin["kind"] != "human"
