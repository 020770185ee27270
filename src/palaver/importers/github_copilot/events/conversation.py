"""One conversation while its events are read: the session's own, or that of one of its agents."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP, MADE_MESSAGE_ID
from palaver.importers.github_copilot.events.kinds import OWN_NAMES
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import is_canonical, readable_timestamp

if TYPE_CHECKING:
    from palaver.importers.github_copilot.events.session import Session


_ENVELOPE = frozenset({"type", "data", "id", "timestamp", "parentId"})
_PLAIN_ENVELOPE = 5


@dataclass(slots=True)
class OpenAnswer:
    """The answer that later events may add to: nobody else has spoken since."""

    message: JsonObject
    message_id: Any = None
    """The source's own name of the message, which its chunks share."""
    api_call_id: Any = None
    iteration: Any = None
    is_reasoning: bool = False
    """Whether there is nothing but reasoning so far."""
    has_usage: bool = False


@dataclass(slots=True)
class Pieces:
    """Parts of something that has not come whole so far."""

    event: JsonObject
    position: int
    """Where among the messages it belongs."""
    name: str = ""
    parts: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Turn:
    """A turn of the model that has not ended."""

    event: JsonObject
    position: int
    told: JsonObject
    """What is said of it; its first message holds this."""
    is_told: bool = False


