"""Calls without content: how much was asked of which model, and nothing of what was said."""

from palaver.importers.azure_openai.about import about
from palaver.importers.azure_openai.facts import facts_of
from palaver.importers.azure_openai.formats import is_of_a_model
from palaver.importers.azure_openai.groups import Parts
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.sources.run import Run


def usage_of(parts: Parts, run: Run, platform: str, time: str) -> JsonObject | None:
    """What was used by a call; None where no model was."""
    facts = facts_of(parts, run)
    model = facts.text("modelname") or None
    deployment, tokens = facts.deployment, facts.tokens
    if not (model or deployment or tokens or is_of_a_model(facts.path)):
        return None
    told: JsonObject = {"name": platform}
    if facts.version:
        told["version"] = facts.version
    if model:
        told["model"] = model
    if deployment:
        told["metadata"] = {"deployment": deployment}
    metadata: JsonObject = {} if facts.status is None else {"status_code": facts.status}
    metadata |= about(_with_a_head(parts))
    api_message_id: str | None = metadata.pop("api_message_id", None)
    return build.usage(
        usage_id=facts.call_id,
        platform=told,
        kind="request",
        started_at=facts.started_at or time,
        ended_at=facts.ended_at,
        subject=build.subject("caller", facts.caller) if facts.caller else None,
        model=model,
        request_id=facts.call_id,
        api_message_id=api_message_id,
        tokens=tokens or None,
        duration_ms=facts.duration_ms,
        metadata=metadata or None,
    )


def _with_a_head(parts: Parts) -> Parts:
    """The same rows, the first of which speaks for the call."""
    if parts.heads or not parts.others:
        return parts
    others = sorted(parts.others, key=lambda row: row.table == "resource")
    return Parts(others[:1], parts.llm, others[1:])
