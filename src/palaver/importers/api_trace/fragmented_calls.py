"""Calls logged in several records: chunk files of claude-trace and the records of LLM Interceptor.

A chunk file holds the streams of a claude-trace log, one network read per line, for answers that the log lacks. Chunks
are grouped by `request_id`. Older files have none: there, a stream runs from `message_start` to `message_stop` and
belongs to the unanswered entry of the log within two seconds, if there is exactly one. A stream whose message the log
already holds, as the request id tells, or else the id of the message, is folded into it, and gives it its times.

LLM Interceptor writes the request, each event of the stream, and its end as records of their own, in any order.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from palaver.importers.api_trace.bodies import Body, body_of, body_of_events, event_of
from palaver.importers.api_trace.calls import LoggedCall
from palaver.importers.api_trace.records import pair_call, recorded_call, request_ids
from palaver.model.build import JsonObject
from palaver.storage.spill import GroupSpill
from palaver.streams._contract import Event, Issue
from palaver.streams.event_parsers import events_of
from palaver.streams.log_entries import chunk_bytes, stated_request_id

WINDOW_S = 2.0
_MESSAGE_ID = re.compile(r'"message_start".{0,200}?"id"\s*:\s*"([^"]+)"', re.DOTALL)
_ENTRY, _CHUNK = "entry", "chunk"


@dataclass(slots=True)
class _Stream:
    """What is remembered about a stream while its chunks are spilled."""

    first: float | None = None
    last: float | None = None
    message_id: str = ""
    is_legacy: bool = False
    is_answered: bool = False
    """Whether the log itself holds the answer."""
    has_entry: bool = False


@dataclass(slots=True)
class ChunkStreams:
    """The streams of one chunk file."""

    spill: GroupSpill
    _streams: dict[str, _Stream] = field(default_factory=dict[str, _Stream])
    _streams_by_message: dict[str, str] = field(default_factory=dict[str, str])
    """Streams by the id of their message."""
    _streams_by_entry: dict[int, str] = field(default_factory=dict[int, str])
    """Streams by the number of the log entry that they belong to."""
    _open_legacy_key: str = ""
    ambiguous: list[str] = field(default_factory=list[str])

    def add(self, chunk: JsonObject, where: str, size_bytes: int) -> None:
        text, time = chunk.get("chunk_data"), chunk.get("timestamp")
        text = text if isinstance(text, str) else ""
        key = stated_request_id(chunk) or ""
        is_legacy = not key
        if is_legacy:
            if not self._open_legacy_key or '"message_start"' in text:
                self._open_legacy_key = f"\0{where}"
            key = self._open_legacy_key
        stream = self._streams.setdefault(key, _Stream(is_legacy=is_legacy))
        if isinstance(time, int | float):
            stream.first = time if stream.first is None else min(time, stream.first)
            stream.last = time if stream.last is None else max(time, stream.last)
        if not stream.message_id and (found := _MESSAGE_ID.search(text)):
            stream.message_id = found[1]
            self._streams_by_message.setdefault(found[1], key)
        if is_legacy and '"message_stop"' in text:
            self._open_legacy_key = ""
        self.spill.add(key, (_CHUNK, where, time, text), size_bytes)

    @property
    def needs_times(self) -> bool:
        return any(stream.is_legacy for stream in self._streams.values())

    def match_by_time(self, entries: Iterable[JsonObject]) -> None:
        """Match streams without ids to the unanswered entries of the log."""
        unanswered: dict[int, float] = {}
        for number, entry in enumerate(entries):
            response = entry.get("response")
            response = response if isinstance(response, dict) else {}
            time = response.get("timestamp")
            if is_unanswered(entry):
                if isinstance(time, int | float) and not any(name in self._streams for name in request_ids(entry)):
                    unanswered[number] = time
            elif found := _MESSAGE_ID.search(str(response.get("body_raw"))):
                for stream in self._streams_of(entry, found[1]):
                    stream.is_answered = True
        candidates: dict[int, list[str]] = {}
        for key, stream in self._streams.items():
            if not stream.is_legacy or stream.is_answered or stream.first is None:
                continue
            near = [number for number, time in unanswered.items() if abs(time - stream.first) <= WINDOW_S]
            if len(near) == 1:
                candidates.setdefault(near[0], []).append(key)
            elif near:
                self.ambiguous.append(key[1:])
        for number, keys in candidates.items():
            if len(keys) == 1:
                self._streams_by_entry[number] = keys[0]
            else:
                self.ambiguous += [key[1:] for key in keys]

    def claim_entry(self, entry: JsonObject, where: str, number: int, size_bytes: int) -> bool:
        """Store an entry if a stream holds its answer; return whether it was stored."""
        key = next((name for name in request_ids(entry) if name in self._streams), self._streams_by_entry.get(number))
        if key is None or self._streams[key].has_entry or not is_unanswered(entry):
            return False
        self._streams[key].has_entry = True
        self.spill.add(key, (_ENTRY, where, None, entry), size_bytes)
        return True

    def mark_answered(self, entry: JsonObject, answer_id: Any) -> None:
        """Record that the log holds the answer of this entry."""
        for stream in self._streams_of(entry, answer_id):
            stream.is_answered = True

    def times_of(self, entry: JsonObject, answer_id: Any) -> tuple[float | None, float | None]:
        """Return the times of the first and the last chunk of an entry."""
        streams = self._streams_of(entry, answer_id)
        first = min((stream.first for stream in streams if stream.first is not None), default=None)
        return first, max((stream.last for stream in streams if stream.last is not None), default=None)

    def _streams_of(self, entry: JsonObject, answer_id: Any) -> list[_Stream]:
        """Return the streams with a request id of an entry; only if there are none, that with its message's id."""
        found = [self._streams[name] for name in request_ids(entry) if name in self._streams]
        key = self._streams_by_message.get(answer_id) if isinstance(answer_id, str) and not found else None
        return found if key is None else [self._streams[key]]

    def calls(self) -> Iterator[tuple[LoggedCall | None, list[tuple[str, Any]]]]:
        """Yield each call with its records and their positions; None for a stream whose answer the log holds."""
        for key, group in self.spill.groups():
            stream = self._streams[key]
            entries = [(where, entry) for kind, where, _, entry in group if kind == _ENTRY]
            chunks = [(where, time, text) for kind, where, time, text in group if kind == _CHUNK]
            records = [(where, {"chunk_data": item} if kind == _CHUNK else item) for kind, where, _, item in group]
            if not entries and stream.is_answered:
                yield None, records
                continue
            reply = _assemble_chunks(chunks)
            if entries:
                where, entry = entries[0]
                logged = pair_call(entry, where, reply)
            else:
                stated = "" if stream.is_legacy else key
                logged = LoggedCall(chunks[0][0], "claude-trace", reply=reply, stated_id=stated, ended=chunks[-1][1])
            times = [time for _, time, _ in chunks if isinstance(time, int | float)]
            logged.first_chunk, logged.last_chunk = min(times, default=None), max(times, default=None)
            yield logged, records


