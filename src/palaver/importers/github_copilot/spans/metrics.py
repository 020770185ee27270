"""Metrics of a trace file: running sums, of which only the last of each is told."""

from collections.abc import Iterator

from palaver.importers.github_copilot.spans.attributes import attributes_of, resource_of
from palaver.importers.github_copilot.spans.secrets import discreet, masked
from palaver.importers.github_copilot.spans.times import moment
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.threads.chain import dumped

PLATFORM = "github_copilot"


class Sums:
    """Takes metrics as they come, and gives one usage record for every program that counted."""

    def __init__(self) -> None:
        self._points: dict[bytes, dict[bytes, JsonObject]] = {}
        self._resources: dict[bytes, JsonObject] = {}

    def add(self, envelope: JsonObject) -> bool:
        """Take what an envelope counts; whether there was anything."""
        resource = resource_of(envelope.get("resource"))
        key = dumped(resource)
        found = False
        for point in _points(envelope):
            self._resources[key] = resource
            series = dumped([point["name"], point.get("attributes"), point.get("started_at")])
            held = self._points.setdefault(key, {})
            before = held.get(series)
            if before is None or before.get("ended_at", "") <= point.get("ended_at", ""):
                held[series] = point
            found = True
        return found

    def records(self, time: str) -> Iterator[JsonObject]:
        for key, points in self._points.items():
            resource = self._resources[key]
            told = list(points.values())
            started = min((point["started_at"] for point in told if "started_at" in point), default="")
            ended = max((point["ended_at"] for point in told if "ended_at" in point), default="")
            metadata: JsonObject = {"metrics": told}
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
                tokens=_tokens(told) or None,
                metadata=metadata,
            )


def _points(envelope: JsonObject) -> Iterator[JsonObject]:
    scopes = envelope.get("scopeMetrics")
    for scope in scopes if isinstance(scopes, list) else []:
        metrics = scope.get("metrics") if isinstance(scope, dict) else None
        for metric in metrics if isinstance(metrics, list) else []:
            if isinstance(metric, dict):
                yield from _of_metric(metric)


def _of_metric(metric: JsonObject) -> Iterator[JsonObject]:
    described = metric.get("descriptor")
    about: JsonObject = described if isinstance(described, dict) else metric
    name = about.get("name")
    told: JsonObject = {"name": name if isinstance(name, str) else "unknown"}
    if isinstance(unit := about.get("unit"), str) and unit:
        told["unit"] = unit
    points = metric.get("dataPoints")
    if not isinstance(points, list):
        held = next((metric[key] for key in ("sum", "gauge", "histogram") if isinstance(metric.get(key), dict)), {})
        points = held.get("dataPoints")
    for point in points if isinstance(points, list) and points else [metric]:
        if isinstance(point, dict) and point is not metric:
            yield {**told, **_of_point(point)}
        else:
            yield {**told, "value": masked("", point)}


def _of_point(point: JsonObject) -> JsonObject:
    attributes, unread = attributes_of(point.get("attributes"))
    told: JsonObject = {"attributes": discreet(attributes)} if attributes else {}
    if unread:
        told["unread"] = masked("", unread)
    for ours, theirs in (("started_at", "startTime"), ("ended_at", "endTime")):
        spelled = "startTimeUnixNano" if ours == "started_at" else "timeUnixNano"
        if time := moment(point.get(theirs) if point.get(theirs) is not None else point.get(spelled)):
            told[ours] = time
    placed = {"attributes", "startTime", "endTime", "startTimeUnixNano", "timeUnixNano"}
    rest = {key: value for key, value in point.items() if key not in placed}
    return {**told, **({"value": rest["value"]} if rest.keys() == {"value"} else {"value": rest})}


def _tokens(points: list[JsonObject]) -> JsonObject:
    """Tokens of all models together."""
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
