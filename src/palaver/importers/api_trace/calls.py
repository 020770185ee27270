"""Calls from logged requests and answers: wire format, error, times, id and caller."""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from palaver.importers._shared.findings import BAD_TIMESTAMP, SEVERAL_MESSAGES
from palaver.importers.api_trace.bodies import Body, body_of
from palaver.importers.api_trace.callers import caller_of
from palaver.importers.api_trace.endpoints import (
    OTHER_TRAFFIC,
    WEBSOCKET,
    is_model_request,
    model_in_url,
    skip_rule,
    wire_of_url,
)
from palaver.importers.api_trace.failures import stated_failure
from palaver.importers.api_trace.helper_calls import helper_kind
from palaver.importers.api_trace.masking import are_headers, dump_json, mask_value
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind, finding_kind
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import milliseconds_of, timestamp_or_empty
from palaver.redact.logs import mask_request, mask_settings
from palaver.redact.policy import harmless_headers, mask_url
from palaver.threads.call import Call
from palaver.wire._detection import WIRE_FORMAT_NAMES, request_format, response_format
from palaver.wire._errors import duration_ms, exchange_error

BAD_RECORD = finding_kind("bad-record", "error", "A log record is not an API call; a masked copy is quarantined.")
DAMAGED_STREAM = finding_kind(
    "damaged-stream", "warning", "A recorded answer is damaged or out of order; its readable part is kept."
)
CUT_ANSWER = finding_kind("cut-answer", "warning", "A recorded answer is incomplete.")
UNREADABLE_REQUEST = finding_kind(
    "unreadable-request", "warning", "The body of a request is not JSON; it is kept as text with the answer."
)
UNREADABLE_ANSWER = finding_kind(
    "unreadable-answer", "warning", "An answer has an unknown format; it is kept unchanged."
)
BAD_DURATION = finding_kind(
    "bad-duration", "note", "A duration could not be read; it is computed from the times if both are known."
)
ODD_STREAM_TIMES = finding_kind(
    "odd-stream-times", "note", "A stream ends before its request or its first chunk; the time of the response is used."
)
MISSING_REQUEST = finding_kind("missing-request", "warning", "The request of an answer is not in the log.")
MISSING_ANSWER = finding_kind("missing-answer", "note", "The answer to a request is not in the log.")
LOCAL_TIME = finding_kind("local-time", "note", "A time without an offset was read as UTC; it may be local time.")
AMBIGUOUS_CHUNKS = finding_kind(
    "ambiguous-chunks", "warning", "Chunks without an id may belong to several calls; they are kept separately."
)
MERGE_ERROR = finding_kind("merge-error", "note", "A line reports chunks that could not be merged; it has no call.")


Note = Callable[[FindingKind, str, str], None]

PLATFORM = "api_trace"
_masked_url = lru_cache(1 << 6)(mask_url)
_REQUEST_ID_HEADERS = ("request-id", "x-request-id", "anthropic-request-id", "apim-request-id")
_MAX_QUOTED_ISSUES = 3
_STREAM_TIMES = ("time_to_first_chunk_ms", "time_to_first_token_ms", "stream_ms")
_REPORTED_ELSEWHERE = {"error_event", "incomplete_stream_end", "another_message"}
"""Issues of a stream with a finding of their own."""
_DIGITS = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?", re.ASCII)
_MAX_DURATION_MS = 1e12
_FORMATS_WITH_MESSAGES = (WIRE_FORMAT_NAMES["openai"], WIRE_FORMAT_NAMES["claude"])
_UTC_OFFSET = re.compile(r"(?:Z|[+-][0-9]{2}:?[0-9]{2})$")


