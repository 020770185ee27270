"""Import units into the archive: documents become rows, rows go into frames, and frames into transactions.

    units ──read──▶ documents ──check──▶ rows ──frames──▶ archive

A frame holds documents, large ones in parts, and usage records. A source that ends in a frame is recorded as read in
the same transaction. So a run that is killed leaves sources that are read, and sources that the next run reads again;
what is then stored twice is joined.
"""

import pickle
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple, Self

import orjson

from palaver.archive import source_records
from palaver.archive.connection import BackgroundCheckpoints, archive_errors, open_to_read, open_to_write
from palaver.archive.documents import prompt_contents
from palaver.archive.ingest import Changes, Ingest, no_changes
from palaver.archive.known_files import KnownSource, UnclaimedFile, store_unclaimed_files
from palaver.archive.rows import ROW_BYTES, ConversationRows, conversation_row_parts, pack_rows, unpack_rows
from palaver.archive.source_records import CursorRow, QuarantinedRecord, SourceOutcome
from palaver.archive.usage_records import UsageRow, add_usage_records, usage_row
from palaver.model.build import Document, JsonObject
from palaver.model.report import Report, SourceReport
from palaver.sources.run import Cursor, Quarantined, Run
from palaver.storage.spill import QueueSpill
from palaver.workflows.plan import ImportTask, split_rereads
from palaver.workflows.read_unit import read_unit, start_run

FRAME_BYTES = 1 << 20
TRANSACTION_BYTES = 7 << 22
"""The size in memory of most transactions; the first ones are smaller, so that writing starts early."""
Advance = Callable[[int], None]


class ConversationEvent(NamedTuple):
    """The rows of a document, or of a part of one; packed into one piece, so as not to fragment the memory."""

    task: int
    rows: bytes
    messages: int
    identity: tuple[str, str]
    """Platform and id of the conversation."""


class QuarantineEvent(NamedTuple):
    task: int
    entry: QuarantinedRecord


class UsageEvent(NamedTuple):
    """A batch of usage records."""

    task: int
    rows: list[UsageRow]


class FinishedEvent(NamedTuple):
    task: int
    reading: SourceOutcome


Event = ConversationEvent | QuarantineEvent | UsageEvent | FinishedEvent
Frame = list[Event]


def read_frames(tasks: Iterator[tuple[int, ImportTask]], advance: Advance) -> Generator[Frame]:
    """Read tasks one after the other; many small ones share a frame, a large one takes several frames."""
    frame: Frame = []
    size_bytes = 0
    for number, task in tasks:
        for event in _events(number, task, advance):
            frame.append(event)
            size_bytes += packed_bytes(event)
            if size_bytes > FRAME_BYTES:
                yield frame
                frame, size_bytes = [], 0
    if frame:
        yield frame


def _events(number: int, task: ImportTask, advance: Advance) -> Iterator[Event]:
    report = SourceReport(task.unit.source.label, task.unit.platform)
    quarantined: list[Event] = []
    with QueueSpill[UsageRow](FRAME_BYTES) as usage, _ArchivedConversations(task) as archived:
        run = start_run(
            task.unit,
            report,
            task.options,
            _quarantine_into(quarantined, number),
            advance,
            cursors=_cursors(task),
            used=lambda record: usage.put(usage_row(record)),
            archived_prompts=archived.prompts,
        )
        for part in read_unit(task.unit, run, report, _pack_document, is_measured=False):
            yield from quarantined
            quarantined.clear()
            yield ConversationEvent(number, *part)
            for rows in usage.take_all(_USAGE_BATCH):
                yield UsageEvent(number, rows)
        yield from quarantined
        for rows in usage.take_all(_USAGE_BATCH):
            yield UsageEvent(number, rows)
    yield FinishedEvent(number, SourceOutcome(report, _cursor_rows(run), run.is_continued))


