"""The lines of a session file: how each kind is spelled, which fields it has and in which order.

Later versions write the common fields after the content instead of before it, an `entrypoint` among them, and report
hooks and prompts typed in mid-turn as attachments instead of progress lines.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from prose import Prose

TOKEN_FIELDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Era:
    version: str
    model: str
    weight: int
    is_late: bool = False
    has_final_usage_everywhere: bool = False


ERAS = [
    Era(version="2.1.39", model="claude-opus-4-6", weight=5),
    Era(version="2.1.63", model="claude-opus-4-6", weight=2),
    Era(version="2.1.87", model="claude-sonnet-4-6", weight=2, is_late=True),
    Era(version="2.1.112", model="claude-opus-4-7", weight=2, is_late=True, has_final_usage_everywhere=True),
]


@dataclass
class Truth:
    """What a correct import finds.

    `tokens` is the sum over the API messages of the greatest value of each field, each message once however many lines
    and files repeat it. `messages` are user lines, answers and queued prompts, file by file.
    """

    files: int = 0
    side_files: int = 0
    conversations: int = 0
    lines: int = 0
    bytes: int = 0
    largest_line: int = 0
    messages: int = 0
    api_messages: int = 0
    tokens: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOKEN_FIELDS, 0))


class Lines:
    """One file being written, the session's or an agent's; `parent` is the line that the next one hangs on."""

    def __init__(self, path: Path, era: Era, prose: Prose, truth: Truth, *, now_ms: int) -> None:
        self.path, self.era, self.prose, self.truth, self.now_ms = path, era, prose, truth, now_ms
        self.size = 0
        self.parent: str | None = None
        self.session_id = ""
        self.agent_id: str | None = None
        self._prompt_id = ""
        self._before: Record = {}
        self._after: Record = {}
        self._file: BinaryIO

    def set_common_fields(self, session_id: str, cwd: str, agent_id: str | None = None) -> None:
        self.session_id, self.agent_id = session_id, agent_id
        user: Record = {"userType": "external"}
        where: Record = {"cwd": cwd, "sessionId": session_id, "version": self.era.version}
        where["gitBranch"] = self.prose.rng.choice(["main", "main", "HEAD", f"feature/{self.prose.word()}"])
        slug: Record = {"slug": "-".join(self.prose.word() for _ in range(3))}
        agent: Record = {"agentId": agent_id} if agent_id else {}
        if self.era.is_late:
            self._before, self._after = agent, {**user, "entrypoint": "cli", **where, **slug}
        else:
            self._before = {**user, **where, **agent, **slug}

    @contextmanager
    def opened(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("wb", buffering=1_000_000) as self._file:
            yield
        self.truth.files += 1
        self.truth.conversations += 1

    def write(self, record: Record) -> None:
        self.write_line(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))

    def write_line(self, line: bytes) -> None:
        self._file.write(line)
        length = len(line)
        self.size += length
        truth = self.truth
        truth.lines += 1
        truth.bytes += length
        truth.largest_line = max(truth.largest_line, length)

    def link(self, parent: str | None, content: Record) -> None:
        """Writes a line of the chain; `content` has its uuid and timestamp where this kind of line has them."""
        root = {"parentUuid": parent, "isSidechain": self.agent_id is not None}
        self.write({**root, **self._before, **content, **self._after})
        self.parent = content["uuid"]

    def stamp(self) -> str:
        self.now_ms += int(self.prose.rng.random() * 2_500)
        seconds, milliseconds = divmod(self.now_ms, 1_000)
        return f"{datetime.fromtimestamp(seconds, UTC).isoformat()[:19]}.{milliseconds:03d}Z"

    def prompt(self, text: str, uuid: str) -> Record:
        self._prompt_id = self.prose.uuid()
        if self.era.is_late:
            return self.user(text, uuid, {"permissionMode": "acceptEdits"})
        thinking = {"thinkingMetadata": {"maxThinkingTokens": 31999}}
        return self.user(text, uuid, {**thinking, "todos": [], "permissionMode": "bypassPermissions"})

    def user(self, content: Any, uuid: str, extra: Record) -> Record:
        prompt = {"promptId": self._prompt_id} if self.era.is_late else {}
        message = {"role": "user", "content": content}
        line = {**prompt, "type": "user", "message": message, "uuid": uuid, "timestamp": self.stamp(), **extra}
        self.link(self.parent, line)
        self.truth.messages += 1
        return line

    def assistant(self, answer: Record, block: Record, stop_reason: str | None, usage: Record) -> Record:
        message = {
            "model": self.era.model,
            "id": answer["id"],
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": usage,
        }
        names = {"requestId": answer["requestId"], "type": "assistant", "uuid": self.prose.uuid()}
        line = {"message": message, **names, "timestamp": self.stamp()}
        self.link(self.parent, line)
        return line

    def hook(self, event: str, matcher: str, tool_use_id: str) -> None:
        content = {
            "type": "hook_progress",
            "hookEvent": event,
            "hookName": f"{event}:{matcher}" if matcher else event,
            "command": f"${{CLAUDE_PLUGIN_ROOT}}/hooks/{event.lower()}-{self.prose.word()}.sh {self.prose.word()}",
        }
        ids = {"parentToolUseID": tool_use_id, "toolUseID": tool_use_id}
        stamp = {"timestamp": self.stamp(), "uuid": self.prose.uuid()}
        self.link(self.parent, {"type": "progress", "data": content, **ids, **stamp})

    def progress(self, content: Record, progress_id: str, tool_use_id: str) -> None:
        ids = {"toolUseID": progress_id, "parentToolUseID": tool_use_id}
        stamp = {"uuid": self.prose.uuid(), "timestamp": self.stamp()}
        self.link(self.parent, {"type": "progress", "data": content, **ids, **stamp})

    def attach(self, content: Record) -> None:
        stamp = {"uuid": self.prose.uuid(), "timestamp": self.stamp()}
        self.link(self.parent, {"attachment": content, "type": "attachment", **stamp})

    def stop_hook_summary(self) -> None:
        hooks = [{"command": f"${{CLAUDE_PLUGIN_ROOT}}/hooks/{name}.sh"} for name in ("stop", "mark", "report")]
        summary = {"subtype": "stop_hook_summary", "hookCount": 3, "hookInfos": hooks, "hookErrors": []}
        outcome = {"preventedContinuation": False, "stopReason": "", "hasOutput": True, "level": "suggestion"}
        stamp = {"timestamp": self.stamp(), "uuid": self.prose.uuid(), "toolUseID": self.prose.uuid()}
        self.link(self.parent, {"type": "system", **summary, **outcome, **stamp})

    def turn_duration(self, duration_ms: int) -> None:
        stamp = {"timestamp": self.stamp(), "uuid": self.prose.uuid(), "isMeta": False}
        self.link(self.parent, {"type": "system", "subtype": "turn_duration", "durationMs": duration_ms, **stamp})

    def compact_boundary(self, tokens: int) -> None:
        notice = {"subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False}
        stamp = {"timestamp": self.stamp(), "uuid": self.prose.uuid(), "level": "info"}
        facts = {"compactMetadata": {"trigger": "auto", "preTokens": tokens}}
        self.link(None, {"logicalParentUuid": self.parent, "type": "system", **notice, **stamp, **facts})

    def snapshot(self, message_id: str, paths: list[str]) -> None:
        now, rng = self.stamp(), self.prose.rng
        backups = {
            path: {"backupFileName": f"{rng.getrandbits(64):016x}@v2", "version": 2, "backupTime": now}
            for path in paths
        }
        snapshot = {"messageId": message_id, "trackedFileBackups": backups, "timestamp": now}
        content = {"messageId": message_id, "snapshot": snapshot, "isSnapshotUpdate": False}
        self.write({"type": "file-history-snapshot", **content})

    def queue(self, operation: str, timestamp: str, **content: str) -> None:
        where = {"timestamp": timestamp, "sessionId": self.session_id}
        self.write({"type": "queue-operation", "operation": operation, **where, **content})
