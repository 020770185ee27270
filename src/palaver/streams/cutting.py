"""Chunks without a request id, cut into the streams they are parts of, in the order of the file.

A new stream begins with the event that begins one, after the end of the one before, and where an event names another
message than the ones before (OpenAI's and Gemini's do in every event). Chunks that two streams wrote in turns cannot be
told apart by anything else: where an earlier stream has not ended and the events of the next one contradict each other,
both are tangled.
"""

import re
from typing import Any

from palaver.model.build import JsonObject
from palaver.streams import recognize
from palaver.streams._contract import Event
from palaver.streams._reading import DONE, NOT_JSON, parse
from palaver.streams.checking import Check, check
from palaver.streams.entries import stated_id
from palaver.streams.sse import SseParser

_BEGINS = re.compile(rb"event:\s?(?:message_start|response\.created)\s")
_BEGINS_UNNAMED = re.compile(rb'data:\s*\{\s*"type"\s*:\s*"(?:message_start|response\.created)"')
_STARTS = {"message_start", "response.created"}
_CONTRADICTIONS = {"repeated_event", "out_of_order", "unknown_block"}


class _Stream:
    def __init__(self, number: int) -> None:
        self.number = number
        self.named: str | None = None
        self.check: Check | None = None
        self.is_contradictory = False
        self.is_done = False
        """Whether `[DONE]` has come, after which nothing of it can follow."""

    @property
    def has_ended(self) -> bool:
        return self.check is not None and self.check.has_ended

    def take(self, event: Event, kind: str, data: JsonObject | None) -> None:
        if self.check is None and (wire_format := recognize([event])):
            self.check = check(wire_format, self._note)
        if self.check is None:
            return
        if data is None:
            if event.data.strip() == DONE:
                self.is_done = True
                self.check.done()
        elif kind != "ping":
            self.named = self.named or stated_id(data)
            self.check.take(kind, data)

    def _note(self, kind: str, detail: str) -> None:
        _ = detail
        self.is_contradictory = self.is_contradictory or kind in _CONTRADICTIONS


class Cutter:
    """Takes chunks one by one; says of each to which stream it belongs, as soon as that is known."""

    def __init__(self) -> None:
        self.tangled: set[int] = set()
        """Numbers of streams that were written in turns."""
        self._streams = 0
        self._current: _Stream | None = None
        self._unfinished: list[_Stream] = []
        """Streams that were followed by another one before their end came."""
        self._named: dict[str, _Stream] = {}
        self._parser = SseParser()
        self._held: list[Any] = []
        """Chunks since the last event ended: whose they are, the next one tells."""
        self._is_within = False
        """Whether there is more in them than blank lines."""
        self._is_at_line_start = True

    def add(self, chunk: bytes, record: Any) -> list[tuple[int, Any]]:
        """Take a chunk, and what stands for it; everything that has found its stream."""
        placed: list[tuple[int, Any]] = []
        if self._is_within and self._is_broken_off_before(chunk):
            placed += self.close()
        self._held.append(record)
        self._is_within = self._is_within or bool(chunk.strip())
        self._is_at_line_start = chunk.endswith((b"\n", b"\r")) if chunk else self._is_at_line_start
        events = self._parser.feed(chunk)
        if not events:
            return placed
        read = [_read(event) for event in events]
        if self._current is None and all(kind == "ping" for kind, _ in read):
            self._is_within = False
            return placed
        kind, data = read[0]
        self._choose(kind, data)
        for event, (kind, data) in zip(events, read, strict=True):
            self._take(event, kind, data)
        return placed + self._release()

    def _is_broken_off_before(self, chunk: bytes) -> bool:
        """Whether a stream begins with this chunk, though an event has begun that has no end yet."""
        return bool(_BEGINS.match(chunk) or (not self._is_at_line_start and _BEGINS_UNNAMED.match(chunk)))

    def close(self) -> list[tuple[int, Any]]:
        """Say that no part of a chunk is continued; everything that waited for its end."""
        self._parser = SseParser()
        if self._held and self._current is None:
            self._begin()
        return self._release()

    def end(self) -> list[tuple[int, Any]]:
        """Say that the file ends here: no stream goes on in the next one."""
        placed = self.close()
        self._current = None
        self._unfinished = []
        self._named = {}
        return placed

    def _release(self) -> list[tuple[int, Any]]:
        assert self._current is not None or not self._held
        placed = [(self._current.number, record) for record in self._held] if self._current else []
        self._held = []
        self._is_within = False
        return placed

    def _choose(self, kind: str, data: JsonObject | None) -> None:
        """Find the stream that the chunk with this first event is a part of."""
        current = self._current
        named = stated_id(data) if data is not None else None
        if named is not None and kind not in _STARTS:
            known = current if current is not None and current.named == named else self._named.get(named)
            if known is not None and not known.is_done:
                self._current = known
                return
        if current is None:
            self._begin()
        elif kind in _STARTS or (named is not None and current.named is not None):
            self._leave(current)
            self._begin()
        elif current.has_ended and kind != "ping" and (data is not None or kind != "message"):
            # With an unfinished stream before it, this must be the rest of that one.
            is_rest = bool(self._unfinished)
            if is_rest:
                self._tangle(current)
                self._unfinished.pop()
            self._begin(is_tangled=is_rest)

    def _leave(self, stream: _Stream) -> None:
        if not stream.has_ended:
            self._unfinished.append(stream)
        elif not stream.is_contradictory:
            self._unfinished = []

    def _take(self, event: Event, kind: str, data: JsonObject | None) -> None:
        stream = self._current
        assert stream is not None
        stream.take(event, kind, data)
        if stream.named is not None and stream.check is not None and kind == "message":
            if stream.has_ended:
                self._named.pop(stream.named, None)
            else:
                self._named[stream.named] = stream
        if stream.is_contradictory and self._unfinished:
            self._tangle(stream)

    def _tangle(self, stream: _Stream) -> None:
        self.tangled.update(one.number for one in (stream, *self._unfinished))

    def _begin(self, *, is_tangled: bool = False) -> None:
        self._current = _Stream(self._streams)
        if is_tangled:
            self.tangled.add(self._streams)
        self._streams += 1


def _read(event: Event) -> tuple[str, JsonObject | None]:
    """What an event is called, and what it says; None where it is no JSON."""
    try:
        data = parse(event.data)
    except NOT_JSON:
        return event.name, None
    if not isinstance(data, dict):
        return event.name, None
    kind = data.get("type")
    return kind if isinstance(kind, str) else event.name, data
