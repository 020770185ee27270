"""Entries of a debug log: `{ts, dur, sid, type, name, spanId, parentSpanId, status, attrs}`."""

from dataclasses import dataclass, field
from typing import Any

from palaver.importers.github_copilot.spans.secrets import masked
from palaver.model.build import JsonObject
from palaver.model.timestamps import readable_timestamp

_FIELDS = frozenset({"ts", "dur", "sid", "type", "name", "spanId", "parentSpanId", "status", "attrs"})
_SAID = frozenset({"content", "response", "args", "result"})


@dataclass(slots=True)
class Entry:
    where: str
    session: str
    kind: str
    name: str
    span_id: str
    parent_id: str
    time: str
    ended_at: str
    duration_ms: float | None
    is_error: bool
    attributes: JsonObject
    rest: JsonObject = field(default_factory=dict[str, Any])
    """What else stands in the line, or could not be read."""

    def text(self, name: str) -> str:
        value = self.attributes.get(name)
        return value if isinstance(value, str) else ""

    def about(self, *leaving_out: str) -> JsonObject:
        """The entry without what has a place elsewhere."""
        told: JsonObject = {
            "type": self.kind,
            "name": self.name,
            "span_id": self.span_id,
            "parent_span_id": self.parent_id,
        }
        attributes = {key: value for key, value in self.attributes.items() if key not in leaving_out}
        told |= {"attributes": attributes, **self.rest}
        return {key: value for key, value in told.items() if value not in ("", {}, None)}


def entry_of(line: JsonObject, where: str) -> Entry | None:
    """An entry; None where the line is none."""
    session, kind = line.get("sid"), line.get("type")
    if not isinstance(session, str) or not session or not isinstance(kind, str):
        return None
    attributes = line.get("attrs")
    rest = {key: masked(key, value) for key, value in line.items() if key not in _FIELDS}
    if not isinstance(attributes, dict | None):
        rest["attrs"] = masked("attrs", attributes)
    stated, took = line.get("ts"), line.get("dur")
    began = _number(stated)
    time = readable_timestamp(began)
    duration = _number(took)
    ended = readable_timestamp(began + duration) if began is not None and duration is not None else ""
    rest |= {
        name: value for name, value in (("ts", stated), ("dur", took)) if _number(value) is None and value is not None
    }
    for name in ("name", "spanId", "parentSpanId", "status"):
        if not isinstance(line.get(name), str | None):
            rest[name] = masked(name, line[name])
    return Entry(
        where,
        session,
        kind,
        _word(line.get("name")),
        _word(line.get("spanId")),
        _word(line.get("parentSpanId")),
        time,
        ended,
        duration,
        line.get("status") == "error",
        {
            key: value if key in _SAID else masked(key, value)
            for key, value in (attributes if isinstance(attributes, dict) else {}).items()
        },
        rest,
    )


def _number(value: Any) -> float | None:
    return value if type(value) in (int, float) and value >= 0 else None


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
