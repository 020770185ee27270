"""The storage around a task folder: what its index, its settings and the editor know of the task.

An index loses entries and lags behind, so it only adds to what a task folder says; all of it may be missing.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._cline_family.product import PRODUCTS, product_of_path
from palaver.importers._cline_family.state import State, custom_storages, objects_in, remembered_state, state_in
from palaver.importers._shared.side_files import side_value
from palaver.importers._shared.vscode import STATE
from palaver.model.build import JsonObject
from palaver.sources.source import Source

_INDEX = "tasks/_index.json"
_HISTORY = "state/taskHistory.json"
_MODES = ("settings/custom_modes.yaml", "settings/custom_modes.json", "settings/cline_custom_modes.json")
_MEMORIES = ("globalState.json", "global-state.json")
"""Where products without an editor around them remember."""
_MODE_FIELDS = (
    *("slug", "name", "roleDefinition", "whenToUse", "description", "customInstructions", "groups", "source"),
)
_Stamp = tuple[str, int, float | None]


class Storage:
    """What is known around the tasks of one storage; everything is looked up when it is first asked for."""

    def __init__(self, folder: Source | None) -> None:
        self._folder = folder

    @classmethod
    def around(cls, source: Source) -> "Storage":
        """The storage of a task folder `<storage>/tasks/<id>`, whether it is on disk or in a ZIP."""
        try:
            folder = _storage_of(source)
            stamps = _stamps(folder)
        except (PalaverError, OSError, ValueError):
            return cls(None)
        if _last and _last[0][0] == stamps:
            return _last[0][1]
        storage = cls(folder)
        _last[:] = [(stamps, storage)]
        return storage

    def item(self, task_id: str) -> JsonObject:
        """What the storage knows of a task, of which nothing may be changed; empty where it knows nothing."""
        return self._items.get(task_id, _NOTHING)

    def modes(self) -> list[JsonObject]:
        """The user's own modes, with the fields that a mode has."""
        found = objects_in(self._settings_modes) or self._state.modes
        return [{name: mode[name] for name in _MODE_FIELDS if mode.get(name) is not None} for mode in found]

    def instructions(self) -> str | None:
        """What the user wants a model to be told in every task."""
        return self._state.instructions

    @cached_property
    def _items(self) -> dict[str, JsonObject]:
        """What is known of each task; an index goes before a history, and both before what an editor remembers."""
        found: dict[str, JsonObject] = {}
        for item in self._listed_items():
            if isinstance((task_id := item.get("id")), str):
                found.setdefault(task_id, item)
        return found

    def _listed_items(self) -> Iterator[JsonObject]:
        if self._folder is None:
            return
        index = side_value(self._folder.beside(_INDEX))
        if isinstance(index, dict):
            yield from objects_in(index.get("entries"))
        yield from objects_in(side_value(self._folder.beside(_HISTORY)))
        yield from self._state.items

    @property
    def _settings_modes(self) -> Any:
        if self._folder is not None:
            for name in _MODES:
                value = side_value(self._folder.beside(name))
                if isinstance(value, dict) and isinstance((modes := value.get("customModes")), list):
                    return modes
        return None

    @cached_property
    def _state(self) -> State:
        """The memory in the storage, else what editors remember."""
        if self._folder is None:
            return State()
        states = [state_in(side_value(self._folder.beside(name))) for name in _MEMORIES]
        states += [remembered_state(memory, extension) for memory, extension in _memories(self._folder)]
        told = [state for state in states if not state.is_empty]
        if len(told) < 2 or _extensions_of(self._folder):
            return _joined(told)
        # Whose storage it is nobody says: a task is told by its id, instructions are not.
        return State(tuple(item for state in told for item in state.items))


_NOTHING: JsonObject = {}
_last: list[tuple[tuple[_Stamp, ...], Storage]] = []
"""The storage that was asked for last: its tasks come one after the other."""


def _joined(states: list[State]) -> State:
    """What several memories of one product say, the first of them before the others."""
    return State(
        tuple(item for state in states for item in state.items),
        next((state.instructions for state in states if state.instructions), None),
        next((state.modes for state in states if state.modes), ()),
    )


def _storage_of(source: Source) -> Source | None:
    tasks = source.above()
    return None if tasks is None else tasks.above()


def _stamps(folder: Source | None) -> tuple[_Stamp, ...]:
    """What tells whether a storage is as it was."""
    if folder is None:
        return ()
    above = folder.above()
    beside = [above.beside(STATE)] if above is not None else []
    return tuple(_stamp(source) for source in (folder.beside(_INDEX), folder.beside(_HISTORY), *beside))


def _stamp(source: Source) -> _Stamp:
    return source.label, source.size_bytes, source.modified_at()


def _memories(folder: Source) -> list[tuple[Path, str]]:
    """The memories of editors that this may be a storage of, with the ids of the extensions whose it may be."""
    above = folder.above()
    around = above.folder.path_of(STATE) if above is not None else None
    if around is not None and around.is_file():
        return [(around, extension) for extension in _extensions_of(folder) or _EVERY_EXTENSION]
    here = folder.folder.path_of("")
    return [] if here is None else _elsewhere(here.absolute())


def _extensions_of(folder: Source) -> tuple[str, ...]:
    """The extensions that store in a folder, as far as its path tells."""
    name = PurePath(folder.label.replace("!", "/")).name.lower()
    if name in _EVERY_EXTENSION:
        return (name,)
    product = product_of_path(folder.label)
    return product.extensions if product is not None else ()


def _elsewhere(storage: Path) -> list[tuple[Path, str]]:
    """The memories of editors whose settings name a folder."""
    found: list[tuple[Path, str]] = []
    for product in PRODUCTS:
        user = custom_storages(product.settings).get(storage)
        if user is not None:
            found += [(user / "globalStorage" / STATE, extension) for extension in product.extensions]
    return found


_EVERY_EXTENSION = tuple(extension for product in PRODUCTS for extension in product.extensions)
