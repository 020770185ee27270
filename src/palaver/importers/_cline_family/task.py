"""What is known of a task while it is read: its messages so far, and what they say of the whole."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from palaver.importers._cline_family.environment import Environment
from palaver.importers._cline_family.results import Calls
from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import MILLISECONDS, from_milliseconds, readable_timestamp
from palaver.sources.run import Run

OURS = frozenset(
    {
        *build.METADATA,
        *("wrapper", "environment", "in_context", "ui", "role_inferred", "source_role", "source_fields", "mode"),
        *("capabilities", "system_info", "invalid_ts", "thoughtSignature", "contextCondense", "contextTruncation"),
        *("cancelReason", "streamingFailedMessage"),
    }
)
"""Names in a message's metadata that are given here; a source's field of the same name goes to `source_fields`."""


@dataclass(slots=True)
class Task:
    task_id: str
    platform: str
    run: Run
    written_at: Callable[[], str]
    """When the files were written, for a task without any time."""
    messages: list[JsonObject] = field(default_factory=list[JsonObject])
    """Those that were not handed out yet."""
    summaries: list[JsonObject] = field(default_factory=list[JsonObject])
    calls: Calls = field(default_factory=Calls)
    known_calls: set[str] = field(default_factory=set[str])
    models: Counter[str] = field(default_factory=Counter[str])
    modes: dict[str, None] = field(default_factory=dict[str, None])
    """Every mode that a turn was for, in the order in which they came first."""
    mode: str = ""
    """The mode of the last turn."""
    turn_model: str = ""
    """The model that the next answer is asked of."""
    workspace: str = ""
    time_zone: str = ""
    first_words: str = ""
    """What the person asked for first."""
    created_at: str = ""
    updated_at: str = ""
    last_time: str = ""
    last_id: str | None = None
    has_native_calls: bool = False
    has_made_ids: bool = False
    sequence: int = 0
    position: int = 0
    """How many messages were handed out."""
    is_begun: bool = False

    def add(self, message: JsonObject, stated: str) -> None:
        """Add a message behind the others; without a time of its own it gets that of the one before."""
        if stated:
            if stated > self.updated_at:  # noqa: PLR1730 - `max` is dear where there are many messages
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
        if not self.first_words and metadata["author_kind"] == "human":
            self.first_words = next((block["text"] for block in message["content"] if block["type"] == "text"), "")

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
    """A time in milliseconds, or as others spell it; empty for what is none."""
    if type(value) is int:
        if value in MILLISECONDS:
            return from_milliseconds(value)
        if value <= 0:
            return ""
    return readable_timestamp(value)


def keep_rest(metadata: JsonObject, record: JsonObject, *mapped: str) -> None:
    """Keep the fields of a record that nothing was made of."""
    for name, value in record.items():
        if name in mapped or value is None or value == "":
            continue
        if name in OURS:
            metadata.setdefault("source_fields", {})[name] = value
        else:
            metadata[name] = value
