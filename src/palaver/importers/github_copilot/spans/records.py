"""Lines of traces as spans, events and metrics: OTLP's envelopes, and what JavaScript's objects look like as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from palaver.importers.github_copilot.spans.attributes import attributes_of, plain_attributes, resource_of
from palaver.importers.github_copilot.spans.names import CONVERSATION, OPERATION
from palaver.importers.github_copilot.spans.secrets import discreet, masked
from palaver.importers.github_copilot.spans.times import milliseconds_between, moment
from palaver.model.build import JsonObject

_SPAN_FIELDS = frozenset(
    {
        *(
            "traceId",
            "spanId",
            "parentSpanId",
            "parentSpanContext",
            "_spanContext",
            "spanContext",
            "name",
            "attributes",
        ),
        *("startTime", "endTime", "startTimeUnixNano", "endTimeUnixNano", "_duration", "duration", "resource"),
        *("type", "hrTime", "hrTimeObserved", "timeUnixNano", "observedTimeUnixNano", "id", "parentId", "timestamp"),
        *("ended", "_ended", "droppedAttributesCount", "droppedEventsCount", "droppedLinksCount", "_attributeCount"),
    }
)
_ERROR = 2


@dataclass(slots=True)
class Record:
    """A span, or an event (`is_event`)."""

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
    about: JsonObject = field(default_factory=dict[str, Any])
    """Status, events, links, scope: whatever else stands there."""
    resource: JsonObject = field(default_factory=dict[str, Any])
    is_error: bool = False

    def text(self, name: str) -> str:
        value = self.attributes.get(name)
        return value if isinstance(value, str) else ""

    @property
    def size_bytes(self) -> int:
        """About how much it takes."""
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
    """The spans and events of a line; none where it holds something else."""
    if "resourceSpans" in line or "resourceLogs" in line:
        yield from _in_envelope(line, where)
    elif is_record(line):
        yield _of_object(line, where)


def is_record(line: JsonObject) -> bool:
    """Whether this is a span or an event as JavaScript has it."""
    if not isinstance(line.get("attributes"), dict):
        return False
    return not {"startTime", "endTime", "hrTime", "spanId", "_spanContext", "spanContext", "traceId"}.isdisjoint(line)


def metrics_in(line: JsonObject) -> list[Any] | None:
    """The metrics of a line by their scopes; None where it holds none."""
    if isinstance(line.get("scopeMetrics"), list):
        return [line]
    envelopes = line.get("resourceMetrics")
    if isinstance(envelopes, list):
        return [one for one in envelopes if isinstance(one, dict)]
    return None


def _in_envelope(line: JsonObject, where: str) -> Iterator[Record]:
    for envelope, scopes, spans in (
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ):
        for held in _listed(line.get(envelope)):
            if not isinstance(held, dict) or not isinstance(held.get(scopes), list):
                yield Record(where, about={"unread": masked("", held)})
                continue
            resource = resource_of(held.get("resource"))
            for scope in held[scopes]:
                if not isinstance(scope, dict) or not isinstance(scope.get(spans), list):
                    yield Record(where, about={"unread": masked("", scope)}, resource=resource)
                    continue
                for span in scope[spans]:
                    yield _of_otlp(span, where, scope.get("scope"), resource, is_event=spans == "logRecords")


def _of_otlp(span: Any, where: str, scope: Any, resource: JsonObject, *, is_event: bool) -> Record:
    if not isinstance(span, dict):
        return Record(where, about={"unread": masked("", span)}, resource=resource)
    attributes, unread = attributes_of(span.get("attributes"))
    record = _record(span, where, discreet(attributes), resource, is_event=is_event)
    if unread:
        record.about["unread"] = masked("", unread)
    if scope:
        record.about["scope"] = masked("", scope)
    return record


def _of_object(line: JsonObject, where: str) -> Record:
    is_event = "hrTime" in line or "_body" in line or ("startTime" not in line and "body" in line)
    attributes = discreet(plain_attributes(line["attributes"]))
    return _record(line, where, attributes, resource_of(line.get("resource")), is_event=is_event)


def _record(span: JsonObject, where: str, attributes: JsonObject, resource: JsonObject, *, is_event: bool) -> Record:
    context = next((one for key in ("_spanContext", "spanContext") if isinstance(one := span.get(key), dict)), {})
    parent = span.get("parentSpanContext")
    started = moment(_first(span, "startTimeUnixNano", "startTime", "hrTime", "timeUnixNano", "timestamp"))
    ended = moment(_first(span, "endTimeUnixNano", "endTime"))
    status = span.get("status")
    about = {
        key: masked(key, value) for key, value in span.items() if key not in _SPAN_FIELDS and value not in _NOTHING
    }
    return Record(
        where,
        is_event=is_event,
        trace_id=_word(span.get("traceId")) or _word(context.get("traceId")),
        span_id=_word(span.get("spanId")) or _word(context.get("spanId")) or _word(span.get("id")),
        parent_id=_word(span.get("parentSpanId"))
        or (_word(parent.get("spanId")) if isinstance(parent, dict) else "")
        or _word(attributes.get("virtual_parent.genai")),
        name=_word(span.get("name")) or _word(attributes.get("event.name")),
        started_at=started,
        ended_at=ended,
        duration_ms=milliseconds_between(
            _first(span, "startTimeUnixNano", "startTime"), _first(span, "endTimeUnixNano", "endTime")
        ),
        attributes=attributes,
        about=about,
        resource=resource,
        is_error=isinstance(status, dict) and status.get("code") in (_ERROR, "STATUS_CODE_ERROR"),
    )


_NOTHING: tuple[Any, ...] = (None, [], {}, "")


def _first(span: JsonObject, *names: str) -> Any:
    return next((span[name] for name in names if span.get(name) is not None), None)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
