"""Convert payloads between the formats of providers, by way of the exchange, and to and from conversation documents.

A value is a request, a response, a pair `{"request": …, "response": …}`, one bare message, or an array of messages or
items. A value keeps its shape, but for three cases: a message that the other format splits becomes an array, a request
becomes a whole exchange, and a conversation document is always whole.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from palaver.errors import ContentError, OptionError
from palaver.model.build import JsonObject
from palaver.model.timestamps import normalize_timestamp, timestamp_or_empty
from palaver.streams import assemble_events
from palaver.streams.event_parsers import events_of_lines
from palaver.streams.message_starts import ANOTHER_MESSAGE
from palaver.wire import Loss, WireFormat, Written, formats, wire_format
from palaver.wire._places import escape_key
from palaver.workflows.convert.documents import conversation_document, request_from_document
from palaver.workflows.convert.exchanges import check_messages, read_exchange, write_exchange
from palaver.workflows.convert.messages import OPENAI_FORMATS, is_message, messages_of, place_prompts, read_messages
from palaver.workflows.convert.parts import EXCHANGE, UCS, UNKNOWN_MODEL, Converted, PartName, Parts, writable

__all__ = ["DIALECTS", "Converted", "convert", "format_names", "is_message"]

DIALECTS = ("api", "seed")
_RESPONSE_KEYS = {
    "openai-chat": ("choices",),
    "openai-responses": ("output",),
    "anthropic": ("stop_reason",),
    "gemini": ("candidates", "promptFeedback", "prompt_feedback"),
}
_REQUEST_KEYS = {
    "openai-chat": ("messages",),
    "openai-responses": ("input", "instructions", "prompt", "previous_response_id"),
    "anthropic": ("messages",),
    "gemini": ("contents",),
}


_PAIR_POINTERS = {
    "request": "/request",
    "response": "/response",
    "exchange_id": "/id",
    "started_at": "/timestamp",
    "error": "/response",
}
"""Where a pair has the parts of an exchange."""


def format_names() -> list[str]:
    """Return the names of all formats that can be converted from and to."""
    return [*formats(), EXCHANGE, UCS]


def convert(value: Any, source: str, target: str, *, dialect: str = "api", time: str | None = None) -> Converted:
    """Convert a value to another format, and list what is lost, with pointers into the value.

    Messages of a conversation document get the given `time`, or the present, where the source has none. Raise
    `ContentError` if the value is not of the source's format or cannot be written in the target's, `VersionError` for a
    document of an unknown version, and `OptionError` for an unknown format or dialect, or what is no time.
    """
    for name in (source, target):
        if name not in format_names():
            raise OptionError(f"{name!r} is not a format: choose {', '.join(format_names())}")
    if dialect not in DIALECTS:
        raise OptionError(f"{dialect!r} is not a dialect: choose {', '.join(DIALECTS)}")
    if dialect != DIALECTS[0] and target not in OPENAI_FORMATS:
        raise OptionError(f"--dialect {dialect} applies to OpenAI formats only, not to {target}")
    try:
        stamp = None if time is None else normalize_timestamp(time)
    except ValueError as error:
        raise OptionError(f"time: {error}") from error
    try:
        found: list[Loss] = []
        parts = _read(writable(value, found), source, target)
        payload, losses = _write(parts, target, dialect, stamp)
        return Converted(payload, list(dict.fromkeys([*found, *parts.losses, *losses])))
    except RecursionError as error:
        raise ContentError("nested too deeply to be converted") from error


def _read(value: Any, source: str, target: str) -> Parts:
    if is_message(value, source):
        parts = _read_messages([value], source, target)
        parts.shape = "message"
        return parts
    match value:
        case list():
            parts = _read_messages(value, source, target)
            parts.shape = "messages"
            return parts
        case dict():
            return _read_object(value, source)
        case _:
            raise ContentError(f"a payload must be an object or an array of messages, not {_json_name(value)}")


def _json_name(value: Any) -> str:
    names: dict[type, str] = {str: "a text", bool: "a boolean", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), f"a value of type {type(value).__name__}")


def _read_messages(values: list[Any], source: str, target: str) -> Parts:
    if source == UCS:
        raise ContentError("a conversation document must be an object, not an array")
    parts = read_messages(values, source, target)
    if source == EXCHANGE:
        check_messages(values)
    return parts


def _read_object(value: JsonObject, source: str) -> Parts:
    if source == UCS:
        return request_from_document(value)
    if source == EXCHANGE:
        return read_exchange(value)
    wire = wire_format(source)
    keys = value.keys()
    if not keys.isdisjoint(_RESPONSE_KEYS[source]) or (source == "anthropic" and value.get("type") == "message"):
        parts = Parts(provider=wire.provider)
        _add_response(value, parts, wire)
        return parts
    if not keys.isdisjoint(_REQUEST_KEYS[source]):
        parts = Parts(provider=wire.provider)
        _add_request(value, parts, wire)
        return parts
    match value:
        case {"request": dict() as request, **rest}:
            return _read_pair(request, rest, source)
        case _:
            pass
    if (error := wire.error_from_wire(value)) is not None:
        raise ContentError(f"the payload is an error of the provider ({error['category']}): {error['message']}")
    raise ContentError(f"not a request, response or message in the format {source}")


def _add_request(payload: JsonObject, parts: Parts, wire: WireFormat) -> None:
    parts.request = wire.request_from_wire(payload)
    parts.places["request"] = partial(wire.places, payload, parts.request)


def _add_response(payload: JsonObject, parts: Parts, wire: WireFormat) -> None:
    parts.response = wire.response_from_wire(payload)
    parts.places["response"] = partial(wire.places, payload, parts.response)


def _read_pair(request: JsonObject, rest: JsonObject, source: str) -> Parts:
    """Read a request with what stands beside it: its response, and facts that an exchange has a place for."""
    wire = wire_format(source)
    parts = Parts(provider=wire.provider, pointers=dict(_PAIR_POINTERS))
    _add_request(request, parts, wire)
    for name, value in rest.items():
        match name, value:
            case "response", dict() | None:
                pass
            case "id", str() if value:
                parts.frame["exchange_id"] = value
            case "timestamp", _ if time := timestamp_or_empty(value):
                parts.frame["started_at"] = time
            case "duration_ms", int() | float() if value >= 0 and not isinstance(value, bool):
                parts.frame["duration_ms"] = value
            case _, None:
                pass
            case _:
                parts.losses.append(Loss(f"/{escape_key(name)}", "not a request or response"))
    response: Any = rest.get("response")
    match response:
        case {"sse_lines": [*lines]}:
            made = assemble_events(source, events_of_lines(lines))
            parts.losses += [
                Loss("/response", f"{issue.type}: {issue.detail}", "changed")
                for issue in made.issues
                if issue.type != ANOTHER_MESSAGE
            ]
            parts.losses += [
                Loss("/response", f"{issue.detail}, but a request has only one response")
                for message in (made, *made.following)
                for issue in message.issues
                if issue.type == ANOTHER_MESSAGE
            ]
            response = made.payload
        case _:
            pass
    if isinstance(response, dict):
        _add_response(response, parts, wire)
        if (error := wire.error_from_wire(response)) is not None:
            parts.frame["error"] = error
    return parts


def _write(parts: Parts, target: str, dialect: str, time: str | None) -> Converted:
    if target == UCS:
        return conversation_document(parts, time or normalize_timestamp(datetime.now(UTC)))
    if target == EXCHANGE:
        return write_exchange(parts)
    if parts.shape != "whole":
        request, losses = place_prompts(parts.request or {}, target)
        payload, lost = _write_part(request, "request", target, dialect)
        return messages_of(parts, payload, [*losses, *lost], target, dialect)
    made: JsonObject = {}
    losses = []
    sections: dict[PartName, JsonObject | None] = {"request": parts.request, "response": parts.response}
    for name, part in sections.items():
        if part is not None:
            payload, lost = _write_part(part, name, target, dialect)
            made[name] = payload
            losses += parts.located(name, lost)
    is_error_written = "response" in made and wire_format(target).error_from_wire(made["response"]) is not None
    losses += [
        parts.frame_loss(name, "not supported in a payload")
        for name in parts.frame
        if name != "error" or not is_error_written
    ]
    return Converted(made if parts.is_pair else next(iter(made.values())), losses)


def _write_part(part: JsonObject, name: str, target: str, dialect: str) -> Written:
    wire = wire_format(target)
    write: Callable[..., Written] = wire.request_to_wire if name == "request" else wire.response_to_wire
    losses: list[Loss] = []
    if name == "request" and target == "gemini" and "model" not in part:
        part = {**part, "model": UNKNOWN_MODEL}
        losses.append(Loss("/model", "Gemini requires a model, but the payload has none", "changed"))
    is_seed = dialect != DIALECTS[0] and (target, name) != ("openai-chat", "request")
    written = write(part, dialect=dialect) if is_seed else write(part)
    return Written(written.payload, [*losses, *written.losses])
