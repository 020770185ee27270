"""From units to the archive: what is read goes in by frames, some of them in one transaction.

    units ──read──▶ documents ──check──▶ rows ──frames──▶ archive

A frame holds documents, large ones in parts, and usage records. A source that ends in it is remembered as read in the
same transaction, so a run that is killed leaves sources that are read, or sources that the next run reads again;
joining makes up for what is in twice.
"""

import pickle
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Self

import orjson

from palaver.archive import sources
from palaver.archive.checkpoints import Checkpoints
from palaver.archive.connection import open_to_write, told
from palaver.archive.ingest import Ingest
from palaver.archive.memory import UnclaimedFile, remember_unclaimed
from palaver.archive.rows import ROW_BYTES, ConversationRows, packed, parts_of, unpacked
from palaver.archive.sources import CursorRow, Reading, SetAside
from palaver.archive.usage_records import UsageRow, add_usage, usage_row
from palaver.model.build import Document
from palaver.model.report import Report, SourceReport
from palaver.sources.cursors import Cursor
from palaver.sources.run import Quarantined, Run
from palaver.workflows.plan import ImportTask
from palaver.workflows.read_unit import read_unit, start_run

FRAME_BYTES = 1 << 20
TRANSACTION_BYTES = 7 << 22
"""In memory, of most transactions: the first ones are smaller, so that writing begins with what is read first."""
Advance = Callable[[int], None]


class Conversation(NamedTuple):
    """What is stored of a document, or of a part of one, packed: one piece leaves no holes in its maker's memory."""

    task: int
    rows: bytes
    messages: int


class Aside(NamedTuple):
    task: int
    entry: SetAside


class Used(NamedTuple):
    """Some usage records."""

    task: int
    rows: list[UsageRow]


class Finished(NamedTuple):
    task: int
    reading: Reading


Event = Conversation | Aside | Used | Finished
Frame = list[Event]


def frames_of(tasks: Iterator[tuple[int, ImportTask]], advance: Advance) -> Generator[Frame]:
    """Read tasks one after the other; many small ones share a frame, a large one takes several."""
    frame: Frame = []
    size_bytes = 0
    for number, task in tasks:
        for event in _events(number, task, advance):
            frame.append(event)
            size_bytes += _size_of(event)
            if size_bytes > FRAME_BYTES:
                yield frame
                frame, size_bytes = [], 0
    if frame:
        yield frame


def _events(number: int, task: ImportTask, advance: Advance) -> Iterator[Event]:
    report = SourceReport(task.unit.source.label, task.unit.platform)
    aside: list[Event] = []
    with _HeldUsage() as usage:
        run = start_run(
            task.unit, report, task.options, _into(aside, number), advance, cursors=_cursors(task), used=usage.add
        )
        for part in read_unit(task.unit, run, report, _packed, is_measured=False):
            yield from aside
            aside.clear()
            yield Conversation(number, *part)
            for rows in usage.taken():
                yield Used(number, rows)
        yield from aside
        for rows in usage.taken():
            yield Used(number, rows)
    yield Finished(number, Reading(report, _cursor_rows(run), run.is_continued))


def _into(aside: list[Event], number: int) -> Callable[[Quarantined], None]:
    def take(entry: Quarantined) -> None:
        aside.append(Aside(number, SetAside(entry.where, entry.code, entry.message, entry.raw)))

    return take


class _HeldUsage:
    """Usage records since the last document: a source may have millions of them and not one document."""

    def __init__(self) -> None:
        self._file: Any = tempfile.SpooledTemporaryFile(max_size=FRAME_BYTES)  # noqa: SIM115 - closed in `__exit__`
        self._held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, record: Document) -> None:
        pickle.dump(usage_row(record), self._file, pickle.HIGHEST_PROTOCOL)
        self._held += 1

    def taken(self) -> Iterator[list[UsageRow]]:
        """What is held, some hundred at a time; after that, nothing is."""
        if not self._held:
            return
        self._file.seek(0)
        while self._held:
            count = min(self._held, _RECORDS_AT_ONCE)
            yield [pickle.load(self._file) for _ in range(count)]  # noqa: S301 - a file that only this object wrote
            self._held -= count
        self._file.seek(0)
        self._file.truncate()


_RECORDS_AT_ONCE = 500


def _cursors(task: ImportTask) -> dict[str, Cursor]:
    return {row.file: Cursor(row.read_bytes, row.tail_hash, orjson.loads(row.state)) for row in task.cursors}


def _cursor_rows(run: Run) -> list[CursorRow]:
    return [
        CursorRow(file, cursor.offset, cursor.tail_hash, orjson.dumps(cursor.state))
        for file, cursor in run.next_cursors.items()
    ]


def _size_of(event: Event) -> int:
    match event:
        case Conversation(_, rows, _):
            return len(rows)
        case Aside(_, entry):
            return len(entry.raw)
        case Used(_, rows):
            return sum(len(row.record) for row in rows)
        case Finished():
            return 256


def _weight_of(event: Event) -> int:
    """What an event takes up in memory when it is written: of short messages, much more than their texts."""
    match event:
        case Conversation(_, _, count):
            return _size_of(event) + ROW_BYTES * count
        case Used(_, rows):
            return _size_of(event) + ROW_BYTES * len(rows)
        case _:
            return _size_of(event)


