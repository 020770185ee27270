"""The state of a session while its log is read: its conversations, and which of them an event belongs to.

A session has one conversation of its own and one for each of its agents.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP, MADE_MESSAGE_ID
from palaver.importers.github_copilot.events.event_types import OWN_NAMES
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.timestamps import is_canonical, timestamp_or_empty
from palaver.sources.run import Run

Disposition = tuple[str, str]
"""The outcome of an event: the ledger's word and the reason."""
MAPPED: Disposition = ("mapped", "")
INTO_MESSAGE: Disposition = ("folded", "message")
INTO_CONVERSATION: Disposition = ("deferred", "conversation")
"""A property of the conversation; counted at the end, when it is known whether the session has one."""
SKIPPED_PROGRESS: Disposition = ("skipped", "stream-progress")

AGENT_LIFECYCLE = frozenset({"subagent.completed", "subagent.failed", "subagent.started"})
"""Events on an agent, written in the conversation that called it."""
_SESSION_PREFIXES = ("session.", "subagent.", "partition.")
_CAUSED_BY_AGENTS = ("session.error", "session.info", "session.warning", "session.task_complete")
"""Session events that an agent may cause."""
_ENVELOPE = frozenset({"type", "data", "id", "timestamp", "parentId"})


@dataclass(slots=True)
class OpenAnswer:
    """The last answer, which later events may extend until another message follows."""

    message: JsonObject
    message_id: Any = None
    """The source's id of the message, which its chunks share."""
    api_call_id: Any = None
    iteration: Any = None
    is_reasoning: bool = False
    """Whether the answer holds only reasoning so far."""
    has_usage: bool = False


@dataclass(slots=True)
class Pieces:
    """Streamed parts of a message, call or result that has not arrived whole."""

    event: JsonObject
    position: int
    """The index among the messages where it belongs."""
    name: str = ""
    parts: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Turn:
    """A turn of the model that has not ended."""

    event: JsonObject
    position: int
    fields: JsonObject
    """What its events state; the turn's first message shares this object."""
    is_attached: bool = False


