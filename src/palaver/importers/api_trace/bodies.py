"""Logged bodies: parsed or text, compressed or not, whole or streamed.

Bedrock's event streams are binary: a header of lengths and checksums (so they begin with two NUL bytes), then
`{"bytes": "<base64>"}` with an Anthropic event. A log that decoded the stream as text broke the headers, not the
payloads. The last event, or the stream itself, may count tokens under Amazon's names; that count is the billed one.
"""

import binascii
import re
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from palaver.importers.api_trace.masking import dump_json
from palaver.model.build import JsonObject
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.source_head import close_truncated
from palaver.streams import assemble_events, assemble_in_one_pass, recognize
from palaver.streams._contract import Assembled, Event, Issue
from palaver.streams.decompression import decompressed
from palaver.streams.event_parsers import events_of, events_of_lines

ANSWER_FIELDS = frozenset({"content", "choices", "output", "candidates", "completion", "stop_reason", "finish_reason"})
"""Fields that identify an answer of one of the APIs."""
_MAX_BYTES = 1 << 28
_BASE64_START = re.compile(r"[A-Za-z0-9+/\r\n]{16,}={0,2}")
_COMPRESSED_STARTS = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x9c", b"\x78\x01", b"\x78\xda", b"\x78\x5e")
_HAS_EVENTS = re.compile(rb"(?:^|[\r\n])(?:data|event):")


class Body(NamedTuple):
    """The content of a body."""

    payload: JsonObject | None = None
    """The JSON object, assembled if it was streamed."""
    wire: str | None = None
    """The wire format, if a stream revealed it."""
    is_cut: bool = False
    issues: tuple[Issue, ...] = ()
    text: str = ""
    """The raw text, if the body is not a valid JSON object."""
    following: "tuple[Body, ...]" = ()
    """Further messages, if the stream held several."""

    @property
    def is_answer(self) -> bool:
        return self.payload is not None and (
            not ANSWER_FIELDS.isdisjoint(self.payload) or self.payload.get("role") == "assistant"
        )

    @property
    def as_text(self) -> str:
        """The whole body as text."""
        return self.text or (dump_json(self.payload).decode(errors="replace") if self.payload else "")


def body_of(value: Any, *, is_base64: bool = False) -> Body:
    """Read a body that was logged as JSON or as text."""
    match value:
        case dict():
            return _with_metrics(_with_choice_messages(cast("JsonObject", value)))
        case str():
            return _body_from_bytes(_from_base64(value) if is_base64 else _body_bytes(value), value)
        case list() if value:
            return body_of_events([Event("message", dump_json(event)) for event in cast("list[Any]", value)])
        case None | []:
            return Body()
        case _:
            return Body(text=dump_json(value).decode())


def body_of_lines(lines: list[Any]) -> Body:
    """Read a stream that was logged line by line."""
    return body_of_events(list(events_of_lines(lines)))


def body_of_events(events: list[Event], hint: str | None = None, counts: JsonObject | None = None) -> Body:
    if not events:
        return Body()
    wire = recognize(iter(events)) or hint
    if wire is None:
        text = "\n".join(event.data.decode("utf-8", "replace") for event in events)
        errors = (payload for event in events if (payload := _parse_object(event.data)).get("error"))
        return Body(next(errors, None), text=text)
    return _assembled(wire, assemble_events(wire, events), counts)


def _assembled(wire: str, assembled: Assembled, counts: JsonObject | None = None) -> Body:
    """Return the body of a stream; `counts` are those of its last message."""
    payload = assembled.payload
    following = [_assembled(wire, later) for later in assembled.following]
    if following and counts:
        following[-1] = _assembled(wire, assembled.following[-1], counts)
    elif counts:
        stated = payload.get("usage")
        payload = {**payload, "usage": {**(cast("JsonObject", stated) if isinstance(stated, dict) else {}), **counts}}
    return Body(
        payload,
        wire.replace("_", "-"),
        not assembled.is_complete and "error" not in payload,
        tuple(assembled.issues),
        following=tuple(following),
    )


