"""Entries of a request log: their ids, times and bodies, by which chunks are matched to them.

An entry's request id may be at its top level, in its request or response, or in a header of either, such as
`request-id`, in any case. At the first positions it is the logger's own id; in a header it is that of the API.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from palaver.model.build import JsonObject
from palaver.streams import recognize
from palaver.streams._event_data import NOT_JSON, parse
from palaver.streams.details import is_timestamp
from palaver.streams.event_parsers import SseParser, events_of

_ID_NAMES = ("request_id", "requestId", "request-id", "x-request-id")
_ID_HEADERS = {"request-id", "x-request-id", "anthropic-request-id", "apim-request-id"}
_MAX_EVENTS_TO_SEARCH = 8
_MAX_BYTES_TO_SEARCH = 1 << 16
MIN_MILLISECONDS = 10_000_000_000
_IS_SSE = re.compile(r"\ufeff?\s*(?:(?:event|data|id|retry)\s?:|:)")
_IS_JSON = re.compile(r"\ufeff?\s*[\[{]")
_IS_OBJECT = re.compile(r"\ufeff?\s*\{")


def stated_request_id(record: JsonObject) -> str | None:
    """Return the request id in a chunk, or at the top level of an entry's part; None if there is none."""
    stated = record.get("request_id")
    if isinstance(stated, str) and stated.isascii() and stated.isidentifier():
        return stated
    return next((found for name in _ID_NAMES if (found := _id(record.get(name)))), None)


def request_ids(entry: JsonObject) -> list[str]:
    """Return every request id that chunks may use for this entry."""
    found: dict[str, None] = {}
    for part in (entry, entry.get("request"), entry.get("response")):
        if isinstance(part, dict):
            for name in _ID_NAMES:
                if stated := _id(part.get(name)):
                    found[stated] = None
            for name, value in headers(part):
                if name in _ID_HEADERS and (stated := _id(value)):
                    found[stated] = None
    return list(found)


def logger_request_id(entry: JsonObject) -> str | None:
    """Return the id that the logger gave the entry, which is not in a header; None if there is none."""
    parts = (entry, entry.get("request"), entry.get("response"))
    return next((found for part in parts if isinstance(part, dict) and (found := stated_request_id(part))), None)


def headers(part: JsonObject) -> Iterator[tuple[str, Any]]:
    """Yield the headers of a request or a response, with names in lower case."""
    match part.get("headers"):
        case dict() as named:
            for name, value in named.items():
                yield name.lower(), value[0] if isinstance(value, list) and value else value
        case list() as pairs:
            for pair in pairs:
                match pair:
                    case [str(name), value] | {"name": str(name), "value": value}:
                        yield name.lower(), value
                    case _:
                        pass
        case _:
            pass


def response_of(entry: JsonObject) -> JsonObject:
    """Return the response, or an empty object if there is none."""
    response = entry.get("response")
    return response if isinstance(response, dict) else {}


def has_details(entry: JsonObject) -> bool:
    return isinstance(response_of(entry).get("streaming_details"), dict)


def is_merged(entry: JsonObject) -> bool:
    """Return whether an entry has details with times of chunks, and not just those that its body gives."""
    match response_of(entry).get("streaming_details"):
        case {"reconstructed_from_chunks": False, **rest}:
            return "network_chunks" in rest
        case details:
            return isinstance(details, dict)


def is_streamed(entry: JsonObject) -> bool:
    """Return whether the response was streamed, as far as the entry shows."""
    response, request = response_of(entry), entry.get("request")
    if any(name == "content-type" and "event-stream" in str(value).lower() for name, value in headers(response)):
        return True
    sent = request.get("body") if isinstance(request, dict) else None
    return isinstance(sent, dict) and sent.get("stream") is True and not isinstance(response.get("body"), dict)


def streamed_body(entry: JsonObject) -> str | None:
    """Return the recorded stream, or None if the body is anything else."""
    body = response_of(entry).get("body_raw")
    if not isinstance(body, str) or not body.strip():
        return None
    if _IS_SSE.match(body):
        return body
    if _IS_JSON.match(body):
        # A single object is a response or an error; Gemini streams an array.
        is_array = not _IS_OBJECT.match(body)
        return body if is_array and recognize(events_of(encode_text(body[:_MAX_BYTES_TO_SEARCH]))) == "gemini" else None
    return body if is_streamed(entry) and "\0" not in body else None


def entry_message_id(entry: JsonObject) -> str | None:
    """Return the id of the message in the response."""
    response = response_of(entry)
    body = response.get("body")
    if isinstance(body, dict) and (found := event_message_id(body)):
        return found
    text = response.get("body_raw")
    return stream_message_id([encode_text(text[:_MAX_BYTES_TO_SEARCH])]) if isinstance(text, str) else None


def stream_message_id(chunks: Iterable[bytes]) -> str | None:
    """Return the id of the message in a stream, or None if its first events have none."""
    for event in islice(events_of(chunks), _MAX_EVENTS_TO_SEARCH):
        try:
            data = parse(event.data)
        except NOT_JSON:
            continue
        if isinstance(data, dict) and (found := event_message_id(data)):
            return found
    return None


def event_message_id(data: JsonObject) -> str | None:
    """Return the message or response id in an event's data, or in a complete response; None if it is empty."""
    match data:
        case {"type": "message_start", "message": {"id": str(found)}}:
            return found or None
        case {"response": {"id": str(found)}}:
            return found or None
        case {"responseId": str(found)} | {"response_id": str(found)}:
            return found or None
        case {"id": str(found)} if not {"choices", "object", "content", "output"}.isdisjoint(data):
            return found or None
        case _:
            return None


def response_time(entry: JsonObject) -> float | None:
    return epoch_seconds(response_of(entry).get("timestamp"))


def epoch_seconds(value: Any) -> float | None:
    """Return a time as seconds since 1970, or None if it is not a time."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return _parse_iso_time(value)
    if not is_timestamp(value):
        return None
    return value / 1_000 if value >= MIN_MILLISECONDS else value


def encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def chunk_bytes(texts: Iterable[str]) -> Iterator[bytes]:
    """Yield the chunks of a stream as bytes, restoring blank lines that a logger trimmed off complete events."""
    before = b""
    for text in texts:
        raw = encode_text(text)
        is_trimmed = before and not before.endswith((b"\n", b"\r")) and raw.startswith((b"event:", b"data:"))
        yield b"\n\n" + raw if is_trimmed and _ends_with_complete_event(before) else raw
        before = raw or before


def _ends_with_complete_event(raw: bytes) -> bool:
    """Return whether a chunk ends with an event that lacks only its line ends."""
    parser = SseParser()
    parser.feed(raw)
    cut = parser.close()
    if not cut:
        return False
    try:
        parse(cut[-1].data)
    except NOT_JSON:
        return cut[-1].data.strip() == b"[DONE]"
    return True


def _id(value: Any) -> str | None:
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _parse_iso_time(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