class Conversation:
    """The conversation of a session or of one of its agents, while its events are read."""

    __slots__ = (
        *("agent_id", "by_event_id", "call_id", "conversation_id", "created_at", "fork_point", "last_instructions"),
        *("messages", "model", "models", "open_answer", "parent_id", "pending_usage", "pieces", "platform_metadata"),
        *("prompts", "sequence", "session", "status", "summaries", "tip", "title", "turn", "updated_at"),
    )

    def __init__(self, session: "Session", conversation_id: str, agent_id: str | None = None) -> None:
        self.session = session
        self.conversation_id = conversation_id
        self.agent_id = agent_id
        self.call_id: str | None = None
        """The call that started the agent."""
        self.parent_id: str | None = None
        self.fork_point: str | None = None
        self.platform_metadata: JsonObject = {}
        self.status: build.Status | None = None
        self.title = ""
        self.created_at = ""
        self.updated_at = ""
        self.sequence = 0
        self.messages: list[JsonObject] = []
        self.by_event_id: dict[str, JsonObject] = {}
        """Messages by the ids of their events."""
        self.tip: str | None = None
        """The id of the message that the next one follows."""
        self.model: str | None = None
        """The model of answers that name none."""
        self.models: dict[str, int] = {}
        """How many answers each model gave."""
        self.summaries: list[JsonObject] = []
        self.open_answer: OpenAnswer | None = None
        self.pending_usage: JsonObject | None = None
        """A usage event that arrived before its answer."""
        self.turn: Turn | None = None
        self.last_instructions: dict[str, JsonObject] = {}
        """The last instructions by role and name."""
        self.prompts: dict[str, JsonObject] = {}
        """Prompts by turn id."""
        self.pieces: dict[tuple[str, str], Pieces] = {}

    def append(
        self, event: JsonObject, role: build.Role, content: list[JsonObject], metadata: JsonObject
    ) -> JsonObject:
        """Add a message for an event, with the unmapped fields of its envelope in the metadata."""
        timestamp = self.observe_time(event) or self.timestamp_for(event, metadata)
        if len(event) > len(_ENVELOPE):
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
            message_id = self.claim_id(event)
        message: JsonObject = {"message_id": message_id}
        if self.tip is not None:
            message["parent_message_id"] = self.tip
        message["role"] = role
        message["timestamp"] = timestamp
        message["content"] = content
        message["metadata"] = metadata
        self.tip = message_id
        self.messages.append(message)
        self.by_event_id[message_id] = message
        return message

    def append_system(
        self, event: JsonObject, content: list[JsonObject], metadata: JsonObject, *, is_hidden: bool = False
    ) -> JsonObject:
        """Add a system message written by the harness."""
        metadata["author_kind"] = "harness"
        if is_hidden:
            metadata["hidden"] = True
        return self.append(event, "system", content, metadata)

    def append_opaque(self, event: JsonObject, raw: Any) -> JsonObject:
        """Add an event as a hidden message with its data unchanged."""
        return self.append_system(event, [build.opaque(kind=event["type"], raw=raw)], {}, is_hidden=True)

    def claim_id(self, event: JsonObject) -> str:
        """Return the event's id, or a new one if it is missing or taken, and reserve it."""
        event_id = event.get("id")
        ids = self.session.ids
        if isinstance(event_id, str) and event_id and event_id not in ids:
            ids.add(event_id)
            return event_id
        number = max(len(ids), self.session.next_id_number)
        while (new_id := f"{self.session.session_id}-{number}") in ids:
            number += 1
        self.session.next_id_number = number + 1
        ids.add(new_id)
        self.session.note(MADE_MESSAGE_ID)
        return new_id

    def timestamp_for(self, event: JsonObject, metadata: JsonObject) -> str:
        """Return the time of an event, or the nearest known time if it has none."""
        if time := self.observe_time(event):
            return time
        raw_time = event.get("timestamp")
        if raw_time is not None:
            self.session.note(BAD_TIMESTAMP, f"{raw_time!r:.60}")
            metadata.setdefault("source_fields", {})["timestamp"] = raw_time
        else:
            self.session.note(INFERRED_TIMESTAMP)
        metadata["timestamp_inferred"] = True
        return self.updated_at or self.session.nearest_time()

    def observe_time(self, event: JsonObject) -> str:
        """Return the time that an event states, or "", and extend the conversation's time span to it."""
        raw_time = event.get("timestamp")
        time = raw_time if isinstance(raw_time, str) and is_canonical(raw_time) else timestamp_or_empty(raw_time)
        if time:
            if not self.created_at or time < self.created_at:
                self.created_at = time
            self.updated_at = max(self.updated_at, time)
        return time

    def _keep_envelope(self, event: JsonObject, metadata: JsonObject) -> None:
        for key, value in event.items():
            if key not in _ENVELOPE and value is not None and not (key == "agentId" and value == self.agent_id):
                keep_field(metadata, key, value)

    def attach_turn(self, metadata: JsonObject) -> None:
        """Put the open turn into the metadata of its first message."""
        if self.turn is not None and not self.turn.is_attached and "turn" not in metadata:
            metadata["turn"] = self.turn.fields
            self.turn.is_attached = True

    def rewind(self, event_id: str) -> None:
        """Undo a message and all after it: they remain, on an inactive branch."""
        target = self.by_event_id.get(event_id)
        if target is None or "on_active_path" in target["metadata"]:
            return
        self.open_answer = None
        while undone := self.by_event_id.get(self.tip or ""):
            undone["metadata"]["on_active_path"] = False
            self.tip = undone.get("parent_message_id")
            if undone is target:
                return

    def insert(self, position: int, message: JsonObject) -> None:
        """Insert a message at a position, and relink its neighbours."""
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
        self.by_event_id[message["message_id"]] = message
        for pieces in reversed(self.pieces.values()):
            if pieces.position <= position:  # pieces are in order of position: all earlier ones are lower still
                break
            pieces.position += 1


def keep_field(metadata: JsonObject, name: str, value: Any) -> None:
    """Keep a source field under its own name, or in `source_fields` if this importer uses that name."""
    if name in OWN_NAMES:
        metadata.setdefault("source_fields", {})[name] = value
    else:
        metadata.setdefault(name, value)


def keep_unmapped(metadata: JsonObject, data: JsonObject, mapped: frozenset[str]) -> None:
    """Keep the fields that are neither mapped nor null."""
    for name, value in data.items():
        if name not in mapped and value is not None:
            keep_field(metadata, name, value)


def keep_conflicting(metadata: JsonObject, data: JsonObject, mapped: frozenset[str]) -> None:
    """Keep the unmapped fields of a later part of a message; values that differ from earlier ones go to `joined`."""
    for name, value in data.items():
        if name in mapped or value is None:
            continue
        if name in metadata and name not in OWN_NAMES and metadata[name] != value:
            metadata.setdefault("joined", []).append({name: value})
        else:
            keep_field(metadata, name, value)


def text_blocks(value: Any, kind: str = "content") -> list[JsonObject]:
    """Return a text as blocks, empty for no text; a value of another type becomes an opaque block."""
    if isinstance(value, str):
        return [build.text(value)] if value else []
    return [] if value is None else [build.opaque(kind=kind, raw=value)]


