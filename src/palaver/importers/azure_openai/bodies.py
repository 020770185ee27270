"""Bodies of requests and answers as a log holds them: JSON, a stream, either in base64 or packed, or the start of one.

A gateway logs the first 8,192 bytes at most, and an Event Hub takes 200 KB: what is cut is read as far as it goes. Each
way of reading is tried only where the one before it failed, and the usual body is parsed once.
"""

import binascii
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.sources.damage import repair
from palaver.sources.parse import NOT_JSON, parse
from palaver.streams import assemble_events, recognize
from palaver.streams._contract import Event
from palaver.streams._cut_json import closed
from palaver.streams.sse import events_of
from palaver.streams.unpacking import unpacked

_BLANK = " \t\r\n\ufeff\0"
_OPENS_STREAM = re.compile(r"[ \t\r\n\ufeff]*(?:data|event|id|retry|):")
_IS_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}").fullmatch
_PACKED = ("\x1f\x8b", "\x1f\u2039")
_PACKED_BYTES = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\x28\xb5\x2f\xfd")
_LARGEST_BYTES = 1 << 28
"""Of an unpacked body: a few packed bytes may stand for any number."""
_DEEPEST = 3
_CUT_OFF = "\ufffd"
_TEXT_COMPLETION = b"text_completion"


@dataclass(slots=True)
class Body:
    value: Any = None
    """An object or an array; None where the body is neither."""
    text: str = ""
    """The body as it is, where it could not be read."""
    is_cut: bool = False
    """Whether its end is missing."""
    is_stream: bool = False
    wire: str = ""
    """The format of the stream it was."""
    tail: str = ""
    """What of a stream is no event: the part of the last one that is there, or lines of something else."""
    remarks: list[tuple[FindingKind, str]] = field(default_factory=list[tuple[FindingKind, str]])

    @property
    def is_opaque(self) -> bool:
        return self.value is None and bool(self.text)


def decoded(body: Any) -> Body | None:
    """What a body holds; None where there is none."""
    match body:
        case dict() | list():
            return Body(body) if body else None
        case str():
            return _from_text(body, 0) if body.strip(_BLANK) else None
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
    return Body(value) if isinstance(value, dict | list) and value else decoded(_as_text(body))


def _from_text(text: str, depth: int) -> Body:
    try:
        value = parse(text)
    except (*NOT_JSON, UnicodeEncodeError):
        pass
    else:
        return _from_value(value, text, depth)
    begun = text.lstrip(_BLANK)
    if begun.startswith(("{", "[", '"')):
        return _from_damaged(begun, depth)
    if (_OPENS_STREAM.match(text) or "\ndata:" in text) and (streamed := _from_stream(text)) is not None:
        return streamed
    if depth < _DEEPEST and (raw := _bytes_behind(begun.rstrip(_BLANK))) is not None:
        found = _from_text(_as_text(raw), depth + 1)
        if found.value is not None:
            return found
    return Body(text=text)


def _from_value(value: Any, text: str, depth: int) -> Body:
    if isinstance(value, str) and value and depth < _DEEPEST:
        inner = _from_text(value, depth + 1)
        return inner if inner.value is not None else Body(text=text)
    return Body(value) if isinstance(value, dict | list) else Body(text=text)


def _from_damaged(text: str, depth: int) -> Body:
    """A body that is JSON only to the generous, or the start of JSON."""
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
        value = closed(text.rstrip(_CUT_OFF + _BLANK))
    except (ValueError, RecursionError):
        return Body(text=text)
    if isinstance(value, str) and value and depth < _DEEPEST:
        inner = _from_text(value, depth + 1)
        inner.is_cut = True
        return inner
    return Body(value, is_cut=True) if isinstance(value, dict | list) and value else Body(text=text)


def _from_stream(text: str) -> Body | None:
    events = list(events_of(text.encode("utf-8", "replace")))
    if any(_TEXT_COMPLETION in event.data for event in events[:8]):
        events = [_as_chat(event) for event in events]
    tail = ""
    is_cut = (
        bool(events) and events[-1].is_cut and _object(events[-1].data) is None and b"[DONE]" not in events[-1].data
    )
    if is_cut:
        events[-1], tail = _closed_event(events[-1])
    if "\n{" in text:  # no event begins like this, and none would tell of it
        tail += "\n".join(line for line in text.splitlines() if line.startswith("{"))
    if (wire := recognize(events)) is not None:
        made = assemble_events(wire, events)
        return Body(made.payload, is_cut=is_cut or not made.is_complete, is_stream=True, wire=wire, tail=tail)
    for event in events:
        if (value := _object(event.data)) is not None:
            return Body(value, is_cut=is_cut, is_stream=True, tail=tail) if "error" in value else None
    return None


def _closed_event(event: Event) -> tuple[Event, str]:
    """An event that is cut, with its end made up; where that cannot be done, the part of it that is there."""
    text = _as_text(event.data)
    try:
        value = closed(text.rstrip(_CUT_OFF))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not value:
        return event, text
    return _with(event, value), ""


def _object(raw: bytes) -> JsonObject | None:
    try:
        value = parse(raw)
    except NOT_JSON:
        return None
    return value if isinstance(value, dict) else None


def _as_chat(event: Event) -> Event:
    """A piece of an older completion as one of a chat."""
    data = _object(event.data)
    if data is None or not isinstance(choices := data.get("choices"), list):
        return event
    for choice in choices:
        if isinstance(choice, dict) and isinstance(text := choice.pop("text", None), str):
            choice["delta"] = {"role": "assistant", "content": text}
    return _with(event, data | {"object": "chat.completion.chunk"})


def _with(event: Event, data: JsonObject) -> Event:
    return msgspec.structs.replace(event, data=json.dumps(data).encode(), is_cut=False)


def _bytes_behind(text: str) -> bytes | None:
    """What a text stands for that is base64, or packed bytes that somebody took for a text."""
    raw: bytes | None = None
    if text.startswith(_PACKED):
        raw = _encoded(text)
    elif _IS_BASE64(text):
        try:
            raw = binascii.a2b_base64(text.rstrip("=")[: len(text.rstrip("=")) & ~3] if len(text) % 4 else text)
        except binascii.Error:
            return None
    if raw is None or not raw.startswith(_PACKED_BYTES):
        return raw
    return b"".join(_at_most(unpacked(raw), _LARGEST_BYTES))


def _encoded(text: str) -> bytes | None:
    for encoding in ("latin-1", "cp1252"):
        try:
            return text.encode(encoding)
        except UnicodeEncodeError:
            continue
    return None


def _at_most(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    taken = 0
    for chunk in chunks:
        yield chunk
        taken += len(chunk)
        if taken > limit:
            return


def _as_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
