"""Reads the sessions of a file or of a pair of files, record by record: log lines, or sessions saved whole.

A file with one session is parsed at once; a damaged or truncated one, and one with several, element by element.
The editor replaces values that are too long to save by a marker, which is reported as a finding.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from palaver.errors import PalaverError
from palaver.importers._shared.findings import BAD_CONVERSATION
from palaver.importers.github_copilot.sessions.document import DocumentBuilder
from palaver.importers.github_copilot.sessions.kinds import BAD_ENTRY, TRUNCATED_VALUE
from palaver.importers.github_copilot.sessions.recognition import FLAT, LOG, form_of, is_session, is_state, partner_of
from palaver.importers.github_copilot.sessions.session import INITIAL, PUSH, SET, BadEntryError, Replay, Session
from palaver.model.block_text import strings
from palaver.model.build import JsonObject
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import CUT_OFF, JsonLines
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.run import Run
from palaver.sources.small_files import LARGEST_BYTES, count_file, read_at_most
from palaver.sources.source import Source

FRAGMENT_BYTES = 1 << 24
"""Sessions up to this size are one document."""
LATER_FRAGMENT_BYTES = 1 << 22
_CHANGES = (SET, PUSH)
"""Kinds of nearly all log entries."""
TRUNCATION_HINT = b": value truncated for persistence"
"""Bytes that every record with a truncation marker contains."""
_match_truncation = re.compile(r"\[[^:\]]+: value truncated for persistence").match


def read_sessions(source: Source, run: Run) -> Iterator[JsonObject]:
    form = run.form.partition(":")[2] or form_of(source) or (LOG if source.suffix == ".jsonl" else FLAT)
    partner = partner_of(source, form)
    log, flat = (source, partner) if form == LOG else (partner, source)
    reader = _Reader(source, run)
    if flat is not None:
        reader.load_flat(flat, label=flat.file_name if partner else "")
    if log is not None:
        yield from reader.read_log(log, label=log.file_name if partner else "")
    yield from reader.read_remaining()


@dataclass(slots=True)
class _OpenLog:
    """A session whose log is being read."""

    replay: Replay
    where: str
    offset: int
    records: int = 1


class _Reader:
    """Reads the file or the two files of one source."""

    def __init__(self, source: Source, run: Run) -> None:
        self._run = run
        self._builder = DocumentBuilder(source, run)
        self._flat: dict[str | None, list[Session]] = {}
        """Sessions saved whole and not yet emitted, by id."""

    def load_flat(self, source: Source, *, label: str) -> None:
        for value, raw, where in flat_values(source, self._run, label):
            if is_session(value) or is_state(value):
                if TRUNCATION_HINT in raw:
                    note_truncations(value, self._run, where)
                session = Session(value, where, len(raw))
                self._flat.setdefault(session.session_id, []).append(session)
            else:
                self._run.quarantined(BAD_CONVERSATION, raw, where)

    def read_log(self, source: Source, *, label: str) -> Iterator[JsonObject]:
        current: _OpenLog | None = None
        with source.open() as stream:
            lines = JsonLines(stream, self._run, label=label)
            for entry in lines:
                kind = entry.get("kind") if isinstance(entry, dict) else None
                if current is not None and kind in _CHANGES:
                    self._apply(entry, current, lines)
                elif not isinstance(entry, dict):
                    self._run.quarantined(NOT_AN_OBJECT, lines.raw, lines.where())
                elif type(kind) is int and kind == INITIAL and not _is_same_session(entry, current):
                    # Even if the state is malformed, the entries after it do not belong to the previous session.
                    yield from self._finish_log(current, lines.offset)
                    current = self._start_log(entry.get("v"), lines)
                elif "kind" not in entry and is_session(entry):
                    yield from self._finish_log(self._start_log(entry, lines), lines.offset + len(lines.raw))
                else:
                    self._apply(entry, current, lines)
            yield from self._finish_log(current, lines.end)

    def read_remaining(self) -> Iterator[JsonObject]:
        """Yield the documents of sessions that have no log."""
        for sessions in self._flat.values():
            for session in sessions:
                yield from self._documents(session, 1)

    def _start_log(self, state: Any, lines: JsonLines) -> _OpenLog | None:
        where = lines.where()
        if not is_state(state):
            self._run.quarantined(BAD_ENTRY, lines.raw, where, "it is not the state of a session")
            return None
        if lines.may_contain(TRUNCATION_HINT):
            note_truncations(state, self._run, where)
        return _OpenLog(Replay(state), where, lines.offset)

    def _apply(self, entry: JsonObject, current: _OpenLog | None, lines: JsonLines) -> None:
        try:
            if current is None:
                raise BadEntryError("no state of a session comes before it")  # noqa: TRY301 - handled like all bad entries
            current.replay.apply(entry)
        except BadEntryError as error:
            self._run.quarantined(BAD_ENTRY, lines.raw, lines.where(), str(error))
        else:
            current.records += 1
            if lines.may_contain(TRUNCATION_HINT):
                note_truncations(entry, self._run, lines.where())

    def _finish_log(self, log: _OpenLog | None, end: int) -> Iterator[JsonObject]:
        if log is None:
            return
        removed, order = log.replay.removed_requests()
        session = Session(log.replay.state, log.where, end - log.offset)
        session.add_missing(removed, order, "the log")
        # An older file without a session id belongs to the same session.
        session_ids = list(self._flat) if session.session_id is None else [session.session_id, None]
        for older in [flat for session_id in session_ids for flat in self._flat.pop(session_id, ())]:
            if session.add_missing(requests := older.requests_by_id(), list(requests), "the older file"):
                self._run.mapped()
            else:
                self._run.folded("its log")
        yield from self._documents(session, log.records)

    def _documents(self, session: Session, records: int) -> Iterator[JsonObject]:
        document = self._builder.document(session)
        if document is None:
            self._run.skipped("empty-session", records)
        else:
            self._run.mapped(records)
            yield from _fragments(document, session.size_bytes)


def _fragments(document: JsonObject, size_bytes: int) -> Iterator[JsonObject]:
    """Split a long conversation into several documents, releasing each before the next is built."""
    if size_bytes <= FRAGMENT_BYTES:
        yield document
        return
    messages: list[JsonObject] = document.pop("messages")
    length = -(-len(messages) * LATER_FRAGMENT_BYTES // size_bytes)
    for sequence, start in enumerate(starts := range(0, len(messages), length)):
        piece = messages[:length]
        del messages[:length]
        yield {**document, "messages": piece, "fragment": {"sequence": sequence, "final": start == starts[-1]}}


def _is_same_session(state: JsonObject, current: _OpenLog | None) -> bool:
    """Return whether a full state belongs to the session being read."""
    match state:
        case {"v": {"sessionId": str(name)}} if current is not None:
            return current.replay.state.get("sessionId") == name
        case _:
            return False


def flat_values(source: Source, run: Run, label: str) -> Iterator[tuple[Any, bytes, str]]:
    """Yield the values of a file, each with its bytes and location.

    With a label, the file is one of two: if it cannot be opened, the other one is still read.
    """
    try:
        stream = source.open()
    except (PalaverError, OSError) as error:
        if not label:
            raise
        run.note(CUT_OFF, label, str(error), kept=False)
        return
    with stream:
        raw = read_at_most(stream, LARGEST_BYTES)
        try:
            value = parse(raw)
        except NOT_JSON:
            value = None
        if isinstance(value, dict):
            count_file(source, run)
            run.advance(len(raw))
            yield value, raw, label or "the session"
            return
        elements = JsonElements(
            cast("BinaryIO", _PrefixedStream(raw, stream)), run, label=label, accepts_truncated=True
        )
        for element in elements:
            yield element, elements.raw, elements.where()


class _PrefixedStream:
    """The bytes already read from a stream, followed by the rest of it."""

    def __init__(self, prefix: bytes, stream: BinaryIO) -> None:
        self._prefix = prefix
        self._stream = stream
        self._position = 0

    def read(self, size: int) -> bytes:
        if self._position >= len(self._prefix):
            return self._stream.read(size)
        piece = self._prefix[self._position : self._position + size]
        self._position += size
        return piece


def note_truncations(value: Any, run: Run, where: str) -> None:
    """Record a finding for each truncation marker in a record whose bytes contain `TRUNCATION_HINT`."""
    for text in strings(value):
        if match := _match_truncation(text):
            run.note(TRUNCATED_VALUE, where, text[: match.end() + 40], kept=False)
