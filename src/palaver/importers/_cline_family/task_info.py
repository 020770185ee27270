"""Information about a task beyond its messages: its side files, the index of its storage, and the editor's state.

All of it may be missing. The index loses entries and lags behind, so the task folder takes precedence. Other tools
overwrite `task_metadata.json` with fields of their own: those with a known meaning are used, the rest is kept.

The editor's state also holds keys and other private data; only `taskHistory`, `customInstructions` and `customModes`
are read from it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._cline_family.product import PRODUCTS, custom_storages, product_of_path
from palaver.importers._cline_family.task_folder import FOCUS_CHAIN, HISTORY_ITEM, METADATA, SETTINGS, SIDE_FILES
from palaver.importers._shared.side_files import read_side_file
from palaver.importers._shared.vscode import STATE_FILE, read_state
from palaver.model.build import JsonObject
from palaver.redact.policy import MASK, mask_url
from palaver.sources.run import Run
from palaver.sources.small_files import count_file, json_document
from palaver.sources.source import Source

_FOCUS_BYTES = 1 << 20
_SECRET_NAME = re.compile(r"key|token|secret|passw|auth|header|credential|cookie", re.IGNORECASE)
_MASKED_TYPES = frozenset({str, list, dict})
_MAX_DEPTH = 20


@dataclass(slots=True)
class TaskInfo:
    """Everything known about a task beyond its messages."""

    item: JsonObject = field(default_factory=dict[str, Any])
    """The history item, from the index or from the task folder."""
    metadata: JsonObject = field(default_factory=dict[str, Any])
    custom: JsonObject = field(default_factory=dict[str, Any])
    """Other side files by name."""
    modes: list[JsonObject] = field(default_factory=list[JsonObject])
    instructions: str = ""

    def first_text(self, *names: str) -> str:
        """Return the first non-empty text among these fields, of the item before the metadata, or ""."""
        return next(_field_texts(names, self.item, self.metadata), "")

    def last_entry(self, name: str) -> JsonObject:
        """Return the last entry of a list in the metadata, or {}."""
        entries = self.metadata.get(name)
        if isinstance(entries, list) and entries and isinstance(entries[-1], dict):
            return entries[-1]
        return {}


def _field_texts(names: tuple[str, ...], *holders: JsonObject) -> Iterator[str]:
    for holder in holders:
        for name in names:
            if isinstance((value := holder.get(name)), str) and value:
                yield value


def read_task_info(folder: Source, task_id: str, run: Run) -> TaskInfo:
    """Read the side files of a task folder and query the storage around it."""
    info = TaskInfo()
    storage = Storage.around(folder)
    info.item = storage.item(task_id)
    info.modes = storage.modes()
    info.instructions = storage.instructions() or ""
    files, _ = folder.listing()
    for name in files:
        source = Source(folder.folder, name)
        if name in SIDE_FILES:
            for value in json_document(source, run):
                _add_side_file(info, source.stem, name, value)
                run.folded("conversation")
        elif name.startswith(FOCUS_CHAIN) and name.endswith(".md"):
            count_file(source, run)
            info.custom["focus_chain"] = _focus_chain(source)
            run.folded("conversation")
    return info


def _add_side_file(info: TaskInfo, stem: str, name: str, value: Any) -> None:
    if name == HISTORY_ITEM and isinstance(value, dict):
        info.item = {**info.item, **value}
    elif name == METADATA and isinstance(value, dict):
        info.metadata = value
    elif value not in (None, [], {}):
        info.custom[stem] = _mask_settings(value) if name == SETTINGS else value


def _mask_settings(value: Any, depth: int = 0) -> Any:
    """Mask credentials in settings: headers, keys, and passwords in URLs."""
    if depth > _MAX_DEPTH:
        return MASK
    match value:
        case dict():
            return {
                name: MASK
                if item and type(item) in _MASKED_TYPES and _SECRET_NAME.search(name)
                else _mask_settings(item, depth + 1)
                for name, item in value.items()
            }
        case list():
            return [_mask_settings(item, depth + 1) for item in value]
        case str() if "://" in value:
            return mask_url(value)
        case _:
            return value


def _focus_chain(source: Source) -> str:
    with source.open() as stream:
        return stream.read(_FOCUS_BYTES).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class _TaskState:
    """The part of an extension's global state that concerns tasks."""

    items: tuple[JsonObject, ...] = ()
    """The task history."""
    instructions: str | None = None
    modes: tuple[JsonObject, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.items or self.instructions or self.modes)


def _task_state(value: Any) -> _TaskState:
    """Extract the task state from a global state; the rest is dropped."""
    if not isinstance(value, dict):
        return _TaskState()
    instructions = value.get("customInstructions")
    return _TaskState(
        _objects(value.get("taskHistory")),
        instructions if isinstance(instructions, str) and instructions.strip() else None,
        _objects(value.get("customModes")),
    )


def _objects(value: Any) -> tuple[JsonObject, ...]:
    return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def _editor_state(database: Path, extension: str) -> _TaskState:
    """Read the state of an extension from an editor's `state.vscdb`."""
    return _task_state(read_state(database, extension))


_INDEX = "tasks/_index.json"
_TASK_HISTORY = "state/taskHistory.json"
_MODE_FILES = ("settings/custom_modes.yaml", "settings/custom_modes.json", "settings/cline_custom_modes.json")
_STATE_FILES = ("globalState.json", "global-state.json")
"""State files of products that run without an editor."""
_MODE_FIELDS = (
    *("slug", "name", "roleDefinition", "whenToUse", "description", "customInstructions", "groups", "source"),
)
_FileFingerprint = tuple[str, int, float | None]


