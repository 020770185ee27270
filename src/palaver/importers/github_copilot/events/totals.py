"""Totals of sessions in which nothing was said: usage without a conversation."""

from collections.abc import Iterator
from typing import Any

from palaver.importers.github_copilot.events.document import PLATFORM
from palaver.importers.github_copilot.events.session import Session
from palaver.importers.github_copilot.events.tokens import tokens_of
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import readable_timestamp


def counting(shutdowns: list[JsonObject]) -> list[JsonObject]:
    """Of the ends since one start, the last: each counts from the start."""
    last = {repr(entry.get("sessionStartTime")): entry for entry in shutdowns}
    return list(last.values())


def _requests(fields: JsonObject) -> JsonObject | None:
    match fields.get("requests"):
        case {"count": int(count)} if count >= 0:
            return {"requests": count}
        case _:
            return None


def usage_records(session: Session) -> Iterator[JsonObject]:
    """One record for each model and each start of the session, or for all models where none is named."""
    platform: JsonObject = {"name": PLATFORM}
    if isinstance((version := (session.started or {}).get("copilotVersion")), str) and version:
        platform["version"] = version
    for number, entry in enumerate(counting(session.shutdowns)):
        ended_at = readable_timestamp(entry.get("timestamp"))
        started_at = readable_timestamp(entry.get("sessionStartTime")) or session.main.created_at or ended_at
        rest = {name: value for name, value in entry.items() if name not in {"timestamp", "modelMetrics"}}
        metrics = entry.get("modelMetrics")
        models: dict[Any, Any] = metrics if isinstance(metrics, dict) and metrics else {None: metrics}
        for model, stated in models.items():
            fields: JsonObject = stated if isinstance(stated, dict) else {"modelMetrics": stated} if stated else {}
            yield build.usage(
                usage_id=conversation_uuid(PLATFORM, f"{session.session_id}-{number}", model),
                platform=platform,
                kind="period",
                started_at=started_at or session.nearest_time(),
                ended_at=ended_at or None,
                subject=build.subject("session", session.session_id),
                model=model or None,
                tokens=tokens_of(fields.get("usage")) or None,
                counts=_requests(fields),
                metadata={**rest, **fields},
            )
