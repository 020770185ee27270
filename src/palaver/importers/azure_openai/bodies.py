"""Bodies of requests and answers as a log holds them: JSON or a stream, perhaps in base64, compressed or truncated.

A gateway logs the first 8,192 bytes at most, and an Event Hub accepts 200 KB: a truncated body is read as far as it
goes. Each way of decoding is tried only if the one before it failed, so that the usual body is parsed once.
"""

import binascii
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from palaver.importers._shared.findings import SEVERAL_MESSAGES
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.sources.damage import repair
from palaver.sources.parse import NOT_JSON, parse
from palaver.streams import assemble_events, recognize
from palaver.streams._contract import Event
from palaver.streams._event_data import close_truncated_json
from palaver.streams.decompression import decompressed
from palaver.streams.event_parsers import events_of

_PADDING = " \t\r\n\ufeff\0"
_STREAM_START = re.compile(r"[ \t\r\n\ufeff]*(?:data|event|id|retry|):")
_IS_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}").fullmatch
_GZIP_TEXT = ("\x1f\x8b", "\x1f\u2039")
_COMPRESSED_MAGIC = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\x28\xb5\x2f\xfd")
_MAX_BYTES = 1 << 28
"""Limit of a decompressed body: a few compressed bytes can expand to any size."""
_MAX_DEPTH = 3
_REPLACEMENT = "\ufffd"
_TEXT_COMPLETION = b"text_completion"


@dataclass(slots=True)
class Body:
    value: Any = None
    """An object or an array; None if the body is neither."""
    text: str = ""
    """The raw body, if it could not be decoded."""
    is_cut: bool = False
    """Whether the end of the body is missing."""
    is_stream: bool = False
    wire: str = ""
    """The wire format of the stream that the value was assembled from."""
    unread_tail: str = ""
    """The text of a stream that is no part of the value: the start of the last event, other lines, further messages."""
    remarks: list[tuple[FindingKind, str]] = field(default_factory=list[tuple[FindingKind, str]])

    @property
    def is_opaque(self) -> bool:
        return self.value is None and bool(self.text)


def decode_body(body: Any) -> Body | None:
    """Decode a logged body; None if it is empty."""
    match body:
        case dict() | list():
            return Body(body) if body else None
        case str():
            return _from_text(body, 0) if body.strip(_PADDING) else None
        case bytes():
            return _from_bytes(body)
        case None:
            return None
        case _:
            return Body(text=str(body))


def _from_bytes(body: bytes) -> Body | None:
    try:
        value = parse(body)
    except NOT_JSON:
        value = None
    return Body(value) if isinstance(value, dict | list) and value else decode_body(_as_text(body))


def _from_text(text: str, depth: int) -> Body:
    try:
        value = parse(text)
    except (*NOT_JSON, UnicodeEncodeError):
        pass
    else:
        return _from_value(value, text, depth)
    stripped = text.lstrip(_PADDING)
    if stripped.startswith(("{", "[", '"')):
        return _from_damaged(stripped, depth)
    if (_STREAM_START.match(text) or "\ndata:" in text) and (streamed := _from_stream(text)) is not None:
        return streamed
    if depth < _MAX_DEPTH and (raw := _unwrapped_bytes(stripped.rstrip(_PADDING))) is not None:
        found = _from_text(_as_text(raw), depth + 1)
        if found.value is not None:
            return found
    return Body(text=text)


def _from_value(value: Any, text: str, depth: int) -> Body:
    if isinstance(value, str) and value and depth < _MAX_DEPTH:
        inner = _from_text(value, depth + 1)
        return inner if inner.value is not None else Body(text=text)
    return Body(value) if isinstance(value, dict | list) else Body(text=text)


