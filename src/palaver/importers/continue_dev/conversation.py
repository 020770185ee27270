"""A session as a document: its messages with their times and models, and what belongs to the whole."""

import re
from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.importers.continue_dev.content import plain_text, without_thoughts
from palaver.importers.continue_dev.events import PLATFORM
from palaver.importers.continue_dev.fields import add_fields, kept, text_of
from palaver.importers.continue_dev.history import History
from palaver.importers.continue_dev.interactions import Interactions
from palaver.importers.continue_dev.models import Answered
from palaver.importers.continue_dev.surroundings import Surroundings
from palaver.importers.continue_dev.tool_calls import take_use
from palaver.importers.continue_dev.workspace import agent_of, context
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind, finding_kind
from palaver.model.timestamps import milliseconds_of
from palaver.sources.run import Run
from palaver.sources.source import Source

OTHER_SESSION_ID = finding_kind(
    "other-session-id", "note", "A session's file states another id than its name, which is the one that counts."
)


_PLACEHOLDERS = frozenset({"", "New Session", "Untitled Session"})
_TITLE_LENGTH = 100
_TITLE_LOOKED_AT = 400
_HEADER = frozenset({"sessionId", "title", "workspaceDirectory", "mode", "chatModelTitle", "usage", "gitBranch"})
_MINUTE_MS = 60_000
_FENCED = re.compile(r"```.*?```", re.DOTALL)


