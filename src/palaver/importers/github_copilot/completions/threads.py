"""Threads: interactions in one file that follow each other within a time window form one conversation."""

from array import array
from collections.abc import Iterator

from palaver.importers.github_copilot.completions.messages import PLATFORM, InteractionMessages
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import milliseconds_of
from palaver.storage.spill import LIMIT_BYTES, IndexedSpill

DEFAULT_MODEL = "copilot-codex"
FRAGMENT_BYTES = 1 << 24
"""Threads up to this size are one document."""
LATER_FRAGMENT_BYTES = 1 << 22


class Threads:
    """Collects interactions in any order and yields conversations; only times and a limited share stay in memory."""

    def __init__(self, window_seconds: float, limit_bytes: int = LIMIT_BYTES // 2) -> None:
        self._window_ms = window_seconds * 1000
        self._spill = IndexedSpill[InteractionMessages](limit_bytes)
        self._by_location: dict[str, tuple[array[int], array[int]]] = {}
        """Times and spill indexes of the interactions at each location."""

    def add(self, interaction: InteractionMessages) -> None:
        location = _location(interaction)
        if location not in self._by_location:
            self._by_location[location] = array("q"), array("q")
        times, numbers = self._by_location[location]
        times.append(milliseconds_of(interaction.time))
        numbers.append(self._spill.put(interaction, interaction.size_bytes))

    def documents(self) -> Iterator[JsonObject]:
        threads = [thread for times, numbers in self._by_location.values() for thread in self._split(times, numbers)]
        with self._spill:
            for numbers in sorted(threads, key=min):
                yield from self._thread_documents(numbers)

    def _split(self, times: "array[int]", numbers: "array[int]") -> Iterator["array[int]"]:
        """Yield the spill indexes of each thread at one location, in order of time."""
        thread = array("q")
        previous: int | None = None
        for index in sorted(range(len(times)), key=times.__getitem__):
            if previous is not None and times[index] - previous > self._window_ms:
                yield thread
                thread = array("q")
            previous = times[index]
            thread.append(numbers[index])
        yield thread

    def _thread_documents(self, numbers: "array[int]") -> Iterator[JsonObject]:
        """Yield a thread as one document, or a long one as several, releasing each before the next is built."""
        thread: _Thread | None = None
        size_bytes, limit_bytes, sequence = 0, FRAGMENT_BYTES, 0
        for remaining, number in zip(range(len(numbers) - 1, -1, -1), numbers, strict=True):
            interaction = self._spill.take(number)
            thread = thread or _Thread(interaction)
            thread.add(interaction)
            size_bytes += interaction.size_bytes
            if not remaining:
                fragment = {"sequence": sequence, "final": True} if sequence else None
                yield thread.document(fragment)
            elif size_bytes > limit_bytes:
                yield thread.document({"sequence": sequence, "final": False})
                size_bytes, limit_bytes, sequence = 0, LATER_FRAGMENT_BYTES, sequence + 1


class _Thread:
    """A conversation being built: its common fields, and the messages since its last fragment."""

    def __init__(self, first: InteractionMessages) -> None:
        self._first = first
        self._model = first.model or DEFAULT_MODEL
        self._version = self._editor = self._system = self._ended_at = ""
        self._cursor: JsonObject | None = None
        self._messages: list[JsonObject] = []

    def add(self, interaction: InteractionMessages) -> None:
        differing = {
            name: value for name, value in interaction.environment.items() if self._first.environment.get(name) != value
        }
        model = interaction.model or DEFAULT_MODEL
        for message in interaction.messages:
            if model != self._model and message["role"] == "assistant":
                message["metadata"]["model_override"] = model
            if differing:
                message["metadata"]["environment"] = differing
        self._messages += interaction.messages
        interaction.messages.clear()
        self._version = self._version or interaction.version
        self._editor = self._editor or interaction.editor
        self._system = self._system or interaction.system
        self._cursor = self._cursor or interaction.cursor
        self._ended_at = max(self._ended_at, interaction.ended_at)

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


def _location(interaction: InteractionMessages) -> str:
    """Return what interactions of one thread share: the user and the file, else the language."""
    return (
        f"{interaction.user_digest} {interaction.file}"
        if interaction.file
        else f"{interaction.user_digest}\n{interaction.language}"
    )


def _conversation_id(first: InteractionMessages) -> str:
    if first.is_inferred:  # the file alone would give all its conversations the same id
        return conversation_uuid(PLATFORM, "", first.request_id)
    return conversation_uuid(PLATFORM, first.time, first.file or first.request_id)
