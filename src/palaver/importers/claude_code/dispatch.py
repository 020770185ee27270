"""Dispatch of lines: the handler for each line type, and the conversation each line belongs to.

Most files hold one conversation. Until 2.0.2x, agents were written inline (`isSidechain`, each with its own root). A
file whose name is not a session id may hold several sessions, concatenated by hand.
"""

from collections.abc import Callable, Iterator
from typing import Any

from palaver.importers.claude_code import other_lines
from palaver.importers.claude_code.assistant_lines import assistant
from palaver.importers.claude_code.content import plain_text, to_blocks
from palaver.importers.claude_code.line_context import Disposition, LineContext
from palaver.importers.claude_code.transcript import Transcript
from palaver.importers.claude_code.user_lines import tool_result, tool_use, user
from palaver.model.build import JsonObject
from palaver.sources.run import Run

Handler = Callable[[Transcript, dict[str, Any], LineContext], Disposition]

HANDLERS: dict[str, Handler] = {
    "user": user,
    "assistant": assistant,
    "tool_use": tool_use,
    "tool_result": tool_result,
    "system": other_lines.system,
    "attachment": other_lines.attachment,
    "progress": other_lines.progress,
    "queue-operation": other_lines.queue_operation,
    "summary": other_lines.summary,
    "ai-title": other_lines.title,
    "custom-title": other_lines.title,
    "last-prompt": other_lines.last_prompt,
    "tag": other_lines.tag,
    "cost-state": other_lines.cost_state,
    "pr-link": other_lines.pr_link,
    "worktree-state": other_lines.worktree,
    "relocated": other_lines.worktree,
    "file-history-snapshot": other_lines.file_history,
    "file-history-delta": other_lines.file_history,
    **dict.fromkeys(
        (
            *("mode", "permission-mode", "agent-name", "agent-setting", "agent-color", "bridge-session"),
            *("continued-in", "session-id"),
        ),
        other_lines.session_field,
    ),
    **dict.fromkeys(
        (
            *("content-replacement", "fork-context-ref", "history-suppression", "atis-latch", "frame-link"),
            *("artifact-autoreact-ledger", "artifact-comment-monitor", "attribution-snapshot"),
            *("marble-origami-commit", "marble-origami-snapshot", "started", "result"),
        ),
        other_lines.opaque_line,
    ),
}


def handler_for(record: dict[str, Any]) -> Handler:
    """Return the handler for a line of any type; a line without a type is handled by its role."""
    kind = record.get("type")
    if isinstance(kind, str) and (handler := HANDLERS.get(kind)) is not None:
        return handler
    if kind is None:
        message = record.get("message")
        role = record.get("role") or (message.get("role") if isinstance(message, dict) else None)
        if role == "user" or role == "assistant":  # noqa: PLR1714 - a role may be of any type
            return HANDLERS[role]
    return other_lines.unknown_line


class TranscriptRouter:
    """The transcripts of one file, and the choice of the one that a line belongs to."""

    def __init__(
        self,
        main: Transcript,
        run: Run,
        fallback_time: Callable[[], str],
        *,
        splits_sessions: bool,
        splits_sidechains: bool = True,
    ) -> None:
        self.main = main
        self.splits_sessions = splits_sessions
        self.splits_sidechains = splits_sidechains
        self.sidechains: dict[str, Transcript] = {}
        self.sessions: dict[str, Transcript] = {}
        self._run = run
        self._fallback_time = fallback_time

    def transcripts(self) -> Iterator[Transcript]:
        yield self.main
        yield from self.sessions.values()
        yield from self.sidechains.values()

    def close(self) -> None:
        for transcript in self.transcripts():
            transcript.close()

    def transcript_for(self, record: JsonObject) -> Transcript:
        session_id = record.get("sessionId")
        transcript = self.main
        if self.splits_sessions and session_id and session_id != self.main.session_id and isinstance(session_id, str):
            transcript = self.sessions.get(session_id) or self._new_session(session_id)
        if self.splits_sidechains and record.get("isSidechain"):
            return self._sidechain(transcript, record)
        return transcript

    def agent_transcript(self, owner: Transcript, agent_id: str) -> Transcript:
        """Return the transcript of an agent without its own file, creating it at first use."""
        transcript = self.sidechains.get(agent_id)
        if transcript is None:
            transcript = self.sidechains[agent_id] = Transcript(
                owner.agent_conversation_id(agent_id),
                self._run,
                session_id=owner.session_id,
                fallback_time=self._fallback_time,
                parent_id=owner.conversation_id,
                is_sidechain=True,
                agent_id=agent_id,
                caller=owner,
            )
        return transcript

    def _new_session(self, session_id: str) -> Transcript:
        transcript = self.sessions[session_id] = Transcript(
            session_id, self._run, session_id=session_id, fallback_time=self._fallback_time
        )
        return transcript

    def _sidechain(self, owner: Transcript, record: JsonObject) -> Transcript:
        if isinstance((agent_id := record.get("agentId")), str):
            return self.agent_transcript(owner, agent_id)
        parent = record.get("parentUuid")
        if isinstance(parent, str):
            for transcript in reversed(self.sidechains.values()):
                if transcript.resolve_line(parent) is not None:
                    return transcript
        elif parent is None and "uuid" not in record and self.sidechains:
            return next(reversed(self.sidechains.values()))
        root = record.get("uuid")
        transcript = self.agent_transcript(
            owner, root if isinstance(root, str) else f"inline-{len(self.sidechains) + 1}"
        )
        self._link_to_call(owner, transcript, record)
        return transcript

    def _link_to_call(self, owner: Transcript, transcript: Transcript, record: JsonObject) -> None:
        """Link a sidechain to the call that started it: its first prompt equals the prompt of the call."""
        message = record.get("message")
        prompt = plain_text(to_blocks(message.get("content"))) if isinstance(message, dict) else None
        for call_id, (message_id, called_with) in reversed(owner.tasks.items()):
            if prompt and called_with == prompt:
                transcript.platform_metadata["parent_tool_use_id"] = call_id
                transcript.fork_point = message_id
                return
        if (known := owner.resolve_line(record.get("parentUuid"))) is not None and known:
            transcript.fork_point = known
