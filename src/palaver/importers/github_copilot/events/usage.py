"""Usage: token counts and models of answers, and usage records for sessions without messages."""

from collections.abc import Iterator
from typing import Any

from palaver.importers.github_copilot.events.document import PLATFORM
from palaver.importers.github_copilot.events.session import INTO_MESSAGE, Conversation, Disposition, Session
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import timestamp_or_empty

_TOKEN_FIELDS = {
    "input_tokens": ("inputTokens", "input"),
    "output_tokens": ("outputTokens", "output"),
    "cache_read_input_tokens": ("cacheReadTokens", "cachedInput"),
    "cache_creation_input_tokens": ("cacheWriteTokens",),
    "thinking_tokens": ("reasoningTokens",),
}
"""Source names of each count; the second ones are those of older versions."""


def assistant_usage(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Add usage to the open answer, or hold it back for the one that follows."""
    opened = conversation.open_answer
    call_id = data.get("apiCallId")
    if opened is not None and not opened.has_usage and (call_id is None or opened.api_call_id in (None, call_id)):
        opened.has_usage = True
        add_usage(conversation, opened.message, data)
        return INTO_MESSAGE
    flush_usage(conversation)
    conversation.pending_usage = event
    return INTO_MESSAGE


def flush_usage(conversation: Conversation) -> None:
    """Add usage that found no answer as a message of its own."""
    event, conversation.pending_usage = conversation.pending_usage, None
    if event is not None:
        message = conversation.append_opaque(event, event["data"])
        if counts := token_counts(event["data"]):
            message["tokens"] = counts


def add_usage(conversation: Conversation, message: JsonObject, data: JsonObject) -> None:
    metadata = message["metadata"]
    if counts := token_counts(data):
        raise_token_counts(message, counts)
    model, reason, duration = data.get("model"), data.get("finishReason"), data.get("duration")
    if isinstance(model, str) and model:
        set_model(conversation, metadata, model)
    if isinstance(reason, str):
        metadata["stop_reason"] = reason
    match duration:
        case int() | float() if not isinstance(duration, bool) and duration >= 0:
            metadata["duration_ms"] = duration
        case _:
            pass
    if isinstance((call_id := data.get("apiCallId")), str) and call_id:
        metadata.setdefault("api_message_id", call_id)
    metadata["usage"] = data


def set_model(conversation: Conversation, metadata: JsonObject, named_model: Any) -> None:
    """Set an answer's model: the named one, else its turn's, else the one chosen last (an agent keeps its own)."""
    if isinstance(named_model, str) and named_model:
        model = named_model
    else:
        model = conversation.turn.fields.get("model") if conversation.turn is not None else None
        if not isinstance(model, str) or not model:
            model = metadata.get("model_override") or conversation.model
    if model:
        if conversation.agent_id is not None:
            conversation.model = model
        metadata["model_override"] = model
        conversation.models[model] = conversation.models.get(model, 0) + 1


def token_counts(usage: Any) -> JsonObject:
    """Return the token counts in an object by our names, empty if it has none."""
    if not isinstance(usage, dict):
        return {}
    counts: JsonObject = {}
    for name, fields in _TOKEN_FIELDS.items():
        for field in fields:
            if type(count := usage.get(field)) is int and count >= 0:
                counts[name] = count
                break
    return counts


def raise_token_counts(message: JsonObject, counts: JsonObject) -> None:
    """Set a message's token counts to the greatest seen: the chunks of an answer repeat them."""
    tokens = message.setdefault("tokens", {})
    for name, count in counts.items():
        tokens[name] = max(count, tokens.get(name, 0))


def final_shutdowns(shutdowns: list[JsonObject]) -> list[JsonObject]:
    """Return the last shutdown for each start of the session: totals count from the start."""
    last = {repr(entry.get("sessionStartTime")): entry for entry in shutdowns}
    return list(last.values())


def usage_records(session: Session) -> Iterator[JsonObject]:
    """Yield a usage record for each start and model of a session, or one for all models if none is named."""
    platform: JsonObject = {"name": PLATFORM}
    if isinstance((version := (session.started or {}).get("copilotVersion")), str) and version:
        platform["version"] = version
    for number, entry in enumerate(final_shutdowns(session.shutdowns)):
        ended_at = timestamp_or_empty(entry.get("timestamp"))
        started_at = timestamp_or_empty(entry.get("sessionStartTime")) or session.main.created_at or ended_at
        rest = {name: value for name, value in entry.items() if name not in {"timestamp", "modelMetrics"}}
        metrics = entry.get("modelMetrics")
        models: dict[Any, Any] = metrics if isinstance(metrics, dict) and metrics else {None: metrics}
        for model, model_metrics in models.items():
            fields: JsonObject = {}
            if isinstance(model_metrics, dict):
                fields = model_metrics
            elif model_metrics:
                fields = {"modelMetrics": model_metrics}
            yield build.usage(
                usage_id=conversation_uuid(PLATFORM, f"{session.session_id}-{number}", model),
                platform=platform,
                kind="period",
                started_at=started_at or session.nearest_time(),
                ended_at=ended_at or None,
                subject=build.subject("session", session.session_id),
                model=model or None,
                tokens=token_counts(fields.get("usage")) or None,
                counts=_request_count(fields),
                metadata={**rest, **fields},
            )


def _request_count(fields: JsonObject) -> JsonObject | None:
    match fields.get("requests"):
        case {"count": int(count)} if count >= 0:
            return {"requests": count}
        case _:
            return None
