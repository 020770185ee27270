"""The records of every kind of log: which kind one is, and what it says of a call."""

from typing import Any, Literal

from palaver.importers.api_trace.bodies import Body, body_of, body_of_events, body_of_lines, event_of
from palaver.importers.api_trace.calls import Seen
from palaver.importers.api_trace.masking import dumped
from palaver.importers.api_trace.traffic import asks
from palaver.model.build import JsonObject

Kind = Literal["trace", "pair", "har", "merged", "part", "chunk", "control", "merge-error", ""]

_PART_TYPES = ("response", "response_chunk", "response_meta")
_PAIR_ANSWER = {"body", "body_raw", "status_code", "streaming_details"}
_TRACE = {"id", "timestamp", "duration_ms", "request", "response", "error"}
_PAIR = {"request", "response", "logged_at", "request_id", "id"}
_PAIR_REQUEST = {"timestamp", "method", "url", "headers", "body"}
_PAIR_RESPONSE = {"timestamp", "status_code", "headers", "body", "body_raw", "events", "streaming_details"}
_MERGED = {"request_id", "timestamp", "method", "url", "request_body", "response_status", "response_text"} | {
    *("tool_calls", "total_latency_ms", "_session_id"),
}
_RECORDED_REQUEST = {"type", "id", "timestamp", "method", "url", "headers", "body", "_session_id"}
_RECORDED_RESPONSE = {"type", "request_id", "timestamp", "status_code", "headers", "body", "_session_id", "error"} | {
    *("latency_ms", "total_latency_ms", "total_chunks", "chunk_index", "content"),
}


def kind_of(record: JsonObject) -> Kind:
    """What a record is; empty for what tells of no call."""
    if "schema_version" in record:
        return ""
    request, response = record.get("request"), record.get("response")
    if isinstance(request, dict):
        if "startedDateTime" in record or "postData" in request or isinstance(request.get("headers"), list):
            return "har"
        is_http = "body" in request or (bool({"url", "method", "headers"} & request.keys()) and not asks(request))
        return "pair" if is_http else "trace"
    if isinstance(response, dict):
        return "trace" if _PAIR_ANSWER.isdisjoint(response) else "pair"
    if "chunk_data" in record:
        return "chunk"
    if "_meta_type" in record:
        return "control"
    if "request_body" in record:
        return "merged"
    stated = record.get("type")
    if (stated == "request" and ("body" in record or "url" in record)) or (
        stated in _PART_TYPES and "request_id" in record
    ):
        return "part"
    return "merge-error" if isinstance(record.get("error"), dict) else ""


def trace_of(record: JsonObject, where: str) -> Seen:
    """A record as the proxy of the cook specification writes it."""
    response = record.get("response")
    match response:
        case {"sse_lines": list() as lines}:
            reply = body_of_lines(lines)
        case {"raw": str(text)} if len(response) == 1:
            reply = body_of(text)
        case _:
            reply = body_of(response)
    return Seen(
        where,
        "trace",
        request=record.get("request"),
        reply=reply,
        stated_id=_id(record.get("id")),
        started=record.get("timestamp"),
        duration_ms=record.get("duration_ms"),
        error=record.get("error"),
        beside=_rest(record, _TRACE),
    )


def pair_of(record: JsonObject, where: str, reply: Body | None = None) -> Seen:
    """A pair of claude-trace; `reply` is what chunks beside the log say of the answer."""
    request: Any = record.get("request")
    response: Any = record.get("response")
    request = request if isinstance(request, dict) else {}
    response = response if isinstance(response, dict) else {}
    beside = _rest(record, _PAIR)
    if more := _rest(request, _PAIR_REQUEST):
        beside["request"] = more
    if more := _rest(response, _PAIR_RESPONSE):
        beside["response"] = more
    return Seen(
        where,
        "claude-trace",
        request=request.get("body"),
        reply=reply or reply_of(response),
        url=_text(request.get("url")),
        request_headers=request.get("headers"),
        response_headers=response.get("headers"),
        status=response.get("status_code"),
        stated_id=_text(record.get("request_id")) or _request_id(request) or _text(record.get("id")),
        started=request.get("timestamp"),
        ended=response.get("timestamp"),
        logged=record.get("logged_at"),
        beside=beside,
    )