@dataclass(slots=True)
class Call:
    """A tool call and the message that holds it."""

    conversation: Conversation
    message_id: str
    message: JsonObject | None
    """None once it has been emitted in a fragment."""
    block: JsonObject | None
    is_answered: bool = False


@dataclass(slots=True)
class CurrentFile:
    """Position and time of the file being read; updated for each of several files."""

    where: Callable[[], str]
    file_time: Callable[[], str]


class Session:
    """What the conversations of a session share."""

    def __init__(self, session_id: str, run: Run, current_file: CurrentFile) -> None:
        self.session_id = session_id
        self.run = run
        self.current_file = current_file
        self.main = Conversation(self, session_id)
        self.agents: dict[str, Conversation] = {}
        self.agent_of_call: dict[str, str] = {}
        self.agent_starts: dict[str, JsonObject] = {}
        """Data of `subagent.started` events by agent id."""
        self.calls: dict[str, Call] = {}
        self._recent: list[Call] = []
        """Calls whose messages have not been emitted."""
        self.nameless_calls: deque[str] = deque()
        """Generated ids of calls that have no result yet."""
        self.ids: set[str] = set()
        self.next_id_number = 0
        """The lowest number to try for the next generated message id."""
        self.previous_id: Any = None
        """The id of the preceding event."""
        self.started: JsonObject | None = None
        """Data of the first `session.start` event."""
        self.context: JsonObject = {}
        self.shutdowns: list[JsonObject] = []
        self.custom: JsonObject = {}
        self.conversation_records = 0
        """The number of records that became properties of the conversation."""

    def add_call(self, call_id: str, call: Call, *, has_made_id: bool = False) -> None:
        self.calls[call_id] = call
        self._recent.append(call)
        if has_made_id:
            self.nameless_calls.append(call_id)

    def release_calls(self) -> None:
        """Drop the references to messages that have been emitted."""
        for call in self._recent:
            call.message = call.block = None
        self._recent.clear()

    def note(self, kind: FindingKind, message: str = "") -> None:
        self.run.note(kind, self.current_file.where(), message)

    def nearest_time(self) -> str:
        return self.main.updated_at or self.current_file.file_time()

    def conversations(self) -> Iterator[Conversation]:
        yield self.main
        yield from self.agents.values()

    def conversation_of(self, kind: str, event: JsonObject, data: JsonObject) -> Conversation:
        """Return the conversation of an event, by the agent's id or, in older versions, by the call that started it."""
        if kind.startswith(_SESSION_PREFIXES) and kind not in _CAUSED_BY_AGENTS:
            return self._caller_of(data) if kind in AGENT_LIFECYCLE else self.main
        call_id = data.get("parentToolCallId")
        agent_id = event.get("agentId")
        if not isinstance(agent_id, str) or not agent_id:
            if not isinstance(call_id, str) or not call_id:
                return self.main
            agent_id = self.agent_of_call.get(call_id, call_id)
        elif isinstance(call_id, str):
            self.agent_of_call.setdefault(call_id, agent_id)
        agent = self.agents.get(agent_id) or self._new_agent(agent_id, call_id)
        if call_id is not None and call_id == agent.call_id:
            del data["parentToolCallId"]
        return agent

    def _caller_of(self, data: JsonObject) -> Conversation:
        call_id = data.get("toolCallId")
        call = self.calls.get(call_id) if isinstance(call_id, str) else None
        return call.conversation if call else self.main

    def _new_agent(self, agent_id: str, call_id: Any) -> Conversation:
        agent = self.agents[agent_id] = Conversation(self, f"{self.session_id}:agent-{agent_id}", agent_id)
        agent.parent_id = self.main.conversation_id
        start = self.agent_starts.get(agent_id)
        if start:
            agent.platform_metadata["agent"] = start
            if isinstance((model := start.get("model")), str) and model:
                agent.model = model
            call_id = start.get("toolCallId", call_id)
        if isinstance(call_id, str):
            self._link(agent, call_id)
        return agent

    def _link(self, agent: Conversation, call_id: str) -> None:
        """Link an agent to the call that started it."""
        agent.call_id = call_id
        agent.platform_metadata["parent_tool_use_id"] = call_id
        if call := self.calls.get(call_id):
            agent.parent_id = call.conversation.conversation_id
            agent.fork_point = call.message_id
            if call.message is not None:
                ids = call.message["metadata"].setdefault("sidechain_conversation_ids", [])
                ids.append(agent.conversation_id)
