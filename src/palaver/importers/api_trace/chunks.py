"""Chunk files: the streams of a claude-trace log, one network read a line, for answers that the log itself lacks.

A chunk is known by its `request_id`. Older files have none: their chunks are one stream from `message_start` to
`message_stop`, which belongs to the one unanswered entry of the log within two seconds, if there is one only. A stream
whose message the log holds already is folded into it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from palaver.importers.api_trace.bodies import Body, body_of_events
from palaver.importers.api_trace.calls import Seen
from palaver.importers.api_trace.shapes import ids_of, pair_of
from palaver.model.build import JsonObject
from palaver.storage.spill import Spill
from palaver.streams.entries import chunk_bytes
from palaver.streams.sse import events_of

WINDOW_S = 2.0
_MESSAGE_ID = re.compile(r'"message_start".{0,200}?"id"\s*:\s*"([^"]+)"', re.DOTALL)
_ENTRY, _CHUNK = "entry", "chunk"


@dataclass(slots=True)
class _Stream:
    """What is known of a stream without its chunks."""

    first: float | None = None
    message_id: str = ""
    is_legacy: bool = False
    is_told: bool = False
    """Whether the log holds the answer."""
    has_entry: bool = False


@dataclass(slots=True)
class Streams:
    """The streams of one chunk file."""

    spill: Spill
    _known: dict[str, _Stream] = field(default_factory=dict[str, _Stream])
    _messages: dict[str, str] = field(default_factory=dict[str, str])
    """Which stream has a message."""
    _by_time: dict[int, str] = field(default_factory=dict[int, str])
    """Which stream belongs to an entry, by its number in the log."""
    _legacy: str = ""
    ambiguous: list[str] = field(default_factory=list[str])

    def add(self, chunk: JsonObject, where: str, size_bytes: int) -> None:
        text, time = chunk.get("chunk_data"), chunk.get("timestamp")
        text = text if isinstance(text, str) else ""
        stated = chunk.get("request_id")
        key = stated if isinstance(stated, str) else ""
        is_legacy = not key
        if is_legacy:
            if not self._legacy or '"message_start"' in text:
                self._legacy = f"\0{where}"
            key = self._legacy
        stream = self._known.setdefault(key, _Stream(is_legacy=is_legacy))
        if isinstance(time, int | float) and (stream.first is None or time < stream.first):
            stream.first = time
        if not stream.message_id and (found := _MESSAGE_ID.search(text)):
            stream.message_id = found[1]
            self._messages.setdefault(found[1], key)
        if is_legacy and '"message_stop"' in text:
            self._legacy = ""
        self.spill.add(key, (_CHUNK, where, time, text), size_bytes)

    @property
    def needs_times(self) -> bool:
        return any(stream.is_legacy for stream in self._known.values())

    def match_by_time(self, entries: Iterable[JsonObject]) -> None:
        """Look through the log for entries to which streams without ids can belong."""
        unanswered: dict[int, float] = {}
        for number, entry in enumerate(entries):
            response = entry.get("response")
            response = response if isinstance(response, dict) else {}
            time = response.get("timestamp")
            if is_unanswered(entry):
                if isinstance(time, int | float) and not any(name in self._known for name in ids_of(entry)):
                    unanswered[number] = time
            elif found := _MESSAGE_ID.search(str(response.get("body_raw"))):
                self._tell(found[1])
        wanted: dict[int, list[str]] = {}
        for key, stream in self._known.items():
            if not stream.is_legacy or stream.is_told or stream.first is None:
                continue
            near = [number for number, time in unanswered.items() if abs(time - stream.first) <= WINDOW_S]
            if len(near) == 1:
                wanted.setdefault(near[0], []).append(key)
            elif near:
                self.ambiguous.append(key[1:])
        for number, keys in wanted.items():
            if len(keys) == 1:
                self._by_time[number] = keys[0]
            else:
                self.ambiguous += [key[1:] for key in keys]

    def takes(self, entry: JsonObject, where: str, number: int, size_bytes: int) -> bool:
        """Whether an entry waits here for its answer."""
        key = next((name for name in ids_of(entry) if name in self._known), self._by_time.get(number))
        if key is None or self._known[key].has_entry or not is_unanswered(entry):
            return False
        self._known[key].has_entry = True
        self.spill.add(key, (_ENTRY, where, None, entry), size_bytes)
        return True

    def tell(self, entry: JsonObject, answer_id: Any) -> None:
        """Take in that the log holds an answer."""
        for name in ids_of(entry):
            if name in self._known:
                self._known[name].is_told = True
        if isinstance(answer_id, str):
            self._tell(answer_id)

    def _tell(self, message_id: str) -> None:
        if (key := self._messages.get(message_id)) is not None:
            self._known[key].is_told = True

    def calls(self) -> Iterator[tuple[Seen | None, list[tuple[str, Any]]]]:
        """The calls with their records, and where these stand; None for a stream that the log has told."""
        for key, group in self.spill.groups():
            stream = self._known[key]
            entries = [(where, entry) for kind, where, _, entry in group if kind == _ENTRY]
            chunks = [(where, time, text) for kind, where, time, text in group if kind == _CHUNK]
            records = [(where, {"chunk_data": one} if kind == _CHUNK else one) for kind, where, _, one in group]
            if entries:
                where, entry = entries[0]
                yield pair_of(entry, where, _body(chunks)), records
            elif stream.is_told:
                yield None, records
            else:
                stated = "" if stream.is_legacy else key
                seen = Seen(chunks[0][0], "claude-trace", reply=_body(chunks), stated_id=stated, ended=chunks[-1][1])
                yield seen, records


def is_unanswered(entry: JsonObject) -> bool:
    response = entry.get("response")
    if not isinstance(response, dict):
        return True
    return not any(response.get(name) for name in ("body", "body_raw", "streaming_details", "events"))


def _body(chunks: list[tuple[str, Any, str]]) -> Body:
    """What the reads stand for, in the order of their times; a read without one stays behind the one before it."""
    placed: list[tuple[float, str]] = []
    latest = 0.0
    for _, time, text in chunks:
        latest = time if isinstance(time, int | float) else latest
        placed.append((latest, text))
    placed.sort(key=lambda read: read[0])
    return body_of_events(list(events_of(chunk_bytes(text for _, text in placed))), "anthropic")