class _ArchivedConversations:
    """Conversations that the archive holds while a task is read; it is opened when one is asked for."""

    def __init__(self, task: ImportTask) -> None:
        self._path = task.archive
        self._platform = task.unit.platform
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()

    def prompts(self, conversation_id: str) -> Iterator[list[JsonObject]]:
        """Yield what may be prompts of a conversation; nothing if the archive does not have it."""
        if self._path is not None and self._path.exists():
            self._connection = self._connection or open_to_read(self._path)
            yield from prompt_contents(self._connection, self._platform, conversation_id)


def _quarantine_into(events: list[Event], number: int) -> Callable[[Quarantined], None]:
    def take(entry: Quarantined) -> None:
        events.append(QuarantineEvent(number, QuarantinedRecord(entry.where, entry.code, entry.message, entry.raw)))

    return take


_USAGE_BATCH = 500


def _cursors(task: ImportTask) -> dict[str, Cursor]:
    return {row.file: Cursor(row.read_bytes, row.tail_hash, orjson.loads(row.state)) for row in task.cursors}


def _cursor_rows(run: Run) -> list[CursorRow]:
    return [
        CursorRow(file, cursor.offset, cursor.tail_hash, orjson.dumps(cursor.state))
        for file, cursor in run.next_cursors.items()
    ]


def packed_bytes(event: Event) -> int:
    match event:
        case ConversationEvent(_, rows, _, _):
            return len(rows)
        case QuarantineEvent(_, entry):
            return len(entry.raw)
        case UsageEvent(_, rows):
            return sum(len(row.record) for row in rows)
        case FinishedEvent():
            return 256


def memory_bytes(event: Event) -> int:
    """Return an event's size in memory while it is written: for short messages, much more than their texts."""
    match event:
        case ConversationEvent(_, _, count, _):
            return packed_bytes(event) + ROW_BYTES * count
        case UsageEvent(_, rows):
            return packed_bytes(event) + ROW_BYTES * len(rows)
        case _:
            return packed_bytes(event)


class ArchiveWriter:
    """The one writer of an import; readers run beside it."""

    def __init__(self, path: Path, tasks: list[ImportTask], changes: Changes | None = None) -> None:
        self._path = path
        self._descriptions = {number: task.description for number, task in enumerate(tasks)}
        """Descriptions of the sources that are not finished."""
        self._connection = open_to_write(path)
        self._ingest = Ingest(self._connection, changes)
        self._started: dict[int, tuple[int, int]] = {}
        self._last_quarantine_key = 0
        self._reports: dict[int, bytes] = {}
        """Pickled reports, a third of their size as objects: there may be tens of thousands."""
        self._waiting: Frame = []
        self._waiting_bytes = 0
        self._transaction_bytes = FRAME_BYTES
        self._checkpoints: BackgroundCheckpoints | None = None

    def take(self, frame: Frame) -> None:
        """Take a frame; several are written in one transaction, which saves much of the index's work."""
        self._waiting += frame
        self._waiting_bytes += sum(map(memory_bytes, frame))
        if self._waiting_bytes > self._transaction_bytes:
            self.flush()
            self._transaction_bytes = min(2 * self._transaction_bytes, TRANSACTION_BYTES)
            with archive_errors(self._path):
                self._checkpoints = self._checkpoints or BackgroundCheckpoints(self._path, self._connection)
                self._checkpoints.request()

    def flush(self) -> None:
        frame, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if frame:
            with self.transaction():
                self._write(frame)

    @contextmanager
    def transaction(self) -> Generator[None]:
        with archive_errors(self._path):
            self._connection.execute("begin immediate")
            try:
                yield
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    def store_unclaimed(self, unclaimed: Mapping[str, UnclaimedFile]) -> None:
        """Store the files that no importer reads, so that they are not opened again until they change."""
        if unclaimed:
            with self.transaction():
                store_unclaimed_files(self._connection, unclaimed)

    def close(self) -> None:
        if self._checkpoints:
            self._checkpoints.close()
        self._connection.close()

    def add_to_report(self, report: Report) -> None:
        """Add the sources in order, and the numbers of conversations added and updated."""
        for number in sorted(self._reports):
            report.sources.append(pickle.loads(self._reports.pop(number)))  # noqa: S301 - this object made it
        changes = self._ingest.changes
        report.archive = {name: len(conversations) for name, conversations in changes._asdict().items()}

    def _write(self, frame: Frame) -> None:
        conversations: list[tuple[ConversationRows, int | None]] = []
        for number, event in enumerate(frame):
            if isinstance(event, ConversationEvent):
                conversations.append((unpack_rows(event.rows), self._start(event.task)[0]))
                frame[number] = event._replace(rows=b"")  # held unpacked from here on
        self._ingest.add(conversations)
        for event in frame:
            match event:
                case ConversationEvent():
                    pass
                case QuarantineEvent(task, entry):
                    key, _ = self._start(task)
                    source_records.add_to_quarantine(self._connection, key, entry, self._last_quarantine_key)
                case UsageEvent(task, rows):
                    add_usage_records(self._connection, rows, self._start(task)[0])
                case FinishedEvent(task, reading):
                    key, before = self._start(task)
                    del self._started[task]
                    source_records.record_source(self._connection, key, self._descriptions.pop(task), reading)
                    if not reading.is_continued:
                        is_whole = not reading.report.failure
                        source_records.reconcile_quarantine(self._connection, key, before, is_whole=is_whole)
                    self._reports[task] = pickle.dumps(reading.report, pickle.HIGHEST_PROTOCOL)

    def _start(self, task: int) -> tuple[int, int]:
        """Return a source's key, and the last key of the quarantine before this run."""
        if task not in self._started:
            key = source_records.ensure_source(self._connection, self._descriptions[task])
            last = source_records.last_quarantine_key(self._connection)
            self._last_quarantine_key = max(self._last_quarantine_key, last)
            self._started[task] = key, self._last_quarantine_key
        return self._started[task]


