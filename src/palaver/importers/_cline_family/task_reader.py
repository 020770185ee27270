"""Reader for a task folder: the API history and the UI log become one conversation.

A history larger than 32 MB is read in portions of 4 MB, each emitted as a fragment.
"""

import json
from collections.abc import Generator, Iterator
from pathlib import PurePath

from palaver.errors import PalaverError
from palaver.importers._cline_family.condensation import (
    HiddenRecords,
    deleted_range,
    hiding_ids,
    scan_hiding_ids,
    summary_of,
)
from palaver.importers._cline_family.document import document, start_time, system_message
from palaver.importers._cline_family.history import BASE_FIELDS, History
from palaver.importers._cline_family.product import Product
from palaver.importers._cline_family.requests import tokens_of_metrics
from palaver.importers._cline_family.task import Task
from palaver.importers._cline_family.task_folder import HISTORY, OLD_HISTORY, UI_LOG, task_folder
from palaver.importers._cline_family.task_info import TaskInfo, read_task_info
from palaver.importers._cline_family.ui_log import UiLog
from palaver.importers._shared.findings import INFERRED_TIMESTAMP, UNFORESEEN
from palaver.model.build import JsonObject
from palaver.sources.arrays.elements import WholeElements, open_elements
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.folders import DiskFolder
from palaver.sources.run import Run
from palaver.sources.small_files import UNREADABLE_SIDE_FILE, count_file
from palaver.sources.source import Source

Records = dict[int, JsonObject]

LARGE_BYTES = 1 << 25
PORTION_BYTES = 1 << 22
_SHARED_RECORDS = 4
"""Number of records before and after a portion to hold as well, since UI rows are searched in them, too."""
_CHUNK_BYTES = 1 << 20
_OVERLAP_BYTES = 1 << 10


