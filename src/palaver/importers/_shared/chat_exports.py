"""Exports of chat services: conversations in a JSON array, as a bare file, in a folder or in a ZIP.

ChatGPT, Claude.ai, DeepSeek and others all name this file `conversations.json`: only its shape identifies the service.
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
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.jsonl import CUT_OFF
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.zip.inflate import fast_zlib

AROUND_CONVERSATIONS = finding_kind(
    "around-conversations",
    "note",
    "Fields around the list of conversations belong to no conversation and are not kept.",
)
ANOTHER_STATE = finding_kind(
    "another-state", "note", "A conversation is in the export more than once, in different states; all are kept."
)

_CONVERSATION_FILE = re.compile(r"conversations(?:[-_]?[0-9]+)?\.json")


@dataclass(frozen=True, slots=True)
class Service:
    """How to recognize the exports of one chat service."""

    head_marker: bytes
    """Bytes in the head of each of its files; searching for them is a cheap first test."""
    is_conversation: Callable[[JsonObject], bool]
    """Return whether an object, possibly truncated, is a conversation of this service."""
    reason: str
    """A description of the files, shown as the reason of a match."""
    is_member: Callable[[str], bool] = lambda _: False
    """Return whether a file or folder of this name next to the conversations is part of the export."""

    def recognizes(self, source: Source) -> Match:
        if source.is_folder:
            files = conversation_files(source)
            if not any(map(self.recognizes_file, files)):
                return Match.no()
            beside = [name for names in source.listing() for name in names if self.is_member(name)]
            members = dict.fromkeys((*(file.name for file in files), *beside))
            size_bytes = sum(file.size_bytes for file in files)
            return Match.yes(f"a folder of {self.reason}", tuple(members), size_bytes=size_bytes)
        return Match.yes(self.reason) if self.recognizes_file(source) else Match.no()

    def recognizes_file(self, source: Source) -> bool:
        """Return whether a file contains conversations of this service."""
        try:
            if self.head_marker not in source.head():
                return False
        except (PalaverError, OSError):
            return False  # reported when the export is read
        return any(self.is_conversation(conversation) for conversation in _candidates(source.parsed_head()))

    def unwrap(self, value: Any) -> tuple[JsonObject, JsonObject] | None:
        """Return a conversation and the fields of an object around it, as in saved pages; None if there is none."""
        if not isinstance(value, dict):
            return None
        if self.is_conversation(value):
            return value, {}
        for key, inner in value.items():
            if isinstance(inner, dict) and self.is_conversation(inner):
                return inner, {name: item for name, item in value.items() if name != key}
        return None


def conversation_files(folder: Source) -> list[Source]:
    """Return the files of an export that contain conversations, by their names, in the order of their numbers."""
    return [Source(folder.folder, name) for name in folder.listing()[0] if _CONVERSATION_FILE.fullmatch(name)]


@contextmanager
def open_elements(source: Source, run: Run, *, label: str = "") -> Generator[JsonElements]:
    """Open the conversations of a file: an array, `{"conversations": [...]}`, or a single object.

    A label means that the file is one of several: if it cannot be opened, that is noted, and it counts as empty.
    """
    path: tuple[str, ...] = ()
    stream: BinaryIO = io.BytesIO(b"[]")
    try:
        match source.parsed_head():
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
        elements = JsonElements(stream, run, path, label=label, accepts_truncated=True)
        yield elements
    if elements.wrapper:
        run.note(AROUND_CONVERSATIONS, elements.where(), ", ".join(elements.wrapper), kept=False)


def checksum(raw: bytes) -> tuple[int, int]:
    """Compute the checksum of a part of an element, as `JsonElements.checksum` does for a whole one."""
    return len(raw), fast_zlib.crc32(raw)


class SeenConversations:
    """The conversations read so far, so that one that an export contains twice is imported once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._seen: dict[str, set[tuple[int, int]]] = {}

    def is_copy(self, conversation_id: str, state: tuple[int, int], where: str) -> bool:
        """Return whether this id was seen with this checksum; note it if it was seen only with others."""
        states = self._seen.setdefault(conversation_id, set())
        if state in states:
            return True
        if states:
            self._run.note(ANOTHER_STATE, where, conversation_id)
        states.add(state)
        return False

    def __contains__(self, conversation_id: str) -> bool:
        return conversation_id in self._seen


def _candidates(value: Any) -> Iterator[JsonObject]:
    """Yield the objects at the beginning of a file that may be conversations."""
    match value:
        case list() | {"conversations": list()}:
            found = value if isinstance(value, list) else value["conversations"]
            yield from (item for item in found if isinstance(item, dict))
        case dict():
            yield value
            yield from (item for item in value.values() if isinstance(item, dict))
        case _:
            pass
