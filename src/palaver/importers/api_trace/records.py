"""Records of every kind of log: their kind, and the calls they hold."""

from typing import Any, Literal

from palaver.importers.api_trace.bodies import Body, body_of, body_of_events, body_of_lines, event_of
from palaver.importers.api_trace.calls import LoggedCall
from palaver.importers.api_trace.endpoints import is_model_request
from palaver.importers.api_trace.masking import dump_json
from palaver.model.build import JsonObject
from palaver.streams.first_content import has_content

Kind = Literal["trace", "pair", "har", "merged", "part", "chunk", "control", "merge-error", ""]

_PART_TYPES = ("response", "response_chunk", "response_meta")
_PAIR_ANSWER_FIELDS = {"body", "body_raw", "status_code", "streaming_details"}
_TRACE_FIELDS = {"id", "timestamp", "duration_ms", "request", "response", "error"}
_PAIR_FIELDS = {"request", "response", "logged_at", "request_id", "id", "duration_ms", "error"} | {
    "upstream",
    "websocket",
}
_PAIR_REQUEST_FIELDS = {"timestamp", "method", "url", "headers", "body", "body_raw"}
_PAIR_RESPONSE_FIELDS = {"timestamp", "status_code", "headers", "body", "body_raw", "events", "streaming_details"} | {
    *("body_base64", "http_version"),
}
_MERGED_FIELDS = {"request_id", "timestamp", "method", "url", "request_body", "response_status", "response_text"} | {
    *("tool_calls", "total_latency_ms", "_session_id"),
}
_RECORDED_REQUEST_FIELDS = {"type", "id", "timestamp", "method", "url", "headers", "body", "_session_id"}
_RECORDED_RESPONSE_FIELDS = {
    "type",
    "request_id",
    "timestamp",
    "status_code",
    "headers",
    "body",
    "_session_id",
    "error",
} | {
    *("latency_ms", "total_latency_ms", "total_chunks", "chunk_index", "content"),
}


def record_kind(record: JsonObject) -> Kind:
    """Return the kind of a record, or "" if it belongs to no call."""
    if "schema_version" in record:
        return ""
    request, response = record.get("request"), record.get("response")
    if isinstance(request, dict):
        if "startedDateTime" in record or "postData" in request or isinstance(request.get("headers"), list):
            return "har"
        is_http = "body" in request or (
            bool({"url", "method", "headers"} & request.keys()) and not is_model_request(request)
        )
        return "pair" if is_http else "trace"
    if isinstance(response, dict):
        return "trace" if _PAIR_ANSWER_FIELDS.isdisjoint(response) else "pair"
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
    if isinstance(request, str) and "response" in record:
        return "trace"
    return "merge-error" if isinstance(record.get("error"), dict) else ""


def trace_call(record: JsonObject, where: str) -> LoggedCall:
    """Read a record as written by the proxy of the cook specification."""
    response = record.get("response")
    match response:
        case {"sse_lines": list() as lines}:
            reply = body_of_lines(lines)
        case {"sse_lines": str(text)}:
            reply = body_of(text)
        case {"raw": str(text)} if len(response) == 1:
            reply = body_of(text)
        case _:
            reply = body_of(response)
    return LoggedCall(
        where,
        "trace",
        request=record.get("request"),
        reply=reply,
        stated_id=_id(record.get("id")),
        started=record.get("timestamp"),
        duration_ms=record.get("duration_ms"),
        error=record.get("error"),
        extra_fields=_unmapped_fields(record, _TRACE_FIELDS),
    )


def pair_call(record: JsonObject, where: str, reply: Body | None = None) -> LoggedCall:
    """Read a pair of claude-trace or `palaver record`; `reply` is the answer assembled from the chunk file, if any."""
    request: Any = record.get("request")
    response: Any = record.get("response")
    request = request if isinstance(request, dict) else {}
    response = response if isinstance(response, dict) else {}
    first_chunk, last_chunk = _chunk_times(response)
    upstream: Any = record.get("upstream")
    extra_fields = _unmapped_fields(record, _PAIR_FIELDS)
    if more := _unmapped_fields(request, _PAIR_REQUEST_FIELDS):
        extra_fields["request"] = more
    if more := _unmapped_fields(response, _PAIR_RESPONSE_FIELDS):
        extra_fields["response"] = more
    return LoggedCall(
        where,
        "claude-trace" if upstream is None else "palaver",
        request=request.get("body", request.get("body_raw")),
        reply=reply or reply_of(response),
        url=_text(request.get("url")),
        method=_text(request.get("method")),
        request_headers=request.get("headers"),
        response_headers=response.get("headers"),
        status=response.get("status_code"),
        stated_id=_text(record.get("request_id")) or _request_id_header(request) or _text(record.get("id")),
        started=request.get("timestamp"),
        ended=response.get("timestamp"),
        first_chunk=first_chunk,
        first_content=_first_content_time(response),
        last_chunk=last_chunk,
        logged_at=record.get("logged_at"),
        duration_ms=record.get("duration_ms"),
        error=record.get("error"),
        platform={"upstream": upstream} if isinstance(upstream, str) and upstream else {},
        is_websocket="websocket" in record,
        extra_fields=extra_fields,
    )


