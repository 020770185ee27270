"""A call out of what a log says of it: whose format it is in, what came back, who asked, and for what."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from palaver.importers._shared.findings import BAD_TIMESTAMP
from palaver.importers.api_trace.bedrock import model_of
from palaver.importers.api_trace.bodies import Body, body_of
from palaver.importers.api_trace.callers import caller_of
from palaver.importers.api_trace.errands import errand_of
from palaver.importers.api_trace.masking import are_headers, dumped, masked_text, masked_value
from palaver.importers.api_trace.noticed import (
    CUT_ANSWER,
    DAMAGED_STREAM,
    LOCAL_TIME,
    MISSING_ANSWER,
    MISSING_REQUEST,
    UNREADABLE_ANSWER,
    UNREADABLE_REQUEST,
)
from palaver.importers.api_trace.traffic import OTHER_TRAFFIC, asks, rule_for, wire_for
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import milliseconds_of, readable_timestamp
from palaver.redact import kept_headers, masked_url
from palaver.threads.call import Call
from palaver.wire import wire_format
from palaver.wire._detection import WIRE, detect
from palaver.wire._errors import error

Note = Callable[[FindingKind, str, str], None]

PLATFORM = "api_trace"
_masked_url = lru_cache(1 << 6)(masked_url)
_REQUEST_IDS = ("request-id", "x-request-id", "anthropic-request-id", "apim-request-id")
_ISSUES_TOLD = 3
_OFFSET = re.compile(r"(?:Z|[+-][0-9]{2}:?[0-9]{2})$")


@dataclass(slots=True)
class Seen:
    """What a log says of one request and its answer, whatever its own words for it are."""

    where: str
    log: str
    """Whose log it is, as `platform.metadata` tells it."""
    request: Any = None
    """The body as it was logged."""
    reply: Body = field(default_factory=Body)
    url: str = ""
    request_headers: Any = None
    response_headers: Any = None
    status: Any = None
    stated_id: Any = None
    started: Any = None
    ended: Any = None
    logged: Any = None
    duration_ms: Any = None
    error: Any = None
    platform: JsonObject = field(default_factory=dict[str, Any])
    beside: JsonObject = field(default_factory=dict[str, Any])
    """Fields that have no place of their own."""


def call_of(seen: Seen, note: Note) -> Call | str:
    """The call; or the rule under which it is left out, which is empty where there is no call at all."""
    request, request_text, is_cut = _request(seen.request)
    if rule := rule_for(seen.url, request):
        return rule
    reply = seen.reply
    if are_headers(request):
        return ""
    if not asks(request) and not reply.is_answer and not (wire_for(seen.url) and request_text):
        return OTHER_TRAFFIC if seen.url and not wire_for(seen.url) else ""
    wire = _wire(seen.url, request, reply)
    sent, got = kept_headers(seen.request_headers), kept_headers(seen.response_headers)
    status = seen.status if type(seen.status) is int and seen.status > 0 else None
    failure = _stated_failure(seen, wire, status)
    who = caller_of(request)
    user = request.get("user")
    made = Call(
        call_id="",
        wire=wire,
        request=request,
        response=reply.payload if reply.is_answer else None,
        error=failure or _unstated_failure(reply, seen.beside, status),
        is_request_cut=is_cut or not asks(request),
        is_answer_cut=reply.is_cut,
        caller=who.name or (user if isinstance(user, str) else ""),
        session_id=who.session,
        version=_version(seen.url, request, sent if wire == "anthropic" else {}),
        model=model_of(seen.url),
        platform=_platform(seen, sent),
        answer=_answer(seen, sent, got, status, request_text, is_reply_told=failure is not None),
        helper=errand_of(request, sent),
        where=seen.where,
    )
    _set_times(made, seen, note)
    made.call_id = _identifier(seen, got, made)
    _remark(made, seen, request_text, note)
    if made.response is None and failure is None:
        note(UNREADABLE_ANSWER if reply.said else MISSING_ANSWER, seen.where, "")
    return made


def _request(value: Any) -> tuple[JsonObject, str, bool]:
    """The payload; what could not be read of it, as text; whether some of it is missing."""
    match value:
        case dict():
            return value, "", False
        case str() if value.strip():
            found = body_of(value)
            if found.payload is not None and found.wire is None:
                return found.payload, found.text, found.is_cut
            return {}, value, True
        case list() if value:
            return {}, dumped(value).decode(errors="replace"), True
        case _:
            return {}, "", True


def _wire(url: str, request: JsonObject, reply: Body) -> str:
    stated = wire_for(url)
    if stated and (reply.wire in {None, stated} or not reply.is_answer):
        return stated
    if reply.wire:
        return reply.wire
    found = detect({"request": request, "response": reply.payload})
    # A system prompt beside the messages is Anthropic's, also where it is a text.
    return "anthropic" if found == "openai" and isinstance(request.get("system"), str) else WIRE[found]


def _stated_failure(seen: Seen, wire: str, status: int | None) -> JsonObject | None:
    """What went wrong, in the words of the API, the log, or the status."""
    payload = seen.reply.payload
    if payload is not None:
        stated = payload.get("error")
        wrapped = {"type": "error", "error": stated} if isinstance(stated, dict) and wire == "anthropic" else payload
        if found := wire_format(wire).error_from_wire(wrapped, status):
            return found
    if seen.error:
        words = seen.error.get("message") if isinstance(seen.error, dict) else seen.error
        message = words if isinstance(words, str) else dumped(masked_value(seen.error)).decode(errors="replace")
        return error(masked_text(message), _words_of(message), status)
    if status is not None and status >= 400 and not seen.reply.is_answer:
        return error(seen.reply.said or f"status {status}", (), status)
    return None


def _unstated_failure(reply: Body, beside: JsonObject, status: int | None) -> JsonObject | None:
    """Why there is no answer where nothing says so: what came back instead, or what the log remarks."""
    if reply.is_answer:
        return None
    note = beside.get("note")
    message = reply.said or (note if isinstance(note, str) else MISSING_ANSWER.meaning if beside else "")
    return error(message, (), status) if message else None


def _words_of(message: str) -> tuple[str, ...]:
    lower = message.lower()
    return ("timeout_error",) if "timeout" in lower or "timed out" in lower else ()


def _version(url: str, request: JsonObject, headers: dict[str, str]) -> str | None:
    stated = headers.get("anthropic-version") or request.get("anthropic_version")
    if not isinstance(stated, str) and "api-version=" in url:
        stated = parse_qs(urlsplit(url).query).get("api-version", [None])[0]
    return stated if isinstance(stated, str) and stated else None


def _platform(seen: Seen, sent: dict[str, str]) -> JsonObject:
    made: JsonObject = {"log": seen.log, **seen.platform}
    if client := sent.get("user-agent"):
        made["client"] = client
    return made


def _answer(
    seen: Seen,
    sent: dict[str, str],
    got: dict[str, str],
    status: int | None,
    request_text: str,
    *,
    is_reply_told: bool,
) -> JsonObject:
    reply = seen.reply
    said = None if reply.is_answer or is_reply_told else reply.payload or None
    return {
        name: value
        for name, value in (
            ("status_code", status),
            ("url", _masked_url(seen.url) if seen.url else None),
            ("headers", got or None),
            ("request_headers", sent or None),
            ("request_id", _stated_id(seen, got)),
            ("request_body", request_text or None),
            ("reply", said),
            ("source_fields", masked_value(seen.beside) or None),
        )
        if value is not None
    }


def _stated_id(seen: Seen, got: dict[str, str]) -> str | None:
    stated = next((got[name] for name in _REQUEST_IDS if got.get(name)), seen.stated_id)
    return stated if isinstance(stated, str) and stated else None


def _identifier(seen: Seen, got: dict[str, str], call: Call) -> str:
    if stated := _stated_id(seen, got):
        return stated
    match call.response:
        case {"id": str(answer_id)} | {"responseId": str(answer_id)} if answer_id:
            return answer_id
        case _:
            digest = hashlib.blake2b(dumped([call.request, seen.reply.payload]), digest_size=16).hexdigest()
            return conversation_uuid(PLATFORM, call.started_at, digest)


def _set_times(call: Call, seen: Seen, note: Note) -> None:
    times = [readable_timestamp(value) for value in (seen.started, seen.ended, seen.logged)]
    for value, time in zip((seen.started, seen.ended, seen.logged), times, strict=True):
        if value is not None and not time:
            note(BAD_TIMESTAMP, seen.where, f"{value!r:.60}")
    started, ended, logged = times
    if logged and not started and not ended and isinstance(seen.logged, str) and not _OFFSET.search(seen.logged):
        note(LOCAL_TIME, seen.where, "")
    call.ended_at = ended or logged or None
    call.started_at = started or call.ended_at
    stated = seen.duration_ms
    if isinstance(stated, int | float) and not isinstance(stated, bool) and 0 <= stated < 1e12:
        call.duration_ms = stated
    elif started and ended and started <= ended:
        call.duration_ms = milliseconds_of(ended) - milliseconds_of(started)
    if call.ended_at is None and call.started_at and call.duration_ms:
        late = milliseconds_of(call.started_at) + round(call.duration_ms)
        call.ended_at = readable_timestamp(late) or None


def _remark(call: Call, seen: Seen, request_text: str, note: Note) -> None:
    reply = seen.reply
    odd = [issue for issue in reply.issues if issue.type not in {"error_event", "incomplete_stream_end"}]
    if odd:
        told = "; ".join(f"{issue.type}: {issue.detail}" for issue in odd[:_ISSUES_TOLD])
        note(DAMAGED_STREAM, seen.where, f"{told} and {len(odd) - _ISSUES_TOLD} more" if odd[_ISSUES_TOLD:] else told)
    if reply.is_cut and len(odd) < len(reply.issues):
        note(CUT_ANSWER, seen.where, "")
    if request_text:
        note(UNREADABLE_REQUEST, seen.where, "")
    elif call.is_request_cut:
        note(MISSING_REQUEST, seen.where, "")
