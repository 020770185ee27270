"""What lies around a session in Continue's folder: the index, the config, typed prompts, logged events."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from palaver.importers.continue_dev import index
from palaver.importers.continue_dev.config import Models, models_in
from palaver.importers.continue_dev.dev_data import DevData
from palaver.importers.continue_dev.index import Row
from palaver.importers.continue_dev.layout import CONFIGS, DEV_DATA, INDEX, SESSIONS, TYPED
from palaver.importers.continue_dev.typed import Typed
from palaver.model.build import JsonObject
from palaver.sources.run import Run
from palaver.sources.source import Source

_KEPT = 2
_Stamp = tuple[tuple[str, int, float | None], ...]


class Surroundings(NamedTuple):
    rows: dict[str, Row]
    models: Models
    typed: Typed
    dev_data: DevData


def nothing_around() -> Surroundings:
    return Surroundings({}, {}, Typed(), DevData())


def config_of(root: Source) -> Source | None:
    """The config that counts: the newer one, if there is one."""
    files = root.listing()[0]
    return next((Source(root.folder, name) for name in CONFIGS if name in files), None)


def dev_data_files(root: Source) -> list[Source]:
    """The logs of events, in the order of their names."""
    if DEV_DATA not in root.listing()[1]:
        return []
    return [file for file in root.under(DEV_DATA) if file.suffix == ".jsonl"]


def around(session: Source) -> Surroundings:
    """What lies around a session's file, read and not counted; nothing where it lies elsewhere."""
    root = root_of(session)
    if root is None:
        return nothing_around()
    sessions = root.within(SESSIONS)
    files = [Source(sessions.folder, INDEX), *filter(None, [config_of(root)]), Source(root.folder, TYPED)]
    files += dev_data_files(root)
    stamp = tuple((file.label, file.size_bytes, file.modified_at()) for file in files)
    if stamp in _recent:
        _recent.move_to_end(stamp)
        return _recent[stamp]
    _recent[stamp] = found = _read(root, Source(sessions.folder, INDEX))
    if len(_recent) > _KEPT:
        _recent.popitem(last=False)
    return found


_recent: OrderedDict[_Stamp, Surroundings] = OrderedDict()


def root_of(file: Source, folder: str = SESSIONS) -> Source | None:
    """Continue's folder, if a file lies in its `sessions`."""
    inside = file.above()
    root = inside.above() if inside is not None else None
    if root is None:
        return None
    twin = Source(root.within(folder).folder, file.name.rpartition("/")[2])
    is_same = twin.exists() and (twin.size_bytes, twin.modified_at()) == (file.size_bytes, file.modified_at())
    return root if is_same else None


def _read(root: Source, rows: Source) -> Surroundings:
    run = Run(root.label)
    found = nothing_around()
    if rows.exists():
        found.rows.update((row.session_id, row) for row in index.read_rows(rows, run))
    if (config := config_of(root)) is not None:
        found.models.update(models_in(config) or {})
    if TYPED in root.listing()[0]:
        found.typed.read(Source(root.folder, TYPED), run)
    _exhaust(found.dev_data.read(dev_data_files(root), run, joins_only=True))
    return found


def _exhaust(documents: Iterator[JsonObject]) -> None:
    for _ in documents:
        pass
