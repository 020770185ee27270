"""Session files as conversations, or as several fragments if large: messages with times and models, and metadata."""

import re
from collections.abc import Iterator
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.findings import BAD_CONVERSATION, INFERRED_TIMESTAMP
from palaver.importers.continue_dev import timeline
from palaver.importers.continue_dev.content import plain_text, split_thinking
from palaver.importers.continue_dev.events import PLATFORM
from palaver.importers.continue_dev.fields import (
    document_context,
    merge_fields,
    parse_user_agent,
    text_of,
    unmapped_fields,
)
from palaver.importers.continue_dev.history import History
from palaver.importers.continue_dev.interactions import Interactions
from palaver.importers.continue_dev.prompt_logs import AnswerModels
from palaver.importers.continue_dev.side_files import SideFiles
from palaver.importers.continue_dev.tool_calls import attach_tool_use
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind, finding_kind
from palaver.model.timestamps import milliseconds_of
from palaver.sources.arrays.elements import JsonElements, WholeElements, open_elements
from palaver.sources.jsonl import CUT_OFF
from palaver.sources.run import Run
from palaver.sources.small_files import read_at_most
from palaver.sources.source import Source

OTHER_SESSION_ID = finding_kind(
    "other-session-id", "note", "The id in a session file differs from its file name; the file name is used."
)

EMPTY_SESSION_FILE = finding_kind("empty-session-file", "note", "A session file is empty.")

FRAGMENT_BYTES = 1 << 25
LATER_FRAGMENT_BYTES = 1 << 22
_LARGEST_BYTES = 1 << 28
_PLACEHOLDERS = frozenset({"", "New Session", "Untitled Session"})
_TITLE_LENGTH = 100
_TITLE_SEARCHED = 400
_MAPPED_HEADER = frozenset({"sessionId", "title", "workspaceDirectory", "mode", "chatModelTitle", "usage", "gitBranch"})
_MINUTE_MS = 60_000
_FENCED = re.compile(r"```.*?```", re.DOTALL)


def read_session(source: Source, run: Run, side_files: SideFiles, *, label: str = "") -> Iterator[JsonObject]:
    """Yield the conversation of a session file, in fragments if large.

    Yield nothing for a session without items; the caller accounts for it.
    """
    try:
        is_empty = not source.head().strip()
        is_timeline = timeline.has_timeline(source)
    except (PalaverError, OSError) as error:
        if not label:
            raise
        run.note(CUT_OFF, label, str(error), kept=False)
        return
    if is_empty:
        run.note(EMPTY_SESSION_FILE, source.file_name)
        return
    if is_timeline:
        yield from _read_timeline(source, run, side_files, label)
        return
    conversation: Conversation | None = None
    try:
        with open_elements(source, run, "history", label=label) as elements:
            limit = FRAGMENT_BYTES
            items: list[tuple[int, Any]] = []
            for item in elements:
                if conversation is None:
                    conversation = Conversation(_session_id(source, elements.wrapper), source, run, side_files)
                if items and elements.bytes_read > limit and _begins_turn(item):
                    limit = elements.bytes_read + LATER_FRAGMENT_BYTES
                    conversation.add(items)
                    items = []
                    yield conversation.fragment(elements.wrapper)
                items.append((elements.number - 1, item))
    except (PalaverError, OSError) as error:
        if not label:
            raise
        run.note(CUT_OFF, label, str(error), kept=False)
        return
    if conversation is None:
        if not _has_history(source, elements):
            _quarantine_file(source, run)
            return
        conversation = Conversation(_session_id(source, elements.wrapper), source, run, side_files)
    conversation.add(items)
    yield from conversation.finish(elements.wrapper)


def _read_timeline(source: Source, run: Run, side_files: SideFiles, label: str) -> Iterator[JsonObject]:
    """Yield the conversation of a session of 2023, in fragments if large."""
    try:
        with source.open() as stream:
            elements = JsonElements(stream, run, timeline.PATH, label=label, accepts_truncated=True)
            conversation = Conversation(source.stem, source, run, side_files)
            limit, has_messages = FRAGMENT_BYTES, False
            for node in timeline.step_nodes(elements, run):
                if has_messages and elements.bytes_read > limit and timeline.is_typed(node):
                    limit, has_messages = elements.bytes_read + LATER_FRAGMENT_BYTES, False
                    yield conversation.fragment(conversation.take_header(elements.wrapper))
                conversation.history.append(elements.number - 1, *timeline.message_of(node))
                has_messages = True
    except (PalaverError, OSError) as error:
        if not label:
            raise
        run.note(CUT_OFF, label, str(error), kept=False)
        return
    yield from conversation.finish(conversation.take_header(elements.wrapper))


