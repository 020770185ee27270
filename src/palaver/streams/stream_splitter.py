"""A splitter that assigns chunks without a request id to streams, in the order of the file.

A new stream begins with a start event, after the end of the stream before it, and where an event names another message
(OpenAI's and Gemini's name it in every event). Nothing else separates the chunks of two streams that were written in
turns: if a stream has not ended and the events of the next one contradict each other, both count as interleaved.
"""

import re
from typing import Any

from palaver.model.build import JsonObject
from palaver.streams import recognize
from palaver.streams._contract import Event
from palaver.streams._event_data import DONE, NOT_JSON, parse
from palaver.streams.event_parsers import SseParser
from palaver.streams.log_entries import event_message_id
from palaver.streams.protocol_checks import ProtocolCheck, protocol_check

_START_EVENT = re.compile(rb"event:\s?(?:message_start|response\.created)\s")
_START_DATA = re.compile(rb'data:\s*\{\s*"type"\s*:\s*"(?:message_start|response\.created)"')
_START_TYPES = {"message_start", "response.created"}
_CONTRADICTIONS = {"repeated_event", "out_of_order", "unknown_block"}


class _Stream:
    def __init__(self, number: int) -> None:
        self.number = number
        self.message_id: str | None = None
        self.check: ProtocolCheck | None = None
        self.is_contradictory = False
        self.is_done = False
        """Whether `[DONE]` has arrived, which nothing can follow."""

    @property
    def has_ended(self) -> bool:
        return self.check is not None and self.check.has_ended

    def take(self, event: Event, kind: str, data: JsonObject | None) -> None:
        if self.check is None and (wire_format := recognize([event])):
            self.check = protocol_check(wire_format, self._note)
        if self.check is None:
            return
        if data is None:
            if event.data.strip() == DONE:
                self.is_done = True
                self.check.take_done()
        elif kind != "ping":
            self.message_id = self.message_id or event_message_id(data)
            self.check.take(kind, data)

    def _note(self, kind: str, detail: str) -> None:
        _ = detail
        self.is_contradictory = self.is_contradictory or kind in _CONTRADICTIONS


class StreamSplitter:
    """Takes chunks one by one, and assigns each to a numbered stream as soon as that is known."""

    def __init__(self) -> None:
        self.interleaved: set[int] = set()
        """The numbers of streams whose chunks are mixed up beyond repair."""
        self._streams = 0
        self._current: _Stream | None = None
        self._unfinished: list[_Stream] = []
        """Streams that another stream followed before they ended."""
        self._by_message_id: dict[str, _Stream] = {}
        self._parser = SseParser()
        self._pending: list[Any] = []
        """The records of chunks since the last event ended; the next event decides which stream they belong to."""
        self._has_pending_content = False
        """Whether the pending chunks hold more than blank lines."""
        self._is_at_line_start = True

    def add(self, chunk: bytes, record: Any) -> list[tuple[int, Any]]:
        """Take a chunk and the record to assign; return the records that are assigned now, with stream numbers."""
        assigned: list[tuple[int, Any]] = []
        if self._has_pending_content and self._interrupts_event(chunk):
            assigned += self.close()
        self._pending.append(record)
        self._has_pending_content = self._has_pending_content or bool(chunk.strip())
        self._is_at_line_start = chunk.endswith((b"\n", b"\r")) if chunk else self._is_at_line_start
        events = self._parser.feed(chunk)
        if not events:
            return assigned
        read = [_type_and_data(event) for event in events]
        if self._current is None and all(kind == "ping" for kind, _ in read):
            self._has_pending_content = False
            return assigned
        kind, data = read[0]
        self._select_stream(kind, data)
        for event, (kind, data) in zip(events, read, strict=True):
            self._take(event, kind, data)
        return assigned + self._release()

    def _interrupts_event(self, chunk: bytes) -> bool:
        """Return whether a stream begins with this chunk although the event before it has no end."""
        return bool(_START_EVENT.match(chunk) or (not self._is_at_line_start and _START_DATA.match(chunk)))

    def close(self) -> list[tuple[int, Any]]:
        """End the unfinished event; return the records that waited for its end."""
        self._parser = SseParser()
        if self._pending and self._current is None:
            self._begin_stream()
        return self._release()

    def end(self) -> list[tuple[int, Any]]:
        """End the file: no stream continues in the next one; return the records that were pending."""
        assigned = self.close()
        self._current = None
        self._unfinished = []
        self._by_message_id = {}
        return assigned

    def _release(self) -> list[tuple[int, Any]]:
        assert self._current is not None or not self._pending
        assigned = [(self._current.number, record) for record in self._pending] if self._current else []
        self._pending = []
        self._has_pending_content = False
        return assigned

    def _select_stream(self, kind: str, data: JsonObject | None) -> None:
        """Make the stream that a chunk with this first event belongs to the current one."""
        current = self._current
        message_id = event_message_id(data) if data is not None else None
        if message_id is not None and kind not in _START_TYPES:
            known = (
                current
                if current is not None and current.message_id == message_id
                else self._by_message_id.get(message_id)
            )
            if known is not None and not known.is_done:
                self._current = known
                return
        if current is None:
            self._begin_stream()
        elif kind in _START_TYPES and message_id is not None and message_id == current.message_id:
            # The same start again is a repetition, unless it comes after the end.
            if current.has_ended:
                self._leave_stream(current)
                self._begin_stream()
        elif kind in _START_TYPES or (message_id is not None and current.message_id is not None):
            self._leave_stream(current)
            self._begin_stream()
        elif current.has_ended and kind != "ping" and (data is not None or kind != "message"):
            # After an unfinished stream, this must be the rest of that stream.
            is_rest = bool(self._unfinished)
            if is_rest:
                self._mark_interleaved(current)
                self._unfinished.pop()
            self._begin_stream(is_interleaved=is_rest)

    def _leave_stream(self, stream: _Stream) -> None:
        if not stream.has_ended:
            self._unfinished.append(stream)
        elif not stream.is_contradictory:
            self._unfinished = []

    def _take(self, event: Event, kind: str, data: JsonObject | None) -> None:
        stream = self._current
        assert stream is not None
        stream.take(event, kind, data)
        if stream.message_id is not None and stream.check is not None and kind == "message":
            if stream.has_ended:
                self._by_message_id.pop(stream.message_id, None)
            else:
                self._by_message_id[stream.message_id] = stream
        if stream.is_contradictory and self._unfinished:
            self._mark_interleaved(stream)

    def _mark_interleaved(self, stream: _Stream) -> None:
        self.interleaved.update(mixed.number for mixed in (stream, *self._unfinished))

    def _begin_stream(self, *, is_interleaved: bool = False) -> None:
        self._current = _Stream(self._streams)
        if is_interleaved:
            self.interleaved.add(self._streams)
        self._streams += 1


def _type_and_data(event: Event) -> tuple[str, JsonObject | None]:
    """Return an event's type, and its data or None if that is not a JSON object."""
    try:
        data = parse(event.data)
    except NOT_JSON:
        return event.name, None
    if not isinstance(data, dict):
        return event.name, None
    kind = data.get("type")
    return kind if isinstance(kind, str) else event.name, data
