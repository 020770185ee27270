"""Streaming details: which events a stream brought, when, and what is not as it should be.

A chunk is what one read of the network gave: several events, one, or a part of one. An event has the time of the chunk
in which it ends, for only then is it known. Times count from the first event, whose `chunk_timing_ms` is 0. Pings are
left out, known by what they say and not by their spelling. What an event is called stands in its `event` line, else in
its data's `type`; else it is a `message`, as the rules for server-sent events have it.

Text that is no JSON is kept as `{"corrupted_data": TEXT}`, lines that are no server-sent events as
`{"malformed_sse": TEXT}` (the whole chunk, where it holds nothing else), each in its place among the others.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from palaver.model.build import JsonObject
from palaver.streams import recognize
from palaver.streams._contract import Event
from palaver.streams._reading import DONE, NOT_JSON, Issues, parse
from palaver.streams._writing import Raw, written
from palaver.streams.checking import Check, check
from palaver.streams.elements import ElementParser
from palaver.streams.sse import SseParser

_UNNAMED = "message"
_UNKNOWN = "unknown"
_NAMES_KEPT = 256
_HAS_BEGUN = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*([^ \t\r\n\xef])")
_HEAD_BYTES = 1_000
_NO_TIME = 1e15


class Details:
    """Takes chunks, writes every event as JSON as soon as it is whole, and holds nothing of it."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.count = 0
        self.wire_format: str | None = None
        """Which API the stream is of, once an event has told."""
        self.is_sse = True
        """Whether it is a stream of events, and not a JSON array that arrives in pieces."""
        self._write = write
        self._parser: SseParser | ElementParser | None = None
        self._head = b""
        self._check: Check | None = None
        self._issues = Issues()
        self._first: float | None = None
        self._last: float | None = None
        self._previous: float | None = None
        """When the chunk before came, whether an event ended in it or not."""
        self._names: dict[str, bytes] = {}

    def feed(self, chunk: bytes, timestamp: float | None) -> list[Event]:
        """Take one chunk; the events that end in it, but for pings."""
        if timestamp is not None and self._previous is not None and timestamp < self._previous:
            self.note("timing_anomaly", f"{timestamp} comes after {self._previous}", self.count + 1)
        self._previous = timestamp
        if self.count == 0:
            self._first = timestamp if self._first is None else self._first
            self._last = timestamp
        events = self._taken(self._cut(chunk), timestamp)
        if strays := self._strays():
            is_all = chunk.endswith((b"\n", b"\r")) and [line for line in chunk.splitlines() if line] == strays
            self._keep_strays(chunk if is_all else b"\n".join(strays), timestamp)
        return events

    def close(self) -> list[Event]:
        """Say that nothing follows; the event that the end cuts off, if there is one."""
        timestamp = self._previous
        begun = [] if self._parser is not None else self._begun()
        assert self._parser is not None
        events = self._taken(begun + self._parser.close(), timestamp)
        if strays := self._strays():
            self._keep_strays(b"\n".join(strays), timestamp)
        if self._check is not None:
            self._check.close()
            # It refers back here: without this, all of the stream would wait for the collector.
            self._check = None
        else:
            self.note("incomplete_stream_start", "no event tells which API this is", self.count)
            self.note("incomplete_stream_end", "no event tells which API this is", self.count)
        return events

    def note(self, kind: str, detail: str, sequence: int | None = None) -> None:
        """Write an issue down; without a number, of the latest event."""
        self._issues.note(kind, self.count if sequence is None else sequence, detail)

    def issues(self) -> list[JsonObject]:
        """All issues; what is missing at the end has the number of the last event."""
        found = self._issues.assembled({}, self.count, is_complete=True, closing=[]).issues
        found.sort(key=lambda issue: issue.sequence)
        return [{**issue._asdict(), "sequence": min(issue.sequence, self.count)} for issue in found]

    def summary(self, *, is_from_chunks: bool) -> JsonObject:
        """All that is to be said of the stream as a whole."""
        first, last = self._first, self._last
        return {
            "chunk_count": self.count,
            "first_chunk_timestamp": first,
            "last_chunk_timestamp": last,
            "total_duration_ms": _milliseconds(first, last),
            "reconstructed_from_chunks": is_from_chunks,
        }

    def _cut(self, chunk: bytes) -> list[Event]:
        if self._parser is not None:
            return self._parser.feed(chunk)
        self._head += chunk
        if not _HAS_BEGUN.match(self._head) and len(self._head) <= _HEAD_BYTES:
            return []
        return self._begun()

    def _begun(self) -> list[Event]:
        head, self._head = self._head, b""
        begun = _HAS_BEGUN.match(head)
        self.is_sse = begun is None or begun[1] not in b"[{"
        self._parser = SseParser(keeps_strays=True) if self.is_sse else ElementParser()
        return self._parser.feed(head)

    def _taken(self, events: list[Event], timestamp: float | None) -> list[Event]:
        if not events:
            return events
        time = _spelled(timestamp)
        return [event for event in events if self._take(event, time, timestamp)]

    def _take(self, event: Event, time: bytes, timestamp: float | None) -> bool:
        raw = event.data
        try:
            data: Any = parse(raw)
        except NOT_JSON as error:
            return self._take_carefully(event, time, timestamp, str(error))
        if not isinstance(data, dict):
            return self._take_carefully(event, time, timestamp, "an object was expected")
        if b"\n" in raw or b"\r" in raw:
            raw = written(data)
        return self._take_object(event, data, raw, time, timestamp)

    def _take_object(self, event: Event, data: JsonObject, raw: bytes, time: bytes, timestamp: float | None) -> bool:
        kind = data.get("type")
        if not isinstance(kind, str):
            kind = event.name
        if kind == "ping":
            return False
        self._add(kind if event.name == _UNNAMED else event.name, raw, time, timestamp, event)
        if course := self._check or self._recognized(event):
            course.take(kind, data)
        return True

    def _take_carefully(self, event: Event, time: bytes, timestamp: float | None, reason: str) -> bool:
        if event.name == "ping":
            return False
        if event.data.strip() == DONE:
            self._add(event.name, b'"[DONE]"', time, timestamp, event)
            if course := self._check or self._recognized(event):
                course.done()
            return True
        text = event.data.decode("utf-8", "replace")
        try:
            data = json.loads(text, strict=False, parse_constant=str)
            if isinstance(data, dict):
                self.note("lenient_json", reason, self.count + 1)
                return self._take_object(event, data, written(data), time, timestamp)
        except (ValueError, RecursionError):
            pass
        self._add(event.name, written({"corrupted_data": text}), time, timestamp, event)
        self.note("cut_event" if event.is_cut else "corrupted_data", reason)
        return True

    def _add(self, name: str, raw: bytes, time: bytes, timestamp: float | None, event: Event | None = None) -> None:
        if self.count == 0:
            self._first = timestamp
        self._last = timestamp
        called = self._names.get(name)
        if called is None:
            called = written(name)
            if len(self._names) < _NAMES_KEPT:
                self._names[name] = called
        timing_ms = _milliseconds(self._first, timestamp)
        more = b""
        if event is not None and (event.id or event.retry_ms is not None):
            more = b"".join(
                (
                    b',"id":%b' % written(event.id) if event.id else b"",
                    b"" if event.retry_ms is None else b',"retry_ms":%d' % event.retry_ms,
                )
            )
        self._write(
            b'%b{"sequence":%d,"timestamp":%b,"event_type":%b,"data":%b,"chunk_timing_ms":%d%b}'
            % (b"," if self.count else b"", self.count + 1, time, called, raw, timing_ms, more)
        )
        self.count += 1

    def _recognized(self, event: Event) -> Check | None:
        self.wire_format = recognize([event])
        if self.wire_format is not None:
            self._check = check(self.wire_format, self.note)
        return self._check

    def _strays(self) -> list[bytes]:
        parser = self._parser
        if not isinstance(parser, SseParser) or not parser.strays:
            return []
        strays, parser.strays = parser.strays, []
        return strays

    def _keep_strays(self, raw: bytes, timestamp: float | None) -> None:
        text = raw.decode("utf-8", "replace")
        self._add(_UNKNOWN, written({"malformed_sse": text}), _spelled(timestamp), timestamp)
        self.note("malformed_sse", text.strip())


