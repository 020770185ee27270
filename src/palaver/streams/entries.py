"""Entries of a log, and chunks beside it: by what they are known to each other.

An entry's request id may stand at its top, in its request or its response, or in a header of either, `request-id` or
`x-request-id`, in whatever case. Loggers make up an id of their own for the first places; in a header stands that of
the API.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from palaver.model.build import JsonObject
from palaver.streams import recognize
from palaver.streams._reading import NOT_JSON, parse
from palaver.streams.details import is_time
from palaver.streams.sse import SseParser, events_of

_ID_NAMES = ("request_id", "requestId", "request-id", "x-request-id")
_ID_HEADERS = {"request-id", "x-request-id"}
_EVENTS_LOOKED_AT = 8
_BYTES_LOOKED_AT = 1 << 16
MILLISECONDS_FROM = 10_000_000_000
_IS_SSE = re.compile(r"\ufeff?\s*(?:(?:event|data|id|retry)\s?:|:)")
_IS_JSON = re.compile(r"\ufeff?\s*[\[{]")
_IS_OBJECT = re.compile(r"\ufeff?\s*\{")


def request_id(record: JsonObject) -> str | None:
    """The id that a chunk states, or a part of an entry in itself; None where it states none."""
    stated = record.get("request_id")
    if isinstance(stated, str) and stated.isascii() and stated.isidentifier():
        return stated
    return next((found for name in _ID_NAMES if (found := _id(record.get(name)))), None)


def request_ids(entry: JsonObject) -> list[str]:
    """Every id by which chunks may know this entry."""
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


def own_request_id(entry: JsonObject) -> str | None:
    """The id that the logger itself gave the entry: none from a header."""
    parts = (entry, entry.get("request"), entry.get("response"))
    return next((found for part in parts if isinstance(part, dict) and (found := request_id(part))), None)


def headers(part: JsonObject) -> Iterator[tuple[str, Any]]:
    """The headers of a request or a response, their names in lower case."""
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


def answer(entry: JsonObject) -> JsonObject:
    """The response; empty where there is none."""
    response = entry.get("response")
    return response if isinstance(response, dict) else {}


def is_merged(entry: JsonObject) -> bool:
    return isinstance(answer(entry).get("streaming_details"), dict)


def is_streamed(entry: JsonObject) -> bool:
    """Whether the answer came as a stream, as far as the entry tells."""
    response, request = answer(entry), entry.get("request")
    if any(name == "content-type" and "event-stream" in str(value).lower() for name, value in headers(response)):
        return True
    asked = request.get("body") if isinstance(request, dict) else None
    return isinstance(asked, dict) and asked.get("stream") is True and not isinstance(response.get("body"), dict)


def streamed_body(entry: JsonObject) -> str | None:
    """The recorded stream; None where there is none, or the body is something else."""
    body = answer(entry).get("body_raw")
    if not isinstance(body, str) or not body.strip():
        return None
    if _IS_SSE.match(body):
        return body
    if _IS_JSON.match(body):
        # One object is an answer, or an error; only an array is how Gemini streams.
        is_array = not _IS_OBJECT.match(body)
        return body if is_array and recognize(events_of(encoded(body[:_BYTES_LOOKED_AT]))) == "gemini" else None
    return body if is_streamed(entry) and "\0" not in body else None


def message_id_of_entry(entry: JsonObject) -> str | None:
    """The id of the message that answers."""
    response = answer(entry)
    body = response.get("body")
    if isinstance(body, dict) and (found := stated_id(body)):
        return found
    text = response.get("body_raw")
    return message_id([encoded(text[:_BYTES_LOOKED_AT])]) if isinstance(text, str) else None


def message_id(chunks: Iterable[bytes]) -> str | None:
    """The id of the message that a stream brings; None where its first events do not tell."""
    for event in islice(events_of(chunks), _EVENTS_LOOKED_AT):
        try:
            data = parse(event.data)
        except NOT_JSON:
            continue
        if isinstance(data, dict) and (found := stated_id(data)):
            return found
    return None


def stated_id(data: JsonObject) -> str | None:
    """The id of the message or response that an event, or a whole answer, belongs to."""
    match data:
        case {"type": "message_start", "message": {"id": str(found)}}:
            return found
        case {"response": {"id": str(found)}}:
            return found
        case {"responseId": str(found)} | {"response_id": str(found)}:
            return found
        case {"id": str(found)} if not {"choices", "object", "content", "output"}.isdisjoint(data):
            return found
        case _:
            return None


def answered_at(entry: JsonObject) -> float | None:
    return seconds(answer(entry).get("timestamp"))


def seconds(value: Any) -> float | None:
    """A time as seconds since 1970; None where it is none."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return _from_text(value)
    if not is_time(value):
        return None
    return value / 1_000 if abs(value) >= MILLISECONDS_FROM else value


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def chunk_bytes(texts: Iterable[str]) -> Iterator[bytes]:
    """The texts of a stream's chunks as bytes, with the blank lines that a logger may have trimmed off whole events."""
    before = b""
    for text in texts:
        raw = encoded(text)
        is_trimmed = before and not before.endswith((b"\n", b"\r")) and raw.startswith((b"event:", b"data:"))
        yield b"\n\n" + raw if is_trimmed and _is_whole(before) else raw
        before = raw or before


def _is_whole(raw: bytes) -> bool:
    """Whether a chunk ends with an event that lacks nothing but its line ends."""
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


def _from_text(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
