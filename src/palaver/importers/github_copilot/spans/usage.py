"""Spans, events and metrics without any word that was said: how much was used, of what, for how long."""

from palaver.importers.github_copilot.spans.calls import facts_of, model_of, span_of
from palaver.importers.github_copilot.spans.names import CONTENT
from palaver.importers.github_copilot.spans.records import Record
from palaver.importers.github_copilot.spans.tokens import tokens_in
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.threads.chain import dumped

PLATFORM = "github_copilot"
_REQUESTS = ("chat", "embeddings", "text_completion", "generate_content")
DETAILS = "gen_ai.client.inference.operation.details"


def usage_of(record: Record, conversation: str, time: str) -> JsonObject:
    """A record of what a span used; only a call of a model is a request that totals count."""
    is_request = record.text("event.name") == DETAILS or (not record.is_event and record.operation in _REQUESTS)
    started = record.started_at or record.ended_at
    tokens = tokens_in(record.attributes)
    said = {name: value for name, value in record.attributes.items() if name in CONTENT and value not in (None, "")}
    metadata: JsonObject = {"span": span_of(record)}
    if about := {**facts_of(record), **said}:
        metadata["attributes"] = about
    if record.resource:
        metadata["resource"] = record.resource
    if not started:
        metadata["timestamp_inferred"] = True
    return build.usage(
        usage_id=name_of(record),
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


def name_of(record: Record) -> str:
    """An id that is the same whenever and from wherever the record is read."""
    if record.span_id and not record.is_event:
        return f"{record.trace_id}:{record.span_id}"
    named = [record.name, record.started_at, record.trace_id, record.span_id]
    return deterministic_uuid(f"{PLATFORM}-{dumped([*named, record.attributes, record.about]).decode()}")


def platform_of(record: Record) -> JsonObject:
    told: JsonObject = {"name": PLATFORM}
    version = record.resource.get("service.version")
    if isinstance(version, str) and version:
        told["version"] = version
    if model := model_of(record):
        told["model"] = model
    return told
