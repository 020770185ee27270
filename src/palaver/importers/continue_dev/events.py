"""Events that belong to no session: edits become small conversations, all others usage records."""

import hashlib
from typing import Any, NamedTuple

from palaver.importers._shared.findings import UNKNOWN_EVENT
from palaver.importers._shared.vscode import path_from_uri
from palaver.importers.continue_dev.fields import (
    document_context,
    mean_rating,
    parse_user_agent,
    text_of,
    unmapped_fields,
)
from palaver.importers.continue_dev.layout import EVENTS
from palaver.importers.continue_dev.prompts import RecoveredMessages
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

PLATFORM = "continue_dev"


_USAGE = frozenset({"tokensGenerated", "autocomplete", "nextEditOutcome", "nextEditWithHistory"})
_COMMON_FIELDS = {"timestamp", "userAgent", "eventName", "userId"}
_ESTIMATED = (("input_tokens", "promptTokens"), ("output_tokens", "generatedTokens"))
_SIGNS = {"new": "+ ", "old": "- ", "same": "  "}


class Event(NamedTuple):
    name: str
    row: JsonObject
    file: Source
    lines: JsonLines
    time: str
    """Empty if missing or unreadable."""

    @property
    def identity(self) -> str:
        """A stable id; lines without a time may repeat, so their line numbers distinguish them."""
        digest = hashlib.sha1(self.lines.raw.strip(), usedforsecurity=False).hexdigest()
        number = "" if self.time else f"{self.lines.number}-"
        return conversation_uuid(PLATFORM, self.time, f"{self.name}-{number}{digest}")


def standalone_record(event: Event, run: Run) -> tuple[JsonObject | None, JsonObject | None]:
    """Return a conversation and None, or None and a usage record."""
    row = event.row
    if event.name not in EVENTS.values():
        run.note(UNKNOWN_EVENT, event.lines.where(), f"an event {event.name!r:.60} of an unknown kind is kept")
    has_text = any(text_of(row, name) for name in ("prompt", "completion", "previousCode", "newCode"))
    has_text = has_text or bool(_diff_text(row.get("diffs")))
    if event.name not in _USAGE and has_text:
        return _edit_conversation(event), None
    return None, _usage_record(event)


def platform_of(row: JsonObject) -> JsonObject:
    """Build the `platform` of a document made from one event."""
    platform: JsonObject = {"name": PLATFORM}
    agent = text_of(row, "userAgent")
    if version := parse_user_agent(agent).version:
        platform["version"] = version
    if model := text_of(row, "model") or text_of(row, "modelName") or text_of(row, "modelTitle"):
        platform["model"] = model
    if agent:
        platform["metadata"] = {"userAgent": agent}
    return platform


def _edit_conversation(event: Event) -> JsonObject:
    """Build a conversation of prompt and answer, each with the code before and after the edit."""
    row, conversation_id = event.row, event.identity
    time = event.time or event.file.written_at()
    path = text_of(row, "filepath") or text_of(row, "path")
    mapped = {
        *_mapped_common_fields(event),
        *(name for name in ("prompt", "completion", "model") if text_of(row, name)),
    }
    mapped.add("filepath" if text_of(row, "filepath") else "path" if path else "")
    tree = RecoveredMessages(conversation_id)
    answer = tree.add_answered(text_of(row, "prompt"), text_of(row, "completion"))
    asked = next((message for message in reversed(tree.messages) if message["role"] == "user"), None)
    for message, field in ((asked, "previousCode"), (answer, "newCode")):
        if message is not None and (code := text_of(row, field)):
            message["content"].append(build.code(code, file_path=path or None))
            mapped.add(field)
    if diff := _diff_text(row.get("diffs")):
        answer["content"].append(build.code(diff, language="diff", file_path=path or None))
        mapped.add("diffs")
    if len(answer["content"]) > 1 and answer["content"][0] == build.text(""):
        del answer["content"][0]
    answer["metadata"]["event"] = event.name
    for field in ("accepted", "feedback"):
        if isinstance((stated := row.get(field)), bool):
            answer["metadata"][field] = stated
            mapped.add(field)
    answer["metadata"] |= unmapped_fields(row, mapped)
    for message in tree.messages:
        message["timestamp"] = time
        if message is not answer or not event.time:
            message["metadata"]["timestamp_inferred"] = True
    file_name = path_from_uri(path).replace("\\", "/").rpartition("/")[2]
    return build.conversation(
        conversation_id=conversation_id,
        title=f"{event.name}: {file_name}" if file_name else event.name,
        platform=platform_of(row),
        context=document_context(
            editor=parse_user_agent(text_of(row, "userAgent")).editor,
            custom={"file": path_from_uri(path)} if path else None,
        ),
        created_at=time,
        messages=tree.messages,
        rating=mean_rating([(event.time, row["feedback"])]) if isinstance(row.get("feedback"), bool) else None,
    )


def _mapped_common_fields(event: Event) -> set[str]:
    """Return the fields common to all events, except a time that cannot be read."""
    return {*_COMMON_FIELDS} if event.time else _COMMON_FIELDS - {"timestamp"}


def _diff_text(diffs: Any) -> str:
    """Return diff lines with their signs; empty if any entry is not a line."""
    if not isinstance(diffs, list):
        return ""
    lines: list[str] = []
    for diff_line in diffs:
        match diff_line:
            case {"type": "new" | "old" | "same" as kind, "line": str(line), **rest} if not rest:
                lines.append(_SIGNS[kind] + line)
            case _:
                return ""
    return "\n".join(lines)


def _usage_record(event: Event) -> JsonObject:
    row = event.row
    time = event.time
    mapped = _mapped_common_fields(event) | {name for name in ("model",) if text_of(row, name)}
    metadata: JsonObject = {"event": event.name}
    duration = _duration_ms(row.get("time", row.get("elapsed")))
    if duration is not None:
        mapped |= {"time", "elapsed"} if "time" not in row else {"time"}
    if not time:
        metadata["timestamp_inferred"] = True
    estimated = {
        name: row[field] for name, field in _ESTIMATED if type(row.get(field)) is int and 0 <= row[field] < 1 << 53
    }
    if estimated:
        metadata["estimated_tokens"] = estimated
        mapped |= {field for name, field in _ESTIMATED if name in estimated}
    counts: JsonObject = {"requests": 1}
    if isinstance((accepted := row.get("accepted")), bool):
        counts["accepted"] = int(accepted)
        mapped.add("accepted")
    platform = platform_of(row)
    user = text_of(row, "userId")
    return build.usage(
        usage_id=event.identity,
        platform={name: value for name, value in platform.items() if name != "model"},
        kind="request",
        started_at=time or event.file.written_at(),
        subject=build.subject("user", user) if user else None,
        model=platform.get("model"),
        counts=counts,
        duration_ms=duration,
        metadata={**metadata, **unmapped_fields(row, mapped)},
    )


def _duration_ms(value: Any) -> float | None:
    match value:
        case bool():
            return None
        case int() | float() if 0 <= value < 1 << 53:
            return value
        case _:
            return None