def _pack_document(document: Document) -> Iterator[tuple[bytes, int, tuple[str, str]]]:
    """Yield the packed rows of a document in parts, each with its number of messages and its conversation."""
    return (
        (pack_rows(part), len(part.messages), (part.platform, part.conversation_id))
        for part in conversation_row_parts(document, FRAME_BYTES)
    )


def import_into_archive(
    tasks: list[ImportTask],
    report: Report,
    path: Path,
    *,
    unclaimed: Mapping[str, UnclaimedFile] | None = None,
    released: Sequence[KnownSource] = (),
    jobs: int = 1,
    advance: Advance = lambda _: None,
) -> None:
    """Read the tasks and join their conversations with the archive, whatever the number of processes.

    Sources that an earlier revision of their importer read come first, and what they yield replaces what they
    contributed. With several processes the list of tasks is handed to them, and empty afterwards.
    """
    changes = no_changes()
    again, others = split_rereads(tasks, released)
    if again or released:
        from palaver.workflows.reread import RereadWriter

        _import(RereadWriter(path, again, released, changes), again, report, jobs=jobs, advance=advance)
    _import(ArchiveWriter(path, others, changes), others, report, unclaimed=unclaimed, jobs=jobs, advance=advance)


def _import(
    writer: ArchiveWriter,
    tasks: list[ImportTask],
    report: Report,
    *,
    unclaimed: Mapping[str, UnclaimedFile] | None = None,
    jobs: int,
    advance: Advance,
) -> None:
    try:
        with closing(_frames(tasks, jobs, advance)) as frames:
            for frame in frames:
                writer.take(frame)
        writer.flush()
        writer.store_unclaimed(unclaimed or {})
    finally:
        writer.close()
        writer.add_to_report(report)


_PARALLEL_THRESHOLD_BYTES = 1 << 25
"""Below this many bytes, starting a process takes longer than it saves."""


def _frames(tasks: list[ImportTask], jobs: int, advance: Advance) -> Generator[Frame]:
    total = sum(task.unread_bytes for task in tasks)
    if jobs > 1 and total > _PARALLEL_THRESHOLD_BYTES and all(task.unit.source.is_reopenable for task in tasks):
        from palaver.workflows.parallel import run_as_completed

        # One core is busy with writing.
        return run_as_completed(read_frames, tasks, jobs=min(jobs - 1, len(tasks)), advance=advance)
    return read_frames(iter(enumerate(tasks)), advance)
