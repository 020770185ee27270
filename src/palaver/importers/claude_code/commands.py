"""Slash commands: what a person typed, out of the tags in which Claude Code stores it.

`/plan the week` is stored as `<command-message>plan</command-message> <command-name>/plan</command-name>
<command-args>the week</command-args>`, in any order, with or without empty parts. Skills that the model starts are
stored in such tags, too, but their name has no slash and no arguments, or the line names the call that started them.
"""

import re
from typing import Any, NamedTuple

from palaver.model.build import JsonObject

_PREFIX = "<command-"
_PART = re.compile(r"\s*<command-(name|message|args)>(.*?)</command-\1>\s*", re.DOTALL)


class Command(NamedTuple):
    """A command in tags."""

    name: str
    arguments: str | None
    """None without a tag for them."""
    rest: str
    """Text behind the tags; commonly empty."""

    @property
    def is_typed(self) -> bool:
        return bool(self.name) and (self.name.startswith("/") or bool(self.arguments))

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
        parts.setdefault(part[1], part[2].strip())
        position = part.end()
    if not parts:
        return None
    return Command(parts.get("name", ""), parts.get("args"), text[position:])


_FIRST_CHARACTERS = frozenset("< \t\r\n")


def typed_text(record: JsonObject, content: Any) -> str | None:
    """Return what a person typed, if the content of a line is a command and nothing else; None otherwise."""
    if isinstance(content, str):
        text = content
    elif isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict) and len(content[0]) == 2:
        text = content[0].get("text")  # the block is {type, text}, which leaves nothing out
    else:
        return None
    if not isinstance(text, str) or (command := parse_command(text)) is None or command.rest:
        return None
    return command.text if command.is_typed and not is_from_program(record) else None


def is_from_program(fields: JsonObject) -> bool:
    """Return whether the fields of a line say that Claude Code or the model made it, whatever its text."""
    if fields.get("isMeta") or fields.get("isCompactSummary") or fields.get("sourceToolUseID"):
        return True
    origin = fields.get("origin")
    return isinstance(origin, dict) and isinstance(origin.get("kind"), str) and origin["kind"] != "human"