class Conversation:
    """Builder of a session's documents from its history items and the files around it."""

    def __init__(self, session_id: str, source: Source, run: Run, side_files: SideFiles) -> None:
        self.session_id = session_id
        self.history = History(session_id, self._note)
        self._source = source
        self._run = run
        self._side_files = side_files
        self._row = side_files.rows.get(session_id)
        self._interactions = Interactions(self.history, side_files.dev_data.interactions.get(session_id, ()))
        self._models = AnswerModels(side_files.models)
        self._sequence = 0
        self._emitted = 0
        """Number of messages in earlier fragments."""
        self._last_message_id: str | None = None
        self._last_timestamp = ""
        self._uncovered: list[str] = []
        """Ids of the messages since the last summary."""
        self._title = ""

    def add(self, items: list[tuple[int, Any]]) -> None:
        self.history.add(items)

    def take_header(self, state: JsonObject) -> JsonObject:
        """Return the header of a session of 2023, which names its time if the index does not."""
        header, row = timeline.session_header(state)
        self._row = self._row or row
        return header

    def fragment(self, wrapper: JsonObject) -> JsonObject:
        """Return a fragment with the messages since the last one."""
        self._join(is_last=False)
        return self._document(wrapper, {"sequence": self._sequence, "final": False})

    def finish(self, wrapper: JsonObject) -> Iterator[JsonObject]:
        """Yield the last fragment or the whole document, if there is anything in it."""
        self._join(is_last=True)
        history = self.history
        if history.mapped:
            self._run.mapped(history.mapped)
        if history.folded:
            self._run.folded("message", history.folded)
        if history.messages or self._sequence:
            fragment = {"sequence": self._sequence, "final": True} if self._sequence else None
            yield self._document(wrapper, fragment)

    def _note(self, kind: FindingKind, where: str, message: str) -> None:
        self._run.note(kind, f"{self._source.file_name}: {where}", message)

    def _join(self, *, is_last: bool) -> None:
        """Join the messages with prompt logs, events and the input history."""
        self._interactions.join(self._models, is_last=is_last)
        self._join_tool_uses()
        self._join_input_history()

    def _join_tool_uses(self) -> None:
        uses = self._side_files.dev_data.tool_uses
        history = self.history
        for call_id, caller in history.calls.callers.items():
            for use in uses.get(call_id, ()):
                result = history.calls.results.get(call_id)
                attach_tool_use(use, call_id, result, caller)
                if result and use.time:
                    history.times.setdefault(result["message_id"], use.time)
                    history.last_time = max(history.last_time, use.time)
                self._interactions.user_agents.append((use.time, use.user_agent))
        history.calls.callers, history.calls.results = {}, {}

    def _join_input_history(self) -> None:
        """Take the times of prompts typed at the command line during the session."""
        if not self._side_files.input_history.prompts or self._row is None or not self._row.created_at:
            return
        first = milliseconds_of(self._row.created_at) - _MINUTE_MS
        modified_at = self._source.modified_at()
        last = first if modified_at is None else modified_at * 1000 + _MINUTE_MS
        for message in self.history.messages:
            if message["role"] == "user":
                time = self._side_files.input_history.time_of(plain_text(message["content"]))
                if time and first <= milliseconds_of(time) <= last:
                    self.history.times.setdefault(message["message_id"], time)

    def _document(self, wrapper: JsonObject, fragment: JsonObject | None) -> JsonObject:
        messages, self.history.messages = self.history.messages, []
        created_at = self._created_at()
        self._link_and_date(messages, created_at)
        if not self._title:
            self._title = self._choose_title(wrapper, messages)
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
        """Return the earliest known time; the index has the time at which the session was first saved."""
        known = [self._row.created_at if self._row else "", *self.history.times.values()]
        created_at = min(filter(None, known), default="")
        if not (self._sequence or (self._row and self._row.created_at)):
            self._note(INFERRED_TIMESTAMP, self.session_id, "the conversation has no time of its own")
        return created_at or self._source.written_at()

    def _link_and_date(self, messages: list[JsonObject], created_at: str) -> None:
        """Link each message to the one before it, and give it a timestamp: its own, or that of the one before it."""
        linked, times = self.history.linked, self.history.times
        time = self._last_timestamp or created_at
        before = self._last_message_id
        timestamps: dict[str, str] = {}
        for message in messages:
            message_id = message["message_id"]
            is_linked = message_id in linked
            nearest = timestamps.get(message.get("parent_message_id") or "", created_at) if is_linked else time
            own = times.get(message_id)
            if not own:
                message["metadata"]["timestamp_inferred"] = True
            timestamps[message_id] = message["timestamp"] = own or nearest
            if is_linked:
                continue
            time = message["timestamp"]
            if before is not None:
                message["parent_message_id"] = before
            before = message_id
        self._last_message_id, self._last_timestamp = before, time
        if inferred := sum("timestamp_inferred" in message["metadata"] for message in messages):
            summary = f"{inferred} of {len(messages)} messages have no time of their own"
            self._note(INFERRED_TIMESTAMP, self.session_id, summary)

    def _choose_title(self, wrapper: JsonObject, messages: list[JsonObject]) -> str:
        """Return the title in the session or the index, else the beginning of the first prompt."""
        for stated in (text_of(wrapper, "title"), self._row.title if self._row else ""):
            title = split_thinking(stated).text.strip()
            if title not in _PLACEHOLDERS:
                return title
        for message in messages:
            if message["metadata"].get("author_kind") == "human":
                text = plain_text(message["content"])
                title = " ".join((_FENCED.sub(" ", text).strip() or text)[:_TITLE_SEARCHED].split())
                if title:
                    return title[:_TITLE_LENGTH]
        return ""

    def _platform(self, wrapper: JsonObject, messages: list[JsonObject], *, is_last: bool) -> JsonObject:
        row = self._row
        platform: JsonObject = {"name": PLATFORM}
        agent = self._interactions.last_user_agent()
        if version := parse_user_agent(agent).version:
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
            if not self._emitted:
                self._note(OTHER_SESSION_ID, self.session_id, f"it says {own_id!r:.80}")
        self._emitted += len(messages)
        if agent:
            metadata["userAgent"] = agent
        if self._interactions.is_recovered:
            metadata["recovered_from"] = "dev_data"
        if title := text_of(wrapper, "chatModelTitle"):
            metadata["chatModelTitle"] = title
        metadata |= self._models.platform_metadata(title)
        if model := self._models.model(title):
            platform["model"] = model
        self._models.set_overrides(messages, model if is_last else "")
        if self.history.calls.tools:
            metadata["tools"] = self.history.calls.tools
        merge_fields(metadata, unmapped_fields(wrapper, _MAPPED_HEADER))
        merge_fields(metadata, unmapped_fields(row.unmapped if row else {}, ()))
        if metadata:
            platform["metadata"] = metadata
        return platform

    def _context(self, wrapper: JsonObject) -> JsonObject | None:
        history = self.history
        custom: JsonObject = {name: wrapper[name] for name in ("mode", "usage") if wrapper.get(name) is not None}
        if history.rules:
            custom["appliedRules"] = list(history.rules.values())
        workspace = text_of(wrapper, "workspaceDirectory") or (self._row.workspace if self._row else "")
        return document_context(
            workspace,
            text_of(wrapper, "gitBranch"),
            history.providers.entries(),
            history.providers.codebase,
            editor=parse_user_agent(self._interactions.last_user_agent()).editor,
            custom=custom,
        )

    def _summaries(self, messages: list[JsonObject]) -> list[JsonObject]:
        """Return the compaction summaries, each covering the messages since the one before it.

        A summary replaces everything before it in the prompt, earlier summaries included, but not in the file.
        """
        found: list[JsonObject] = []
        start = 0
        ids = [message["message_id"] for message in messages]
        positions = {message_id: position for position, message_id in enumerate(ids)}
        for message, text in self.history.summaries:
            message_id = message["message_id"]
            end = max(start, positions.get(message_id, -1) + 1)
            found.append(
                build.summary(
                    summary_id=f"{message_id}:summary",
                    type="automatic",
                    text=text,
                    timestamp=message["timestamp"],
                    covers_messages=[*self._uncovered, *ids[start:end]],
                )
            )
            self._uncovered, start = [], end
        self._uncovered += ids[start:]
        self.history.summaries = []
        return found


