"""A session while its log is read: what its conversations share, and which of them an event belongs to."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from palaver.importers.github_copilot.events.conversation import Conversation
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.sources.run import Run

_OF_SESSION = ("session.", "subagent.", "partition.")
OF_AGENTS = frozenset({"subagent.completed", "subagent.failed", "subagent.started"})
"""Events about an agent, in the conversation that called it."""
_NAMED_LIKE_OURS = ("session.error", "session.info", "session.warning", "session.task_complete")
"""Of the events of sessions, those that an agent may cause."""


@dataclass(slots=True)
class Call:
    """A call of a tool, and where it stands."""

    conversation: Conversation
    message_id: str
    message: JsonObject | None
    """None once it is handed out."""
    block: JsonObject | None
    is_answered: bool = False


@dataclass(slots=True)
class Place:
    """What tells where the reader stands; of several files, another one from file to file."""

    where: Callable[[], str]
    file_time: Callable[[], str]


class Session:
    def __init__(self, session_id: str, run: Run, place: Place) -> None:
        self.session_id = session_id
        self.run = run
        self.place = place
        self.main = Conversation(self, session_id)
        self.agents: dict[str, Conversation] = {}
        self.agent_of_call: dict[str, str] = {}
        self.about_agents: dict[str, JsonObject] = {}
        """What is told of agents before they speak."""
        self.calls: dict[str, Call] = {}
        self._recent: list[Call] = []
        """Calls that are not handed out."""
        self.nameless_calls: deque[str] = deque()
        """Made ids of calls that no result has named so far."""
        self.ids: set[str] = set()
        self.made_ids = 0
        """Behind the last number that an id was made of."""
        self.previous_id: Any = None
        """The id of the event before."""
        self.started: JsonObject | None = None
        """What the first start of the session says."""
        self.context: JsonObject = {}
        self.shutdowns: list[JsonObject] = []
        self.custom: JsonObject = {}
        self.facts = 0
        """Records that became facts of the conversation."""

    def remember(self, call_id: str, call: Call, *, has_made_id: bool = False) -> None:
        self.calls[call_id] = call
        self._recent.append(call)
        if has_made_id:
            self.nameless_calls.append(call_id)

    def hand_out_calls(self) -> None:
        """Nothing is added any more to the messages of the calls so far."""
        for call in self._recent:
            call.message = call.block = None
        self._recent.clear()

    def note(self, kind: FindingKind, message: str = "") -> None:
        self.run.note(kind, self.place.where(), message)

    def nearest_time(self) -> str:
        return self.main.updated_at or self.place.file_time()

    def all(self) -> Iterator[Conversation]:
        yield self.main
        yield from self.agents.values()

    def conversation_of(self, kind: str, event: JsonObject, data: JsonObject) -> Conversation:
        """The conversation that an event is part of: agents are told by their id, before that by their call."""
        if kind.startswith(_OF_SESSION) and kind not in _NAMED_LIKE_OURS:
            return self._caller_of(data) if kind in OF_AGENTS else self.main
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
        about = self.about_agents.get(agent_id)
        if about:
            agent.facts["agent"] = about
            if isinstance((model := about.get("model")), str) and model:
                agent.model = model
            call_id = about.get("toolCallId", call_id)
        if isinstance(call_id, str):
            self._link(agent, call_id)
        return agent

    def _link(self, agent: Conversation, call_id: str) -> None:
        """Tie an agent to the call that started it."""
        agent.call_id = call_id
        agent.facts["parent_tool_use_id"] = call_id
        if call := self.calls.get(call_id):
            agent.parent_id = call.conversation.conversation_id
            agent.fork_point = call.message_id
            if call.message is not None:
                ids = call.message["metadata"].setdefault("sidechain_conversation_ids", [])
                ids.append(agent.conversation_id)