class Storage:
    """The folder that holds the tasks of one installation, with their index, settings and state; read lazily."""

    def __init__(self, folder: Source | None) -> None:
        self._folder = folder

    @classmethod
    def around(cls, source: Source) -> "Storage":
        """Return the storage of a task folder `<storage>/tasks/<id>`, on disk or in a ZIP."""
        try:
            folder = _storage_folder(source)
            fingerprint = _fingerprint(folder)
        except (PalaverError, OSError, ValueError):
            return cls(None)
        if _cached_storage and _cached_storage[0][0] == fingerprint:
            return _cached_storage[0][1]
        storage = cls(folder)
        _cached_storage[:] = [(fingerprint, storage)]
        return storage

    def item(self, task_id: str) -> JsonObject:
        """Return the history item of a task, which must not be modified, or {}."""
        return self._items.get(task_id, _NO_ITEM)

    def modes(self) -> list[JsonObject]:
        """Return the user's custom modes, with known fields only."""
        found = _objects(self._settings_modes) or self._state.modes
        return [{name: mode[name] for name in _MODE_FIELDS if mode.get(name) is not None} for mode in found]

    def instructions(self) -> str | None:
        """Return the user's custom instructions for every task."""
        return self._state.instructions

    @cached_property
    def _items(self) -> dict[str, JsonObject]:
        """History items by task id: the index before `taskHistory.json`, both before the editor's state."""
        found: dict[str, JsonObject] = {}
        for item in self._listed_items():
            if isinstance((task_id := item.get("id")), str):
                found.setdefault(task_id, item)
        return found

    def _listed_items(self) -> Iterator[JsonObject]:
        if self._folder is None:
            return
        index = read_side_file(self._folder.sibling(_INDEX))
        if isinstance(index, dict):
            yield from _objects(index.get("entries"))
        yield from _objects(read_side_file(self._folder.sibling(_TASK_HISTORY)))
        yield from self._state.items

    @property
    def _settings_modes(self) -> Any:
        if self._folder is not None:
            for name in _MODE_FILES:
                value = read_side_file(self._folder.sibling(name))
                if isinstance(value, dict) and isinstance((modes := value.get("customModes")), list):
                    return modes
        return None

    @cached_property
    def _state(self) -> _TaskState:
        """The state in the storage, else that of editors that may own it."""
        if self._folder is None:
            return _TaskState()
        states = [_task_state(read_side_file(self._folder.sibling(name))) for name in _STATE_FILES]
        states += [_editor_state(database, extension) for database, extension in _editor_states(self._folder)]
        found = [state for state in states if not state.is_empty]
        if len(found) < 2 or _extensions_of(self._folder):
            return _merge_states(found)
        # The owner is unknown. Items are identified by task id, but instructions and modes might be another product's.
        return _TaskState(tuple(item for state in found for item in state.items))


_NO_ITEM: JsonObject = {}
_cached_storage: list[tuple[tuple[_FileFingerprint, ...], Storage]] = []
"""The last storage: tasks of one storage are read one after the other."""


def _merge_states(states: list[_TaskState]) -> _TaskState:
    """Merge several states of one product; earlier ones take precedence."""
    return _TaskState(
        tuple(item for state in states for item in state.items),
        next((state.instructions for state in states if state.instructions), None),
        next((state.modes for state in states if state.modes), ()),
    )


def _storage_folder(source: Source) -> Source | None:
    tasks = source.parent_folder()
    return None if tasks is None else tasks.parent_folder()


def _fingerprint(folder: Source | None) -> tuple[_FileFingerprint, ...]:
    """Return names, sizes and times of the files that show whether a storage has changed."""
    if folder is None:
        return ()
    above = folder.parent_folder()
    beside = [above.sibling(STATE_FILE)] if above is not None else []
    return tuple(
        _file_fingerprint(source) for source in (folder.sibling(_INDEX), folder.sibling(_TASK_HISTORY), *beside)
    )


def _file_fingerprint(source: Source) -> _FileFingerprint:
    return source.label, source.size_bytes, source.modified_at()


def _editor_states(folder: Source) -> list[tuple[Path, str]]:
    """Return the state databases of editors that may own this storage, each with an extension id."""
    above = folder.parent_folder()
    database = above.folder.path_of(STATE_FILE) if above is not None else None
    if database is not None and database.is_file():
        return [(database, extension) for extension in _extensions_of(folder) or _ALL_EXTENSIONS]
    here = folder.folder.path_of("")
    return [] if here is None else _states_of_custom_storage(here.absolute())


def _extensions_of(folder: Source) -> tuple[str, ...]:
    """Return the extensions that use a storage, judging by its path."""
    name = PurePath(folder.label.replace("!", "/")).name.lower()
    if name in _ALL_EXTENSIONS:
        return (name,)
    product = product_of_path(folder.label)
    return product.extensions if product is not None else ()


def _states_of_custom_storage(storage: Path) -> list[tuple[Path, str]]:
    """Return the state databases of editors whose settings name this folder as storage."""
    found: list[tuple[Path, str]] = []
    for product in PRODUCTS:
        user = custom_storages(product.settings).get(storage)
        if user is not None:
            found += [(user / "globalStorage" / STATE_FILE, extension) for extension in product.extensions]
    return found


_ALL_EXTENSIONS = tuple(extension for product in PRODUCTS for extension in product.extensions)