def read_task(source: Source, run: Run, product: Product) -> Iterator[JsonObject]:
    """Read the conversation of a task folder, or of a single file of one."""
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
        self._task = Task(task_id_of(folder), product.platform, run, self._written_at)
        self._info = TaskInfo()
        self._bytes_read = 0

    def _written_at(self) -> str:
        names = [name for name in (HISTORY, OLD_HISTORY, UI_LOG) if name in self._files] or self._files
        return max(Source(self._folder.folder, name).written_at() for name in names)

    def read(self) -> Iterator[JsonObject]:
        task = self._task
        self._info = read_task_info(self._folder, task.task_id, self._run)
        task.last_time = start_time(task.task_id)
        # The input is freed before the last document is emitted: writing that takes memory as well.
        if (yield from self._read_conversation()) or task.messages or task.sequence:
            self._insert_system_prompt()
            yield document(task, self._info, is_final=True)

    def _read_conversation(self) -> Generator[JsonObject, None, bool]:
        """Read both files and yield all documents but the last; return False if both are empty."""
        task = self._task
        log = UiLog(task, self._objects(Source(self._folder.folder, UI_LOG)) if UI_LOG in self._files else ())
        name = next((name for name in (HISTORY, OLD_HISTORY) if name in self._files), "")
        if name == HISTORY and OLD_HISTORY in self._files:
            count_file(Source(self._folder.folder, OLD_HISTORY), self._run)
            self._run.skipped("older-copy")
        if not task.last_time:
            task.last_time = log.table.first_time() or self._written_at()
        if name:
            yield from self._read_history(Source(self._folder.folder, name), log)
        log.finish()
        return bool(name or len(log.table))

    def _objects(self, source: Source) -> Iterator[JsonObject]:
        """Yield the objects of a JSON array and set `_bytes_read` before each; it stays 0 for a file read at once."""
        try:
            with open_elements(source, self._run, label=source.name) as elements:
                if isinstance(elements, WholeElements) and (objects := elements.objects()) is not None:
                    self._bytes_read = 0
                    yield from objects
                    return
                for value in elements:
                    if isinstance(value, dict):
                        self._bytes_read = elements.bytes_read
                        yield value
                    else:
                        self._run.quarantined(NOT_AN_OBJECT, elements.raw, elements.where())
        except (PalaverError, OSError) as error:
            self._run.note(UNREADABLE_SIDE_FILE, source.name, str(error), kept=False)

    def _read_history(self, source: Source, log: UiLog) -> Iterator[JsonObject]:
        hidden: HiddenRecords | None = None
        history = History(self._task)
        for records, indexes, is_last in self._portions(source):
            if hidden is None:
                ids = hiding_ids(records.values()) if is_last else _scan_ids(source)
                stated = self._info.item.get("conversationHistoryDeletedRange")
                hidden = HiddenRecords(ids, deleted_range(stated, *log.table.deleted_ranges))
            log.prepare(records)
            read = [self._read_record(index, records[index], history, log, hidden) for index in indexes]
            self._run.mapped(read.count(True))
            if not is_last:
                _drop_emitted(records)
                self._insert_system_prompt()
                yield document(self._task, self._info, is_final=False)

    def _portions(self, source: Source) -> Iterator[tuple[Records, range, bool]]:
        """Yield portions: the records by index, the range of indexes to read now, and whether it is the last."""
        portion: Records = {}
        limit = PORTION_BYTES if source.size_bytes > LARGE_BYTES else LARGE_BYTES
        first = index = 0
        for index, record in enumerate(self._objects(source)):
            portion[index] = record
            if self._bytes_read > limit and index - first > 2 * _SHARED_RECORDS:
                limit = self._bytes_read + PORTION_BYTES
                yield portion, range(first, index + 1 - _SHARED_RECORDS), False
                first = index + 1 - _SHARED_RECORDS
                portion = {held: portion[held] for held in range(first - _SHARED_RECORDS, index + 1)}
        yield portion, range(first, index + 1 if portion else 0), True

    def _read_record(self, index: int, record: JsonObject, history: History, log: UiLog, hidden: HiddenRecords) -> bool:
        """Read a record; return False if it was quarantined."""
        task = self._task
        is_plain = BASE_FIELDS.issuperset(record)
        log.emit_before(index, record.get("ts"))
        try:
            messages, stated = history.messages(index, record, is_plain=is_plain)
        except Exception as error:  # noqa: BLE001 - a bug must not lose the other messages
            where, raw = f"{task.task_id}:{index}", json.dumps(record).encode()
            self._run.quarantined(UNFORESEEN, raw, where, f"{type(error).__name__}: {error}")
            return False
        log.restore_typed(messages)
        is_stamped = "ts" in record or "timestamp" in record
        time = (stated if is_stamped else "") or log.time_at(index, record) or stated
        is_hidden = hidden.has_any and hidden.contains(index, record)
        for message in messages:
            if is_hidden:
                message["metadata"]["in_context"] = False
            task.add(message, time)
        if not is_plain:
            self._read_fields(record, messages, hidden)
            log.table.markers.annotate(index, messages[-1])
        log.emit_turn(index, messages[-1])
        return True

    def _read_fields(self, record: JsonObject, messages: list[JsonObject], hidden: HiddenRecords) -> None:
        """Apply the fields of a record other than time and content: usage and summaries."""
        hidden.add_covered(record, messages)
        last = messages[-1]
        if "metrics" in record and last["role"] == "assistant" and (tokens := tokens_of_metrics(record["metrics"])):
            last["tokens"] = tokens
        if record.get("isSummary") is True:
            covered = hidden.covered_ids(record)
            if not covered:
                last["metadata"]["context_incomplete"] = True
            self._task.summaries.append(summary_of(last, record, covered))

    def _insert_system_prompt(self) -> None:
        """Insert the system prompt before the first message, once."""
        task = self._task
        if task.has_started:
            return
        task.has_started = True
        prompt = system_message(task, self._info)
        if prompt is None:
            return
        message, time = prompt
        message["timestamp"] = time or task.created_at or task.last_time
        if not time:
            message["metadata"]["timestamp_inferred"] = True
            self._run.note(INFERRED_TIMESTAMP, message["message_id"])
        if task.messages:
            task.messages[0]["parent_message_id"] = message["message_id"]
        task.messages.insert(0, message)


def task_id_of(folder: Source) -> str:
    """Return the id of a task, which is the name of its folder."""
    if folder.name:
        return folder.stem
    if isinstance(folder.folder, DiskFolder):
        return folder.folder.path.absolute().name or "task"
    return PurePath(folder.label.replace("!", "/")).name or "task"


def _drop_emitted(records: Records) -> None:
    """Drop the records that the next portion does not need."""
    for index in list(records)[: -2 * _SHARED_RECORDS]:
        del records[index]


def _scan_ids(source: Source) -> set[str]:
    """Return the ids of summaries and markers in a large file, read in chunks."""
    found: set[str] = set()
    rest = b""
    with source.open() as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            found |= scan_hiding_ids(rest + chunk)
            rest = chunk[-_OVERLAP_BYTES:]
    return found
