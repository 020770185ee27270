"""Reader of a unit (a log, the partitions of a conversation, or an old session), and the handler of each event type."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.github_copilot.events import answers, lifecycle, prompts, stream, tool_calls, usage
from palaver.importers.github_copilot.events.document import PLATFORM, document
from palaver.importers.github_copilot.events.event_types import HOUSEKEEPING, PROGRESS, TEXT_FIELDS
from palaver.importers.github_copilot.events.recognition import HISTORY, LOG, PARTITIONS, partitions, recognize
from palaver.importers.github_copilot.events.session import (
    AGENT_LIFECYCLE,
    INTO_CONVERSATION,
    SKIPPED_PROGRESS,
    Conversation,
    CurrentFile,
    Disposition,
    Session,
)
from palaver.importers.github_copilot.events.side_files import add_side_files, link_saved_chat
from palaver.importers.github_copilot.events.usage import final_shutdowns, usage_records
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import CUT_OFF, JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

FRAGMENT_BYTES = 1 << 24
"""The least size of a log that is split into fragments."""
LATER_FRAGMENT_BYTES = 1 << 20
_GENERIC_STEMS = frozenset({"events", "-", ""})
_SESSION_ID_FIELDS = {"session.start": "sessionId", "partition.created": "conversationId"}


def read_unit(source: Source, run: Run) -> Iterator[JsonObject]:
    form = run.form or recognize(source).form or (PARTITIONS if source.is_folder else LOG)
    if form == HISTORY:
        from palaver.importers.github_copilot.events.history import read_history

        yield from read_history(source, run)
        return
    if form == PARTITIONS and source.is_folder:
        reader = _Reader(run, source, _last_path_part(source.label))
        for name in partitions(source):
            yield from reader.read(Source(source.folder, name), label=name)
    else:
        reader = _Reader(run, source, _session_name(source))
        yield from reader.read(source)
        add_side_files(source, reader.sessions, run)
    yield from reader.finish()


class _Reader:
    """Reads events into their sessions."""

    def __init__(self, run: Run, unit: Source, name: str) -> None:
        self._run = run
        self._unit = unit
        self._name = name
        self._current_file = CurrentFile(lambda: unit.label, unit.written_at)
        self._tally: Counter[Disposition] = Counter()
        self.sessions: dict[str, Session] = {}
        self._current: Session | None = None

    def read(self, source: Source, label: str = "") -> Iterator[JsonObject]:
        try:
            stream = source.open()
        except (PalaverError, OSError) as error:
            if not label:
                raise
            self._run.note(CUT_OFF, label, str(error), kept=False)
            return
        with stream:
            records = JsonLines(stream, self._run, label=label)
            self._current_file.where, self._current_file.file_time = records.where, source.written_at
            yield from self._read_records(records)

    def _read_records(self, records: JsonLines) -> Iterator[JsonObject]:
        session = self._current
        tally = self._tally
        limit = records.bytes_read + FRAGMENT_BYTES
        for event in records:
            if not isinstance(event, dict):
                self._run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
                continue
            kind, data = event.get("type"), event.get("data")
            try:
                if session is None or (isinstance(kind, str) and kind in _SESSION_ID_FIELDS):
                    session = self._current = self._session_for(kind, event, data)
                if records.bytes_read > limit and _can_split_before(session, kind, data):
                    limit = records.bytes_read + LATER_FRAGMENT_BYTES
                    yield from self._emit_fragments()
                disposition = _dispatch(session, kind, event, data)
            except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other events
                self._run.quarantined(UNFORESEEN, records.raw, records.where(), f"{type(error).__name__}: {error}")
                continue
            if disposition is INTO_CONVERSATION:
                session.conversation_records += 1
            else:
                tally[disposition] += 1
            session.previous_id = event.get("id")

    def _session_for(self, kind: Any, event: JsonObject, data: Any) -> Session:
        """Return the session that starts or continues; events before any start go to one named after the file."""
        session_id = (
            data.get(_SESSION_ID_FIELDS[kind])
            if isinstance(data, dict) and isinstance(kind, str) and kind in _SESSION_ID_FIELDS
            else None
        )
        if not isinstance(session_id, str) or not session_id:
            if self._current is not None:
                return self._current
            session_id = self._name or conversation_uuid(PLATFORM, event.get("timestamp"), event.get("id"))
        if session_id not in self.sessions:
            self.sessions[session_id] = Session(session_id, self._run, self._current_file)
        return self.sessions[session_id]

    def _emit_fragments(self) -> Iterator[JsonObject]:
        """Yield the messages so far as fragments."""
        self._flush()
        for session in self.sessions.values():
            for conversation in session.conversations():
                if conversation.messages:
                    yield document(conversation, is_final=False)
                    conversation.sequence += 1
                    conversation.messages = []
                    conversation.summaries = []
                    conversation.prompts = {}
                    conversation.by_event_id = {}
            session.release_calls()

    def _flush(self) -> None:
        """Complete all messages: what is held back is added, and open answers are closed."""
        for session in self.sessions.values():
            for conversation in session.conversations():
                answers.close_turn(conversation)
                usage.flush_usage(conversation)
                stream.flush_pieces(conversation)
                conversation.open_answer = None
        link_saved_chat(self._unit, self.sessions)

    def finish(self) -> Iterator[JsonObject]:
        run = self._run
        self._flush()
        for session in self.sessions.values():
            has_messages = False
            for conversation in session.conversations():
                if conversation.messages or conversation.sequence:
                    has_messages = True
                    yield document(conversation)
            if has_messages:
                run.folded("conversation", session.conversation_records)
            elif session.conversation_records:
                for record in usage_records(session):
                    run.used(record)
                run.mapped(last := len(final_shutdowns(session.shutdowns)))
                if last < len(session.shutdowns):
                    run.folded("later totals", len(session.shutdowns) - last)
                run.skipped("no-conversation", session.conversation_records - len(session.shutdowns))
        for (word, reason), count in self._tally.items():
            if word == "mapped":
                run.mapped(count)
            elif word == "folded":
                run.folded(reason, count)
            else:
                run.skipped(reason, count)


def _dispatch(session: Session, kind: Any, event: JsonObject, data: Any) -> Disposition:
    if not isinstance(data, dict):
        fields = {name: value for name, value in event.items() if name != "id"}
        return lifecycle.unknown_event(session.main, event, fields)
    handler = HANDLERS.get(kind) if isinstance(kind, str) else None
    if handler is None:
        conversation = session.conversation_of(kind if isinstance(kind, str) else "", event, data)
        raw = data if isinstance(kind, str) or kind is None else dict(event)
        return lifecycle.unknown_event(conversation, event, raw)
    if "agentId" not in event and "parentToolCallId" not in data and kind not in AGENT_LIFECYCLE:
        return handler(session.main, event, data)
    return handler(session.conversation_of(kind, event, data), event, data)


def _can_split_before(session: Session, kind: Any, data: Any) -> bool:
    """Whether an event is a new prompt, so that no later event adds to the messages before it."""
    turn = data.get("turnId") if isinstance(data, dict) else None
    return kind == "user.message" and not (isinstance(turn, str) and turn in session.main.prompts)


def _session_name(source: Source) -> str:
    """Return the name of the file or of its folder as the session's name, or "" if both are generic."""
    stem = source.stem
    if stem not in _GENERIC_STEMS and not stem.startswith("partition-"):
        return stem
    folder = source.parent_folder()
    return "" if folder is None else _last_path_part(folder.label)


