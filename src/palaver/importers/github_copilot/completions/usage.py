"""Requests for completions of which no words are known: what happened to them, as a usage record."""

from collections import Counter

from palaver.importers.github_copilot.completions import facts
from palaver.importers.github_copilot.completions.interaction import Interaction, outcome_of
from palaver.importers.github_copilot.completions.messages import PLATFORM, duration_ms, entries_of
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid


def usage_of(interaction: Interaction, time: str) -> JsonObject:
    """The record; `time` is for a request whose events have none."""
    events, said = interaction.events, interaction.said
    model = said.text(said.names.models)
    platform: JsonObject = {"name": PLATFORM}
    if version := facts.version_in(said.text(said.names.versions)):
        platform["version"] = version
    metadata: JsonObject = {} if interaction.time else {"timestamp_inferred": True}
    if outcome := outcome_of(events):
        metadata["outcome"] = outcome
    request_id = said.text(facts.REQUEST_IDS[:1] if facts.REQUEST_IDS[0] in said.first else ())
    metadata["events"] = entries_of(events, {facts.REQUEST_IDS[0]: request_id} if request_id else {})
    return build.usage(
        usage_id=deterministic_uuid(f"{PLATFORM}-completion-{interaction.name}"),
        platform=platform,
        kind="request",
        started_at=interaction.time or time,
        ended_at=interaction.ended_at or None,
        model=model or None,
        request_id=request_id or None,
        counts=dict(Counter(event.kind for event in events)),
        duration_ms=next((taken for event in events if (taken := duration_ms(event)) is not None), None),
        metadata=metadata,
    )
