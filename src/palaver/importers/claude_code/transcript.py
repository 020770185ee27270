"""One conversation while its lines come in: messages, ids, parent links, and what belongs to the whole.

Lines that share an API message id are one message; it stands where its first line stood. A transcript that grows past
the fragment size is handed out in pieces; what was handed out stays known (`flushed.py`).
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from palaver.importers._shared.findings import MADE_CALL_ID
from palaver.importers.claude_code.branches import mark_abandoned
from palaver.importers.claude_code.document import document
from palaver.importers.claude_code.flushed import Flushed, signature
from palaver.importers.claude_code.header import Header
from palaver.importers.claude_code.reading import Reading
from palaver.importers.claude_code.settling import settle
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.run import Run

Place = tuple[Any, Any, Any]
"""Of a line: its own uuid, its parent's, its time."""

_OPEN_MESSAGES = 64
ROOT: JsonObject = {}
_LATEST = "~"


whole_place: Callable[[JsonObject], Place] = itemgetter("uuid", "parentUuid", "timestamp")
"""The place of a line that has all three; KeyError for one that has not."""


def place_of(record: JsonObject) -> Place:
    """The place of any line, None for what it has not."""
    return record.get("uuid"), record.get("parentUuid"), record.get("timestamp")


class Transcript:
    # More attributes than the interpreter keeps in its fast way without this.
    __slots__ = (
        *("_earliest", "_fallback_time", "_flushed", "_is_fork", "_latest", "_latest_flushed"),
        *("_summary_ids", "agent_id", "answers", "calls", "completed", "conversation_id", "cost", "custom", "facts"),
        *("fork_point", "header", "is_sidechain", "links", "messages", "models", "new_tasks", "orphans", "outer"),
        *(
            "answered_before",
            "parent_id",
            "position",
            "previous_links",
            "prompted",
            "queued",
            "run",
            "sequence",
            "session_id",
            "status",
            "streamed_id",
            "summaries",
            "tags",
        ),
        *("task_of_agent", "tasks", "titles", "unanswered", "unnamed"),
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
        outer: "Transcript | None" = None,
    ) -> None:
        self.conversation_id = conversation_id
        self.session_id = session_id
        self.parent_id = parent_id
        self.is_sidechain = is_sidechain
        self.agent_id = agent_id
        self.outer = outer
        """The conversation that started this one, if it is at hand: first lines may hang on one of its messages."""
        self.fork_point: str | None = None
        self.run = run
        self.messages: list[JsonObject] = []
        self.links: dict[str, JsonObject] = {}
        """Line uuid to message; a line that is no message leads to its nearest ancestor that is one, or to `ROOT`."""
        self.answers: dict[str, JsonObject] = {}
        """API message id to message, while more lines of it may come."""
        self.calls: dict[str, Any] = {}
        """Tool call id to input, while its result may come."""
        self.orphans: list[tuple[JsonObject, str]] = []
        """Messages whose parent is not known yet, with the line it has to be."""
        self.unnamed: list[JsonObject] = []
        """Tool calls without an id, until their message has one."""
        self.unanswered: list[str] = []
        """Ids given to such calls, in order, until their results come."""
        self.new_tasks: list[JsonObject] = []
        """Calls of agents, until their message has an id."""
        self.tasks: dict[str, tuple[str, Any]] = {}
        """Call id of an agent to the message that called it and the prompt it gave."""
        self.task_of_agent: dict[str, str] = {}
        """Agent id to the id of its call, where the file says so."""
        self.completed: list[JsonObject] = []
        """Metadata of answers that were complete at a later time than they began."""
        self.queued: dict[str, JsonObject] = {}
        """Prompts that were put into the queue and not yet seen to be sent."""
        self.header = Header(session_id, agent_id)
        self.models: dict[str, int] = {}
        self.titles: dict[str, str] = {}
        self.summaries: list[JsonObject] = []
        self.facts: JsonObject = {}
        """Session-level facts for `platform.metadata`, under their own names."""
        self.custom: JsonObject = {}
        self.tags: list[str] = []
        self.cost: JsonObject | None = None
        self.status: build.Status | None = None
        self.streamed_id = ""
        """The answer whose stream events come in."""
        self.sequence = 0
        self.position = 0
        """How many messages were handed out before those that are held."""
        self.prompted: list[str] = []
        """Messages that a person's prompt hangs on: a second one there is a rewind."""
        self.answered_before: list[str] = []
        """API message ids of answers that an earlier run handed out."""
        self._is_fork = not is_sidechain
        """Whether lines of another session may still come: true until the first that is this one's own."""
        self._summary_ids: set[str] = set()
        self._fallback_time = fallback_time
        self._earliest = _LATEST
        self._latest = ""
        self.previous_links: dict[str, str] = {}
        self._flushed: Flushed | None = None
        self._latest_flushed = ""

    # -- adding -----------------------------------------------------------------------------------------------------

    def knows(self, uuid: Any, timestamp: Any) -> bool:
        """Whether a line may have come before: then, if it was handed out, it is not newer than what was."""
        if not isinstance(uuid, str):
            return False
        if uuid in self.links:
            return True
        if self._flushed is None or (isinstance(timestamp, str) and timestamp > self._latest_flushed):
            return False
        return self._flushed.line(uuid) is not None

    def append(
        self, place: Place, role: str, content: list[JsonObject], metadata: JsonObject, reading: Reading
    ) -> JsonObject:
        """Add a message for a line; an id is made for a line that has none, or one that is taken."""
        links = self.links
        message_id, parent, timestamp = place
        if not isinstance(message_id, str) or message_id in links or not message_id:
            message_id = self._made_id(message_id, metadata, reading)
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
        if self._is_fork:
            self._note_origin(metadata)
        links[message_id] = message
        self.messages.append(message)
        return message

    def _made_id(self, taken: Any, metadata: JsonObject, reading: Reading) -> str:
        if taken is not None:
            metadata["uuid"] = taken
        made = deterministic_uuid(f"{self.conversation_id}-{reading.number}")
        while made in self.links:  # several records on one line
            made = deterministic_uuid(f"{made}+")
        return made

    def _note_origin(self, metadata: JsonObject) -> None:
        """A resumed or forked file begins with lines of the session it continues; it leaves it at the last of them."""
        match metadata.get("forkedFrom"):
            case {"sessionId": str(session_id), **rest}:
                self.parent_id = session_id
                self._is_fork = True
                if isinstance((point := rest.get("messageUuid")), str):
                    self.fork_point = point
            case _:
                self._is_fork = False
                if isinstance((other := metadata.get("session_id")), str) and self.parent_id is None:
                    self.parent_id = other

    def agent_conversation(self, agent: str) -> str:
        """The id of the conversation that an agent of this session has."""
        return f"{self.session_id or self.conversation_id}:agent-{agent}"

    def note_time(self, value: Any) -> str | None:
        """Widen the conversation's span by a time, if it is one."""
        try:
            timestamp = normalize_timestamp(value)
        except ValueError:
            return None
        self.widen([timestamp])
        return timestamp

    def widen(self, times: list[str]) -> None:
        """Widen the conversation's span by some times in the schema's spelling."""
        self._earliest = min(self._earliest, *times)
        self._latest = max(self._latest, *times)

    def name_calls(self, message: JsonObject) -> None:
        """Give ids to the tool calls of a message that came without."""
        for call in self.unnamed:
            self.run.note(MADE_CALL_ID, f"message {message['message_id']}")
            call["id"] = f"{message['message_id']}:tool-{len(self.unanswered)}"
            self.unanswered.append(call["id"])
            self.calls[call["id"]] = call.get("input")
        self.unnamed = []

    def place_tasks(self, message: JsonObject) -> None:
        """Remember which message called an agent."""
        for call in self.new_tasks:
            call_input = call.get("input")
            prompt = call_input.get("prompt") if isinstance(call_input, dict) else None
            self.tasks[call["id"]] = (message["message_id"], prompt)
        self.new_tasks = []

    def withdraw(self, message: JsonObject) -> None:
        """Take back a queued prompt whose line came after all."""
        for index in range(len(self.messages) - 1, -1, -1):
            if self.messages[index] is message:
                del self.messages[index]
                del self.links[message["message_id"]]
                self.run.mapped(-1)
                self.run.folded("message")
                return

    def summarise(self, text: str, timestamp: Any, *, covers: str | None = None, leaf: str | None = None) -> None:
        """Add a summary; `leaf` is the line it ends with, which may stand further down or in another file."""
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

    def link(self, uuid: Any, parent: Any) -> None:
        """Let a line that is no message lead to its parent; if that is not known, it leads nowhere."""
        links = self.links
        if isinstance(uuid, str) and uuid not in links:
            above = links.get(parent) if isinstance(parent, str) else ROOT
            if above is None and (known := self.resolve(parent)) is not None:
                above = {"message_id": known} if known else ROOT
            if above is not None:
                links[uuid] = above

    def resolve(self, uuid: Any) -> str | None:
        """The id of the message that a line is or hangs on; empty for a root, None when the line is not known."""
        if not isinstance(uuid, str):
            return ""
        message = self.links.get(uuid)
        if message is not None:
            return message.get("message_id", "")
        known = self.previous_links.get(uuid)
        if known is None and self._flushed:
            known = self._flushed.line(uuid)
        return known

    def handed_out(self, uuid: Any) -> tuple[str, int] | None:
        """The message id and content signature of a line that left with an earlier fragment."""
        if self._flushed is None or not isinstance(uuid, str):
            return None
        message_id = self._flushed.line(uuid)
        signed = self._flushed.signature(message_id) if message_id else None
        return (message_id, signed) if message_id and signed else None

    def earlier_answer(self, api_id: str) -> tuple[str, JsonObject] | None:
        return self._flushed.answer(api_id) if self._flushed else None

    # -- handing out ------------------------------------------------------------------------------------------------

    def fragment(self) -> JsonObject | None:
        """Hand out what is complete, and keep the last messages, to which more lines may still belong."""
        count = len(self.messages)
        first_open = count
        for index in range(max(0, count - _OPEN_MESSAGES), count):
            if "tokens_partial" in self.messages[index]["metadata"]:
                first_open = index
                break
        if not first_open:
            return None
        settle(self)
        leaving, self.messages = self.messages[:first_open], self.messages[first_open:]
        made = document(self, leaving, is_final=False)
        self.sequence += 1
        self.position += len(leaving)
        self._remember(leaving)
        return made

    def finish(self) -> JsonObject | None:
        """Hand out the rest; None when there never was a message."""
        settle(self)
        if not self.messages and not self.sequence:
            return None
        self.prompted += mark_abandoned(self.messages)
        made = document(self, self.messages, is_final=True)
        self.sequence += 1
        return made

    def close(self) -> None:
        if self._flushed is not None:
            self._flushed.close()

    @property
    def span(self) -> tuple[str, str]:
        """The least and the greatest time so far."""
        return self._earliest, self._latest

    @span.setter
    def span(self, span: tuple[str, str]) -> None:
        self._earliest, self._latest = span

    @property
    def created_at(self) -> str:
        return self._earliest if self._earliest != _LATEST else self._fallback_time()

    @property
    def updated_at(self) -> str:
        return self._latest or self.created_at

    def _remember(self, leaving: list[JsonObject]) -> None:
        if self._flushed is None:
            self._flushed = Flushed()
        signatures = {message["message_id"]: signature(message["content"]) for message in leaving}
        self.previous_links = {uuid: message.get("message_id", "") for uuid, message in self.links.items()}
        answers = {
            api_id: (message["message_id"], message["metadata"].get("answer_tokens") or message.get("tokens"))
            for api_id, message in self.answers.items()
            if message["message_id"] in signatures
        }
        self._flushed.add(self.previous_links, signatures, answers)
        self._latest_flushed = self._latest
        held = {message["message_id"] for message in self.messages}
        self.links = {
            uuid: message
            for message in self.messages
            for uuid in (message["message_id"], *message["metadata"].get("source_ids", ()))
        }
        self.answers = {api_id: message for api_id, message in self.answers.items() if message["message_id"] in held}
        # A summary leaves once; one whose last line is not known yet waits for it.
        self.summaries = [one for one in self.summaries if "leaf_uuid" in one and "covers_messages" not in one]
        self.calls = {}
        self.queued = {}