def _last_path_part(label: str) -> str:
    return label.replace("\\", "/").replace("!", "/").rstrip("/").rpartition("/")[2]


Handler = Callable[[Conversation, JsonObject, JsonObject], Disposition]


def _answer(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    if conversation.pieces:
        stream.discard_pieces(conversation, data)
    return answers.assistant_message(conversation, event, data)


def _skip_progress(conversation: Conversation, event: JsonObject, _data: JsonObject) -> Disposition:
    conversation.observe_time(event)
    return SKIPPED_PROGRESS


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(HOUSEKEEPING, lifecycle.housekeeping),
    **dict.fromkeys(TEXT_FIELDS, lifecycle.text_event),
    **dict.fromkeys(PROGRESS, _skip_progress),
    "assistant.message": _answer,
    "assistant.message_delta": stream.add_piece,
    "assistant.message_start": stream.add_piece,
    "assistant.reasoning": answers.assistant_reasoning,
    "assistant.reasoning_delta": stream.add_piece,
    "assistant.tool_call_delta": stream.add_piece,
    "assistant.turn_end": answers.turn_end,
    "assistant.turn_start": answers.turn_start,
    "assistant.usage": usage.assistant_usage,
    "mcp.headers_refresh_required": lifecycle.server_auth,
    "mcp.oauth_required": lifecycle.server_auth,
    "partition.created": lifecycle.partition_created,
    "permission.completed": lifecycle.permission_completed,
    "session.auto_mode_resolved": lifecycle.model_changed,
    "session.binary_asset": lifecycle.binary_asset,
    "session.compaction_complete": lifecycle.compaction_complete,
    "session.context_changed": lifecycle.context_changed,
    "session.model_change": lifecycle.model_changed,
    "session.resume": lifecycle.session_start,
    "session.shutdown": lifecycle.session_shutdown,
    "session.snapshot_rewind": lifecycle.snapshot_rewind,
    "session.start": lifecycle.session_start,
    "session.title_changed": lifecycle.title_changed,
    "subagent.completed": lifecycle.agent_finished,
    "subagent.failed": lifecycle.agent_finished,
    "subagent.started": lifecycle.agent_started,
    "system.message": prompts.system_message,
    "tool.execution_complete": tool_calls.execution_complete,
    "tool.execution_partial_result": stream.add_piece,
    "tool.execution_start": tool_calls.execution_start,
    "tool.user_requested": tool_calls.user_requested,
    "user.message": prompts.user_message,
    "user.message_rendered": prompts.user_message_rendered,
}
