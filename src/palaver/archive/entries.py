"""A conversation as it is read: results stand with their calls, agents with the message that started them.

Messages are looked up one at a time; only a few are held, to find the results of a call among those that follow it.
"""

import sqlite3
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from palaver.archive.children import Child, Children
from palaver.archive.viewing import Selection, Viewed, viewed
from palaver.model.build import JsonObject

_LOOK_AHEAD = 100
"""How many messages behind its call a result may be to stand with it; others stand where they are."""
_MOST_BYTES_HELD = 1 << 25


@dataclass(frozen=True, slots=True)
class Entry:
    message: Viewed
    content: list[JsonObject]
    """The message's own, without the results that stand with their calls."""
    results: dict[str, JsonObject]
    """Of its calls, by their id."""
    children: list[Child]


class LeftOut(NamedTuple):
    """Messages that are not shown, at their place."""

    messages: int
    branches: int


class Unplaced(NamedTuple):
    """Conversations that began somewhere in this one, nobody knows where."""

    children: list[Child]


def entries(
    connection: sqlite3.Connection, selection: Selection, children: Children
) -> Iterator[Entry | LeftOut | Unplaced]:
    ahead = _Ahead(connection, selection)
    left_out = branches = 0
    for place in range(selection.begin, selection.end):
        message, content = ahead.take(place)
        if not selection.shown[place]:
            left_out, branches = left_out + 1, branches + selection.steps[place].begins_branch
            continue
        if left_out and selection.tells_branches:
            yield LeftOut(left_out, branches)
        left_out = branches = 0
        if entry := _entry(message, content, ahead, children):
            yield entry
    if left_out and selection.tells_branches:
        yield LeftOut(left_out, branches)
    if selection.is_whole and (rest := children.rest()):
        yield Unplaced(rest)


def _entry(message: Viewed, content: list[JsonObject], ahead: "_Ahead", children: Children) -> Entry | None:
    """None for a message of which everything stands with the calls before it."""
    if not content:
        return None
    results: dict[str, JsonObject] = {}
    leads = [message.message_id, *_agents_named_by(message)]
    for block in content:
        if block["type"] == "tool_use":
            leads.append(block["id"])
            if found := ahead.result(block["id"]):
                answering, results[block["id"]] = found
                leads += [answering.message_id, *_agents_named_by(answering)]
    return Entry(message, content, results, children.told_by(leads))


def _agents_named_by(message: Viewed) -> list[str]:
    match message.metadata:
        case {"sidechain_conversation_ids": list(names)}:
            return [name for name in names if isinstance(name, str)]
        case {"agent_conversation_id": str(name)}:
            return [name]
        case _:
            return []


class _Ahead:
    """The messages that follow, as far as they have been looked at."""

    def __init__(self, connection: sqlite3.Connection, selection: Selection) -> None:
        self._connection = connection
        self._steps = selection.steps
        self._place = selection.begin
        self._next = selection.begin
        self._held: deque[Viewed] = deque()
        self._held_bytes = 0
        self._results: dict[str, deque[tuple[Viewed, JsonObject]]] = {}
        self._told: set[int] = set()
        """Results, by what they are in memory as long as their message is held."""

    def take(self, place: int) -> tuple[Viewed, list[JsonObject]]:
        """The message at the next place, and what of it has not been told."""
        if self._next == place:
            self._look()
        self._place = place
        message = self._held.popleft()
        self._held_bytes -= message.size_bytes
        content: list[JsonObject] = []
        for block in message.content:
            if id(block) in self._told:
                self._told.discard(id(block))
                continue
            content.append(block)
            if block["type"] == "tool_result":
                self._drop(block)
        return message, content

    def result(self, call: str) -> tuple[Viewed, JsonObject] | None:
        while not self._results.get(call):
            is_far = self._next > self._place + _LOOK_AHEAD or self._held_bytes > _MOST_BYTES_HELD
            if is_far or self._next == len(self._steps):
                return None
            self._look()
        found = self._results[call].popleft()
        if not self._results[call]:
            del self._results[call]
        self._told.add(id(found[1]))
        return found

    def _look(self) -> None:
        message = viewed(self._connection, self._steps[self._next].key)
        self._next += 1
        self._held.append(message)
        self._held_bytes += message.size_bytes
        for block in message.content:
            if block["type"] == "tool_result":
                self._results.setdefault(block["tool_use_id"], deque()).append((message, block))

    def _drop(self, block: JsonObject) -> None:
        """A result that nobody asked for before its turn came."""
        waiting = self._results.pop(block["tool_use_id"], deque())
        if rest := deque(pair for pair in waiting if pair[1] is not block):
            self._results[block["tool_use_id"]] = rest
