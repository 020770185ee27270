"""A conversation in reading order, with results at their calls and agents at the messages that started them.

Messages are read one at a time; only a few are held in memory, to find the results of a call in the messages after it.
"""

import sqlite3
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from palaver.archive.messages import MessageSelection, StoredMessage, read_message
from palaver.archive.overview import Child, UnshownChildren
from palaver.model.build import JsonObject

_MAX_LOOK_AHEAD = 100
"""How many messages after its call a result may be to be shown with it; later results are shown where they occur."""
_MAX_HELD_BYTES = 1 << 25


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    message: StoredMessage
    content: list[JsonObject]
    """Blocks of the message, without results that are shown with their calls."""
    results: dict[str, JsonObject]
    """Results of its calls, by call id."""
    children: list[Child]
    number: int
    answers: frozenset[int]
    """Keys of the messages that the results are from."""


class HiddenMessages(NamedTuple):
    """Number of messages hidden at this point, and of the branches they start."""

    messages: int
    branches: int


class UnplacedChildren(NamedTuple):
    """Child conversations that started at an unknown point."""

    children: list[Child]


def transcript_entries(
    connection: sqlite3.Connection, selection: MessageSelection, children: UnshownChildren
) -> Iterator[TranscriptEntry | HiddenMessages | UnplacedChildren]:
    """Yield the entries of a transcript in order."""
    ahead = _LookAhead(connection, selection)
    hidden = branches = 0
    for position in range(selection.begin, selection.end):
        message, content = ahead.take(position)
        if not selection.shown[position]:
            hidden, branches = hidden + 1, branches + selection.steps[position].begins_branch
            continue
        if hidden and selection.hides_branches:
            yield HiddenMessages(hidden, branches)
        hidden = branches = 0
        if entry := _entry(position + 1, message, content, ahead, children):
            yield entry
    if hidden and selection.hides_branches:
        yield HiddenMessages(hidden, branches)
    if selection.is_whole and (unplaced := children.remaining()):
        yield UnplacedChildren(unplaced)


def _entry(
    number: int, message: StoredMessage, content: list[JsonObject], ahead: "_LookAhead", children: UnshownChildren
) -> TranscriptEntry | None:
    """Return the entry of a message, or None if all its content was shown with earlier calls."""
    if not content:
        return None
    results: dict[str, JsonObject] = {}
    answers: set[int] = set()
    ids = [message.message_id, *_agent_ids(message)]
    for block in content:
        if block["type"] == "tool_use":
            ids.append(block["id"])
            if found := ahead.result(block["id"]):
                answering, results[block["id"]] = found
                ids += [answering.message_id, *_agent_ids(answering)]
                answers.add(answering.key)
    return TranscriptEntry(message, content, results, children.take(ids), number, frozenset(answers))


def _agent_ids(message: StoredMessage) -> list[str]:
    match message.metadata:
        case {"sidechain_conversation_ids": list(names)}:
            return [name for name in names if isinstance(name, str)]
        case {"agent_conversation_id": str(name)}:
            return [name]
        case _:
            return []


class _LookAhead:
    """The messages read ahead of the current one."""

    def __init__(self, connection: sqlite3.Connection, selection: MessageSelection) -> None:
        self._connection = connection
        self._steps = selection.steps
        self._position = selection.begin
        self._next = selection.begin
        self._held: deque[StoredMessage] = deque()
        self._held_bytes = 0
        self._results: dict[str, deque[tuple[StoredMessage, JsonObject]]] = {}
        self._shown_results: set[int] = set()
        """Results shown with their calls, by `id()`, which is unique while their message is held."""

    def take(self, position: int) -> tuple[StoredMessage, list[JsonObject]]:
        """Return the message at the next position, and the blocks of it that have not been shown yet."""
        if self._next == position:
            self._read_next()
        self._position = position
        message = self._held.popleft()
        self._held_bytes -= message.size_bytes
        content: list[JsonObject] = []
        for block in message.content:
            if id(block) in self._shown_results:
                self._shown_results.discard(id(block))
                continue
            content.append(block)
            if block["type"] == "tool_result":
                self._drop_result(block)
        return message, content

    def result(self, call: str) -> tuple[StoredMessage, JsonObject] | None:
        """Return the result of a call with its message, reading ahead as far as necessary, or None."""
        while not self._results.get(call):
            is_far = self._next > self._position + _MAX_LOOK_AHEAD or self._held_bytes > _MAX_HELD_BYTES
            if is_far or self._next == len(self._steps):
                return None
            self._read_next()
        found = self._results[call].popleft()
        if not self._results[call]:
            del self._results[call]
        self._shown_results.add(id(found[1]))
        return found

    def _read_next(self) -> None:
        message = read_message(self._connection, self._steps[self._next].key)
        self._next += 1
        self._held.append(message)
        self._held_bytes += message.size_bytes
        for block in message.content:
            if block["type"] == "tool_result":
                self._results.setdefault(block["tool_use_id"], deque()).append((message, block))

    def _drop_result(self, block: JsonObject) -> None:
        """Forget a result that was reached before its call asked for it."""
        waiting = self._results.pop(block["tool_use_id"], deque())
        if others := deque(pair for pair in waiting if pair[1] is not block):
            self._results[block["tool_use_id"]] = others
