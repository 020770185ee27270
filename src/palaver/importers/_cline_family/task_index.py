"""Task indexes, read for tasks whose folder is gone: the index is all that is left of them.

Roo Code and Kilo Code keep `tasks/_index.json` (`{version, updatedAt, entries}`), Cline `state/taskHistory.json` (an
array). Entries of tasks that still have a folder are folded: reading the folder uses them.
"""

from collections.abc import Iterator
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._cline_family.product import CLINE, KILO_CODE, ROO_CODE, TASKS, Product, product_of_path
from palaver.importers._cline_family.task_folder import HISTORY, OLD_HISTORY, UI_LOG
from palaver.importers._shared.contract import Match
from palaver.importers._shared.findings import BAD_CONVERSATION, BAD_TIMESTAMP, INFERRED_TIMESTAMP
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.run import Run
from palaver.sources.small_files import LARGEST_BYTES, count_file, read_at_most
from palaver.sources.source import Source

MISSING_TASK_FOLDER = finding_kind(
    "missing-task-folder", "note", "The folder of a task is missing; its entry in the index is kept."
)

FORM = "index"
INDEX = "_index.json"
HISTORY_FILE = "taskHistory.json"

_ROO_FIELDS = ("number", "workspace", "mode", "apiConfigName")
_CLINE_FIELDS = ("ulid", "cwdOnTaskInitialization", "conversationHistoryDeletedRange", "modelId", "isFavorited")
_TOTALS = ("tokensIn", "tokensOut", "cacheWrites", "cacheReads", "totalCost", "size")
_MAPPED = frozenset({*_TOTALS, "id", "ts", "task"})
_MAX_TITLE_LENGTH = 120


def recognize_index(source: Source, product: Product) -> Match:
    if source.is_folder or source.file_name not in {INDEX, HISTORY_FILE}:
        return Match.no()
    try:
        entries = _entries(source.parsed_head(), source.file_name)
    except (PalaverError, OSError):
        return Match.no()
    if entries is None or _owner(source, entries) is not product:
        return Match.no()
    return Match.yes(f"an index of tasks of {product.title}", form=FORM)


def _entries(value: Any, name: str) -> list[Any] | None:
    """Return the entries of an index, or None if the value is not an index."""
    match value:
        case {"version": _, "entries": list() as entries} if name == INDEX:
            return entries
        case list() if name == HISTORY_FILE:
            return value
        case _:
            return None


def _owner(source: Source, entries: list[Any]) -> Product | None:
    """Return the product of an index, by its path, else by its entries; None if they are not tasks."""
    items = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    product = product_of_path(source.label)
    if product is not None:
        return product if items or not entries else None
    if not any("task" in item and "ts" in item for item in items):
        return None
    if any(name in item for item in items for name in _ROO_FIELDS):
        return KILO_CODE if any("isFavorited" in item for item in items) else ROO_CODE
    if any(name in item for item in items for name in _CLINE_FIELDS):
        return CLINE
    return ROO_CODE if source.file_name == INDEX else CLINE


def read_index(source: Source, run: Run, product: Product) -> Iterator[JsonObject]:
    tasks = _tasks_folder(source)
    names = set(tasks.listing()[1]) if tasks is not None else set[str]()
    path = ("entries",) if source.file_name == INDEX else ()
    with source.open() as stream:
        elements = JsonElements(stream, run, path, accepts_truncated=True)
        for entry in elements:
            if not isinstance(entry, dict):
                run.quarantined(NOT_AN_OBJECT, elements.raw, elements.where())
                continue
            task_id = entry.get("id")
            if not isinstance(task_id, str) or not task_id:
                run.quarantined(BAD_CONVERSATION, elements.raw, elements.where(), "an entry without the id of a task")
            elif tasks is not None and task_id in names and _has_history(tasks.subfolder(task_id)):
                run.folded("conversation")
            else:
                run.note(MISSING_TASK_FOLDER, elements.where(), f"task {task_id!r:.80}")
                yield _Entry(task_id, entry, source, product).document(run, elements.where())
                run.mapped()
    if not elements.number:
        _quarantine_file(source, run)