@dataclass(slots=True)
class LoggedCall:
    """One request and its answer as logged, in terms that all kinds of logs share."""

    where: str
    log: str
    """The program that wrote the log, for `platform.metadata`."""
    request: Any = None
    """The body as logged."""
    reply: Body = field(default_factory=Body)
    url: str = ""
    method: str = ""
    request_headers: Any = None
    response_headers: Any = None
    status: Any = None
    stated_id: Any = None
    started: Any = None
    ended: Any = None
    """When the response came; of a streamed one, its headers."""
    first_chunk: Any = None
    first_content: Any = None
    """When the first chunk with content came, and not only the head of the answer."""
    last_chunk: Any = None
    """When a streamed response was complete."""
    logged_at: Any = None
    duration_ms: Any = None
    error: Any = None
    is_websocket: bool = False
    """Whether it is a WebSocket, whose messages are not logged."""
    platform: JsonObject = field(default_factory=dict[str, Any])
    extra_fields: JsonObject = field(default_factory=dict[str, Any])
    """Fields that were not mapped."""


def call_from_log(logged: LoggedCall, note: Note) -> Call | str:
    """Return the call, or the rule under which it is skipped, or "" if there is no call at all."""
    call = _call_from_log(logged, note)
    if isinstance(call, Call) and logged.reply.following:
        note(SEVERAL_MESSAGES, logged.where, f"{len(logged.reply.following) + 1:,} messages")
        call.following = list(_following_calls(logged, call.call_id, note))
    return call


def _following_calls(logged: LoggedCall, call_id: str, note: Note) -> Iterator[Call]:
    """Yield a call for each further answer of the stream; only the first has the duration of the whole."""

    def note_stream(kind: FindingKind, where: str, message: str) -> None:
        if kind in {DAMAGED_STREAM, CUT_ANSWER}:  # the rest was noted with the first answer
            note(kind, where, message)

    for number, reply in enumerate(logged.reply.following, 2):
        call = _call_from_log(replace(logged, reply=reply), note_stream)
        if isinstance(call, Call):
            call.duration_ms = None
            call.stream_position = number - 1
            call.answer = {name: value for name, value in call.answer.items() if name not in _STREAM_TIMES}
            if call.call_id == call_id:
                call.call_id = f"{call_id}-{number}"
            yield call


def _call_from_log(logged: LoggedCall, note: Note) -> Call | str:
    request, request_text, is_cut = _request(logged.request)
    if logged.is_websocket:
        return WEBSOCKET
    if rule := skip_rule(logged.url, request):
        return rule
    reply = logged.reply
    if are_headers(request):
        return ""
    mask_request(request)
    if not is_model_request(request) and not reply.is_answer and not (wire_of_url(logged.url) and request_text):
        asks_no_model = not wire_of_url(logged.url) or logged.method not in {"", "POST"}
        # A client may also give up before it has sent the body.
        return OTHER_TRAFFIC if logged.url and (asks_no_model or logged.error) else ""
    wire, answer_wire = _wires(logged.url, request, reply)
    if wire == "openai-chat":
        request = _with_system_message(request)
    sent_headers, received_headers = harmless_headers(logged.request_headers), harmless_headers(logged.response_headers)
    status = logged.status if type(logged.status) is int and logged.status > 0 else None
    failure = stated_failure(reply, logged.error, answer_wire or wire, status)
    caller = caller_of(request)
    user = request.get("user")
    call = Call(
        call_id="",
        wire=wire,
        request=request,
        response=reply.payload if reply.is_answer else None,
        error=failure or _unexplained_failure(reply, logged.extra_fields, status),
        is_request_cut=is_cut or not is_model_request(request),
        is_answer_cut=reply.is_cut,
        caller=caller.name or (user if isinstance(user, str) else ""),
        session_id=caller.session,
        version=_version(logged.url, request, sent_headers if wire == "anthropic" else {}),
        model=model_in_url(logged.url),
        platform=_platform(logged, sent_headers),
        answer=_answer_metadata(
            logged, sent_headers, received_headers, status, request_text, is_reply_mapped=failure is not None
        ),
        helper=helper_kind(request, sent_headers),
        where=logged.where,
        answer_wire=answer_wire,
    )
    _set_times(call, logged, note)
    call.call_id = _call_id(logged, received_headers, call)
    _note_problems(call, logged, request_text, note)
    if call.response is None and failure is None:
        note(UNREADABLE_ANSWER if reply.as_text else MISSING_ANSWER, logged.where, "")
    return call


