"""Events that belong to no session: edits are small conversations, all others are records of usage."""

import hashlib
from typing import Any, NamedTuple

from palaver.importers._shared.findings import UNKNOWN_EVENT
from palaver.importers._shared.vscode import path_in
from palaver.importers.continue_dev.fields import kept, text_of
from palaver.importers.continue_dev.layout import EVENTS
from palaver.importers.continue_dev.ratings import rating_of
from palaver.importers.continue_dev.recovered import Recovered
from palaver.importers.continue_dev.workspace import agent_of, context
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

PLATFORM = "continue_dev"


_USAGE = frozenset({"tokensGenerated", "autocomplete", "nextEditOutcome", "nextEditWithHistory"})
_BASE = {"timestamp", "userAgent", "eventName", "userId"}
_ESTIMATED = (("input_tokens", "promptTokens"), ("output_tokens", "generatedTokens"))
_SIGNS = {"new": "+ ", "old": "- ", "same": "  "}


class Event(NamedTuple):
    name: str
    row: JsonObject
    file: Source
    lines: JsonLines
    time: str
    """Empty where it has none that can be read."""

    @property
    def identity(self) -> str:
        """The same whenever the line is read; lines without a time may repeat, so that their places tell them apart."""
        digest = hashlib.sha1(self.lines.raw.strip(), usedforsecurity=False).hexdigest()
        place = "" if self.time else f"{self.lines.number}-"
        return conversation_uuid(PLATFORM, self.time, f"{self.name}-{place}{digest}")


def record_of(event: Event, run: Run) -> tuple[JsonObject | None, JsonObject | None]:
    """A conversation, or a usage record."""
    row = event.row
    if event.name not in EVENTS.values():
        run.note(UNKNOWN_EVENT, event.lines.where(), f"an event {event.name!r:.60} of an unknown kind is kept")
    has_words = any(text_of(row, name) for name in ("prompt", "completion", "previousCode", "newCode"))
    has_words = has_words or bool(_diff(row.get("diffs")))
    if event.name not in _USAGE and has_words:
        return _conversation(event), None
    return None, _usage(event)


def platform_of(row: JsonObject) -> JsonObject:
    """The platform of a document that one event tells of."""
    platform: JsonObject = {"name": PLATFORM}
    agent = text_of(row, "userAgent")
    if version := agent_of(agent).version:
        platform["version"] = version
    if model := text_of(row, "model") or text_of(row, "modelName") or text_of(row, "modelTitle"):
        platform["model"] = model
    if agent:
        platform["metadata"] = {"userAgent": agent}
    return platform


def _conversation(event: Event) -> JsonObject:
    """What was asked and answered; an edit's code, before and after, belongs to both."""
    row, name = event.row, event.identity
    time = event.time or event.file.written_at()
    path = text_of(row, "filepath") or text_of(row, "path")
    mapped = {*_mapped_base(event), *(name for name in ("prompt", "completion", "model") if text_of(row, name))}
    mapped.add("filepath" if text_of(row, "filepath") else "path" if path else "")
    tree = Recovered(name)
    answer = tree.add_answered(text_of(row, "prompt"), text_of(row, "completion"))
    asked = next((message for message in reversed(tree.messages) if message["role"] == "user"), None)
    for message, field in ((asked, "previousCode"), (answer, "newCode")):
        if message is not None and (code := text_of(row, field)):
            message["content"].append(build.code(code, file_path=path or None))
            mapped.add(field)
    if diff := _diff(row.get("diffs")):
        answer["content"].append(build.code(diff, language="diff", file_path=path or None))
        mapped.add("diffs")
    if len(answer["content"]) > 1 and answer["content"][0] == build.text(""):
        del answer["content"][0]
    answer["metadata"]["event"] = event.name
    for field in ("accepted", "feedback"):
        if isinstance((stated := row.get(field)), bool):
            answer["metadata"][field] = stated
            mapped.add(field)
    answer["metadata"] |= kept(row, mapped)
    for message in tree.messages:
        message["timestamp"] = time
        if message is not answer or not event.time:
            message["metadata"]["timestamp_inferred"] = True
    file_name = path_in(path).replace("\\", "/").rpartition("/")[2]
    return build.conversation(
        conversation_id=name,
        title=f"{event.name}: {file_name}" if file_name else event.name,
        platform=platform_of(row),
        context=context(
            editor=agent_of(text_of(row, "userAgent")).editor,
            custom={"file": path_in(path)} if path else None,
        ),
        created_at=time,
        messages=tree.messages,
        rating=rating_of([(event.time, row["feedback"])]) if isinstance(row.get("feedback"), bool) else None,
    )


def _mapped_base(event: Event) -> set[str]:
    """The fields that every event has, but a time that cannot be read."""
    return {*_BASE} if event.time else _BASE - {"timestamp"}


def _diff(diffs: Any) -> str:
    """Lines with a sign each; empty where some are no lines."""
    if not isinstance(diffs, list):
        return ""
    lines: list[str] = []
    for one in diffs:
        match one:
            case {"type": "new" | "old" | "same" as kind, "line": str(line), **rest} if not rest:
                lines.append(_SIGNS[kind] + line)
            case _:
                return ""
    return "\n".join(lines)


def _usage(event: Event) -> JsonObject:
    row = event.row
    time = event.time
    mapped = _mapped_base(event) | {name for name in ("model",) if text_of(row, name)}
    metadata: JsonObject = {"event": event.name}
    duration = _duration(row.get("time", row.get("elapsed")))
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
        metadata={**metadata, **kept(row, mapped)},
    )


def _duration(stated: Any) -> float | None:
    match stated:
        case bool():
            return None
        case int() | float() if 0 <= stated < 1 << 53:
            return stated
        case _:
            return None
