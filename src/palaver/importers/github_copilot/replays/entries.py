"""Entries of an exported log, and the prompts that they were written for."""

from dataclasses import dataclass, field
from typing import Any

from palaver.importers.github_copilot.replays.messages import plain_id
from palaver.importers.github_copilot.replays.tools import Executed
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import readable_timestamp

BAD_ENTRY = finding_kind(
    "bad-replay-entry", "error", "An entry of an exported log is of no kind that is known; it is set aside."
)


@dataclass(slots=True)
class Prompt:
    """What somebody typed, and what is said of it."""

    about: JsonObject = field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        said = self.about.get("prompt")
        return said if isinstance(said, str) else ""


@dataclass(slots=True)
class Entry:
    log: JsonObject
    where: str
    prompt: Prompt

    @property
    def kind(self) -> str:
        match self.log:
            case {"kind": "request", "type": "MarkdownContentRequest", "content": str()}:
                return "markdown"
            case {"kind": "request", "id": str(name)} if name:
                return "request"
            case {"kind": "toolCall", "id": str(name)} if name:
                return "tool"
            case {"kind": "element"}:
                return "element"
            case {"kind": "error"}:
                return "error"
            case _:
                return ""


def executed_of(log: JsonObject) -> Executed:
    """What an entry says of a tool that was run; the thought before it stands with its result."""
    time = readable_timestamp(log.get("time"))
    name = log.get("tool")
    about: JsonObject = {"source_id": log["id"]}
    if time:
        about["time"] = time
    placed = {"id", "kind", "tool", "args", "response"} | ({"time"} if time else set())
    if not isinstance(name, str):
        placed -= {"tool"}
    if rest := {key: value for key, value in log.items() if key not in placed and value is not None}:
        about["entry"] = rest
    return Executed(
        call_id=plain_id(log["id"]),
        name=name if isinstance(name, str) and name else "unknown",
        given=log.get("args"),
        result=log.get("response"),
        ended_at=time,
        about=about,
    )