def _request(value: Any) -> tuple[JsonObject, str, bool]:
    """Return the payload, the text of an unreadable body, and whether part of the body is missing."""
    match value:
        case {"raw": str(text)} if len(value) == 1:  # how the proxy of the cook specification writes what is no JSON
            return _request(text)
        case dict():
            return value, "", False
        case str() if value.strip():
            found = body_of(value)
            if found.payload is not None and found.wire is None:
                return found.payload, found.text, found.is_cut
            return {}, mask_settings(value.encode(errors="surrogatepass")).decode(errors="surrogatepass"), True
        case list() if value:
            return {}, dump_json(value).decode(errors="replace"), True
        case _:
            return {}, "", True


def _with_system_message(request: JsonObject) -> JsonObject:
    """Return a request of OpenAI whose system prompt, written as Anthropic's by some proxies, is its first message."""
    match request:
        case {"system": str(prompt), "messages": list(messages), **rest}:
            return {**rest, "messages": [{"role": "system", "content": prompt}, *messages]}
        case _:
            return request


def _wires(url: str, request: JsonObject, reply: Body) -> tuple[str, str]:
    """Return the formats of the request and of the answer, which differ behind a translating proxy."""
    answered = _answer_wire(reply) if reply.is_answer else ""
    stated = wire_of_url(url) or ""
    if stated and answered in {"", stated}:
        return stated, answered
    if shown := request_format(request):
        return WIRE_FORMAT_NAMES[shown], answered
    may_be_alike = "messages" not in request or answered in _FORMATS_WITH_MESSAGES
    return stated or (answered if may_be_alike else "") or WIRE_FORMAT_NAMES["openai"], answered


def _answer_wire(reply: Body) -> str:
    shown = response_format(reply.payload or {})
    return reply.wire or (WIRE_FORMAT_NAMES[shown] if shown else "")


def _unexplained_failure(reply: Body, extra_fields: JsonObject, status: int | None) -> JsonObject | None:
    """Return an error for a missing answer that nothing explains, from the reply or a remark of the log."""
    if reply.is_answer:
        return None
    note = extra_fields.get("note")
    message = reply.as_text or (note if isinstance(note, str) else MISSING_ANSWER.meaning if extra_fields else "")
    return exchange_error(message, (), status) if message else None


def _version(url: str, request: JsonObject, headers: dict[str, str]) -> str | None:
    stated = headers.get("anthropic-version") or request.get("anthropic_version")
    if not isinstance(stated, str) and "api-version=" in url:
        stated = parse_qs(urlsplit(url).query).get("api-version", [None])[0]
    return stated if isinstance(stated, str) and stated else None


def _platform(logged: LoggedCall, sent_headers: dict[str, str]) -> JsonObject:
    platform: JsonObject = {"log": logged.log, **logged.platform}
    if client := sent_headers.get("user-agent"):
        platform["client"] = client
    return platform


def _answer_metadata(
    logged: LoggedCall,
    sent_headers: dict[str, str],
    received_headers: dict[str, str],
    status: int | None,
    request_text: str,
    *,
    is_reply_mapped: bool,
) -> JsonObject:
    reply = logged.reply
    unmapped_reply = None if reply.is_answer or is_reply_mapped else reply.payload or None
    return {
        name: value
        for name, value in (
            ("status_code", status),
            ("url", _masked_url(logged.url) if logged.url else None),
            ("headers", received_headers or None),
            ("request_headers", sent_headers or None),
            ("request_id", _stated_id(logged, received_headers)),
            ("request_body", request_text or None),
            ("reply", unmapped_reply),
            ("source_fields", mask_value(logged.extra_fields) or None),
        )
        if value is not None
    }


def _stated_id(logged: LoggedCall, received_headers: dict[str, str]) -> str | None:
    stated = next(
        (received_headers[name] for name in _REQUEST_ID_HEADERS if received_headers.get(name)), logged.stated_id
    )
    return stated if isinstance(stated, str) and stated else None


