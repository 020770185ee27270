"""Calls that a log tells piece by piece, as LLM Interceptor does: the request, each event of the stream, its end."""

from collections.abc import Iterator
from typing import Any

from palaver.importers.api_trace.bodies import Body, body_of, body_of_events, event_of
from palaver.importers.api_trace.calls import Seen
from palaver.importers.api_trace.shapes import recorded_of
from palaver.model.build import JsonObject
from palaver.storage.spill import Spill
from palaver.streams._contract import Event

_GROWTH = 4
"""How much larger a record is once it is parsed."""
Part = tuple[str, JsonObject]
"""Where a record stands, and the record."""


class Parts:
    """Takes the records of calls in any order; gives the calls back, each with its records."""

    def __init__(self, spill: Spill) -> None:
        self._spill = spill

    def add(self, record: JsonObject, where: str, size_bytes: int) -> None:
        key = record.get("id") if record.get("type") == "request" else record.get("request_id")
        # What names no call is a call of its own, as far as one can tell.
        self._spill.add(key if isinstance(key, str) else f"\0{where}", (where, record), size_bytes * _GROWTH)

    def calls(self) -> Iterator[tuple[Seen, list[Part]]]:
        for _, group in self._spill.groups():
            yield from _calls_in(group)


def _calls_in(group: list[Part]) -> Iterator[tuple[Seen, list[Part]]]:
    requests: list[Part] = []
    answers: list[Part] = []
    for part in group:
        listed = requests if part[1].get("type") == "request" else answers
        # A line that was written twice tells nothing new.
        if not any(part[1] == known for _, known in listed[-1:]):
            listed.append(part)
    where, request = requests[0] if requests else (answers[0][0], {})
    response, reply = _answer([record for _, record in answers])
    others = requests[1:]
    yield recorded_of(request, response, reply, where), [part for part in group if part not in others]
    for part in others:
        yield recorded_of(part[1], {}, Body(), part[0]), [part]


def _answer(records: list[JsonObject]) -> tuple[JsonObject, Body]:
    """What is said of the answer, and the answer: whole where it is logged whole, else as its events tell."""
    said: JsonObject = {}
    whole = Body()
    chunks: list[JsonObject] = []
    for record in records:
        match record.get("type"):
            case "response_chunk":
                chunks.append(record)
            case "response" if whole == Body():
                whole = body_of(record.get("body"))
                said |= record
            case _:
                said = {**record, **said}
    if chunks:
        chunks.sort(key=_index)
        said = {**chunks[0], "timestamp": chunks[-1].get("timestamp"), **said}
        if not whole.is_answer:
            whole = body_of_events([_event(chunk.get("content")) for chunk in chunks])
    return said, whole


def _index(chunk: JsonObject) -> int:
    index = chunk.get("chunk_index")
    return index if type(index) is int else 0


def _event(content: Any) -> Event:
    """An event as it was on the wire. `_event_type` is the next event's name: the recorder is one event late."""
    match content:
        case {"done": True}:
            return Event("message", b"[DONE]")
        case {"raw": str(data)} if "error" not in content:
            return event_of("", data)
        case dict():
            return event_of("", {name: value for name, value in content.items() if name != "_event_type"})
        case _:
            return event_of("", content)
