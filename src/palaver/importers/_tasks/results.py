"""Results of tools in a user's turn: which call each belongs to, and what the person said in it.

Before calls had ids, a result was text: `[read_file for 'a.ts'] Result:` and the body, of Roo Code in two blocks, of
Cline in one. Cline writes such texts for calls with ids as well. They belong to the calls of the answer before, in
order; of several results with one call left, all belong to it.
"""

from dataclasses import dataclass, field
from typing import Any

import orjson

from palaver.importers._tasks.vocabulary import names_a_tool

Json = dict[str, Any]

_END = "] Result:"
_FAILED = "The tool execution failed with the following error:"
_SUBTASK = "Subtask "


@dataclass(slots=True)
class Header:
    """The line before a result that is text."""

    name: str
    description: str
    body: str
    """What follows it in the same block."""


def header_of(text: str, called: "Calls") -> Header | None:
    """The header that a text begins with; None where it is something that looks alike."""
    if not text.startswith("["):
        return None
    at = text.find(_END)
    while at >= 0:
        behind = text[at + len(_END) : at + len(_END) + 1]
        if behind in {"", "\n"} or (behind == " " and text.endswith(" completed", 0, at)):
            description = text[1:at]
            name = description.split(" ", 1)[0]
            if names_a_tool(name) or called.holds(name):
                body = text[at + len(_END) :]
                return Header(name, description, body[1:] if behind else "")
            return None
        at = text.find(_END, at + 1)
    return None


@dataclass(slots=True)
class Calls:
    """The calls of the answer before, as far as they have no result yet."""

    open: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Names and ids."""
    done: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def begin(self, calls: list[tuple[str, str]]) -> None:
        self.open = calls
        self.done = []

    def holds(self, name: str) -> bool:
        return any(called == name for called, _ in (*self.open, *self.done))

    def close(self, call_id: str) -> None:
        """A result names its call itself."""
        for pair in self.open:
            if pair[1] == call_id:
                self.open.remove(pair)
                self.done.append(pair)
                return

    def take(self, name: str) -> str | None:
        """The id of the call that a result with this name belongs to; None where nothing was called."""
        pair = _first(self.open, name) or _first(self.done[::-1], name)
        if pair is None:
            pair = next(iter(self.open), None) or (self.done[-1] if self.done else None)
        if pair is None:
            return None
        if pair in self.open:
            self.open.remove(pair)
            self.done.append(pair)
        return pair[1]


def _first(pairs: list[tuple[str, str]], name: str) -> tuple[str, str] | None:
    return next((pair for pair in pairs if pair[0] == name), None)


def failed(text: str) -> bool:
    """Whether a result says itself that the tool failed."""
    return text.lstrip().startswith(_FAILED)


def stated_status(text: str) -> tuple[str, str]:
    """The status and the person's words in a result that is JSON, as newer versions write denials; empty where none."""
    if not text.startswith('{"status"'):
        return "", ""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return "", ""
    match value:
        case {"status": str(status), "feedback": str(feedback)}:
            return status, feedback.strip()
        case {"status": str(status)}:
            return status, ""
        case _:
            return "", ""


def subtask_of(text: str) -> str:
    """The id of the task that a result tells the end of; empty where it is none."""
    if not text.startswith(_SUBTASK):
        return ""
    name, found, _ = text[len(_SUBTASK) : len(_SUBTASK) + 200].partition(" completed.")
    return name if found and " " not in name else ""