def reply_of(response: JsonObject) -> Body:
    """The answer, from whichever of its spellings says most."""
    body, raw = response.get("body"), response.get("body_raw")
    found = body_of(body) if isinstance(body, dict) else Body()
    if found.payload is not None and (found.is_answer or "error" in found.payload):
        return found
    for text in (raw, body):
        if isinstance(text, str | list) and text:
            told = body_of(text)
            if told.payload is not None or (told.text and found.payload is None):
                return told
    if found.payload:
        return found
    for name, key in (("events", "event"), ("streaming_details", "event_type")):
        listed: Any = response.get(name)
        listed = listed.get("chunks") if isinstance(listed, dict) else listed
        if isinstance(listed, list):
            events = [event_of(one.get(key), one.get("data")) for one in listed if isinstance(one, dict)]
            if events:
                return body_of_events(events)
    return Body()


def entry_of(entry: JsonObject, where: str) -> Seen:
    """An entry of a HAR file."""
    request: Any = entry.get("request")
    response: Any = entry.get("response")
    response = response if isinstance(response, dict) else {}
    sent: Any = request.get("postData")
    content: Any = response.get("content")
    content = content if isinstance(content, dict) else {}
    return Seen(
        where,
        "har",
        request=sent.get("text") if isinstance(sent, dict) else None,
        reply=body_of(content.get("text"), is_base64=content.get("encoding") == "base64"),
        url=_text(request.get("url")),
        request_headers=_headers(request.get("headers")),
        response_headers=_headers(response.get("headers")),
        status=response.get("status"),
        started=entry.get("startedDateTime"),
        duration_ms=entry.get("time"),
    )


def merged_of(record: JsonObject, where: str) -> Seen:
    """A call as older versions of LLM Interceptor merge it: the answer's text and its calls of tools."""
    content: list[JsonObject] = []
    if text := _text(record.get("response_text")):
        content.append({"type": "text", "text": text})
    calls = record.get("tool_calls")
    content += [
        {**call, "type": "tool_use", "input": call.get("input", {})}
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict)
    ]
    url = _text(record.get("url"))
    payload: JsonObject = {"role": "assistant", "content": content}
    if asks(request := record.get("request_body")) and not url.rstrip("/").endswith("/messages"):
        payload = {"choices": [{"index": 0, "message": _chat_message(text, content)}]}
    return Seen(
        where,
        "llm-interceptor",
        request=request,
        reply=Body(payload) if content else Body(),
        url=url,
        status=record.get("response_status"),
        stated_id=_text(record.get("request_id")),
        started=record.get("timestamp"),
        duration_ms=record.get("total_latency_ms"),
        platform=_recording(record),
        beside=_rest(record, _MERGED),
    )


def recorded_of(request: JsonObject, response: JsonObject, reply: Body, where: str) -> Seen:
    """A call of LLM Interceptor: the request, what is said of the response, and its body."""
    beside = _rest(request, _RECORDED_REQUEST)
    if more := _rest(response, _RECORDED_RESPONSE):
        beside["response"] = more
    return Seen(
        where,
        "llm-interceptor",
        request=request.get("body"),
        reply=reply,
        url=_text(request.get("url")),
        request_headers=request.get("headers"),
        response_headers=response.get("headers"),
        status=response.get("status_code"),
        stated_id=_text(request.get("id")) or _text(response.get("request_id")),
        started=request.get("timestamp"),
        ended=response.get("timestamp"),
        duration_ms=response.get("latency_ms", response.get("total_latency_ms")),
        error=response.get("error"),
        platform=_recording(request or response),
        beside=beside,
    )


def ids_of(record: JsonObject) -> list[str]:
    """Every id by which chunks may know a pair."""
    found = [_text(record.get("request_id")), _text(record.get("id"))]
    found += [_request_id(side) for side in (record.get("request"), record.get("response")) if isinstance(side, dict)]
    return [name for name in found if name]


def _request_id(side: JsonObject) -> str:
    headers = side.get("headers")
    if not isinstance(headers, dict):
        return ""
    return next((value for name, value in headers.items() if name.lower() == "request-id" and _text(value)), "")


def _chat_message(text: str, content: list[JsonObject]) -> JsonObject:
    calls = [
        {
            "id": block.get("id"),
            "type": "function",
            "function": {"name": block.get("name"), "arguments": dumped(block["input"]).decode()},
        }
        for block in content
        if block["type"] == "tool_use"
    ]
    return {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}


def _recording(record: JsonObject) -> JsonObject:
    stated = record.get("_session_id")
    return {"recording": stated} if isinstance(stated, str) and stated else {}


def _headers(listed: Any) -> JsonObject:
    if not isinstance(listed, list):
        return {}
    return {
        one["name"]: one.get("value") for one in listed if isinstance(one, dict) and isinstance(one.get("name"), str)
    }


def _id(stated: Any) -> str | None:
    return str(stated) if isinstance(stated, str | int) and stated != "" else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _rest(record: JsonObject, known: set[str]) -> JsonObject:
    return {name: value for name, value in record.items() if name not in known and value is not None}
