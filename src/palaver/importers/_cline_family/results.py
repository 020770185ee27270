"""Results of tools in a user's turn: which call each belongs to, and what the person said in it.

Before calls had ids, a result was text: `[read_file for 'a.ts'] Result:` and the body, of Roo Code in two blocks, of
Cline in one. Cline writes such texts for calls with ids as well. They belong to the calls of the answer before, in
order; of several results with one call left, all belong to it.
"""

from collections import deque
from dataclasses import dataclass

import orjson

from palaver.importers._cline_family.vocabulary import names_a_tool

_END = "] Result:"
_FAILED = "The tool execution failed with the following error:"
_SUBTASK = "Subtask "
_STATUS = '{"status"'
_FIRST_LETTERS = frozenset({_FAILED[0], _SUBTASK[0], _STATUS[0]})


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


class Calls:
    """The calls of the answer before, in their order, and which of them have no result yet."""

    def __init__(self) -> None:
        self.begin([])

    def begin(self, calls: list[tuple[str, str]]) -> None:
        """Forget all others; a call is its name and its id."""
        self._calls = calls
        self._open = {call_id: name for name, call_id in calls}
        self._done: dict[str, str] = {}
        """By names, the last call that got a result."""
        self._last = ""
        self._sorted = 0
        """How many of the calls are in order and by names: a result that names its call itself needs neither."""

    def add(self, name: str, call_id: str) -> None:
        self._open[call_id] = name
        self._calls.append((name, call_id))

    def holds(self, name: str) -> bool:
        self._sort()
        return name in self._named

    def close(self, call_id: str) -> None:
        """A result names its call itself."""
        name = self._open.pop(call_id, None)
        if name is not None:
            self._done[name] = self._last = call_id

    def take(self, name: str) -> str | None:
        """The id of the call that a result with this name belongs to; None where nothing was called."""
        if len(self._calls) == 1:
            call_id = self._calls[0][1]
            self.close(call_id)
            return call_id or None
        self._sort()
        named = self._first(self._named.get(name, deque()))
        call_id = named or self._done.get(name) or self._first(self._order) or self._last
        self.close(call_id)
        return call_id or None

    def _sort(self) -> None:
        if not self._sorted:
            self._order: deque[str] = deque()
            self._named: dict[str, deque[str]] = {}
        for name, call_id in self._calls[self._sorted :]:
            self._order.append(call_id)
            self._named.setdefault(name, deque()).append(call_id)
        self._sorted = len(self._calls)

    def _first(self, calls: deque[str]) -> str:
        while calls and calls[0] not in self._open:
            calls.popleft()
        return calls[0] if calls else ""


def may_tell(text: str) -> bool:
    """Whether a result begins like one that says something of itself."""
    return (first := text[:1]) in _FIRST_LETTERS or first.isspace()


def failed(text: str) -> bool:
    """Whether a result says itself that the tool failed."""
    return text.startswith(_FAILED) or (text[:1].isspace() and text.lstrip().startswith(_FAILED))


def stated_status(text: str) -> tuple[str, str]:
    """The status and the person's words in a result that is JSON, as newer versions write denials; empty where none."""
    if not text.startswith(_STATUS):
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