def event_of(name: Any, data: Any) -> Event:
    """Return an event from its logged name and data, parsed or not."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else dump_json(data)
    return Event(name if isinstance(name, str) and name else "message", raw)


def _body_from_bytes(raw: bytes, text: str) -> Body:
    if is_bedrock_stream(raw):
        events, counts = bedrock_events(raw)
        return body_of_events(events, "anthropic", counts)
    begun = raw.lstrip()[:1]
    if begun == b"{":
        return _body_from_json(raw, text)
    if begun == b"[" or _HAS_EVENTS.search(raw, 0, 4096):
        if (result := assemble_in_one_pass(raw)) is not None:
            return _assembled(*result)
        found = body_of_events(list(events_of(raw)))
        return found if found.payload is not None else Body(text=text)
    return Body(text=text if raw.strip() else "")


def _body_from_json(raw: bytes, text: str) -> Body:
    try:
        value = parse(raw)
    except NOT_JSON:
        pass
    else:
        return _with_metrics(_with_choice_messages(value))
    try:
        value = parse(close_truncated(raw))
    except NOT_JSON:
        return Body(text=text)
    issue = Issue("cut_event", 0, "the body ends within its JSON, or is damaged there")
    return Body(value, None, is_cut=True, issues=(issue,), text=text) if value else Body(text=text)


def _with_choice_messages(payload: JsonObject) -> JsonObject:
    """Return an answer whose choices have messages, also where a log wrote a piece of a stream or a bare text."""
    choices = payload.get("choices")
    if not isinstance(choices, list):
        return payload
    made = [_with_message(choice) for choice in cast("list[Any]", choices)]
    return payload if made == choices else {**payload, "choices": made}


def _with_message(choice: Any) -> Any:
    match choice:
        case {"message": _}:
            return choice
        case {"delta": dict() as message, **rest}:
            return {**rest, "message": {"role": "assistant", **message}}
        case {"text": str(text), **rest}:
            return {**rest, "message": {"role": "assistant", "content": text}}
        case _:
            return choice


def _with_metrics(payload: JsonObject) -> Body:
    if counts := bedrock_token_counts(payload.get(_METRICS)):
        usage = payload.get("usage")
        payload = {**payload, "usage": {**(cast("JsonObject", usage) if isinstance(usage, dict) else {}), **counts}}
    return Body(payload)


def _body_bytes(text: str) -> bytes:
    """Return the bytes of a logged text; a compressed body may be in base64, or one character per byte."""
    if text.startswith(("\x1f\x8b", "\x28\xb5\x2f\xfd")):
        try:
            return _decompressed(text.encode("latin-1"))
        except UnicodeEncodeError:
            pass  # decoding as UTF-8 cannot be undone
    if _BASE64_START.match(text):
        raw = _decode_base64(text)
        if raw is not None and raw.startswith((*_COMPRESSED_STARTS, b"\0\0")):
            return _decompressed(raw)
    return text.encode("utf-8", "surrogatepass")


def _from_base64(text: str) -> bytes:
    raw = _decode_base64(text)
    return text.encode("utf-8", "surrogatepass") if raw is None else _decompressed(raw)


def _decode_base64(text: str) -> bytes | None:
    try:
        return binascii.a2b_base64(text.encode("ascii"))
    except (binascii.Error, UnicodeEncodeError):
        return None


def _decompressed(raw: bytes) -> bytes:
    return b"".join(_first_bytes(decompressed(raw), _MAX_BYTES)) if raw.startswith(_COMPRESSED_STARTS) else raw


def _first_bytes(chunks: Iterable[bytes], most: int) -> Iterable[bytes]:
    for chunk in chunks:
        yield chunk
        most -= len(chunk)
        if most < 0:
            return


_EVENT_PAYLOAD = re.compile(rb'\{"bytes"\s*:\s*"([A-Za-z0-9+/=]*)("?)')
_METRICS = "amazon-bedrock-invocationMetrics"
_METRICS_IN_STREAM = re.compile(rb'"amazon-bedrock-invocationMetrics"\s*:\s*(\{[^{}]*\})')
_TOKEN_COUNTS = {
    "inputTokenCount": "input_tokens",
    "outputTokenCount": "output_tokens",
    "cacheReadInputTokenCount": "cache_read_input_tokens",
    "cacheWriteInputTokenCount": "cache_creation_input_tokens",
}


def is_bedrock_stream(body: bytes) -> bool:
    return body.startswith((b"\0\0", b"\xef\xbf\xbd\0")) or b'event{"bytes":' in body[:512]


def bedrock_events(body: bytes) -> tuple[list[Event], JsonObject]:
    """Return the events, and Amazon's token counts under Anthropic's names."""
    events: list[Event] = []
    metrics: Any = None
    for found in _EVENT_PAYLOAD.finditer(body):
        try:
            data = binascii.a2b_base64(found[1])
        except binascii.Error:
            data = found[1]
        events.append(Event("message", data, is_cut=not found[2]))
        if _METRICS.encode() in data:
            metrics = _parse_object(data).get(_METRICS, metrics)
    if metrics is None and (stated := _METRICS_IN_STREAM.search(body)):
        metrics = _parse_object(stated[1])
    return events, bedrock_token_counts(metrics)


def bedrock_token_counts(metrics: Any) -> JsonObject:
    if not isinstance(metrics, dict):
        return {}
    return {name: metrics[theirs] for theirs, name in _TOKEN_COUNTS.items() if type(metrics.get(theirs)) is int}


def _parse_object(raw: bytes) -> JsonObject:
    try:
        value = parse(raw)
    except NOT_JSON:
        return {}
    return value if isinstance(value, dict) else {}
