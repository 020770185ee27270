"""Merge a stream into its log entry: from chunks in a separate file, or from the entry's own recorded body."""

from collections.abc import Iterable
from itertools import zip_longest
from typing import NamedTuple

from palaver.model.build import JsonObject
from palaver.streams import assemble_all, assemble_events
from palaver.streams._contract import Assembled, Event
from palaver.streams.details import StreamingDetails, details_object, details_of_body, sse_bytes
from palaver.streams.entry_matches import Claim
from palaver.streams.log_entries import (
    MIN_MILLISECONDS,
    chunk_bytes,
    encode_text,
    epoch_seconds,
    logger_request_id,
    response_of,
    response_time,
    streamed_body,
)

_TIMING_ANOMALY = "timing_anomaly"
_REPEATED_CHUNK = "repeated_chunk"
_INDEPENDENT_OF_ORDER = {_TIMING_ANOMALY, _REPEATED_CHUNK}


class TimedChunk(NamedTuple):
    """A logged chunk with its time."""

    record: JsonObject
    text: str | None
    """The result of one network read; None if the record holds no text."""
    time: float | None
    is_inferred: bool
    """Whether the time was taken from the adjacent chunk."""

    def sort_time(self) -> float:
        return 0.0 if self.time is None else self.time


class ChunkFault(NamedTuple):
    """A chunk that could not be merged."""

    sequence: int
    detail: str
    original: JsonObject


def timed_chunks(records: list[JsonObject]) -> list[TimedChunk]:
    """Return the chunks of a stream in file order; one without a time gets that of the chunk before, else after it."""
    times = [_time(record) for record in records]
    before = next((time for time in times if time is not None), None)
    chunks: list[TimedChunk] = []
    for record, time in zip(records, times, strict=True):
        text = record.get("chunk_data")
        before = before if time is None else time
        chunks.append(TimedChunk(record, text if isinstance(text, str) else None, before, time is None))
    return chunks


def _time(record: JsonObject) -> float | None:
    time = record.get("timestamp")
    if isinstance(time, float) and 0 <= time < MIN_MILLISECONDS:
        return time
    stated = (epoch_seconds(record.get(name)) for name in ("timestamp", "logged_at"))
    return next((time for time in stated if time is not None), None)


def can_hold_stream(entry: JsonObject) -> bool:
    """Return whether an entry's response is an object, or missing, so that it can be created."""
    return isinstance(entry.get("response"), dict | None)


def merge_into_entry(
    entry: JsonObject, chunks: list[TimedChunk], claims: list[Claim], faults: list[ChunkFault]
) -> JsonObject:
    """Add a stream to an entry in place; return its `streaming_details`."""
    for sequence, chunk in enumerate(sorted(chunks, key=TimedChunk.sort_time), 1):
        if chunk.text is None:
            faults.append(ChunkFault(sequence, "chunk_data has no text", chunk.record))
    replayed = _replay_in_best_order(chunks)
    _check_ids(entry, claims, replayed.details)
    response: JsonObject = dict(response_of(entry))
    if not response:
        response["timestamp"] = chunks[0].time
    entry["response"] = response
    _check_body(entry, replayed)
    if not response.get("body_raw"):
        response["body_raw"] = replayed.body().decode("utf-8", "replace")
    details = details_object(replayed.details, replayed.pieces, is_from_chunks=True)
    if (by := claims[0].by) != "request_id":
        details["matched_by"] = by
    response["streaming_details"] = details
    return details


def rebuild_details(entry: JsonObject) -> JsonObject | None:
    """Add details made from an entry's own body in place and return them; None if the body is not a stream."""
    body = streamed_body(entry)
    if body is None:
        return None
    _, details = details_of_body(encode_text(body), response_time(entry))
    entry["response"] = {**response_of(entry), "streaming_details": details}
    return details


