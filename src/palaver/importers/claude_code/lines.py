"""Which function takes which type of line."""

from collections.abc import Callable
from typing import Any

from palaver.importers.claude_code import events
from palaver.importers.claude_code.answers import assistant
from palaver.importers.claude_code.disposition import Disposition
from palaver.importers.claude_code.prompts import tool_result, tool_use, user
from palaver.importers.claude_code.reading import Reading
from palaver.importers.claude_code.transcript import Transcript

Handler = Callable[[Transcript, dict[str, Any], Reading], Disposition]

HANDLERS: dict[str, Handler] = {
    "user": user,
    "assistant": assistant,
    "tool_use": tool_use,
    "tool_result": tool_result,
    "system": events.system,
    "attachment": events.attachment,
    "progress": events.progress,
    "queue-operation": events.queue_operation,
    "summary": events.summary,
    "ai-title": events.title,
    "custom-title": events.title,
    "last-prompt": events.last_prompt,
    "tag": events.tag,
    "cost-state": events.cost_state,
    "pr-link": events.pr_link,
    "worktree-state": events.worktree,
    "relocated": events.worktree,
    "file-history-snapshot": events.file_history,
    "file-history-delta": events.file_history,
    **dict.fromkeys(
        (
            *("mode", "permission-mode", "agent-name", "agent-setting", "agent-color", "bridge-session"),
            *("continued-in", "session-id"),
        ),
        events.fact,
    ),
    **dict.fromkeys(
        (
            *("content-replacement", "fork-context-ref", "history-suppression", "atis-latch", "frame-link"),
            *("artifact-autoreact-ledger", "artifact-comment-monitor", "attribution-snapshot"),
            *("marble-origami-commit", "marble-origami-snapshot", "started", "result"),
        ),
        events.kept_raw,
    ),
}


def handler_of(record: dict[str, Any]) -> Handler:
    kind = record.get("type")
    if isinstance(kind, str) and (handler := HANDLERS.get(kind)) is not None:
        return handler
    if kind is None:
        message = record.get("message")
        role = record.get("role") or (message.get("role") if isinstance(message, dict) else None)
        if role == "user" or role == "assistant":  # noqa: PLR1714 - a role may be of any type
            return HANDLERS[role]
    return events.unknown
