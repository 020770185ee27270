"""A task folder, read: the API history and the interface's log together, as one conversation.

A history past 32 MB is read in portions of 4 MB, each of which is handed out as a fragment.
"""

import json
from collections.abc import Generator, Iterator
from pathlib import PurePath

from palaver.errors import PalaverError
from palaver.importers._cline_family.about import About, about_task
from palaver.importers._cline_family.document import begun_at, document
from palaver.importers._cline_family.history import PLAIN, History
from palaver.importers._cline_family.product import Product
from palaver.importers._cline_family.recognize import HISTORY, OLD_HISTORY, ROWS, task_folder
from palaver.importers._cline_family.requests import tokens_of_metrics
from palaver.importers._cline_family.summaries import Hidden, deleted_range, hiding_ids, hiding_ids_in, summary_of
from palaver.importers._cline_family.system_prompt import system_message
from palaver.importers._cline_family.task import Task
from palaver.importers._cline_family.ui_log import UiLog
from palaver.importers._shared.findings import INFERRED_TIMESTAMP, UNFORESEEN
from palaver.model.build import JsonObject
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.elements import WholeElements, elements_of
from palaver.sources.folders import DiskFolder
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import UNREADABLE_SIDE_FILE, counted

Records = dict[int, JsonObject]

LARGE_BYTES = 1 << 25
PORTION_BYTES = 1 << 22
_AROUND = 4
"""How many records before and behind a portion are held as well: rows of the interface are looked for in them, too."""
_SCANNED_BYTES = 1 << 20
_OVERLAP_BYTES = 1 << 10


def read_task(source: Source, run: Run, product: Product) -> Iterator[JsonObject]:
    """The conversation of a task folder, or of a single file of one."""
    folder = task_folder(source)
    if folder is None:
        yield from _Reader(source, [source.name], run, product).read()
    else:
        yield from _Reader(folder, folder.listing()[0], run, product).read()