def _from_damaged(text: str, depth: int) -> Body:
    """Decode lenient or truncated JSON."""
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        pass
    else:
        repaired = repair(text.encode("utf-8", "surrogatepass"))
        if len(repaired.values) == 1 and not repaired.torn:
            found = _from_value(repaired.values[0], text, depth)
            found.remarks += repaired.remarks
            return found
    try:
        value = close_truncated_json(text.rstrip(_REPLACEMENT + _PADDING))
    except (ValueError, RecursionError):
        return Body(text=text)
    if isinstance(value, str) and value and depth < _MAX_DEPTH:
        inner = _from_text(value, depth + 1)
        inner.is_cut = True
        return inner
    return Body(value, is_cut=True) if isinstance(value, dict | list) and value else Body(text=text)


def _from_stream(text: str) -> Body | None:
    events = list(events_of(text.encode("utf-8", "replace")))
    if any(_TEXT_COMPLETION in event.data for event in events[:8]):
        events = [_as_chat_chunk(event) for event in events]
    tail = ""
    is_cut = (
        bool(events) and events[-1].is_cut and _object(events[-1].data) is None and b"[DONE]" not in events[-1].data
    )
    if is_cut:
        events[-1], tail = _close_event(events[-1])
    if "\n{" in text:  # no event begins like this: the parser would drop these lines
        tail += "\n".join(line for line in text.splitlines() if line.startswith("{"))
    if (wire := recognize(events)) is not None:
        assembled = assemble_events(wire, events)
        found = Body(
            assembled.payload, is_cut=is_cut or not assembled.is_complete, is_stream=True, wire=wire, unread_tail=tail
        )
        if assembled.following:
            found.unread_tail += "\n".join(json.dumps(later.payload) for later in assembled.following)
            found.remarks.append((SEVERAL_MESSAGES, "all but the first are in unread_events"))
        return found
    for event in events:
        if (value := _object(event.data)) is not None:
            return Body(value, is_cut=is_cut, is_stream=True, unread_tail=tail) if "error" in value else None
    return None


def _close_event(event: Event) -> tuple[Event, str]:
    """Return a truncated event with its JSON closed, or, if that fails, the event and its text."""
    text = _as_text(event.data)
    try:
        value = close_truncated_json(text.rstrip(_REPLACEMENT))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not value:
        return event, text
    return _with_data(event, value), ""


def _object(raw: bytes) -> JsonObject | None:
    try:
        value = parse(raw)
    except NOT_JSON:
        return None
    return value if isinstance(value, dict) else None


def _as_chat_chunk(event: Event) -> Event:
    """Convert a chunk of the older completions API into a chat chunk."""
    data = _object(event.data)
    if data is None or not isinstance(choices := data.get("choices"), list):
        return event
    for choice in choices:
        if isinstance(choice, dict) and isinstance(text := choice.pop("text", None), str):
            choice["delta"] = {"role": "assistant", "content": text}
    return _with_data(event, data | {"object": "chat.completion.chunk"})


def _with_data(event: Event, data: JsonObject) -> Event:
    return msgspec.structs.replace(event, data=json.dumps(data).encode(), is_cut=False)


def _unwrapped_bytes(text: str) -> bytes | None:
    """Return the bytes behind base64, or behind compressed bytes that were decoded as text; None for other text."""
    raw: bytes | None = None
    if text.startswith(_GZIP_TEXT):
        raw = _encode_text(text)
    elif _IS_BASE64(text):
        try:
            raw = binascii.a2b_base64(text.rstrip("=")[: len(text.rstrip("=")) & ~3] if len(text) % 4 else text)
        except binascii.Error:
            return None
    if raw is None or not raw.startswith(_COMPRESSED_MAGIC):
        return raw
    return b"".join(_limit_size(decompressed(raw), _MAX_BYTES))


def _encode_text(text: str) -> bytes | None:
    for encoding in ("latin-1", "cp1252"):
        try:
            return text.encode(encoding)
        except UnicodeEncodeError:
            continue
    return None


def _limit_size(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    size_bytes = 0
    for chunk in chunks:
        yield chunk
        size_bytes += len(chunk)
        if size_bytes > limit:
            return


def _as_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
