"""The sessions of a file or of a pair of files, read record by record: lines of a log, or whole sessions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from palaver.importers._shared.exports import BAD_CONVERSATION
from palaver.importers.github_copilot.sessions.document import Writer
from palaver.importers.github_copilot.sessions.files import FLAT, LOG, form_of, is_session, is_state, partner_of
from palaver.importers.github_copilot.sessions.marks import HINT, note_marks
from palaver.importers.github_copilot.sessions.noticed import BAD_ENTRY
from palaver.importers.github_copilot.sessions.replay import INITIAL, PUSH, SET, BadEntryError, Replay
from palaver.importers.github_copilot.sessions.session import Session
from palaver.importers.github_copilot.sessions.whole import whole_values
from palaver.model.build import JsonObject
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

FRAGMENT_BYTES = 1 << 24
"""What is smaller is one document."""
LATER_FRAGMENT_BYTES = 1 << 22
_CHANGES = (SET, PUSH)
"""What nearly all entries of a log do."""


def read_sessions(source: Source, run: Run) -> Iterator[JsonObject]:
    form = run.form.partition(":")[2] or form_of(source) or (LOG if source.suffix == ".jsonl" else FLAT)
    partner = partner_of(source, form)
    log, flat = (source, partner) if form == LOG else (partner, source)
    reader = _Reader(source, run)
    if flat is not None:
        reader.take_flat(flat, label=flat.file_name if partner else "")
    if log is not None:
        yield from reader.logged(log, label=log.file_name if partner else "")
    yield from reader.remaining()


@dataclass(slots=True)
class _Logged:
    """A session whose log is being read."""

    replay: Replay
    where: str
    offset: int
    records: int = 1


class _Reader:
    """Reads the files of one source."""

    def __init__(self, source: Source, run: Run) -> None:
        self._run = run
        self._writer = Writer(source, run)
        self._flat: dict[str | None, list[Session]] = {}
        """Sessions that were saved whole and not told yet, by their ids."""

    def take_flat(self, source: Source, *, label: str) -> None:
        for value, raw, where in whole_values(source, self._run, label):
            if is_session(value) or is_state(value):
                if HINT in raw:
                    note_marks(value, self._run, where)
                session = Session(value, where, len(raw))
                self._flat.setdefault(session.name, []).append(session)
            else:
                self._run.quarantined(BAD_CONVERSATION, raw, where)

    def logged(self, source: Source, *, label: str) -> Iterator[JsonObject]:
        current: _Logged | None = None
        with source.open() as stream:
            lines = JsonLines(stream, self._run, label=label)
            for entry in lines:
                kind = entry.get("kind") if isinstance(entry, dict) else None
                if current is not None and kind in _CHANGES:
                    self._apply(entry, current, lines)
                elif not isinstance(entry, dict):
                    self._run.quarantined(NOT_AN_OBJECT, lines.raw, lines.where())
                elif type(kind) is int and kind == INITIAL and not _is_of(entry, current):
                    # Whatever this is the state of, the entries behind it do not belong to the session before it.
                    yield from self._told(current, lines.offset)
                    current = self._begun(entry.get("v"), lines)
                elif "kind" not in entry and is_session(entry):
                    yield from self._told(self._begun(entry, lines), lines.offset + len(lines.raw))
                else:
                    self._apply(entry, current, lines)
            yield from self._told(current, lines.end)

    def remaining(self) -> Iterator[JsonObject]:
        """The sessions without a log."""
        for sessions in self._flat.values():
            for session in sessions:
                yield from self._written(session, 1)

    def _begun(self, state: Any, lines: JsonLines) -> _Logged | None:
        where = lines.where()
        if not is_state(state):
            self._run.quarantined(BAD_ENTRY, lines.raw, where, "it is not the state of a session")
            return None
        if lines.may_hold(HINT):
            note_marks(state, self._run, where)
        return _Logged(Replay(state), where, lines.offset)

    def _apply(self, entry: JsonObject, current: _Logged | None, lines: JsonLines) -> None:
        try:
            if current is None:
                raise BadEntryError("no state of a session comes before it")  # noqa: TRY301 - one way for all of them
            current.replay.apply(entry)
        except BadEntryError as error:
            self._run.quarantined(BAD_ENTRY, lines.raw, lines.where(), str(error))
        else:
            current.records += 1
            if lines.may_hold(HINT):
                note_marks(entry, self._run, lines.where())

    def _told(self, logged: _Logged | None, end: int) -> Iterator[JsonObject]:
        if logged is None:
            return
        left, order = logged.replay.left_behind()
        session = Session(logged.replay.state, logged.where, end - logged.offset)
        session.add(left, order, "the log")
        # One that does not state its id is not another session.
        names = list(self._flat) if session.name is None else [session.name, None]
        for older in [one for name in names for one in self._flat.pop(name, ())]:
            if session.add(named := older.named(), list(named), "the older file"):
                self._run.mapped()
            else:
                self._run.folded("its log")
        yield from self._written(session, logged.records)

    def _written(self, session: Session, records: int) -> Iterator[JsonObject]:
        document = self._writer.document(session)
        if document is None:
            self._run.skipped("empty-session", records)
        else:
            self._run.mapped(records)
            yield from _pieces(document, session.size_bytes)


def _pieces(document: JsonObject, size_bytes: int) -> Iterator[JsonObject]:
    """A long conversation as several documents: each is let go before the next is written."""
    if size_bytes <= FRAGMENT_BYTES:
        yield document
        return
    messages: list[JsonObject] = document.pop("messages")
    length = -(-len(messages) * LATER_FRAGMENT_BYTES // size_bytes)
    for sequence, start in enumerate(starts := range(0, len(messages), length)):
        piece = messages[:length]
        del messages[:length]
        yield {**document, "messages": piece, "fragment": {"sequence": sequence, "final": start == starts[-1]}}


def _is_of(state: JsonObject, current: _Logged | None) -> bool:
    """Whether a whole state is that of the session before it once more."""
    match state:
        case {"v": {"sessionId": str(name)}} if current is not None:
            return current.replay.state.get("sessionId") == name
        case _:
            return False