def _tasks_folder(source: Source) -> Source | None:
    """Return the folder with the tasks of an index, or None."""
    above = source.parent_folder()
    if above is None or source.file_name == INDEX:
        return above
    storage = above.parent_folder()
    return storage.subfolder(TASKS) if storage is not None else None


def _has_history(folder: Source) -> bool:
    return any(folder.sibling(name).exists() for name in (HISTORY, OLD_HISTORY, UI_LOG))


def _quarantine_file(source: Source, run: Run) -> None:
    """Quarantine a file without entries, unless it is an empty index."""
    if _entries(source.parsed_head(), source.file_name) == []:
        return
    with source.open() as stream:
        raw = read_at_most(stream, LARGEST_BYTES)
    if raw.strip():
        count_file(source, run)
        run.quarantined(BAD_CONVERSATION, raw, source.name, "there are no tasks in it")


class _Entry:
    """An index entry of a task whose folder is gone."""

    def __init__(self, task_id: str, entry: JsonObject, source: Source, product: Product) -> None:
        self._task_id = task_id
        self._entry = entry
        self._rest = {name: value for name, value in entry.items() if name not in _MAPPED and value is not None}
        self._source = source
        self._product = product

    def document(self, run: Run, where: str) -> JsonObject:
        last = timestamp_or_empty(self._entry.get("ts"))
        if not last and self._entry.get("ts") is not None:
            run.note(BAD_TIMESTAMP, where, f"ts {self._entry['ts']!r:.60}")
            self._rest["ts"] = self._entry["ts"]
        created_at = self._start_time() or last or self._source.written_at()
        platform: JsonObject = {"name": self._product.platform}
        if model := self._pop_text("modelId"):
            platform["model"] = model
        parent = self._pop_text("parentTaskId")
        session: JsonObject = {"session_id": self._task_id, "is_sidechain": bool(parent)}
        if parent:
            session["parent_conversation_id"] = parent
        context = self._context()
        messages = self._messages(created_at, is_subtask=bool(parent))
        if messages and not self._start_time():
            messages[0]["metadata"]["timestamp_inferred"] = True
            run.note(INFERRED_TIMESTAMP, where)
        if self._rest:
            platform["metadata"] = self._rest
        return build.conversation(
            conversation_id=self._task_id,
            title=self._title(),
            platform=platform,
            session=session,
            context=context,
            created_at=created_at,
            updated_at=last or None,
            status="archived",
            messages=messages,
        )

    def _start_time(self) -> str:
        """Return the time in the task id, or ""; older ids are epoch milliseconds."""
        is_time = len(self._task_id) == 13 and self._task_id.isascii() and self._task_id.isdecimal()
        return timestamp_or_empty(int(self._task_id)) if is_time else ""

    def _pop_text(self, name: str) -> str:
        value = self._rest.get(name)
        if not isinstance(value, str) or not value:
            return ""
        del self._rest[name]
        return value

    def _title(self) -> str | None:
        task = self._entry.get("task")
        return task.strip().split("\n", 1)[0].strip()[:_MAX_TITLE_LENGTH] or None if isinstance(task, str) else None

    def _context(self) -> JsonObject | None:
        context: JsonObject = {}
        if folder := self._pop_text("workspace") or self._pop_text("cwdOnTaskInitialization"):
            context["workspace"] = {"path": folder}
        if totals := {name: self._entry[name] for name in _TOTALS if self._entry.get(name) is not None}:
            context["custom"] = totals
        return context or None

    def _messages(self, timestamp: str, *, is_subtask: bool) -> list[JsonObject]:
        """Return the only message that is left: the prompt that started the task."""
        task = self._entry.get("task")
        if not isinstance(task, str) or not task.strip():
            if task is not None:
                self._rest["task"] = task
            return []
        return [
            build.message(
                message_id=f"{self._task_id}:0",
                role="user",
                timestamp=timestamp,
                content=[build.text(task)],
                metadata={"author_kind": "model" if is_subtask else "human", "context_incomplete": True},
            )
        ]