def _call_id(logged: LoggedCall, received_headers: dict[str, str], call: Call) -> str:
    if stated := _stated_id(logged, received_headers):
        return stated
    match call.response:
        case {"id": str(answer_id)} | {"responseId": str(answer_id)} if answer_id:
            return answer_id
        case _:
            digest = hashlib.blake2b(dump_json([call.request, logged.reply.payload]), digest_size=16).hexdigest()
            return conversation_uuid(PLATFORM, call.started_at, digest)


def _set_times(call: Call, logged: LoggedCall, note: Note) -> None:
    stated_times = (
        *(logged.started, logged.ended, logged.logged_at),
        *(logged.first_chunk, logged.first_content, logged.last_chunk),
    )
    times = [timestamp_or_empty(value) for value in stated_times]
    for value, time in zip(stated_times, times, strict=True):
        if value is not None and not time:
            note(BAD_TIMESTAMP, logged.where, f"{value!r:.60}")
    started, ended, logged_at, first, first_content, last = times
    # Details that were made from a body state the time of the response for every event.
    if last and not first == last == ended:
        if last < max(started, first):
            note(ODD_STREAM_TIMES, logged.where, "")
        else:
            ended = last
            call.answer |= _stream_times(started, first, first_content, last)
    if (
        logged_at
        and not started
        and not ended
        and isinstance(logged.logged_at, str)
        and not _UTC_OFFSET.search(logged.logged_at)
    ):
        note(LOCAL_TIME, logged.where, "")
    call.ended_at = ended or logged_at or None
    call.started_at = started or call.ended_at
    call.duration_ms = _duration_ms(logged.duration_ms)
    if call.duration_ms is None and logged.duration_ms is not None:
        note(BAD_DURATION, logged.where, f"{logged.duration_ms!r:.60}")
    if call.duration_ms is None and started and ended and started <= ended:
        call.duration_ms = milliseconds_of(ended) - milliseconds_of(started)
    if call.ended_at is None and call.started_at and call.duration_ms:
        late = milliseconds_of(call.started_at) + round(call.duration_ms)
        call.ended_at = timestamp_or_empty(late) or None


def _stream_times(started: str, first: str, first_content: str, last: str) -> JsonObject:
    """Return how long the first chunk took, the first one with content, and all that followed the first.

    Times that are unknown or out of order give none.
    """
    if not first:
        return {}
    times: JsonObject = {}
    if started and started <= first:
        times["time_to_first_chunk_ms"] = milliseconds_of(first) - milliseconds_of(started)
        if first <= first_content <= last:
            times["time_to_first_token_ms"] = milliseconds_of(first_content) - milliseconds_of(started)
    times["stream_ms"] = milliseconds_of(last) - milliseconds_of(first)
    return times


def _duration_ms(stated: Any) -> float | None:
    """Return milliseconds from a number, or from a text with a number or with units (`1.2s`)."""
    if isinstance(stated, str):
        text = stated.strip()
        stated = float(text) if _DIGITS.fullmatch(text) else duration_ms(text)
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    return stated if is_number and 0 <= stated < _MAX_DURATION_MS else None


def _note_problems(call: Call, logged: LoggedCall, request_text: str, note: Note) -> None:
    reply = logged.reply
    problems = [issue for issue in reply.issues if issue.type not in _REPORTED_ELSEWHERE]
    if problems:
        quoted = "; ".join(f"{issue.type}: {issue.detail}" for issue in problems[:_MAX_QUOTED_ISSUES])
        note(
            DAMAGED_STREAM,
            logged.where,
            f"{quoted} and {len(problems) - _MAX_QUOTED_ISSUES} more" if problems[_MAX_QUOTED_ISSUES:] else quoted,
        )
    if reply.is_cut and len(problems) < len(reply.issues):
        note(CUT_ANSWER, logged.where, "")
    if request_text:
        note(UNREADABLE_REQUEST, logged.where, "")
    elif call.is_request_cut:
        note(MISSING_REQUEST, logged.where, "")
