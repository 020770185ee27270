"""Copilot's files as they lie on a machine of a developer, and in the downloads of an organization.

    Code/User/workspaceStorage/<hash>/chatSessions/<id>.json     a chat as one document
    Code/User/workspaceStorage/<hash>/chatSessions/<id>.jsonl    a chat as a log of changes
    .copilot/session-state/<id>/events.jsonl                     a session of the command line
    telemetry/<number>.jsonl                                     completions, as telemetry tells them
    reports/users-28-day.jsonl                                   usage of every user on every day

Sizes of chats are log-normal; most of their bytes are results of tools and prompts as they were rendered.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from github_copilot.events import write_session
from github_copilot.reports import write_report
from github_copilot.sessions import write_chat
from github_copilot.telemetry import write_telemetry
from github_copilot.truth import Truth
from prose import Prose

__all__ = ["Truth", "differences", "generate_tree"]

SHARES = {"logs": 0.40, "documents": 0.20, "events": 0.25, "telemetry": 0.08, "reports": 0.07}
MEAN_CHAT_BYTES = 500_000
CHATS_A_WORKSPACE = 12


def generate_tree(folder: Path, megabytes: float, prose: Prose) -> Truth:
    truth = Truth()
    wanted = int(megabytes * 1_000_000)
    for kind, share in SHARES.items():
        _fill(folder, kind, truth, truth.bytes + int(wanted * share), prose)
    return truth


def _fill(folder: Path, kind: str, truth: Truth, until: int, prose: Prose) -> None:
    number = 0
    while truth.bytes < until:
        size = min(until - truth.bytes, 3_000 + int(MEAN_CHAT_BYTES * prose.rng.lognormvariate(-0.7, 1.2)))
        match kind:
            case "logs" | "documents":
                workspace = (
                    folder / "Code" / "User" / "workspaceStorage" / f"{kind[0] * 8}{number // CHATS_A_WORKSPACE:024x}"
                )
                write_chat(workspace, size, prose, truth, is_log=kind == "logs")
            case "events":
                write_session(folder / ".copilot" / "session-state", size, prose, truth)
            case "telemetry":
                write_telemetry(folder / "telemetry" / f"{number:04}.jsonl", size, prose, truth, number)
            case _:
                write_report(folder / "reports" / "users-28-day.jsonl", until - truth.bytes, prose, truth)
        number += 1


def differences(documents: Iterator[dict[str, Any]], expected: dict[str, Any]) -> Iterator[str]:
    """What an import found otherwise than it is."""
    found = dict.fromkeys(("prompts", "tool_calls", "tool_results", "completions"), 0)
    conversations: set[str] = set()
    for document in documents:
        conversations.add(document["conversation_id"])
        for message in document["messages"]:
            metadata = message.get("metadata") or {}
            kinds = [block["type"] for block in message["content"]]
            found["prompts"] += message["role"] == "user" and metadata.get("author_kind") == "human"
            found["tool_calls"] += kinds.count("tool_use")
            found["tool_results"] += kinds.count("tool_result")
            found["completions"] += message["role"] == "assistant" and "completion_index" in metadata
    for name, count in {"conversations": len(conversations), **found}.items():
        if count != expected[name]:
            yield f"{name}: expected {expected[name]:,}, found {count:,}"
