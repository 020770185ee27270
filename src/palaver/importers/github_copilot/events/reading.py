"""Reading a unit: a log, the partitions of a conversation, or a session of the time before logs."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.github_copilot.events import answers, happenings, stream, usage
from palaver.importers.github_copilot.events.disposition import FACT, Disposition
from palaver.importers.github_copilot.events.document import PLATFORM, document
from palaver.importers.github_copilot.events.handlers import HANDLERS
from palaver.importers.github_copilot.events.recognition import HISTORY, LOG, PARTITIONS, partitions, recognize
from palaver.importers.github_copilot.events.session import OF_AGENTS, Place, Session
from palaver.importers.github_copilot.events.side_files import add_side_files, chat_session_beside
from palaver.importers.github_copilot.events.totals import counting, usage_records
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import CUT_OFF, JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

FRAGMENT_BYTES = 1 << 24
"""What is smaller is one document."""
LATER_FRAGMENT_BYTES = 1 << 20
_NAMELESS = frozenset({"events", "-", ""})
_STARTS = {"session.start": "sessionId", "partition.created": "conversationId"}


def read_unit(source: Source, run: Run) -> Iterator[JsonObject]:
    form = run.form or recognize(source).form or (PARTITIONS if source.is_folder else LOG)
    if form == HISTORY:
        from palaver.importers.github_copilot.events.history import read_history

        yield from read_history(source, run)
        return
    if form == PARTITIONS and source.is_folder:
        reader = _Reader(run, source, _last_name(source.label))
        for name in partitions(source):
            yield from reader.read(Source(source.folder, name), label=name)
    else:
        reader = _Reader(run, source, _name_of(source))
        yield from reader.read(source)
        add_side_files(source, reader.sessions, run)
    yield from reader.finish()


class _Reader:
    """Reads events into the sessions that they are part of."""

    def __init__(self, run: Run, unit: Source, name: str) -> None:
        self._run = run
        self._unit = unit
        self._name = name
        self._place = Place(lambda: unit.label, unit.written_at)
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
            self._place.where, self._place.file_time = records.where, source.written_at
            yield from self._read_records(records)

    def _read_records(self, records: JsonLines) -> Iterator[JsonObject]:
        session = self._current
        tally = self._tally
        limit = records.taken + FRAGMENT_BYTES
        for event in records:
            if not isinstance(event, dict):
                self._run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
                continue
            kind, data = event.get("type"), event.get("data")
            try:
                if session is None or (isinstance(kind, str) and kind in _STARTS):
                    session = self._current = self._session_of(kind, event, data)
                if records.taken > limit and _is_quiet(session, kind, data):
                    limit = records.taken + LATER_FRAGMENT_BYTES
                    yield from self._hand_out()
                disposition = _taken(session, kind, event, data)
            except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other events
                self._run.quarantined(UNFORESEEN, records.raw, records.where(), f"{type(error).__name__}: {error}")
                continue
            if disposition is FACT:
                session.facts += 1
            else:
                tally[disposition] += 1
            session.previous_id = event.get("id")

    def _session_of(self, kind: Any, event: JsonObject, data: Any) -> Session:
        """The session that begins, or goes on; what comes before any start is named after the file."""
        stated = (
            data.get(_STARTS[kind]) if isinstance(data, dict) and isinstance(kind, str) and kind in _STARTS else None
        )
        if not isinstance(stated, str) or not stated:
            if self._current is not None:
                return self._current
            stated = self._name or conversation_uuid(PLATFORM, event.get("timestamp"), event.get("id"))
        if stated not in self.sessions:
            self.sessions[stated] = Session(stated, self._run, self._place)
        return self.sessions[stated]

    def _hand_out(self) -> Iterator[JsonObject]:
        """What there is so far, as fragments."""
        self._close()
        for session in self.sessions.values():
            for conversation in session.all():
                if conversation.messages:
                    yield document(conversation, is_final=False)
                    conversation.sequence += 1
                    conversation.messages = []
                    conversation.summaries = []
                    conversation.prompts = {}
                    conversation.named = {}
            session.hand_out_calls()

    def _close(self) -> None:
        """Nothing is added any more to what there is."""
        for session in self.sessions.values():
            for conversation in session.all():
                answers.close_turn(conversation)
                usage.settle_usage(conversation)
                stream.settle(conversation)
                conversation.answer = None
        chat_session_beside(self._unit, self.sessions)

    def finish(self) -> Iterator[JsonObject]:
        run = self._run
        self._close()
        for session in self.sessions.values():
            has_messages = False
            for conversation in session.all():
                if conversation.messages or conversation.sequence:
                    has_messages = True
                    yield document(conversation)
            if has_messages:
                run.folded("conversation", session.facts)
            elif session.facts:
                for record in usage_records(session):
                    run.used(record)
                run.mapped(last := len(counting(session.shutdowns)))
                if last < len(session.shutdowns):
                    run.folded("later totals", len(session.shutdowns) - last)
                run.skipped("no-conversation", session.facts - len(session.shutdowns))
        for (word, reason), count in self._tally.items():
            if word == "mapped":
                run.mapped(count)
            elif word == "folded":
                run.folded(reason, count)
            else:
                run.skipped(reason, count)


def _taken(session: Session, kind: Any, event: JsonObject, data: Any) -> Disposition:
    if not isinstance(data, dict):
        return happenings.unknown(session.main, event, {name: value for name, value in event.items() if name != "id"})
    handler = HANDLERS.get(kind) if isinstance(kind, str) else None
    if handler is not None and "agentId" not in event and "parentToolCallId" not in data and kind not in OF_AGENTS:
        return handler(session.main, event, data)
    if handler is None:
        conversation = session.conversation_of("" if not isinstance(kind, str) else kind, event, data)
        return happenings.unknown(conversation, event, data if isinstance(kind, str) or kind is None else dict(event))
    return handler(session.conversation_of(kind, event, data), event, data)


def _is_quiet(session: Session, kind: Any, data: Any) -> bool:
    """Whether nothing is added any more to what came before: a prompt begins, which was not told before."""
    turn = data.get("turnId") if isinstance(data, dict) else None
    return kind == "user.message" and not (isinstance(turn, str) and turn in session.main.prompts)


def _name_of(source: Source) -> str:
    """The name that a session has from its file, or the folder around it; empty where that says nothing."""
    stem = source.stem
    if stem not in _NAMELESS and not stem.startswith("partition-"):
        return stem
    folder = source.above()
    return "" if folder is None else _last_name(folder.label)


def _last_name(label: str) -> str:
    return label.replace("\\", "/").replace("!", "/").rstrip("/").rpartition("/")[2]
