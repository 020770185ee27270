"""Spans, events and metrics in lines of traces: OTLP envelopes, and JavaScript objects dumped as JSON.

Times are nanoseconds since 1970, often as a string, or `[seconds, nanoseconds]`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from palaver.importers.github_copilot.spans.attributes import (
    CONVERSATION,
    OPERATION,
    mask_attribute,
    mask_attributes,
    parse_attributes,
    plain_attributes,
    resource_attributes,
)
from palaver.model.build import JsonObject
from palaver.model.timestamps import timestamp_or_empty

_MAPPED_FIELDS = frozenset(
    {
        *("traceId", "spanId", "parentSpanId", "parentSpanContext", "_spanContext", "spanContext"),
        *("name", "attributes"),
        *("startTime", "endTime", "startTimeUnixNano", "endTimeUnixNano", "_duration", "duration", "resource"),
        *("type", "hrTime", "hrTimeObserved", "timeUnixNano", "observedTimeUnixNano", "id", "parentId", "timestamp"),
        *("ended", "_ended", "droppedAttributesCount", "droppedEventsCount", "droppedLinksCount", "_attributeCount"),
    }
)
_ERROR_STATUS = 2
_NOTHING: tuple[Any, ...] = (None, [], {}, "")


@dataclass(slots=True)
class Record:
    """A span or an event."""

    where: str
    is_event: bool = False
    trace_id: str = ""
    span_id: str = ""
    parent_id: str = ""
    name: str = ""
    started_at: str = ""
    ended_at: str = ""
    duration_ms: float | None = None
    attributes: JsonObject = field(default_factory=dict[str, Any])
    extra_fields: JsonObject = field(default_factory=dict[str, Any])
    """All other fields: status, events, links, scope."""
    resource: JsonObject = field(default_factory=dict[str, Any])
    is_error: bool = False

    def text(self, name: str) -> str:
        value = self.attributes.get(name)
        return value if isinstance(value, str) else ""

    @property
    def size_bytes(self) -> int:
        """The estimated size in memory."""
        return 1500 + 2 * sum(len(value) for value in self.attributes.values() if isinstance(value, str))

    @property
    def operation(self) -> str:
        if stated := self.text(OPERATION):
            return stated
        return "" if self.is_event else self.name.partition(" ")[0]

    @property
    def conversation(self) -> str:
        return self.text(CONVERSATION) or self.text("session.id") or self.text("conversation_id")


def records_in(line: JsonObject, where: str) -> Iterator[Record]:
    """Yield the spans and events of a line; nothing for other lines."""
    if "resourceSpans" in line or "resourceLogs" in line:
        yield from _records_in_envelope(line, where)
    elif is_record(line):
        yield _javascript_record(line, where)


def is_record(line: JsonObject) -> bool:
    """Return whether the line is a span or an event as OpenTelemetry's JavaScript has it in memory."""
    if not isinstance(line.get("attributes"), dict):
        return False
    return not {"startTime", "endTime", "hrTime", "spanId", "_spanContext", "spanContext", "traceId"}.isdisjoint(line)


def metrics_in(line: JsonObject) -> list[Any] | None:
    """Return the envelopes of metrics in a line, or None if it holds no metrics."""
    if isinstance(line.get("scopeMetrics"), list):
        return [line]
    envelopes = line.get("resourceMetrics")
    if isinstance(envelopes, list):
        return [envelope for envelope in envelopes if isinstance(envelope, dict)]
    return None


def _records_in_envelope(line: JsonObject, where: str) -> Iterator[Record]:
    for envelope, scopes, spans in (
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ):
        for held in _as_list(line.get(envelope)):
            if not isinstance(held, dict) or not isinstance(held.get(scopes), list):
                yield Record(where, extra_fields={"unread": mask_attribute("", held)})
                continue
            resource = resource_attributes(held.get("resource"))
            for scope in held[scopes]:
                if not isinstance(scope, dict) or not isinstance(scope.get(spans), list):
                    yield Record(where, extra_fields={"unread": mask_attribute("", scope)}, resource=resource)
                    continue
                for span in scope[spans]:
                    yield _otlp_record(span, where, scope.get("scope"), resource, is_event=spans == "logRecords")


