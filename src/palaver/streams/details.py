"""The `streaming_details` of a response: the events of its stream, their times, and the issues found.

A network chunk is the result of one network read: several events, one, or a part of one. `chunk_count` counts the
events, as `chunks` lists them, and `network_chunks` the reads, if they are known. An event gets the time of the network
chunk in which it ends. Times count from the first event, whose `chunk_timing_ms` is 0. Pings are left out, recognized
by their parsed data. An event's type is the name in its `event` line, else the `type` in its data, else `message`, the
default of server-sent events.

Data that is not JSON is stored as `{"corrupted_data": TEXT}`, and lines that are not server-sent events as
`{"malformed_sse": TEXT}` (the whole chunk, if it holds nothing else), both in order with the other events.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
import orjson

from palaver.model.build import JsonObject
from palaver.streams import recognize
from palaver.streams._contract import Event
from palaver.streams._event_data import DONE, NOT_JSON, Issues, parse
from palaver.streams.event_parsers import JsonElementParser, SseParser
from palaver.streams.protocol_checks import ProtocolCheck, protocol_check

_DEFAULT_NAME = "message"
_STRAY_NAME = "unknown"
_MAX_CACHED_NAMES = 256
_FIRST_BYTE = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*([^ \t\r\n\xef])")
_MAX_BLANK_BYTES = 1_000
_MAX_TIMESTAMP = 1e15


class StreamingDetails:
    """Writes every event of a stream as JSON as soon as it is complete, and holds none of them in memory."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.count = 0
        self.network_chunks: int | None = 0
        """The number of chunks that were not empty; None if the network reads are unknown."""
        self.wire_format: str | None = None
        """The format of the stream, once an event has shown it."""
        self.is_sse = True
        """Whether the body is server-sent events, and not a JSON array."""
        self._write = write
        self._parser: SseParser | JsonElementParser | None = None
        self._head = b""
        self._check: ProtocolCheck | None = None
        self._issues = Issues()
        self._first: float | None = None
        self._last: float | None = None
        self._previous: float | None = None
        """The time of the previous chunk, whether or not an event ended in it."""
        self._names: dict[str, bytes] = {}

    @property
    def has_last_event(self) -> bool:
        """Whether the event has arrived that ends a stream of its API; False once the stream is closed."""
        return self._check is not None and self._check.has_ended

    def feed(self, chunk: bytes, timestamp: float | None) -> list[Event]:
        """Take one chunk; return the events that end in it, except pings."""
        if timestamp is not None and self._previous is not None and timestamp < self._previous:
            self.note("timing_anomaly", f"{timestamp} comes after {self._previous}", self.count + 1)
        self._previous = timestamp
        if chunk and self.network_chunks is not None:
            self.network_chunks += 1
        if self.count == 0:
            self._first = timestamp if self._first is None else self._first
            self._last = timestamp
        events = self._take_all(self._parse_chunk(chunk), timestamp)
        if strays := self._pop_stray_lines():
            is_all = chunk.endswith((b"\n", b"\r")) and [line for line in chunk.splitlines() if line] == strays
            self._add_stray_lines(chunk if is_all else b"\n".join(strays), timestamp)
        return events

    def close(self) -> list[Event]:
        """End the stream; return the event that the end cuts off, if any."""
        timestamp = self._previous
        begun = [] if self._parser is not None else self._choose_parser()
        assert self._parser is not None
        events = self._take_all(begun + self._parser.close(), timestamp)
        if strays := self._pop_stray_lines():
            self._add_stray_lines(b"\n".join(strays), timestamp)
        if self._check is not None:
            self._check.close()
            # Break the reference cycle: it would keep the whole stream in memory until the next garbage collection.
            self._check = None
        else:
            self.note("incomplete_stream_start", "no event identifies the API", self.count)
            self.note("incomplete_stream_end", "no event identifies the API", self.count)
        return events

    def note(self, kind: str, detail: str, sequence: int | None = None) -> None:
        """Add an issue; without a number, to the latest event."""
        self._issues.note(kind, self.count if sequence is None else sequence, detail)

    def issues(self) -> list[JsonObject]:
        """Return all issues; those found at the end have the number of the last event."""
        found = self._issues.assembled({}, self.count, is_complete=True, closing=[]).issues
        found.sort(key=lambda issue: issue.sequence)
        return [{**issue._asdict(), "sequence": min(issue.sequence, self.count)} for issue in found]

    def summary(self, *, is_from_chunks: bool) -> JsonObject:
        """Return the fields of `streaming_details` about the stream as a whole.

        `is_from_chunks` says that it was put together later, from chunks that were logged apart.
        """
        first, last = self._first, self._last
        fields: JsonObject = {
            "chunk_count": self.count,
            "first_chunk_timestamp": first,
            "last_chunk_timestamp": last,
            "total_duration_ms": _milliseconds(first, last),
            "reconstructed_from_chunks": is_from_chunks,
        }
        if self.network_chunks is not None:
            fields["network_chunks"] = self.network_chunks
        return fields

    def _parse_chunk(self, chunk: bytes) -> list[Event]:
        if self._parser is not None:
            return self._parser.feed(chunk)
        self._head += chunk
        if not _FIRST_BYTE.match(self._head) and len(self._head) <= _MAX_BLANK_BYTES:
            return []
        return self._choose_parser()

    def _choose_parser(self) -> list[Event]:
        head, self._head = self._head, b""
        begun = _FIRST_BYTE.match(head)
        self.is_sse = begun is None or begun[1] not in b"[{"
        self._parser = SseParser(collect_strays=True) if self.is_sse else JsonElementParser()
        return self._parser.feed(head)

    def _take_all(self, events: list[Event], timestamp: float | None) -> list[Event]:
        if not events:
            return events
        time = _json_time(timestamp)
        return [event for event in events if self._take(event, time, timestamp)]

    def _take(self, event: Event, time: bytes, timestamp: float | None) -> bool:
        raw = event.data
        try:
            data: Any = parse(raw)
        except NOT_JSON as error:
            return self._take_irregular(event, time, timestamp, str(error))
        if not isinstance(data, dict):
            return self._take_irregular(event, time, timestamp, "an object was expected")
        if b"\n" in raw or b"\r" in raw:
            raw = encode_json(data)
        return self._take_object(event, data, raw, time, timestamp)

    def _take_object(self, event: Event, data: JsonObject, raw: bytes, time: bytes, timestamp: float | None) -> bool:
        kind = data.get("type")
        if not isinstance(kind, str):
            kind = event.name
        if kind == "ping":
            return False
        self._add(kind if event.name == _DEFAULT_NAME else event.name, raw, time, timestamp, event)
        if check := self._check or self._recognize(event):
            check.take(kind, data)
        return True

    def _take_irregular(self, event: Event, time: bytes, timestamp: float | None, reason: str) -> bool:
        if event.name == "ping":
            return False
        if event.data.strip() == DONE:
            self._add(event.name, b'"[DONE]"', time, timestamp, event)
            if check := self._check or self._recognize(event):
                check.take_done()
            return True
        text = event.data.decode("utf-8", "replace")
        try:
            data = json.loads(text, strict=False, parse_constant=str)
            if isinstance(data, dict):
                self.note("lenient_json", reason, self.count + 1)
                return self._take_object(event, data, encode_json(data), time, timestamp)
        except (ValueError, RecursionError):
            pass
        self._add(event.name, encode_json({"corrupted_data": text}), time, timestamp, event)
        self.note("cut_event" if event.is_cut else "corrupted_data", reason)
        return True

    def _add(self, name: str, raw: bytes, time: bytes, timestamp: float | None, event: Event | None = None) -> None:
        if self.count == 0:
            self._first = timestamp
        self._last = timestamp
        encoded_name = self._names.get(name)
        if encoded_name is None:
            encoded_name = encode_json(name)
            if len(self._names) < _MAX_CACHED_NAMES:
                self._names[name] = encoded_name
        timing_ms = _milliseconds(self._first, timestamp)
        more = b""
        if event is not None and (event.id or event.retry_ms is not None):
            more = b"".join(
                (
                    b',"id":%b' % encode_json(event.id) if event.id else b"",
                    b"" if event.retry_ms is None else b',"retry_ms":%d' % event.retry_ms,
                )
            )
        self._write(
            b'%b{"sequence":%d,"timestamp":%b,"event_type":%b,"data":%b,"chunk_timing_ms":%d%b}'
            % (b"," if self.count else b"", self.count + 1, time, encoded_name, raw, timing_ms, more)
        )
        self.count += 1

    def _recognize(self, event: Event) -> ProtocolCheck | None:
        self.wire_format = recognize([event])
        if self.wire_format is not None:
            self._check = protocol_check(self.wire_format, self.note)
        return self._check

    def _pop_stray_lines(self) -> list[bytes]:
        parser = self._parser
        if not isinstance(parser, SseParser) or not parser.stray_lines:
            return []
        strays, parser.stray_lines = parser.stray_lines, []
        return strays

    def _add_stray_lines(self, raw: bytes, timestamp: float | None) -> None:
        text = raw.decode("utf-8", "replace")
        self._add(_STRAY_NAME, encode_json({"malformed_sse": text}), _json_time(timestamp), timestamp)
        self.note("malformed_sse", text.strip())


