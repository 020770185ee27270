"""Usage records from spans and events without content, and from metrics.

Metrics are running sums; only the last value of each series is reported.
"""

from collections.abc import Iterator

from palaver.importers.github_copilot.spans.attributes import (
    CONTENT,
    mask_attribute,
    mask_attributes,
    parse_attributes,
    resource_attributes,
    token_counts,
)
from palaver.importers.github_copilot.spans.operations import model_of, other_attributes, span_fields
from palaver.importers.github_copilot.spans.records import Record, timestamp_of
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.threads.chain import canonical_json

PLATFORM = "github_copilot"
_REQUEST_OPERATIONS = ("chat", "embeddings", "text_completion", "generate_content")
DETAILS_EVENT = "gen_ai.client.inference.operation.details"


def usage_record(record: Record, conversation: str, time: str) -> JsonObject:
    """Return what a span used; only model calls are requests, which totals count."""
    is_request = record.text("event.name") == DETAILS_EVENT or (
        not record.is_event and record.operation in _REQUEST_OPERATIONS
    )
    started = record.started_at or record.ended_at
    tokens = token_counts(record.attributes)
    content = {name: value for name, value in record.attributes.items() if name in CONTENT and value not in (None, "")}
    metadata: JsonObject = {"span": span_fields(record)}
    if attributes := {**other_attributes(record), **content}:
        metadata["attributes"] = attributes
    if record.resource:
        metadata["resource"] = record.resource
    if not started:
        metadata["timestamp_inferred"] = True
    return build.usage(
        usage_id=usage_id_of(record),
        platform=platform_of(record),
        kind="request" if is_request else "period",
        started_at=started or time,
        ended_at=record.ended_at or None,
        subject=build.subject("conversation", conversation) if conversation else None,
        model=model_of(record) or None,
        request_id=record.span_id or None,
        api_message_id=(record.text("gen_ai.response.id") or None) if is_request else None,
        tokens=tokens or None,
        duration_ms=record.duration_ms,
        metadata=metadata,
    )


def usage_id_of(record: Record) -> str:
    """Return an id that does not depend on when and from which file the record is read."""
    if record.span_id and not record.is_event:
        return f"{record.trace_id}:{record.span_id}"
    named = [record.name, record.started_at, record.trace_id, record.span_id]
    return deterministic_uuid(f"{PLATFORM}-{canonical_json([*named, record.attributes, record.extra_fields]).decode()}")


def platform_of(record: Record) -> JsonObject:
    platform: JsonObject = {"name": PLATFORM}
    version = record.resource.get("service.version")
    if isinstance(version, str) and version:
        platform["version"] = version
    if model := model_of(record):
        platform["model"] = model
    return platform


class MetricSums:
    """Collects metrics and yields one usage record per resource (the program that counted)."""

    def __init__(self) -> None:
        self._points: dict[bytes, dict[bytes, JsonObject]] = {}
        self._resources: dict[bytes, JsonObject] = {}

    def add(self, envelope: JsonObject) -> bool:
        """Add the points of an envelope; return whether it had any."""
        resource = resource_attributes(envelope.get("resource"))
        key = canonical_json(resource)
        found = False
        for point in _points(envelope):
            self._resources[key] = resource
            series = canonical_json([point["name"], point.get("attributes"), point.get("started_at")])
            held = self._points.setdefault(key, {})
            before = held.get(series)
            if before is None or before.get("ended_at", "") <= point.get("ended_at", ""):
                held[series] = point
            found = True
        return found

    def records(self, time: str) -> Iterator[JsonObject]:
        for key, points in self._points.items():
            resource = self._resources[key]
            last_points = list(points.values())
            started = min((point["started_at"] for point in last_points if "started_at" in point), default="")
            ended = max((point["ended_at"] for point in last_points if "ended_at" in point), default="")
            metadata: JsonObject = {"metrics": last_points}
            if resource:
                metadata["resource"] = resource
            if not started:
                metadata["timestamp_inferred"] = True
            yield build.usage(
                usage_id=deterministic_uuid(f"{PLATFORM}-metrics-{key.decode()}-{started}"),
                platform={"name": PLATFORM},
                kind="period",
                started_at=started or ended or time,
                ended_at=ended or None,
                tokens=_total_tokens(last_points) or None,
                metadata=metadata,
            )


def _points(envelope: JsonObject) -> Iterator[JsonObject]:
    scopes = envelope.get("scopeMetrics")
    for scope in scopes if isinstance(scopes, list) else []:
        metrics = scope.get("metrics") if isinstance(scope, dict) else None
        for metric in metrics if isinstance(metrics, list) else []:
            if isinstance(metric, dict):
                yield from _metric_points(metric)


def _metric_points(metric: JsonObject) -> Iterator[JsonObject]:
    stated = metric.get("descriptor")
    descriptor: JsonObject = stated if isinstance(stated, dict) else metric
    name = descriptor.get("name")
    series: JsonObject = {"name": name if isinstance(name, str) else "unknown"}
    if isinstance(unit := descriptor.get("unit"), str) and unit:
        series["unit"] = unit
    points = metric.get("dataPoints")
    if not isinstance(points, list):
        held = next((metric[key] for key in ("sum", "gauge", "histogram") if isinstance(metric.get(key), dict)), {})
        points = held.get("dataPoints")
    for point in points if isinstance(points, list) and points else [metric]:
        if isinstance(point, dict) and point is not metric:
            yield {**series, **_point_fields(point)}
        else:
            yield {**series, "value": mask_attribute("", point)}


def _point_fields(point: JsonObject) -> JsonObject:
    attributes, unread = parse_attributes(point.get("attributes"))
    fields: JsonObject = {"attributes": mask_attributes(attributes)} if attributes else {}
    if unread:
        fields["unread"] = mask_attribute("", unread)
    for ours, theirs in (("started_at", "startTime"), ("ended_at", "endTime")):
        spelled = "startTimeUnixNano" if ours == "started_at" else "timeUnixNano"
        if time := timestamp_of(point.get(theirs) if point.get(theirs) is not None else point.get(spelled)):
            fields[ours] = time
    mapped = {"attributes", "startTime", "endTime", "startTimeUnixNano", "timeUnixNano"}
    rest = {key: value for key, value in point.items() if key not in mapped}
    return {**fields, **({"value": rest["value"]} if rest.keys() == {"value"} else {"value": rest})}


def _total_tokens(points: list[JsonObject]) -> JsonObject:
    """Return the tokens of all models together."""
    found: JsonObject = {}
    for point in points:
        match point:
            case {
                "name": "gen_ai.client.token.usage",
                "attributes": {"gen_ai.token.type": "input" | "output" as kind},
                "value": {"sum": int(count)},
            } if not isinstance(count, bool) and 0 <= count < 1 << 53:
                found[f"{kind}_tokens"] = found.get(f"{kind}_tokens", 0) + count
            case _:
                pass
    return found
