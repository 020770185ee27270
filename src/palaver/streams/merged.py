"""An entry of a log with its stream in it: from the chunks that were written beside the log, or from its own body."""

from collections.abc import Iterable
from typing import NamedTuple

from palaver.model.build import JsonObject
from palaver.streams import assemble, assemble_events
from palaver.streams._contract import Event
from palaver.streams.details import Details, as_body, details_of, finished
from palaver.streams.entries import (
    MILLISECONDS_FROM,
    answer,
    answered_at,
    chunk_bytes,
    encoded,
    own_request_id,
    seconds,
    streamed_body,
)
from palaver.streams.matching import Claim

_OUT_OF_TIME = "timing_anomaly"


class Timed(NamedTuple):
    """A chunk as it was logged, with its time."""

    record: JsonObject
    text: str | None
    """What one read gave; None where the record holds no text."""
    time: float | None
    is_inferred: bool
    """Whether the time is that of the chunk beside it."""

    def order(self) -> float:
        return 0.0 if self.time is None else self.time


class Fault(NamedTuple):
    """A chunk that could not be merged."""

    sequence: int
    detail: str
    original: JsonObject


def timed(records: list[JsonObject]) -> list[Timed]:
    """Chunks of a stream in the order of the file; one without a time has that of the one before, else after."""
    times = [_time(record) for record in records]
    before = next((time for time in times if time is not None), None)
    made: list[Timed] = []
    for record, time in zip(records, times, strict=True):
        text = record.get("chunk_data")
        before = before if time is None else time
        made.append(Timed(record, text if isinstance(text, str) else None, before, time is None))
    return made


def _time(record: JsonObject) -> float | None:
    time = record.get("timestamp")
    if isinstance(time, float) and 0 <= time < MILLISECONDS_FROM:
        return time
    stated = (seconds(record.get(name)) for name in ("timestamp", "logged_at"))
    return next((time for time in stated if time is not None), None)


def takes_a_stream(entry: JsonObject) -> bool:
    """Whether the entry has a place for a stream, or none at all, so that one can be made."""
    return isinstance(entry.get("response"), dict | None)


def merged(entry: JsonObject, chunks: list[Timed], claims: list[Claim], faults: list[Fault]) -> JsonObject:
    """Put the stream into the entry; its details."""
    for sequence, chunk in enumerate(sorted(chunks, key=Timed.order), 1):
        if chunk.text is None:
            faults.append(Fault(sequence, "there is no text in chunk_data", chunk.record))
    built = _built(chunks)
    _check_ids(entry, claims, built.details)
    response: JsonObject = dict(answer(entry))
    if not response:
        response["timestamp"] = chunks[0].time
    entry["response"] = response
    _check_body(entry, built)
    if not response.get("body_raw"):
        response["body_raw"] = built.body().decode("utf-8", "replace")
    made = finished(built.details, built.pieces, is_from_chunks=True)
    if (by := claims[0].by) != "request_id":
        made["matched_by"] = by
    response["streaming_details"] = made
    return made


def rebuilt(entry: JsonObject) -> JsonObject | None:
    """Put details into the entry from its own body; None where it holds no stream."""
    body = streamed_body(entry)
    if body is None:
        return None
    _, made = details_of(encoded(body), answered_at(entry))
    entry["response"] = {**answer(entry), "streaming_details": made}
    return made


class _Built(NamedTuple):
    details: Details
    pieces: list[bytes]
    events: list[Event]
    texts: list[str]

    def body(self) -> bytes:
        if self.details.is_sse:
            return b"".join(map(as_body, self.events))
        return encoded("".join(self.texts))


def _built(chunks: list[Timed]) -> _Built:
    """The stream in the order of time; in that of the file, if only that one makes sense: clocks are set back."""
    order = sorted(range(len(chunks)), key=lambda position: chunks[position].order())
    built = _assembled(chunks, order)
    if order != list(range(len(chunks))) and any(issue["type"] != _OUT_OF_TIME for issue in built.details.issues()):
        as_logged = _assembled(chunks, range(len(chunks)))
        if all(issue["type"] == _OUT_OF_TIME for issue in as_logged.details.issues()):
            return as_logged
    return built


def _assembled(chunks: list[Timed], order: Iterable[int]) -> _Built:
    pieces: list[bytes] = []
    details = Details(pieces.append)
    with_text = [position for position in order if chunks[position].text is not None]
    texts = [chunks[position].text or "" for position in with_text]
    events: list[Event] = []
    before = -1
    for position, raw in zip(with_text, chunk_bytes(texts), strict=True):
        if chunks[position].is_inferred:
            details.note(_OUT_OF_TIME, "a chunk has no time of its own", details.count + 1)
        if position < before:
            details.note(_OUT_OF_TIME, "a chunk was logged before the one that it follows in time", details.count + 1)
        before = position
        events += details.feed(raw, chunks[position].time)
    events += details.close()
    return _Built(details, pieces, events, texts)


def _check_ids(entry: JsonObject, claims: list[Claim], details: Details) -> None:
    stated = sorted({claim.stream.request_id for claim in claims if claim.stream.request_id})
    if len(stated) > 1:
        details.note("request_id_mismatch", f"the chunks state {' and '.join(stated)}")
    elif stated and claims[0].by != "request_id" and (own := own_request_id(entry)):
        details.note("request_id_mismatch", f"the chunks state {stated[0]}, and the entry {own}")


def _check_body(entry: JsonObject, built: _Built) -> None:
    """Compare what the chunks say with what the entry holds already."""
    response, wire_format = answer(entry), built.details.wire_format
    raw, body = response.get("body_raw"), response.get("body")
    if wire_format is None or not (isinstance(raw, str) or isinstance(body, dict)):
        return
    said = assemble_events(wire_format, built.events).payload
    if isinstance(raw, str) and raw.strip():
        recorded = assemble(wire_format, encoded(raw)).payload
        differing = sorted(name for name in said.keys() | recorded.keys() if said.get(name) != recorded.get(name))
        if differing:
            built.details.note("body_mismatch", f"body_raw says something else: {', '.join(differing)}")
    if isinstance(body, dict):
        differing = sorted(name for name in said.keys() & body.keys() if said[name] != body[name])
        if differing:
            built.details.note("body_mismatch", f"body says something else: {', '.join(differing)}")
