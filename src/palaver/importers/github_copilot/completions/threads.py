"""Threads: interactions in one file that follow each other within a while are one conversation."""

from array import array
from collections.abc import Iterator

from palaver.importers.github_copilot.completions.messages import PLATFORM, Told
from palaver.importers.github_copilot.completions.shelf import Shelf
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import milliseconds_of
from palaver.storage.spill import LIMIT_BYTES

DEFAULT_MODEL = "copilot-codex"
FRAGMENT_BYTES = 1 << 24
"""What is smaller is one document."""
LATER_FRAGMENT_BYTES = 1 << 22


class Threads:
    """Takes interactions in whatever order; gives conversations. In memory are their times, and a part of the rest."""

    def __init__(self, window_seconds: float, limit_bytes: int = LIMIT_BYTES // 2) -> None:
        self._window_ms = window_seconds * 1000
        self._shelf = Shelf[Told](limit_bytes)
        self._places: dict[str, tuple[array[int], array[int]]] = {}
        """Of the interactions in every place, the times and the numbers on the shelf."""

    def add(self, one: Told) -> None:
        place = _place(one)
        if place not in self._places:
            self._places[place] = array("q"), array("q")
        times, numbers = self._places[place]
        times.append(milliseconds_of(one.time))
        numbers.append(self._shelf.put(one, one.size_bytes))

    def documents(self) -> Iterator[JsonObject]:
        threads = [thread for times, numbers in self._places.values() for thread in self._cut(times, numbers)]
        with self._shelf:
            for numbers in sorted(threads, key=min):
                yield from self._told(numbers)

    def _cut(self, times: "array[int]", numbers: "array[int]") -> Iterator["array[int]"]:
        """The numbers of each thread in one place, in the order of their times."""
        thread = array("q")
        before: int | None = None
        for index in sorted(range(len(times)), key=times.__getitem__):
            if before is not None and times[index] - before > self._window_ms:
                yield thread
                thread = array("q")
            before = times[index]
            thread.append(numbers[index])
        yield thread

    def _told(self, numbers: "array[int]") -> Iterator[JsonObject]:
        """A thread as a document; a long one as several: each is let go before the next is made."""
        thread: _Thread | None = None
        size_bytes, limit_bytes, sequence = 0, FRAGMENT_BYTES, 0
        for left, number in zip(range(len(numbers) - 1, -1, -1), numbers, strict=True):
            one = self._shelf.take(number)
            thread = thread or _Thread(one)
            thread.add(one)
            size_bytes += one.size_bytes
            if not left:
                fragment = {"sequence": sequence, "final": True} if sequence else None
                yield thread.document(fragment)
            elif size_bytes > limit_bytes:
                yield thread.document({"sequence": sequence, "final": False})
                size_bytes, limit_bytes, sequence = 0, LATER_FRAGMENT_BYTES, sequence + 1


class _Thread:
    """A conversation that is being told: all that is known of it, and the messages since its last fragment."""

    def __init__(self, first: Told) -> None:
        self._first = first
        self._model = first.model or DEFAULT_MODEL
        self._version = self._editor = self._system = self._ended_at = ""
        self._cursor: JsonObject | None = None
        self._messages: list[JsonObject] = []

    def add(self, one: Told) -> None:
        own = {name: value for name, value in one.environment.items() if self._first.environment.get(name) != value}
        model = one.model or DEFAULT_MODEL
        for message in one.messages:
            if model != self._model and message["role"] == "assistant":
                message["metadata"]["model_override"] = model
            if own:
                message["metadata"]["environment"] = own
        self._messages += one.messages
        one.messages.clear()
        self._version = self._version or one.version
        self._editor = self._editor or one.editor
        self._system = self._system or one.system
        self._cursor = self._cursor or one.cursor
        self._ended_at = max(self._ended_at, one.ended_at)

    def document(self, fragment: JsonObject | None) -> JsonObject:
        messages, self._messages = self._messages, []
        first = self._first
        platform: JsonObject = {"name": PLATFORM}
        if self._version:
            platform["version"] = self._version
        platform["model"] = self._model
        if first.environment:
            platform["metadata"] = first.environment
        return build.conversation(
            conversation_id=_conversation_id(first),
            platform=platform,
            context=self._context(),
            created_at=first.time,
            updated_at=self._ended_at,
            messages=messages,
            fragment=fragment,
        )

    def _context(self) -> JsonObject | None:
        environment: JsonObject = {}
        if self._editor:
            environment["editor"] = self._editor
        if self._system:
            environment["os"] = self._system
        custom: JsonObject = {"file": self._first.file} if self._first.file else {}
        if self._cursor:
            custom["cursor"] = self._cursor
        context = {"environment": environment, "custom": custom}
        return {name: value for name, value in context.items() if value} or None


def _place(one: Told) -> str:
    """Where it happened: in a file, else in whatever is known instead."""
    return f"{one.who} {one.file}" if one.file else f"{one.who}\n{one.language}"


def _conversation_id(first: Told) -> str:
    if first.is_inferred:  # a file alone would name all conversations about it
        return conversation_uuid(PLATFORM, "", first.name)
    return conversation_uuid(PLATFORM, first.time, first.file or first.name)