class Keeper:
    """The one who writes; everything else may go on meanwhile."""

    def __init__(self, path: Path, tasks: list[ImportTask]) -> None:
        self._path = path
        self._facts = {number: task.facts for number, task in enumerate(tasks)}
        """Of sources that are not read to their end yet."""
        self._connection = open_to_write(path)
        self._ingest = Ingest(self._connection)
        self._begun: dict[int, tuple[int, int]] = {}
        self._reports: dict[int, bytes] = {}
        """Pickled, which is a third as large: there may be ten thousands of them."""
        self._waiting: Frame = []
        self._waiting_bytes = 0
        self._enough_bytes = FRAME_BYTES
        self._checkpoints: Checkpoints | None = None

    def take(self, frame: Frame) -> None:
        """Take in a frame; several are written together, which saves much of the index's work."""
        self._waiting += frame
        self._waiting_bytes += sum(map(_weight_of, frame))
        if self._waiting_bytes > self._enough_bytes:
            self.flush()
            self._enough_bytes = min(2 * self._enough_bytes, TRANSACTION_BYTES)
            with told(self._path):
                self._checkpoints = self._checkpoints or Checkpoints(self._path, self._connection)
                self._checkpoints.ask()

    def flush(self) -> None:
        frame, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if not frame:
            return
        with told(self._path):
            self._connection.execute("begin immediate")
            try:
                self._write(frame)
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    def remember(self, unclaimed: Mapping[str, UnclaimedFile]) -> None:
        """Remember files that nobody reads: they are not looked at again until they change."""
        if unclaimed:
            with told(self._path):
                self._connection.execute("begin immediate")
                remember_unclaimed(self._connection, unclaimed)
                self._connection.execute("commit")

    def close(self) -> None:
        if self._checkpoints:
            self._checkpoints.close()
        self._connection.close()

    def tell(self, report: Report) -> None:
        for number in sorted(self._reports):
            report.sources.append(pickle.loads(self._reports.pop(number)))  # noqa: S301 - this object made it
        changes = self._ingest.changes
        report.archive = {
            "added": len(changes.added),
            "updated": len(changes.updated),
            "unchanged": len(changes.unchanged),
            "forgotten": len(changes.forgotten),
        }

    def _write(self, frame: Frame) -> None:
        conversations: list[tuple[ConversationRows, int | None]] = []
        for number, event in enumerate(frame):
            if isinstance(event, Conversation):
                conversations.append((unpacked(event.rows), self._begin(event.task)[0]))
                frame[number] = event._replace(rows=b"")  # unpacked, it takes up room enough
        self._ingest.add(conversations)
        for event in frame:
            match event:
                case Conversation():
                    pass
                case Aside(task, entry):
                    sources.set_aside(self._connection, self._begin(task)[0], entry)
                case Used(task, rows):
                    add_usage(self._connection, rows, self._begin(task)[0])
                case Finished(task, reading):
                    key, before = self._begin(task)
                    del self._begun[task]
                    sources.finish_source(self._connection, key, self._facts.pop(task), reading)
                    if not reading.is_continued:
                        is_whole = not reading.report.failure
                        sources.settle_quarantine(self._connection, key, before, is_whole=is_whole)
                    self._reports[task] = pickle.dumps(reading.report, pickle.HIGHEST_PROTOCOL)

    def _begin(self, task: int) -> tuple[int, int]:
        """The source's key, and up to which entry its quarantine is of earlier readings."""
        if task not in self._begun:
            key = sources.source_key(self._connection, self._facts[task])
            self._begun[task] = key, sources.last_set_aside(self._connection)
        return self._begun[task]


def _packed(document: Document) -> Iterator[tuple[bytes, int]]:
    """The rows, and of how many messages they are."""
    return ((packed(part), len(part.messages)) for part in parts_of(document, FRAME_BYTES))


def keep(
    tasks: list[ImportTask],
    report: Report,
    path: Path,
    *,
    unclaimed: Mapping[str, UnclaimedFile] | None = None,
    jobs: int = 1,
    advance: Advance = lambda _: None,
) -> None:
    """Read the tasks and join what they hold with the archive, whatever the number of processes.

    Processes take the tasks over: the list is empty then.
    """
    keeper = Keeper(path, tasks)
    try:
        with closing(_frames(tasks, jobs, advance)) as frames:
            for frame in frames:
                keeper.take(frame)
        keeper.flush()
        keeper.remember(unclaimed or {})
    finally:
        keeper.close()
        keeper.tell(report)


_WORTH_A_PROCESS = 1 << 25
"""Below this many bytes, starting a process takes longer than it saves."""


def _frames(tasks: list[ImportTask], jobs: int, advance: Advance) -> Generator[Frame]:
    total = sum(task.unread_bytes for task in tasks)
    if jobs > 1 and total > _WORTH_A_PROCESS and all(task.unit.source.can_move for task in tasks):
        from palaver.workflows.parallel import run_as_completed

        # One core is busy with writing.
        return run_as_completed(frames_of, tasks, jobs=min(jobs - 1, len(tasks)), advance=advance)
    return frames_of(iter(enumerate(tasks)), advance)