class _Reader:
    def __init__(self, folder: Source, files: list[str], run: Run, product: Product) -> None:
        self._folder = folder
        self._files = files
        self._run = run
        self._task = Task(name_of(folder), product.platform, run, self._written_at)
        self._about = About()
        self._taken = 0

    def _written_at(self) -> str:
        names = [name for name in (HISTORY, OLD_HISTORY, ROWS) if name in self._files] or self._files
        return max(Source(self._folder.folder, name).written_at() for name in names)

    def read(self) -> Iterator[JsonObject]:
        task = self._task
        self._about = about_task(self._folder, task.task_id, self._run)
        task.last_time = begun_at(task.task_id)
        # What was read is gone before the last document is handed out: writing it takes room as well.
        if (yield from self._read_conversation()) or task.messages or task.sequence:
            self._begin()
            yield document(task, self._about, is_final=True)

    def _read_conversation(self) -> Generator[JsonObject, None, bool]:
        """Read both files, and hand out all documents but the last; false where there is nothing in them."""
        task = self._task
        log = UiLog(task, self._objects(Source(self._folder.folder, ROWS)) if ROWS in self._files else ())
        name = next((name for name in (HISTORY, OLD_HISTORY) if name in self._files), "")
        if name == HISTORY and OLD_HISTORY in self._files:
            counted(Source(self._folder.folder, OLD_HISTORY), self._run)
            self._run.skipped("older-copy")
        if not task.last_time:
            task.last_time = log.table.first_time() or self._written_at()
        if name:
            yield from self._read_history(Source(self._folder.folder, name), log)
        log.finish()
        return bool(name or len(log.table))

    def _objects(self, source: Source) -> Iterator[JsonObject]:
        """The objects of a file that is an array; `_taken` bytes were read before each, none of one read at once."""
        try:
            with elements_of(source, self._run, label=source.name) as elements:
                if isinstance(elements, WholeElements) and (objects := elements.objects()) is not None:
                    self._taken = 0
                    yield from objects
                    return
                for value in elements:
                    if isinstance(value, dict):
                        self._taken = elements.taken
                        yield value
                    else:
                        self._run.quarantined(NOT_AN_OBJECT, elements.raw, elements.where())
        except (PalaverError, OSError) as error:
            self._run.note(UNREADABLE_SIDE_FILE, source.name, str(error), kept=False)

    # -- the API history ----------------------------------------------------------------------------------------------

    def _read_history(self, source: Source, log: UiLog) -> Iterator[JsonObject]:
        hidden: Hidden | None = None
        history = History(self._task)
        for records, places, is_last in self._portions(source):
            if hidden is None:
                ids = hiding_ids(records.values()) if is_last else _scanned_ids(source)
                stated = self._about.item.get("conversationHistoryDeletedRange")
                hidden = Hidden(ids, deleted_range(stated, *log.table.deleted_ranges))
            log.look_at(records)
            read = [self._is_read(place, records[place], history, log, hidden) for place in places]
            self._run.mapped(read.count(True))
            if not is_last:
                _forget(records)
                self._begin()
                yield document(self._task, self._about, is_final=False)

    def _portions(self, source: Source) -> Iterator[tuple[Records, range, bool]]:
        """The records by their places, a portion at a time, the places to read now, and whether it is the last."""
        portion: Records = {}
        limit = PORTION_BYTES if source.size_bytes > LARGE_BYTES else LARGE_BYTES
        first = place = 0
        for place, record in enumerate(self._objects(source)):
            portion[place] = record
            if self._taken > limit and place - first > 2 * _AROUND:
                limit = self._taken + PORTION_BYTES
                yield portion, range(first, place + 1 - _AROUND), False
                first = place + 1 - _AROUND
                portion = {near: portion[near] for near in range(first - _AROUND, place + 1)}
        yield portion, range(first, place + 1 if portion else 0), True

    def _is_read(self, place: int, record: JsonObject, history: History, log: UiLog, hidden: Hidden) -> bool:
        """Read a record; false where it had to be quarantined."""
        task = self._task
        is_plain = PLAIN.issuperset(record)
        log.tell_before(place, record.get("ts"))
        try:
            messages, stated = history.messages(place, record, is_plain=is_plain)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other messages
            where, raw = f"{task.task_id}:{place}", json.dumps(record).encode()
            self._run.quarantined(UNFORESEEN, raw, where, f"{type(error).__name__}: {error}")
            return False
        is_stamped = "ts" in record or "timestamp" in record
        time = (stated if is_stamped else "") or log.time_at(place, record) or stated
        is_hidden = hidden.may_hold and hidden.holds(place, record)
        for message in messages:
            if is_hidden:
                message["metadata"]["in_context"] = False
            task.add(message, time)
        if not is_plain:
            self._read_fields(record, messages, hidden)
            log.table.markers.describe(place, messages[-1])
        log.tell_of(place, messages[-1])
        return True

    def _read_fields(self, record: JsonObject, messages: list[JsonObject], hidden: Hidden) -> None:
        """What a record says beside the time and the content of its messages."""
        hidden.cover(record, messages)
        last = messages[-1]
        if "metrics" in record and last["role"] == "assistant" and (tokens := tokens_of_metrics(record["metrics"])):
            last["tokens"] = tokens
        if record.get("isSummary") is True:
            covered = hidden.covered(record)
            if not covered:
                last["metadata"]["context_incomplete"] = True
            self._task.summaries.append(summary_of(last, record, covered))

    def _begin(self) -> None:
        """Put the system prompt before everything else, once."""
        task = self._task
        if task.is_begun:
            return
        task.is_begun = True
        made = system_message(task, self._about)
        if made is None:
            return
        message, time = made
        message["timestamp"] = time or task.created_at or task.last_time
        if not time:
            message["metadata"]["timestamp_inferred"] = True
            self._run.note(INFERRED_TIMESTAMP, message["message_id"])
        if task.messages:
            task.messages[0]["parent_message_id"] = message["message_id"]
        task.messages.insert(0, message)


def name_of(folder: Source) -> str:
    """The id of a task: the name of its folder."""
    if folder.name:
        return folder.stem
    if isinstance(folder.folder, DiskFolder):
        return folder.folder.path.absolute().name or "task"
    return PurePath(folder.label.replace("!", "/")).name or "task"


def _forget(records: Records) -> None:
    """Let go of records of which the next portion needs none."""
    for place in list(records)[: -2 * _AROUND]:
        del records[place]


def _scanned_ids(source: Source) -> set[str]:
    """The ids of summaries in a file that is too large to be held."""
    found: set[str] = set()
    rest = b""
    with source.open() as stream:
        while chunk := stream.read(_SCANNED_BYTES):
            found |= hiding_ids_in(rest + chunk)
            rest = chunk[-_OVERLAP_BYTES:]
    return found