def _chunk_times(response: JsonObject) -> tuple[Any, Any]:
    """Return the stated times of the first and the last chunk, else those of the listed chunks."""
    details, events = response.get("streaming_details"), response.get("events")
    if not isinstance(details, dict):
        details = {"chunks": events}
    first, last = details.get("first_chunk_timestamp"), details.get("last_chunk_timestamp")
    if last is None and isinstance(chunks := details.get("chunks"), list):
        times = [chunk.get("timestamp") for chunk in chunks if isinstance(chunk, dict)]
        times = [time for time in times if time is not None]
        first, last = (first if first is not None else times[0], times[-1]) if times else (first, None)
    return first, last


def _first_content_time(response: JsonObject) -> Any:
    """Return the time of the first listed event that carries content."""
    match response:
        case {"streaming_details": {"chunks": list(chunks)}}:
            for chunk in chunks:
                match chunk:
                    case {"data": dict(data), "timestamp": time} if has_content(str(chunk.get("event_type")), data):
                        return time
                    case _:
                        pass
        case _:
            pass
    return None


def reply_of(response: JsonObject) -> Body:
    """Return the answer from the field that holds most of it."""
    body, raw = response.get("body"), response.get("body_raw", response.get("body_base64"))
    found = body_of(body) if isinstance(body, dict) else Body()
    if found.payload is not None and (found.is_answer or "error" in found.payload):
        return found
    for text in (raw, body):
        if isinstance(text, str | list) and text:
            parsed = body_of(text)
            if parsed.payload is not None or (parsed.text and found.payload is None):
                return parsed
    if found.payload:
        return found
    for name, key in (("events", "event"), ("streaming_details", "event_type")):
        listed: Any = response.get(name)
        listed = listed.get("chunks") if isinstance(listed, dict) else listed
        if isinstance(listed, list):
            events = [event_of(chunk.get(key), chunk.get("data")) for chunk in listed if isinstance(chunk, dict)]
            if events:
                return body_of_events(events)
    return Body()


def har_call(entry: JsonObject, where: str) -> LoggedCall:
    """Read an entry of a HAR file."""
    request: Any = entry.get("request")
    response: Any = entry.get("response")
    response = response if isinstance(response, dict) else {}
    post_data: Any = request.get("postData")
    content: Any = response.get("content")
    content = content if isinstance(content, dict) else {}
    return LoggedCall(
        where,
        "har",
        request=post_data.get("text") if isinstance(post_data, dict) else None,
        reply=body_of(content.get("text"), is_base64=content.get("encoding") == "base64"),
        url=_text(request.get("url")),
        request_headers=_headers(request.get("headers")),
        response_headers=_headers(response.get("headers")),
        status=response.get("status"),
        started=entry.get("startedDateTime"),
        duration_ms=entry.get("time"),
    )


def merged_call(record: JsonObject, where: str) -> LoggedCall:
    """Read a call as merged by older versions of LLM Interceptor: the answer's text and tool calls."""
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
    if is_model_request(request := record.get("request_body")) and not url.rstrip("/").endswith("/messages"):
        payload = {"choices": [{"index": 0, "message": _chat_message(text, content)}]}
    return LoggedCall(
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
        extra_fields=_unmapped_fields(record, _MERGED_FIELDS),
    )


def recorded_call(request: JsonObject, response: JsonObject, reply: Body, where: str) -> LoggedCall:
    """Read a call of LLM Interceptor from its request, the fields of its response records, and the body."""
    extra_fields = _unmapped_fields(request, _RECORDED_REQUEST_FIELDS)
    if more := _unmapped_fields(response, _RECORDED_RESPONSE_FIELDS):
        extra_fields["response"] = more
    return LoggedCall(
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
        extra_fields=extra_fields,
    )


def request_ids(record: JsonObject) -> list[str]:
    """Return all ids under which chunks may refer to a pair."""
    found = [_text(record.get("request_id")), _text(record.get("id"))]
    found += [
        _request_id_header(side) for side in (record.get("request"), record.get("response")) if isinstance(side, dict)
    ]
    return [name for name in found if name]


def _request_id_header(side: JsonObject) -> str:
    headers = side.get("headers")
    if not isinstance(headers, dict):
        return ""
    return next((value for name, value in headers.items() if name.lower() == "request-id" and _text(value)), "")


def _chat_message(text: str, content: list[JsonObject]) -> JsonObject:
    calls = [
        {
            "id": block.get("id"),
            "type": "function",
            "function": {"name": block.get("name"), "arguments": dump_json(block["input"]).decode()},
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
        header["name"]: header.get("value")
        for header in listed
        if isinstance(header, dict) and isinstance(header.get("name"), str)
    }


def _id(stated: Any) -> str | None:
    return str(stated) if type(stated) in {str, int} and stated != "" else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _unmapped_fields(record: JsonObject, known: set[str]) -> JsonObject:
    return {name: value for name, value in record.items() if name not in known and value is not None}