class Conversation:
    __slots__ = (
        *("agent_id", "answer", "call_id", "conversation_id", "created_at", "facts", "fork_point", "held_usage"),
        *("messages", "model", "models", "named", "parent_id", "pieces", "prompts", "sequence", "session", "status"),
        *("summaries", "systems", "tip", "title", "turn", "updated_at"),
    )

    def __init__(self, session: "Session", conversation_id: str, agent_id: str | None = None) -> None:
        self.session = session
        self.conversation_id = conversation_id
        self.agent_id = agent_id
        self.call_id: str | None = None
        """The call that started the agent."""
        self.parent_id: str | None = None
        self.fork_point: str | None = None
        self.facts: JsonObject = {}
        self.status: build.Status | None = None
        self.title = ""
        self.created_at = ""
        self.updated_at = ""
        self.sequence = 0
        self.messages: list[JsonObject] = []
        self.named: dict[str, JsonObject] = {}
        """The same by the ids of their events."""
        self.tip: str | None = None
        """The message that the next one follows."""
        self.model: str | None = None
        """The model of answers that do not say it themselves."""
        self.models: dict[str, int] = {}
        """How many answers each model gave."""
        self.summaries: list[JsonObject] = []
        self.answer: OpenAnswer | None = None
        self.held_usage: JsonObject | None = None
        """An event of usage that came before the answer it belongs to."""
        self.turn: Turn | None = None
        self.systems: dict[str, JsonObject] = {}
        """The last instructions by role and name."""
        self.prompts: dict[str, JsonObject] = {}
        """Prompts by their turns."""
        self.pieces: dict[tuple[str, str], Pieces] = {}

    def append(
        self, event: JsonObject, role: build.Role, content: list[JsonObject], metadata: JsonObject
    ) -> JsonObject:
        """Add a message for an event; fields of its envelope that mean nothing here are kept."""
        timestamp = self.seen_at(event) or self.time_of(event, metadata)
        if len(event) > _PLAIN_ENVELOPE:
            self._keep_envelope(event, metadata)
        parent_id = event.get("parentId")
        if parent_id is not None and parent_id != self.session.previous_id:
            metadata["parentId"] = parent_id
        message_id = event.get("id")
        ids = self.session.ids
        if isinstance(message_id, str) and message_id and message_id not in ids:
            ids.add(message_id)
        else:
            if message_id is not None and not isinstance(message_id, str):
                metadata.setdefault("source_fields", {})["id"] = message_id
            message_id = self.id_of(event)
        message: JsonObject = {"message_id": message_id}
        if self.tip is not None:
            message["parent_message_id"] = self.tip
        message["role"] = role
        message["timestamp"] = timestamp
        message["content"] = content
        message["metadata"] = metadata
        self.tip = message_id
        self.messages.append(message)
        self.named[message_id] = message
        return message

    def say(
        self, event: JsonObject, content: list[JsonObject], metadata: JsonObject, *, is_hidden: bool = False
    ) -> JsonObject:
        """Add a message of the program around the model."""
        metadata["author_kind"] = "harness"
        if is_hidden:
            metadata["hidden"] = True
        return self.append(event, "system", content, metadata)

    def keep_whole(self, event: JsonObject, raw: Any) -> JsonObject:
        """Add what an event says, hidden and as it is."""
        return self.say(event, [build.opaque(kind=event["type"], raw=raw)], {}, is_hidden=True)

    def id_of(self, event: JsonObject) -> str:
        stated = event.get("id")
        ids = self.session.ids
        if isinstance(stated, str) and stated and stated not in ids:
            ids.add(stated)
            return stated
        number = max(len(ids), self.session.made_ids)
        while (made := f"{self.session.session_id}-{number}") in ids:
            number += 1
        self.session.made_ids = number + 1
        ids.add(made)
        self.session.note(MADE_MESSAGE_ID)
        return made

    def time_of(self, event: JsonObject, metadata: JsonObject) -> str:
        """The time of an event; where it has none, the nearest known one."""
        if time := self.seen_at(event):
            return time
        stated = event.get("timestamp")
        if stated is not None:
            self.session.note(BAD_TIMESTAMP, f"{stated!r:.60}")
            metadata.setdefault("source_fields", {})["timestamp"] = stated
        else:
            self.session.note(INFERRED_TIMESTAMP)
        metadata["timestamp_inferred"] = True
        return self.updated_at or self.session.nearest_time()

    def seen_at(self, event: JsonObject) -> str:
        """The time that an event states, empty for none; the conversation lasts from the first to the last of them."""
        stated = event.get("timestamp")
        time = stated if isinstance(stated, str) and is_canonical(stated) else readable_timestamp(stated)
        if time:
            if not self.created_at or time < self.created_at:
                self.created_at = time
            self.updated_at = max(self.updated_at, time)
        return time

    def _keep_envelope(self, event: JsonObject, metadata: JsonObject) -> None:
        for key, value in event.items():
            if key not in _ENVELOPE and value is not None and not (key == "agentId" and value == self.agent_id):
                keep(metadata, key, value)

    def take_turn(self, metadata: JsonObject) -> None:
        """Let a message tell of the turn that it begins."""
        if self.turn is not None and not self.turn.is_told and "turn" not in metadata:
            metadata["turn"] = self.turn.told
            self.turn.is_told = True

    def rewind(self, event_id: str) -> None:
        """Take back a message and all behind it: they stay, on a branch that was left."""
        target = self.named.get(event_id)
        if target is None or "on_active_path" in target["metadata"]:
            return
        self.answer = None
        while undone := self.named.get(self.tip or ""):
            undone["metadata"]["on_active_path"] = False
            self.tip = undone.get("parent_message_id")
            if undone is target:
                return

    def insert(self, position: int, message: JsonObject) -> None:
        """Put a message where it belongs among others."""
        if position < len(self.messages):
            following = self.messages[position]
            if parent := following.get("parent_message_id"):
                message["parent_message_id"] = parent
            following["parent_message_id"] = message["message_id"]
            if "on_active_path" in following["metadata"]:
                message["metadata"]["on_active_path"] = False
        else:
            if self.tip is not None:
                message["parent_message_id"] = self.tip
            self.tip = message["message_id"]
        self.messages.insert(position, message)
        self.named[message["message_id"]] = message
        for held in reversed(self.pieces.values()):
            if held.position <= position:  # and so are all before: what comes later is held behind them
                break
            held.position += 1


def keep(metadata: JsonObject, name: str, value: Any) -> None:
    """Keep a source's field under its own name, unless that is one of ours."""
    if name in OWN_NAMES:
        metadata.setdefault("source_fields", {})[name] = value
    else:
        metadata.setdefault(name, value)


def keep_rest(metadata: JsonObject, data: JsonObject, mapped: frozenset[str]) -> None:
    """Keep what is not mapped, and says something."""
    for name, value in data.items():
        if name not in mapped and value is not None:
            keep(metadata, name, value)


def keep_joined(metadata: JsonObject, data: JsonObject, mapped: frozenset[str]) -> None:
    """Keep what a later part of a message says otherwise than the parts before."""
    for name, value in data.items():
        if name in mapped or value is None:
            continue
        if name in metadata and name not in OWN_NAMES and metadata[name] != value:
            metadata.setdefault("joined", []).append({name: value})
        else:
            keep(metadata, name, value)


def words(value: Any, kind: str = "content") -> list[JsonObject]:
    """What somebody said, as blocks: nothing for nothing, and whole what is no text."""
    if isinstance(value, str):
        return [build.text(value)] if value else []
    return [] if value is None else [build.opaque(kind=kind, raw=value)]