def _json_time(timestamp: float | None) -> bytes:
    return b"null" if timestamp is None else repr(timestamp).encode()


def _milliseconds(first: float | None, last: float | None) -> int:
    """Return how long after the first time the last one is; 0 if it is not, or if one of them is unknown."""
    return 0 if first is None or last is None else max(0, round((last - first) * 1_000))


def details_of_body(body: bytes, timestamp: float | None) -> tuple[StreamingDetails, JsonObject]:
    """Return the details of a body that was recorded whole, so that all its events have the same time."""
    pieces: list[bytes] = []
    details = StreamingDetails(pieces.append)
    details.network_chunks = None
    details.feed(body, timestamp)
    details.close()
    return details, details_object(details, pieces, is_from_chunks=False)


def details_object(details: StreamingDetails, pieces: list[bytes], *, is_from_chunks: bool) -> JsonObject:
    """Return the `streaming_details` object, with the events as raw JSON."""
    fields = details.summary(is_from_chunks=is_from_chunks)
    fields["chunks"] = RawJson(b"[%b]" % b"".join(pieces))
    if issues := details.issues():
        fields["issues"] = issues
    return fields


def sse_bytes(event: Event) -> bytes:
    """Encode an event as a server-sent event."""
    name = event.name
    if name == _DEFAULT_NAME and b'"type"' in event.data:
        try:
            kind: Any = parse(event.data).get("type")
        except (*NOT_JSON, AttributeError):
            kind = None
        name = kind if isinstance(kind, str) and kind and "\n" not in kind and "\r" not in kind else _DEFAULT_NAME
    head = b"" if name == _DEFAULT_NAME else b"event: %b\n" % name.encode("utf-8", "replace")
    return head + b"".join(b"data: %b\n" % line for line in event.data.split(b"\n")) + b"\n"


def is_timestamp(value: Any) -> bool:
    """Return whether a value can be a time in seconds or milliseconds since 1970; no comparison holds for NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MAX_TIMESTAMP


class RawJson(msgspec.Struct, frozen=True):
    """A value that is JSON already and is embedded unchanged."""

    json: bytes

    def value(self) -> Any:
        return json.loads(self.json)


def encode_json(value: Any) -> bytes:
    """Encode a value as one line of JSON, with the standard library for large integers and lone surrogates.

    Raises:
        RecursionError: The value is nested too deeply.
    """
    try:
        return orjson.dumps(value, default=_raw_fragment)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), default=_raw_value).encode()


def is_deeply_nested(value: Any, max_depth: int = 200) -> bool:
    """Return whether a value may be too deep to encode once it is embedded in another one."""
    level = [value]
    for _ in range(max_depth):
        nested = [
            item for container in level for item in (container.values() if isinstance(container, dict) else container)
        ]
        level = [item for item in nested if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _raw_fragment(value: Any) -> Any:
    if isinstance(value, RawJson):
        return orjson.Fragment(value.json)
    raise TypeError


def _raw_value(value: Any) -> Any:
    if isinstance(value, RawJson):
        return value.value()
    raise TypeError