def _otlp_record(span: Any, where: str, scope: Any, resource: JsonObject, *, is_event: bool) -> Record:
    if not isinstance(span, dict):
        return Record(where, extra_fields={"unread": mask_attribute("", span)}, resource=resource)
    attributes, unread = parse_attributes(span.get("attributes"))
    record = _make_record(span, where, mask_attributes(attributes), resource, is_event=is_event)
    if unread:
        record.extra_fields["unread"] = mask_attribute("", unread)
    if scope:
        record.extra_fields["scope"] = mask_attribute("", scope)
    return record


def _javascript_record(line: JsonObject, where: str) -> Record:
    is_event = "hrTime" in line or "_body" in line or ("startTime" not in line and "body" in line)
    attributes = mask_attributes(plain_attributes(line["attributes"]))
    return _make_record(line, where, attributes, resource_attributes(line.get("resource")), is_event=is_event)


def _make_record(
    span: JsonObject, where: str, attributes: JsonObject, resource: JsonObject, *, is_event: bool
) -> Record:
    context = next((held for key in ("_spanContext", "spanContext") if isinstance(held := span.get(key), dict)), {})
    parent = span.get("parentSpanContext")
    started = timestamp_of(_first_stated(span, "startTimeUnixNano", "startTime", "hrTime", "timeUnixNano", "timestamp"))
    ended = timestamp_of(_first_stated(span, "endTimeUnixNano", "endTime"))
    status = span.get("status")
    extra_fields = {
        key: mask_attribute(key, value)
        for key, value in span.items()
        if key not in _MAPPED_FIELDS and value not in _NOTHING
    }
    return Record(
        where,
        is_event=is_event,
        trace_id=_text_or_empty(span.get("traceId")) or _text_or_empty(context.get("traceId")),
        span_id=_text_or_empty(span.get("spanId"))
        or _text_or_empty(context.get("spanId"))
        or _text_or_empty(span.get("id")),
        parent_id=_text_or_empty(span.get("parentSpanId"))
        or (_text_or_empty(parent.get("spanId")) if isinstance(parent, dict) else "")
        or _text_or_empty(attributes.get("virtual_parent.genai")),
        name=_text_or_empty(span.get("name")) or _text_or_empty(attributes.get("event.name")),
        started_at=started,
        ended_at=ended,
        duration_ms=milliseconds_between(
            _first_stated(span, "startTimeUnixNano", "startTime"), _first_stated(span, "endTimeUnixNano", "endTime")
        ),
        attributes=attributes,
        extra_fields=extra_fields,
        resource=resource,
        is_error=isinstance(status, dict) and status.get("code") in (_ERROR_STATUS, "STATUS_CODE_ERROR"),
    )


def _first_stated(span: JsonObject, *names: str) -> Any:
    return next((span[name] for name in names if span.get(name) is not None), None)


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


_BILLION = 1_000_000_000


def timestamp_of(value: Any) -> str:
    """Return a schema timestamp, or "" if the value is not a time."""
    nanoseconds = _nanoseconds(value)
    if nanoseconds is not None:
        return timestamp_or_empty(nanoseconds // 1_000_000) if nanoseconds >= 10**17 else ""
    return timestamp_or_empty(value) if isinstance(value, str | int | float) else ""


def milliseconds_between(start: Any, end: Any) -> float | None:
    """Return the duration, or None if it is not known."""
    start_ns, end_ns = _nanoseconds(start), _nanoseconds(end)
    if start_ns is None or end_ns is None or end_ns < start_ns:
        return None
    duration_ms = (end_ns - start_ns) / 1_000_000
    return int(duration_ms) if duration_ms == int(duration_ms) else duration_ms


def _nanoseconds(value: Any) -> int | None:
    match value:
        case [int(seconds), int(nanoseconds)] if 0 <= seconds < 10**11 and 0 <= nanoseconds < _BILLION:
            return seconds * _BILLION + nanoseconds
        case str() if value.isascii() and value.isdigit() and 17 < len(value) < 21:
            return int(value)
        case int() if 10**17 <= value < 10**21 and not isinstance(value, bool):
            return value
        case _:
            return None
