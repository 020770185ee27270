"""The timeline of an old session: which entries tell of which message, and what the others say."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import readable_timestamp

_SPEAKERS = {"user": "user", "copilot": "assistant", "assistant": "assistant"}


class Timeline:
    """Entries in their order; each is given out once, to a message or on its own."""

    def __init__(self, value: Any) -> None:
        self._entries: list[Any] = value if isinstance(value, list) else [] if value is None else [value]
        self._next = 0
        self._at_call: dict[str, list[int]] = {}
        self._at_words: dict[tuple[str, str], deque[int]] = {}
        self._taken: set[int] = set()
        for index, entry in enumerate(self._entries):
            match entry:
                case {"callId": str(call_id)}:
                    self._at_call.setdefault(call_id, []).append(index)
                case _:
                    pass
            match entry:
                case {"type": str(kind), "text": str(text)} if kind in _SPEAKERS:
                    self._at_words.setdefault((_SPEAKERS[kind], text), deque()).append(index)
                case _:
                    pass

    def before(self, message: JsonObject) -> Iterator[JsonObject]:
        """Attach to a message what tells of it, and yield the entries before that no message tells."""
        found = sorted({*self._of_words(message), *self._of_calls(message)})
        if not found:
            return
        for index in found:
            self._taken.add(index)
        entries = [self._entries[index] for index in found]
        if time := next(filter(None, (_time(entry) for entry in entries)), ""):
            message["timestamp"] = time
        said = [block.get("text") for block in message["content"] if block["type"] == "text"]
        message["metadata"]["timeline"] = [_without_words(entry, said) for entry in entries]
        yield from self._left(min(found))

    def rest(self) -> list[JsonObject]:
        return list(self._left(len(self._entries)))

    def _left(self, end: int) -> Iterator[JsonObject]:
        """Entries up to a place that tell of no message; those of calls wait for their messages to the end."""
        is_end = end == len(self._entries)
        for index in range(self._next, end):
            entry = self._entries[index]
            is_of_call = isinstance(entry, dict) and isinstance(entry.get("callId"), str)
            if index not in self._taken and (is_end or not is_of_call):
                self._taken.add(index)
                yield _alone(entry, index)
        if is_end:
            for index in range(self._next):
                if index not in self._taken:
                    yield _alone(self._entries[index], index)
        self._next = max(self._next, end)

    def _of_calls(self, message: JsonObject) -> list[int]:
        found: list[int] = []
        for block in message["content"]:
            match block:
                case {"type": "tool_use", "id": str(call_id)}:
                    indices = [at for at in self._at_call.get(call_id, ()) if not _is_completed(self._entries[at])]
                case {"type": "tool_result", "tool_use_id": str(call_id)}:
                    indices = [at for at in self._at_call.get(call_id, ()) if _is_completed(self._entries[at])]
                case _:
                    continue
            found += [at for at in indices if at not in self._taken]
        return found

    def _of_words(self, message: JsonObject) -> list[int]:
        found: list[int] = []
        for block in message["content"]:
            if block["type"] == "text" and (places := self._at_words.get((message["role"], block["text"]))):
                while places and (places[0] < self._next or places[0] in self._taken):
                    places.popleft()
                found += [places[0]] if places and block["text"] else []
        return [min(found)] if found else []


def _is_completed(entry: JsonObject) -> bool:
    return entry.get("type") == "tool_call_completed"


def _without_words(entry: JsonObject, said: list[Any]) -> JsonObject:
    """An entry without the words that the message holds."""
    return {name: value for name, value in entry.items() if name != "text" or value not in said}


def _time(entry: JsonObject) -> str:
    return readable_timestamp(entry.get("timestamp"))


def _alone(entry: Any, index: int) -> JsonObject:
    """An entry that no message tells."""
    metadata: JsonObject = {"author_kind": "harness", "event": "timeline"}
    match entry:
        case {"text": str(text), **rest} if text:
            content = [build.text(text)]
            metadata["timeline"] = [rest]
        case _:
            content = [build.opaque(kind="timeline", raw=entry)]
            metadata["hidden"] = True
    time = _time(entry) if isinstance(entry, dict) else ""
    return build.message(
        message_id=f"timeline-{index}", role="system", timestamp=time, content=content, metadata=metadata
    )