class _Replayed(NamedTuple):
    """A stream after its chunks were fed to `StreamingDetails` in some order."""

    details: StreamingDetails
    pieces: list[bytes]
    events: list[Event]
    texts: list[str]

    def body(self) -> bytes:
        if self.details.is_sse:
            return b"".join(map(sse_bytes, self.events))
        return encode_text("".join(self.texts))


def _replay_in_best_order(chunks: list[TimedChunk]) -> _Replayed:
    """Replay the chunks in order of time, or in file order if only that has no issues: clocks are set back."""
    order = sorted(range(len(chunks)), key=lambda position: chunks[position].sort_time())
    replayed = _replay(chunks, order)
    if order != list(range(len(chunks))) and _has_issues(replayed):
        as_logged = _replay(chunks, range(len(chunks)))
        if not _has_issues(as_logged):
            return as_logged
    return replayed


def _has_issues(replayed: _Replayed) -> bool:
    """Return whether a replay has issues that another order of the chunks might not have."""
    return any(issue["type"] not in _INDEPENDENT_OF_ORDER for issue in replayed.details.issues())


def _replay(chunks: list[TimedChunk], order: Iterable[int]) -> _Replayed:
    pieces: list[bytes] = []
    details = StreamingDetails(pieces.append)
    with_text = [position for position in order if chunks[position].text is not None]
    texts = [chunks[position].text or "" for position in with_text]
    events: list[Event] = []
    before = -1
    for position, raw in zip(with_text, chunk_bytes(texts), strict=True):
        if chunks[position].is_inferred:
            details.note(_TIMING_ANOMALY, "a chunk has no time", details.count + 1)
        if position < before:
            details.note(_TIMING_ANOMALY, "a chunk was logged before an earlier chunk", details.count + 1)
        if position and chunks[position].record == chunks[position - 1].record:
            # The line may have been written twice, or the API may have sent two equal pieces of text at once.
            details.note(_REPEATED_CHUNK, "this chunk repeats the line before it; both are kept", details.count + 1)
        before = position
        events += details.feed(raw, chunks[position].time)
    events += details.close()
    return _Replayed(details, pieces, events, texts)


def _check_ids(entry: JsonObject, claims: list[Claim], details: StreamingDetails) -> None:
    stated = sorted({claim.stream.request_id for claim in claims if claim.stream.request_id})
    if len(stated) > 1:
        details.note("request_id_mismatch", f"the chunks state {' and '.join(stated)}")
    elif stated and claims[0].by != "request_id" and (own := logger_request_id(entry)):
        details.note("request_id_mismatch", f"the chunks state {stated[0]}, but the entry states {own}")


def _check_body(entry: JsonObject, replayed: _Replayed) -> None:
    """Compare the response in the chunks with the one already in the entry."""
    response, wire_format = response_of(entry), replayed.details.wire_format
    raw, body = response.get("body_raw"), response.get("body")
    if wire_format is None or not (isinstance(raw, str) or isinstance(body, dict)):
        return
    first = assemble_events(wire_format, replayed.events)
    assembled = first.payload
    if isinstance(raw, str) and raw.strip():
        recorded = assemble_all(wire_format, encode_text(raw))
        differing = _differing_fields([assembled, *(later.payload for later in first.following)], recorded)
        if differing:
            replayed.details.note("body_mismatch", f"body_raw differs: {', '.join(differing)}")
    if isinstance(body, dict):
        differing = sorted(name for name in assembled.keys() & body.keys() if assembled[name] != body[name])
        if differing:
            replayed.details.note("body_mismatch", f"body differs: {', '.join(differing)}")


def _differing_fields(payloads: list[JsonObject], recorded: list[Assembled]) -> list[str]:
    """Return the fields in which the messages of two streams differ."""
    differing: set[str] = set()
    for ours, theirs in zip_longest(payloads, (message.payload for message in recorded), fillvalue={}):
        differing |= {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    return sorted(differing)