def _stated_cost(wrapper: JsonObject) -> JsonObject | None:
    match wrapper.get("usage"):
        case {"totalCost": int() | float() as amount} if not isinstance(amount, bool) and 0 <= amount < 1 << 53:
            return {"total_cost": {"amount": amount, "currency": "USD"}}
        case _:
            return None


def _session_id(source: Source, wrapper: JsonObject) -> str:
    """Return the file's name, which Continue itself uses, or the stated id if there is no file."""
    stated = wrapper.get("sessionId")
    if not source.is_reopenable and isinstance(stated, str) and stated:
        return stated
    return source.stem


def _begins_turn(item: Any) -> bool:
    match item:
        case {"message": {"role": "user"}}:
            return True
        case _:
            return False


def _has_history(source: Source, elements: JsonElements | WholeElements) -> bool:
    """Return whether the file has a list of items, even an empty one."""
    if elements.number or not source.head().strip(b"\0 \t\r\n"):
        return True
    match source.parsed_head():
        case {"history": list()}:
            return True
        case _:
            return False


def _quarantine_file(source: Source, run: Run) -> None:
    """Quarantine a file that is not a session because it has no history."""
    run.read()
    try:
        with source.open() as stream:
            raw = read_at_most(stream, _LARGEST_BYTES)
    except (PalaverError, OSError):  # standard input cannot be read again
        raw = source.head()
    run.quarantined(BAD_CONVERSATION, raw, source.file_name, "there is no history in it")
