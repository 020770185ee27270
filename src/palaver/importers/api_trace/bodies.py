"""Bodies as logs keep them: parsed or as text, packed or not, whole or as a stream, or as the pieces of one."""

import binascii
import re
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from palaver.importers.api_trace.bedrock import counts_of, events_of_stream, is_event_stream
from palaver.importers.api_trace.masking import dumped
from palaver.model.build import JsonObject
from palaver.sources.glimpse import closed
from palaver.sources.parse import NOT_JSON, parse
from palaver.streams import assemble_events, assemble_together, recognize
from palaver.streams._contract import Assembled, Event, Issue
from palaver.streams.sse import events_of, events_of_lines
from palaver.streams.unpacking import unpacked

ANSWER_FIELDS = frozenset({"content", "choices", "output", "candidates", "completion", "stop_reason", "finish_reason"})
"""Fields by which an answer of one of the APIs is known."""
_LARGEST_BYTES = 1 << 28
_BASE64_START = re.compile(r"[A-Za-z0-9+/\r\n]{16,}={0,2}")
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x9c", b"\x78\x01", b"\x78\xda", b"\x78\x5e")
_HAS_EVENTS = re.compile(rb"(?:^|[\r\n])(?:data|event):")
_METRICS = "amazon-bedrock-invocationMetrics"


class Body(NamedTuple):
    """What a body turned out to be."""

    payload: JsonObject | None = None
    """The object that it is, or that its stream stands for."""
    wire: str | None = None
    """The format, where a stream told."""
    is_cut: bool = False
    issues: tuple[Issue, ...] = ()
    text: str = ""
    """What it says, where it is no object."""

    @property
    def is_answer(self) -> bool:
        return self.payload is not None and (
            not ANSWER_FIELDS.isdisjoint(self.payload) or self.payload.get("role") == "assistant"
        )

    @property
    def said(self) -> str:
        """The whole of it in words."""
        return self.text or (dumped(self.payload).decode(errors="replace") if self.payload else "")


def body_of(value: Any, *, is_base64: bool = False) -> Body:
    """A body that was logged as JSON or as text."""
    match value:
        case dict():
            return _with_metrics(cast("JsonObject", value))
        case str():
            return _from_bytes(_from_base64(value) if is_base64 else _bytes_of(value), value)
        case list() if value:
            return body_of_events([Event("message", dumped(one)) for one in cast("list[Any]", value)])
        case _:
            return Body()


def body_of_lines(lines: list[Any]) -> Body:
    """A stream that was logged line by line."""
    return body_of_events(list(events_of_lines(line for line in lines if isinstance(line, str))))


def body_of_events(events: list[Event], hint: str | None = None, counts: JsonObject | None = None) -> Body:
    if not events:
        return Body()
    wire = recognize(iter(events)) or hint
    if wire is None:
        return Body(text="\n".join(event.data.decode("utf-8", "replace") for event in events))
    return _assembled(wire, assemble_events(wire, events), counts)


def _assembled(wire: str, made: Assembled, counts: JsonObject | None = None) -> Body:
    payload = made.payload
    if counts:
        stated = payload.get("usage")
        payload = {**payload, "usage": {**(cast("JsonObject", stated) if isinstance(stated, dict) else {}), **counts}}
    return Body(payload, wire.replace("_", "-"), not made.is_complete and "error" not in payload, tuple(made.issues))


def event_of(name: Any, data: Any) -> Event:
    """An event of which the log holds the name and the data, parsed or not."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else dumped(data)
    return Event(name if isinstance(name, str) and name else "message", raw)


def _from_bytes(raw: bytes, text: str) -> Body:
    if is_event_stream(raw):
        events, counts = events_of_stream(raw)
        return body_of_events(events, "anthropic", counts)
    begun = raw.lstrip()[:1]
    if begun == b"{":
        return _from_json(raw, text)
    if begun == b"[" or _HAS_EVENTS.search(raw, 0, 4096):
        if (together := assemble_together(raw)) is not None:
            return _assembled(*together)
        found = body_of_events(list(events_of(raw)))
        return found if found.payload is not None else Body(text=text)
    return Body(text=text if raw.strip() else "")


def _from_json(raw: bytes, text: str) -> Body:
    try:
        value = parse(raw)
    except NOT_JSON:
        pass
    else:
        return _with_metrics(value)
    try:
        value = parse(closed(raw))
    except NOT_JSON:
        return Body(text=text)
    issue = Issue("cut_event", 0, "the body ends within its JSON, or is damaged there")
    return Body(value, None, is_cut=True, issues=(issue,), text=text) if value else Body(text=text)


def _with_metrics(payload: JsonObject) -> Body:
    if counts := counts_of(payload.get(_METRICS)):
        usage = payload.get("usage")
        payload = {**payload, "usage": {**(cast("JsonObject", usage) if isinstance(usage, dict) else {}), **counts}}
    return Body(payload)


def _bytes_of(text: str) -> bytes:
    """The bytes that a text stands for; a packed body may have been logged in base64, or byte by byte."""
    if text.startswith(("\x1f\x8b", "\x28\xb5\x2f\xfd")):
        try:
            return _unpacked(text.encode("latin-1"))
        except UnicodeEncodeError:
            pass  # it was decoded as UTF-8, which cannot be undone
    if _BASE64_START.match(text):
        raw = _decoded(text)
        if raw is not None and raw.startswith((*_PACKED, b"\0\0")):
            return _unpacked(raw)
    return text.encode("utf-8", "surrogatepass")


def _from_base64(text: str) -> bytes:
    raw = _decoded(text)
    return text.encode("utf-8", "surrogatepass") if raw is None else _unpacked(raw)


def _decoded(text: str) -> bytes | None:
    try:
        return binascii.a2b_base64(text.encode("ascii"))
    except (binascii.Error, UnicodeEncodeError):
        return None


def _unpacked(raw: bytes) -> bytes:
    return b"".join(_up_to(unpacked(raw), _LARGEST_BYTES)) if raw.startswith(_PACKED) else raw


def _up_to(chunks: Iterable[bytes], most: int) -> Iterable[bytes]:
    for chunk in chunks:
        yield chunk
        most -= len(chunk)
        if most < 0:
            return