class Conversation:
    """Takes in the items of a session, and writes its documents."""

    def __init__(self, session_id: str, source: Source, run: Run, around: Surroundings) -> None:
        self.session_id = session_id
        self.history = History(session_id, self._note)
        self._source = source
        self._run = run
        self._around = around
        self._row = around.rows.get(session_id)
        self._interactions = Interactions(self.history, around.dev_data.interactions.get(session_id, ()))
        self._answered = Answered(around.models)
        self._sequence = 0
        self._told = 0
        """How many messages were handed out with earlier fragments."""
        self._before: str | None = None
        self._time = ""
        self._uncovered: list[str] = []
        """Messages since the last summary."""
        self._title = ""

    def add(self, items: list[tuple[int, Any]]) -> None:
        self.history.add(items)

    def fragment(self, wrapper: JsonObject) -> JsonObject:
        """What is known up to here."""
        self._join(is_last=False)
        return self._document(wrapper, {"sequence": self._sequence, "final": False})

    def finish(self, wrapper: JsonObject) -> Iterator[JsonObject]:
        self._join(is_last=True)
        history = self.history
        if history.mapped:
            self._run.mapped(history.mapped)
        if history.folded:
            self._run.folded("message", history.folded)
        if history.messages or self._sequence:
            fragment = {"sequence": self._sequence, "final": True} if self._sequence else None
            yield self._document(wrapper, fragment)

    def _note(self, kind: FindingKind, place: str, words: str) -> None:
        self._run.note(kind, f"{self._source.file_name}: {place}", words)

    def _join(self, *, is_last: bool) -> None:
        """Add what prompts and events tell of the messages."""
        self._interactions.join(self._answered, is_last=is_last)
        self._join_tool_uses()
        self._join_typed()

    def _join_tool_uses(self) -> None:
        uses = self._around.dev_data.tool_uses
        history = self.history
        for call_id, caller in history.calls.callers.items():
            for use in uses.get(call_id, ()):
                result = history.calls.results.get(call_id)
                take_use(use, call_id, result, caller)
                if result and use.time:
                    history.times.setdefault(result["message_id"], use.time)
                    history.last_time = max(history.last_time, use.time)
                self._interactions.agents.append((use.time, use.agent))
        history.calls.callers, history.calls.results = {}, {}

    def _join_typed(self) -> None:
        """The times of prompts that were typed at the command line while the session was held."""
        if not self._around.typed.prompts or self._row is None or not self._row.created_at:
            return
        first = milliseconds_of(self._row.created_at) - _MINUTE_MS
        modified_at = self._source.modified_at()
        last = first if modified_at is None else modified_at * 1000 + _MINUTE_MS
        for message in self.history.messages:
            if message["role"] == "user":
                time = self._around.typed.time(plain_text(message["content"]))
                if time and first <= milliseconds_of(time) <= last:
                    self.history.times.setdefault(message["message_id"], time)

    def _document(self, wrapper: JsonObject, fragment: JsonObject | None) -> JsonObject:
        messages, self.history.messages = self.history.messages, []
        created_at = self._created_at()
        self._place(messages, created_at)
        if not self._title:
            self._title = self._own_title(wrapper, messages)
        self._sequence += 1
        is_last = fragment is None or fragment["final"]
        times = [self.history.last_time, self._interactions.last_time]
        return build.conversation(
            conversation_id=self.session_id,
            title=self._title or None,
            platform=self._platform(wrapper, messages, is_last=is_last),
            session={"session_id": self.session_id},
            context=self._context(wrapper),
            created_at=created_at,
            updated_at=max(times) or None,
            messages=messages,
            summaries=self._summaries(messages) or None,
            status="archived" if self._interactions.is_recovered else None,
            metrics=_stated_cost(wrapper) if is_last else None,
            rating=self._interactions.rating() if is_last else None,
            fragment=fragment,
        )

    def _created_at(self) -> str:
        """The earliest time that is known: the index has the one at which the session was first saved."""
        known = [self._row.created_at if self._row else "", *self.history.times.values()]
        created_at = min(filter(None, known), default="")
        if not (self._sequence or (self._row and self._row.created_at)):
            self._note(INFERRED_TIMESTAMP, self.session_id, "the conversation has no time of its own")
        return created_at or self._source.written_at()

    def _place(self, messages: list[JsonObject], created_at: str) -> None:
        """Link each message to the one before it, and give it a time: its own, or that of the one before it."""
        linked, times = self.history.linked, self.history.times
        time = self._time or created_at
        before = self._before
        told: dict[str, str] = {}
        for message in messages:
            message_id = message["message_id"]
            is_linked = message_id in linked
            nearest = told.get(message.get("parent_message_id") or "", created_at) if is_linked else time
            own = times.get(message_id)
            if not own:
                message["metadata"]["timestamp_inferred"] = True
            told[message_id] = message["timestamp"] = own or nearest
            if is_linked:
                continue
            time = message["timestamp"]
            if before is not None:
                message["parent_message_id"] = before
            before = message_id
        self._before, self._time = before, time
        if inferred := sum("timestamp_inferred" in message["metadata"] for message in messages):
            words = f"{inferred} of {len(messages)} messages have no time of their own"
            self._note(INFERRED_TIMESTAMP, self.session_id, words)

    def _own_title(self, wrapper: JsonObject, messages: list[JsonObject]) -> str:
        """The title that the session or the index has; a first prompt where that is none."""
        for stated in (text_of(wrapper, "title"), self._row.title if self._row else ""):
            title = without_thoughts(stated).said.strip()
            if title not in _PLACEHOLDERS:
                return title
        for message in messages:
            if message["metadata"].get("author_kind") == "human":
                said = plain_text(message["content"])
                words = " ".join((_FENCED.sub(" ", said).strip() or said)[:_TITLE_LOOKED_AT].split())
                if words:
                    return words[:_TITLE_LENGTH]
        return ""

    def _platform(self, wrapper: JsonObject, messages: list[JsonObject], *, is_last: bool) -> JsonObject:
        row = self._row
        platform: JsonObject = {"name": PLATFORM}
        agent = self._interactions.agent()
        if version := agent_of(agent).version:
            platform["version"] = version
        metadata: JsonObject = {}
        for name in ("title", "workspaceDirectory", "gitBranch", "chatModelTitle"):
            if wrapper.get(name) is not None and not isinstance(wrapper[name], str):
                metadata[name] = wrapper[name]
        if (stated := text_of(wrapper, "title")) and stated != self._title:
            metadata["title"] = stated
        if row and row.title and row.title not in {self._title, stated}:
            metadata["index_title"] = row.title
        if (own_id := wrapper.get("sessionId")) is not None and own_id != self.session_id:
            metadata["sessionId"] = own_id
            if not self._told:
                self._note(OTHER_SESSION_ID, self.session_id, f"it says {own_id!r:.80}")
        self._told += len(messages)
        if agent:
            metadata["userAgent"] = agent
        if self._interactions.is_recovered:
            metadata["recovered_from"] = "dev_data"
        if title := text_of(wrapper, "chatModelTitle"):
            metadata["chatModelTitle"] = title
        metadata |= self._answered.about(title)
        if model := self._answered.model(title):
            platform["model"] = model
        self._answered.mark(messages, model if is_last else "")
        if self.history.calls.tools:
            metadata["tools"] = self.history.calls.tools
        add_fields(metadata, kept(wrapper, _HEADER))
        add_fields(metadata, kept(row.rest if row else {}, ()))
        if metadata:
            platform["metadata"] = metadata
        return platform

    def _context(self, wrapper: JsonObject) -> JsonObject | None:
        history = self.history
        custom: JsonObject = {name: wrapper[name] for name in ("mode", "usage") if wrapper.get(name) is not None}
        if history.rules:
            custom["appliedRules"] = list(history.rules.values())
        workspace = text_of(wrapper, "workspaceDirectory") or (self._row.workspace if self._row else "")
        return context(
            workspace,
            text_of(wrapper, "gitBranch"),
            history.providers.found(),
            history.providers.codebase,
            editor=agent_of(self._interactions.agent()).editor,
            custom=custom,
        )

    def _summaries(self, messages: list[JsonObject]) -> list[JsonObject]:
        """Summaries that took the place of all before them, an earlier summary included; all of it stays in the file.

        Each names the messages since the one before it.
        """
        found: list[JsonObject] = []
        begun = 0
        ids = [message["message_id"] for message in messages]
        places = {name: number for number, name in enumerate(ids)}
        for message, text in self.history.summaries:
            message_id = message["message_id"]
            end = max(begun, places.get(message_id, -1) + 1)
            found.append(
                build.summary(
                    summary_id=f"{message_id}:summary",
                    type="automatic",
                    text=text,
                    timestamp=message["timestamp"],
                    covers_messages=[*self._uncovered, *ids[begun:end]],
                )
            )
            self._uncovered, begun = [], end
        self._uncovered += ids[begun:]
        self.history.summaries = []
        return found


def _stated_cost(wrapper: JsonObject) -> JsonObject | None:
    match wrapper.get("usage"):
        case {"totalCost": int() | float() as amount} if not isinstance(amount, bool) and 0 <= amount < 1 << 53:
            return {"total_cost": {"amount": amount, "currency": "USD"}}
        case _:
            return None