def _spelled(timestamp: float | None) -> bytes:
    return b"null" if timestamp is None else repr(timestamp).encode()


def _milliseconds(first: float | None, last: float | None) -> int:
    return 0 if first is None or last is None else round((last - first) * 1_000)


def details_of(body: bytes, timestamp: float | None) -> tuple[Details, JsonObject]:
    """The details of a body that was recorded whole: nobody knows when its events came, so all have its own time."""
    pieces: list[bytes] = []
    details = Details(pieces.append)
    details.feed(body, timestamp)
    details.close()
    return details, finished(details, pieces, is_from_chunks=False)


def finished(details: Details, pieces: list[bytes], *, is_from_chunks: bool) -> JsonObject:
    """The whole object, of which the events are JSON already."""
    made = details.summary(is_from_chunks=is_from_chunks)
    made["chunks"] = Raw(b"[%b]" % b"".join(pieces))
    if issues := details.issues():
        made["issues"] = issues
    return made


def as_body(event: Event) -> bytes:
    """An event as it would stand in a body."""
    name = event.name
    if name == _UNNAMED and b'"type"' in event.data:
        try:
            kind: Any = parse(event.data).get("type")
        except (*NOT_JSON, AttributeError):
            kind = None
        name = kind if isinstance(kind, str) and kind and "\n" not in kind and "\r" not in kind else _UNNAMED
    head = b"" if name == _UNNAMED else b"event: %b\n" % name.encode("utf-8", "replace")
    return head + b"".join(b"data: %b\n" % line for line in event.data.split(b"\n")) + b"\n"


def is_time(value: Any) -> bool:
    """Whether it is a number that can be a time, in seconds or in milliseconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _NO_TIME
