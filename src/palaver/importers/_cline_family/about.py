"""What the files beside a conversation say of the task: the history item, its metadata, what the storage knows.

Other tools overwrite `task_metadata.json` with fields of their own; those that say the same by other names are used,
the rest is kept.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from palaver.importers._cline_family.recognize import FOCUS_CHAIN, ITEM, METADATA, SETTINGS, SIDE_FILES
from palaver.importers._cline_family.storage import Storage
from palaver.model.build import JsonObject
from palaver.redact import MASK, masked_url
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import counted, json_document

_FOCUS_BYTES = 1 << 20
_SECRET = re.compile(r"key|token|secret|passw|auth|header|credential|cookie", re.IGNORECASE)
_HOLDERS = frozenset({str, list, dict})
_DEEPEST = 20


@dataclass(slots=True)
class About:
    item: JsonObject = field(default_factory=dict[str, Any])
    """What the index, or the file beside the conversation, says."""
    metadata: JsonObject = field(default_factory=dict[str, Any])
    custom: JsonObject = field(default_factory=dict[str, Any])
    """Other side files, by what they are called."""
    modes: list[JsonObject] = field(default_factory=list[JsonObject])
    instructions: str = ""

    def stated(self, *names: str) -> str:
        """The first of some fields that is stated, in the item before the metadata."""
        return next(_texts(names, self.item, self.metadata), "")

    def last(self, name: str) -> JsonObject:
        """The last entry of a list in the metadata."""
        entries = self.metadata.get(name)
        if isinstance(entries, list) and entries and isinstance(entries[-1], dict):
            return entries[-1]
        return {}


def _texts(names: tuple[str, ...], *holders: JsonObject) -> Iterator[str]:
    for holder in holders:
        for name in names:
            if isinstance((value := holder.get(name)), str) and value:
                yield value


def about_task(folder: Source, task_id: str, run: Run) -> About:
    """Read the side files of a task folder, and ask the storage around it."""
    about = About()
    storage = Storage.around(folder)
    about.item = storage.item(task_id)
    about.modes = storage.modes()
    about.instructions = storage.instructions() or ""
    files, _ = folder.listing()
    for name in files:
        source = Source(folder.folder, name)
        if name in SIDE_FILES:
            for value in json_document(source, run):
                _take(about, source.stem, name, value)
                run.folded("conversation")
        elif name.startswith(FOCUS_CHAIN) and name.endswith(".md"):
            counted(source, run)
            about.custom["focus_chain"] = _text(source)
            run.folded("conversation")
    return about


def _take(about: About, stem: str, name: str, value: Any) -> None:
    if name == ITEM and isinstance(value, dict):
        about.item = {**about.item, **value}
    elif name == METADATA and isinstance(value, dict):
        about.metadata = value
    elif value not in (None, [], {}):
        about.custom[stem] = _masked(value) if name == SETTINGS else value


def _masked(value: Any, depth: int = 0) -> Any:
    """Settings without what may let in: headers, keys, and passwords in addresses."""
    if depth > _DEEPEST:
        return MASK
    match value:
        case dict():
            return {
                name: MASK if one and type(one) in _HOLDERS and _SECRET.search(name) else _masked(one, depth + 1)
                for name, one in value.items()
            }
        case list():
            return [_masked(one, depth + 1) for one in value]
        case str() if "://" in value:
            return masked_url(value)
        case _:
            return value


def _text(source: Source) -> str:
    with source.open() as stream:
        return stream.read(_FOCUS_BYTES).decode(errors="replace")
