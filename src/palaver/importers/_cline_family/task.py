"""State of a task while it is read: the messages so far, what they reveal about the task, and its pending calls."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from palaver.importers._cline_family.user_text import Environment
from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import MILLISECONDS, from_milliseconds, timestamp_or_empty
from palaver.sources.run import Run

OWN_NAMES = frozenset(
    {
        *build.METADATA,
        *("wrapper", "environment", "in_context", "ui", "role_inferred", "source_role", "source_fields", "mode"),
        *("capabilities", "system_info", "invalid_ts", "thoughtSignature", "contextCondense", "contextTruncation"),
        *("cancelReason", "streamingFailedMessage", "sent_as"),
    }
)
"""Metadata names assigned by the importer; a source field of the same name goes to `source_fields`."""


class PendingCalls:
    """The calls of the previous answer, in order, and which of them have no result yet.

    A result without a call id belongs to the first pending call of its tool, else to the last answered one of that
    tool, else to the first pending call of any tool, else to the call answered last. A single call gets all results.
    """

    def __init__(self) -> None:
        self.reset([])

    def reset(self, calls: list[tuple[str, str]]) -> None:
        """Replace all calls; each call is a pair of name and id."""
        self._calls = calls
        self._open = {call_id: name for name, call_id in calls}
        self._done: dict[str, str] = {}
        """The last answered call of each tool name."""
        self._last = ""
        self._sorted = 0
        """How many calls `_order` and `_named` contain. They are filled lazily: results with a call id need neither."""

    def add(self, name: str, call_id: str) -> None:
        self._open[call_id] = name
        self._calls.append((name, call_id))

    def has_name(self, name: str) -> bool:
        self._sort()
        return name in self._named

    def close(self, call_id: str) -> None:
        """Mark a call as answered."""
        name = self._open.pop(call_id, None)
        if name is not None:
            self._done[name] = self._last = call_id

    def take(self, name: str) -> str | None:
        """Close and return the call that a result of this tool belongs to; None if there were no calls."""
        if len(self._calls) == 1:
            call_id = self._calls[0][1]
            self.close(call_id)
            return call_id or None
        self._sort()
        named = self._first(self._named.get(name, deque()))
        call_id = named or self._done.get(name) or self._first(self._order) or self._last
        self.close(call_id)
        return call_id or None

    def _sort(self) -> None:
        if not self._sorted:
            self._order: deque[str] = deque()
            self._named: dict[str, deque[str]] = {}
        for name, call_id in self._calls[self._sorted :]:
            self._order.append(call_id)
            self._named.setdefault(name, deque()).append(call_id)
        self._sorted = len(self._calls)

    def _first(self, calls: deque[str]) -> str:
        while calls and calls[0] not in self._open:
            calls.popleft()
        return calls[0] if calls else ""


@dataclass(slots=True)
class Task:
    """A task being read: its messages not yet emitted, and what all messages so far state."""

    task_id: str
    platform: str
    run: Run
    written_at: Callable[[], str]
    """Returns the modification time of the files, for a task without any timestamp."""
    messages: list[JsonObject] = field(default_factory=list[JsonObject])
    """Messages not yet emitted in a document."""
    summaries: list[JsonObject] = field(default_factory=list[JsonObject])
    calls: PendingCalls = field(default_factory=PendingCalls)
    known_calls: set[str] = field(default_factory=set[str])
    models: Counter[str] = field(default_factory=Counter[str])
    modes: dict[str, None] = field(default_factory=dict[str, None])
    """Every mode used by a turn, in order of first use."""
    mode: str = ""  # of the last turn
    turn_model: str = ""
    """The model of the current turn, which produces the next answer."""
    workspace: str = ""
    time_zone: str = ""
    first_prompt: str = ""
    """The first text of a human message."""
    created_at: str = ""
    updated_at: str = ""
    last_time: str = ""
    last_id: str | None = None
    has_native_calls: bool = False
    has_made_ids: bool = False
    sequence: int = 0
    emitted_messages: int = 0
    """Number of messages in the documents emitted so far."""
    has_started: bool = False

    def add(self, message: JsonObject, stated: str) -> None:
        """Append a message; without a stated time it gets the previous message's."""
        if stated:
            if stated > self.updated_at:  # noqa: PLR1730 - `max` is slow for many messages
                self.updated_at = stated
            if stated < self.created_at or not self.created_at:
                self.created_at = stated
            self.last_time = stated
        else:
            message["metadata"]["timestamp_inferred"] = True
            self.run.note(INFERRED_TIMESTAMP, message["message_id"])
        message["timestamp"] = stated or self.last_time
        if self.last_id is not None:
            message["parent_message_id"] = self.last_id
        self.last_id = message["message_id"]
        self.messages.append(message)
        metadata = message["metadata"]
        if "model_override" in metadata:
            self.models[metadata["model_override"]] += 1
        if not self.first_prompt and metadata["author_kind"] == "human":
            self.first_prompt = next((block["text"] for block in message["content"] if block["type"] == "text"), "")

    def note_environment(self, found: Environment) -> None:
        if mode := found.get("mode"):
            self.note_mode(mode)
        self.turn_model = found.get("model") or self.turn_model
        self.workspace = self.workspace or found.get("workspace", "")
        self.time_zone = self.time_zone or found.get("time_zone", "")

    def note_mode(self, mode: str) -> None:
        self.mode = mode
        self.modes[mode] = None


def time_of(value: Any) -> str:
    """Return the timestamp for epoch milliseconds or any other readable time, or "" if there is none."""
    if type(value) is int:
        if value in MILLISECONDS:
            return from_milliseconds(value)
        if value <= 0:
            return ""
    return timestamp_or_empty(value)


def keep_unmapped(metadata: JsonObject, record: JsonObject, *mapped: str) -> None:
    """Copy the unmapped fields of a record into the metadata."""
    for name, value in record.items():
        if name in mapped or value is None or value == "":
            continue
        if name in OWN_NAMES:
            metadata.setdefault("source_fields", {})[name] = value
        else:
            metadata[name] = value
