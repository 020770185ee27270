"""One conversation while its lines are read: messages, ids, parent links, and conversation-level fields.

Lines that share an API message id are one message, at the position of its first line. A transcript that grows past the
fragment size is emitted in fragments; the ids in them stay known (`emitted_ids.py`).
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from palaver.importers._shared.findings import MADE_CALL_ID
from palaver.importers.claude_code.document import document
from palaver.importers.claude_code.emitted_ids import EmittedIds, signature
from palaver.importers.claude_code.line_context import LineContext
from palaver.importers.claude_code.parent_resolution import mark_abandoned_branches, resolve_parents_and_times
from palaver.importers.claude_code.repeated_fields import Header
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.run import Run

LineRef = tuple[Any, Any, Any]
"""A line's uuid, its parent's uuid, and its time."""

ROOT: JsonObject = {}
"""The parent of a message without a parent."""
_OPEN_MESSAGES = 64
"""How many of the last messages a fragment looks at for answers that are not complete."""
_NO_TIME_YET = "~"
"""Sorts after every timestamp."""

complete_line_ref: Callable[[JsonObject], LineRef] = itemgetter("uuid", "parentUuid", "timestamp")
"""Return the reference of a line that has all three fields; raise KeyError for any other."""


def line_ref(record: JsonObject) -> LineRef:
    """Return the reference of any line, with None for missing fields."""
    return record.get("uuid"), record.get("parentUuid"), record.get("timestamp")


class Transcript:
    """One conversation: the messages read so far, and what later lines need to know about earlier ones."""

    # Without slots, CPython 3.11 stores this many attributes in a slower way.
    __slots__ = (
        *("_earliest", "_emitted", "_fallback_time", "_latest", "_latest_emitted", "_may_be_fork"),
        *("_summary_ids", "agent_id", "answers", "caller", "calls", "calls_without_id", "conversation_id"),
        *("cost", "custom", "emitted_count", "fork_point", "generated_call_ids", "header", "is_sidechain"),
        *("late_completions", "links", "messages", "models", "new_tasks", "orphans", "parent_id"),
        *("platform_metadata", "previous_answer_ids", "previous_links", "prompt_parents", "queued", "run"),
        *("sequence", "session_id", "status", "streaming_answer_id", "summaries", "tags", "task_of_agent"),
        *("tasks", "titles"),
    )

    def __init__(
        self,
        conversation_id: str,
        run: Run,
        *,
        session_id: str | None,
        fallback_time: Callable[[], str],
        parent_id: str | None = None,
        is_sidechain: bool = False,
        agent_id: str | None = None,
        caller: "Transcript | None" = None,
    ) -> None:
        self.conversation_id = conversation_id
        self.session_id = session_id
        self.parent_id = parent_id
        self.is_sidechain = is_sidechain
        self.agent_id = agent_id
        self.caller = caller
        """The conversation that started this one, if it is read too: first lines may refer to one of its messages."""
        self.fork_point: str | None = None
        self.run = run
        self.messages: list[JsonObject] = []
        self.links: dict[str, JsonObject] = {}
        """Message by line uuid; for a line that is not a message, its nearest ancestor that is one, or `ROOT`."""
        self.answers: dict[str, JsonObject] = {}
        """Message by API message id, while more lines of it may follow."""
        self.calls: dict[str, Any] = {}
        """Input by tool call id, while the result may follow."""
        self.orphans: list[tuple[JsonObject, str]] = []
        """Messages whose parent is not known yet, with the parent's line uuid."""
        self.calls_without_id: list[JsonObject] = []
        """Tool calls without an id, until their message has one."""
        self.generated_call_ids: list[str] = []
        """Ids generated for such calls, in order, until their results follow."""
        self.new_tasks: list[JsonObject] = []
        """Calls of agents, until their message has an id."""
        self.tasks: dict[str, tuple[str, Any]] = {}
        """The calling message and the prompt, by the id of an agent's call."""
        self.task_of_agent: dict[str, str] = {}
        """Call id by agent id, where the file states it."""
        self.late_completions: list[JsonObject] = []
        """Metadata of answers that were complete later than they began."""
        self.queued: dict[str, JsonObject] = {}
        """Messages of prompts that are queued and not sent yet, by their text."""
        self.header = Header(session_id, agent_id)
        self.models: dict[str, int] = {}
        self.titles: dict[str, str] = {}
        self.summaries: list[JsonObject] = []
        self.platform_metadata: JsonObject = {}
        """Session-level fields, under their own names."""
        self.custom: JsonObject = {}
        self.tags: list[str] = []
        self.cost: JsonObject | None = None
        self.status: build.Status | None = None
        self.streaming_answer_id = ""
        """API message id of the answer that the current stream events belong to."""
        self.sequence = 0
        self.emitted_count = 0
        """How many messages were emitted before the current ones."""
        self.prompt_parents: list[str] = []
        """Ids of the parents of a person's prompts: a second prompt with the same parent is a rewind."""
        self.previous_answer_ids: list[str] = []
        """API message ids of answers that an earlier run emitted."""
        self._may_be_fork = not is_sidechain
        """True until the first line that is this session's own: before it, lines of another session may come."""
        self._summary_ids: set[str] = set()
        self._fallback_time = fallback_time
        self._earliest = _NO_TIME_YET
        self._latest = ""
        self.previous_links: dict[str, str] = {}
        self._emitted: EmittedIds | None = None
        self._latest_emitted = ""

    def has_seen(self, uuid: Any, timestamp: Any) -> bool:
        """Return whether a line was read before; one newer than every emitted line is not looked up among those."""
        if not isinstance(uuid, str):
            return False
        if uuid in self.links:
            return True
        if self._emitted is None or (isinstance(timestamp, str) and timestamp > self._latest_emitted):
            return False
        return self._emitted.message_of_line(uuid) is not None

    def append(
        self, ref: LineRef, role: str, content: list[JsonObject], metadata: JsonObject, context: LineContext
    ) -> JsonObject:
        """Add a message for a line; generate an id if the line has none, or one that is taken."""
        links = self.links
        message_id, parent, timestamp = ref
        if not isinstance(message_id, str) or message_id in links or not message_id:
            message_id = self._generated_id(message_id, metadata, context)
        above = links.get(parent) if isinstance(parent, str) else ROOT
        message: JsonObject = {
            "message_id": message_id,
            "parent_message_id": above["message_id"] if above else None,
            "role": role,
            "timestamp": timestamp,
            "content": content,
            "metadata": metadata,
        }
        if not above:
            del message["parent_message_id"]
            if above is None:
                self.orphans.append((message, parent))
            elif parent is not None and not isinstance(parent, str):
                metadata["parentUuid"] = parent
        if self._may_be_fork:
            self._detect_fork(metadata)
        links[message_id] = message
        self.messages.append(message)
        return message

    def _generated_id(self, taken: Any, metadata: JsonObject, context: LineContext) -> str:
        if taken is not None:
            metadata["uuid"] = taken
        generated = deterministic_uuid(f"{self.conversation_id}-{context.number}")
        while generated in self.links:  # several records on one line
            generated = deterministic_uuid(f"{generated}+")
        return generated

    def _detect_fork(self, metadata: JsonObject) -> None:
        """Set parent and fork point: a resumed or forked file begins with lines of the session it continues."""
        match metadata.get("forkedFrom"):
            case {"sessionId": str(session_id), **rest}:
                self.parent_id = session_id
                self._may_be_fork = True
                if isinstance((point := rest.get("messageUuid")), str):
                    self.fork_point = point
            case _:
                self._may_be_fork = False
                if isinstance((other := metadata.get("session_id")), str) and self.parent_id is None:
                    self.parent_id = other

    def agent_conversation_id(self, agent: str) -> str:
        """Return the conversation id of an agent of this session."""
        return f"{self.session_id or self.conversation_id}:agent-{agent}"

    def include_time(self, value: Any) -> str | None:
        """Widen the conversation's span to include a time; return it in the schema's spelling, or None if invalid."""
        try:
            timestamp = normalize_timestamp(value)
        except ValueError:
            return None
        self.widen_span([timestamp])
        return timestamp

    def widen_span(self, times: list[str]) -> None:
        """Widen the conversation's span to include times in the schema's spelling."""
        self._earliest = min(self._earliest, *times)
        self._latest = max(self._latest, *times)

    def assign_call_ids(self, message: JsonObject) -> None:
        """Generate ids for the tool calls of a message that have none."""
        for call in self.calls_without_id:
            self.run.note(MADE_CALL_ID, f"message {message['message_id']}")
            call["id"] = f"{message['message_id']}:tool-{len(self.generated_call_ids)}"
            self.generated_call_ids.append(call["id"])
            self.calls[call["id"]] = call.get("input")
        self.calls_without_id = []

    def register_tasks(self, message: JsonObject) -> None:
        """Remember that a message called agents."""
        for call in self.new_tasks:
            call_input = call.get("input")
            prompt = call_input.get("prompt") if isinstance(call_input, dict) else None
            self.tasks[call["id"]] = (message["message_id"], prompt)
        self.new_tasks = []

    def withdraw_queued(self, message: JsonObject) -> None:
        """Remove the message of a queued prompt whose own line was found."""
        for index in range(len(self.messages) - 1, -1, -1):
            if self.messages[index] is message:
                del self.messages[index]
                del self.links[message["message_id"]]
                self.run.mapped(-1)
                self.run.folded("message")
                return

    def add_summary(self, text: str, timestamp: Any, *, covers: str | None = None, leaf: str | None = None) -> None:
        """Add a summary; `leaf` is the line it ends with, which may come later or be in another file."""
        key = deterministic_uuid(f"{self.conversation_id}-summary-{text}-{leaf or covers}")
        if key in self._summary_ids:
            return
        self._summary_ids.add(key)
        summary: JsonObject = {"summary_id": key, "type": "automatic", "text": text, "timestamp": timestamp}
        if covers:
            summary["covers_messages"] = [covers]
        if leaf:
            summary["leaf_uuid"] = leaf
        self.summaries.append(summary)

    def link_line(self, uuid: Any, parent: Any) -> None:
        """Link a line that is not a message to its parent, if the parent is known."""
        links = self.links
        if isinstance(uuid, str) and uuid not in links:
            above = links.get(parent) if isinstance(parent, str) else ROOT
            if above is None and (known := self.resolve_line(parent)) is not None:
                above = {"message_id": known} if known else ROOT
            if above is not None:
                links[uuid] = above

    def resolve_line(self, uuid: Any) -> str | None:
        """Return the id of a line's message or of its nearest ancestor; "" for a root, None for an unknown line."""
        if not isinstance(uuid, str):
            return ""
        message = self.links.get(uuid)
        if message is not None:
            return message.get("message_id", "")
        known = self.previous_links.get(uuid)
        if known is None and self._emitted:
            known = self._emitted.message_of_line(uuid)
        return known

    def emitted_line(self, uuid: Any) -> tuple[str, int] | None:
        """Return the message id and content signature of a line that was emitted with an earlier fragment."""
        if self._emitted is None or not isinstance(uuid, str):
            return None
        message_id = self._emitted.message_of_line(uuid)
        content_signature = self._emitted.signature(message_id) if message_id else None
        return (message_id, content_signature) if message_id and content_signature else None

    def emitted_answer(self, api_id: str) -> tuple[str, JsonObject] | None:
        """Return the message id and usage of an answer that was emitted with an earlier fragment."""
        return self._emitted.answer(api_id) if self._emitted else None

    def take_fragment(self) -> JsonObject | None:
        """Return what is complete as a document; keep the last messages, to which more lines may belong."""
        count = len(self.messages)
        first_open = count
        for index in range(max(0, count - _OPEN_MESSAGES), count):
            if "tokens_partial" in self.messages[index]["metadata"]:
                first_open = index
                break
        if not first_open:
            return None
        resolve_parents_and_times(self)
        emitted, self.messages = self.messages[:first_open], self.messages[first_open:]
        fragment = document(self, emitted, is_final=False)
        self.sequence += 1
        self.emitted_count += len(emitted)
        self._remember_emitted(emitted)
        return fragment

    def finish(self) -> JsonObject | None:
        """Return the rest as a document; None if there never was a message."""
        resolve_parents_and_times(self)
        if not self.messages and not self.sequence:
            return None
        self.prompt_parents += mark_abandoned_branches(self.messages)
        rest = document(self, self.messages, is_final=True)
        self.sequence += 1
        return rest

    def close(self) -> None:
        if self._emitted is not None:
            self._emitted.close()

    @property
    def span(self) -> tuple[str, str]:
        """The earliest and the latest time so far."""
        return self._earliest, self._latest

    @span.setter
    def span(self, span: tuple[str, str]) -> None:
        self._earliest, self._latest = span

    @property
    def created_at(self) -> str:
        return self._earliest if self._earliest != _NO_TIME_YET else self._fallback_time()

    @property
    def updated_at(self) -> str:
        return self._latest or self.created_at

    def _remember_emitted(self, emitted: list[JsonObject]) -> None:
        if self._emitted is None:
            self._emitted = EmittedIds()
        signatures = {message["message_id"]: signature(message["content"]) for message in emitted}
        self.previous_links = {uuid: message.get("message_id", "") for uuid, message in self.links.items()}
        answers = {
            api_id: (message["message_id"], message["metadata"].get("answer_tokens") or message.get("tokens"))
            for api_id, message in self.answers.items()
            if message["message_id"] in signatures
        }
        self._emitted.add(self.previous_links, signatures, answers)
        self._latest_emitted = self._latest
        open_ids = {message["message_id"] for message in self.messages}
        self.links = {
            uuid: message
            for message in self.messages
            for uuid in (message["message_id"], *message["metadata"].get("source_ids", ()))
        }
        self.answers = {
            api_id: message for api_id, message in self.answers.items() if message["message_id"] in open_ids
        }
        # A summary is emitted once; keep those whose last line is not known yet.
        self.summaries = [
            summary for summary in self.summaries if "leaf_uuid" in summary and "covers_messages" not in summary
        ]
        answered = {
            block["tool_use_id"]
            for message in (*emitted, *self.messages)
            for block in message["content"]
            if block["type"] == "tool_result"
        }
        self.calls = {call_id: call for call_id, call in self.calls.items() if call_id not in answered}
        self.queued = {}
