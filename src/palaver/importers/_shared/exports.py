"""Exports of chat services: conversations in a JSON array, as a bare file, in a folder or in a ZIP.

ChatGPT, Claude.ai, DeepSeek and others all call this file `conversations.json`: whose it is, its shape tells.
"""

import io
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from palaver.errors import PalaverError
from palaver.importers._shared.contract import Match
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.elements import JsonElements
from palaver.sources.inflate import fast_zlib
from palaver.sources.jsonl import CUT_OFF
from palaver.sources.run import Run
from palaver.sources.source import Source

BAD_CONVERSATION = finding_kind(
    "bad-conversation", "error", "A conversation does not have the shape of one; its bytes are set aside."
)
AROUND_CONVERSATIONS = finding_kind(
    "around-conversations",
    "note",
    "Fields that stand around the list of conversations belong to none and are not kept.",
)

ANOTHER_STATE = finding_kind(
    "another-state", "note", "A conversation stands in the export more than once, in different states; all are kept."
)


_CONVERSATIONS = re.compile(r"conversations(?:[-_]?[0-9]+)?\.json")


@dataclass(frozen=True, slots=True)
class Service:
    """How one service's exports are told from those of others."""

    hallmark: bytes
    """Bytes that stand at the beginning of each of its files: a look at these costs next to nothing."""
    is_conversation: Callable[[JsonObject], bool]
    """Whether an object is one of its conversations; the end of it may be cut off."""
    reason: str
    """The shape in words."""
    belongs: Callable[[str], bool] = lambda _: False
    """Whether a file or folder of this name, beside the conversations, is part of the export."""

    def recognizes(self, source: Source) -> Match:
        if source.is_folder:
            files = files_in(source)
            if not any(map(self.owns, files)):
                return Match.no()
            beside = [name for names in source.listing() for name in names if self.belongs(name)]
            members = dict.fromkeys((*(file.name for file in files), *beside))
            size_bytes = sum(file.size_bytes for file in files)
            return Match.yes(f"a folder of {self.reason}", tuple(members), size_bytes=size_bytes)
        return Match.yes(self.reason) if self.owns(source) else Match.no()

    def owns(self, source: Source) -> bool:
        """Whether a file holds conversations of this service."""
        try:
            if self.hallmark not in source.head():
                return False
        except (PalaverError, OSError):
            return False  # whoever reads the export tells of it
        return any(self.is_conversation(conversation) for conversation in _glimpsed(source.glimpse()))

    def unwrapped(self, value: Any) -> tuple[JsonObject, JsonObject] | None:
        """A conversation and what is wrapped around it, as saved pages have it; None for what is no conversation."""
        if not isinstance(value, dict):
            return None
        if self.is_conversation(value):
            return value, {}
        for key, inner in value.items():
            if isinstance(inner, dict) and self.is_conversation(inner):
                return inner, {name: item for name, item in value.items() if name != key}
        return None


def files_in(folder: Source) -> list[Source]:
    """The files of an export that hold its conversations, by their names, in the order of their numbers."""
    return [Source(folder.folder, name) for name in folder.listing()[0] if _CONVERSATIONS.fullmatch(name)]


@contextmanager
def elements_of(source: Source, run: Run, *, label: str = "") -> Generator[JsonElements]:
    """The conversations of a file, one by one: of an array, of `{"conversations": [...]}`, or the one that it is.

    With a label, the file is one of several of an export: if it cannot be opened, the others are read all the same.
    """
    path: tuple[str, ...] = ()
    stream: BinaryIO = io.BytesIO(b"[]")
    try:
        match source.glimpse():
            case {"conversations": list()}:
                path = ("conversations",)
            case _:
                pass
        stream = source.open()
    except (PalaverError, OSError) as error:
        if not label:
            raise
        run.note(CUT_OFF, label, str(error), kept=False)
    with stream:
        elements = JsonElements(stream, run, path, label=label, takes_cut=True)
        yield elements
    if elements.wrapper:
        run.note(AROUND_CONVERSATIONS, elements.where(), ", ".join(elements.wrapper), kept=False)


def checksum(raw: bytes) -> tuple[int, int]:
    """The same as an element's, for a part of one."""
    return len(raw), fast_zlib.crc32(raw)


class Copies:
    """The conversations that were read, so that one that an export holds twice is kept once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._seen: dict[str, set[tuple[int, int]]] = {}

    def holds(self, conversation_id: str, state: tuple[int, int], where: str) -> bool:
        """Whether the same bytes came before under the same id; other bytes (by `checksum`) are another state of it."""
        states = self._seen.setdefault(conversation_id, set())
        if state in states:
            return True
        if states:
            self._run.note(ANOTHER_STATE, where, conversation_id)
        states.add(state)
        return False

    def __contains__(self, conversation_id: str) -> bool:
        return conversation_id in self._seen


def _glimpsed(value: Any) -> Iterator[JsonObject]:
    """What may be conversations at the beginning of a file."""
    match value:
        case list() | {"conversations": list()}:
            found = value if isinstance(value, list) else value["conversations"]
            yield from (item for item in found if isinstance(item, dict))
        case dict():
            yield value
            yield from (item for item in value.values() if isinstance(item, dict))
        case _:
            pass