def is_unanswered(entry: JsonObject) -> bool:
    response = entry.get("response")
    if not isinstance(response, dict):
        return True
    return not any(response.get(name) for name in ("body", "body_raw", "streaming_details", "events"))


def _assemble_chunks(chunks: list[tuple[str, Any, str]]) -> Body:
    """Assemble chunks in the order of their times; a chunk without a time follows the one before it."""
    timed: list[tuple[float, str]] = []
    latest = 0.0
    for _, time, text in chunks:
        latest = time if isinstance(time, int | float) else latest
        timed.append((latest, text))
    repeated = sum(time is not None and (time, text) == after[1:] for (_, time, text), after in pairwise(chunks))
    timed.sort(key=lambda chunk: chunk[0])
    body = body_of_events(list(events_of(chunk_bytes(text for _, text in timed))), "anthropic")
    if repeated:
        detail = f"lines that repeat the one before them: {repeated:,}; all are kept"
        body = body._replace(issues=(*body.issues, Issue("repeated_chunk", len(chunks), detail)))
    return body


_GROWTH = 4
"""How much larger a record is once parsed."""
Part = tuple[str, JsonObject]
"""A record with its position."""


class CallParts:
    """Collects records in any order and yields the calls, each with its records."""

    def __init__(self, spill: GroupSpill) -> None:
        self._spill = spill

    def add(self, record: JsonObject, where: str, size_bytes: int) -> None:
        key = record.get("id") if record.get("type") == "request" else record.get("request_id")
        # A record without an id is taken for a call of its own.
        self._spill.add(key if isinstance(key, str) else f"\0{where}", (where, record), size_bytes * _GROWTH)

    def calls(self) -> Iterator[tuple[LoggedCall, list[Part]]]:
        for _, group in self._spill.groups():
            yield from _calls_of_group(group)


def _calls_of_group(group: list[Part]) -> Iterator[tuple[LoggedCall, list[Part]]]:
    requests: list[Part] = []
    answers: list[Part] = []
    for part in group:
        parts = requests if part[1].get("type") == "request" else answers
        # A line may have been written twice.
        if not any(part[1] == known for _, known in parts[-1:]):
            parts.append(part)
    where, request = requests[0] if requests else (answers[0][0], {})
    response, reply, times = _assemble_response([record for _, record in answers])
    others = requests[1:]
    logged = recorded_call(request, response, reply, where)
    logged.first_chunk, logged.last_chunk = times
    yield logged, [part for part in group if part not in others]
    for part in others:
        yield recorded_call(part[1], {}, Body(), part[0]), [part]


def _assemble_response(records: list[JsonObject]) -> tuple[JsonObject, Body, tuple[Any, Any]]:
    """Return the fields of the response records, the body, and the times of the first and the last event.

    The body is as logged whole, else assembled from its events.
    """
    fields: JsonObject = {}
    body = Body()
    chunks: list[JsonObject] = []
    for record in records:
        match record.get("type"):
            case "response_chunk":
                chunks.append(record)
            case "response" if body == Body():
                body = body_of(record.get("body"))
                fields |= record
            case _:
                fields = {**record, **fields}
    times: tuple[Any, Any] = (None, None)
    if chunks:
        chunks.sort(key=_chunk_index)
        times = chunks[0].get("timestamp"), chunks[-1].get("timestamp")
        fields = {**chunks[0], "timestamp": chunks[-1].get("timestamp"), **fields}
        if not body.is_answer:
            body = body_of_events([_event(chunk.get("content")) for chunk in chunks])
    return fields, body, times


def _chunk_index(chunk: JsonObject) -> int:
    index = chunk.get("chunk_index")
    return index if type(index) is int else 0


def _event(content: Any) -> Event:
    """Return an event as sent. `_event_type` is dropped: the recorder is one event late and names the next one."""
    match content:
        case {"done": True}:
            return Event("message", b"[DONE]")
        case {"raw": str(data)} if "error" not in content:
            return event_of("", data)
        case dict():
            return event_of("", {name: value for name, value in content.items() if name != "_event_type"})
        case _:
            return event_of("", content)
