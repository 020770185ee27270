"""Ids of messages that were already emitted: of a session too large for memory, kept on disk.

A session past the fragment size is emitted in fragments. A later line may still refer back (a parent link, a replayed
line, a late block of an answer), so ids must stay known. Memory holds eight bytes per line, and the ids of answers,
which are looked up often; the rest is in a temporary file, one chunk per fragment.
"""

from array import array
from bisect import bisect_left
from typing import Any

import orjson

from palaver.storage.spill import ValueSpill

_IDS_PER_GROUP = 1 << 15

Lines = dict[str, str]
Signatures = dict[str, int]
Answers = dict[str, tuple[str, dict[str, Any] | None]]


class _Group:
    """Chunks with the hashes of the ids in them: a set while the group grows, then a sorted array of 8 bytes each."""

    def __init__(self) -> None:
        self.chunks: list[int] = []
        """Offsets of the chunks."""
        self._growing: set[int] = set()
        self._sorted_keys = array("q")

    def add(self, ids: list[str], offset: int) -> bool:
        """Add a chunk; return False if the group is full."""
        self.chunks.append(offset)
        self._growing.update(map(hash, ids))
        if len(self._growing) < _IDS_PER_GROUP:
            return True
        self._sorted_keys = array("q", sorted(self._growing))
        self._growing = set()
        return False

    def may_contain(self, key: int) -> bool:
        if key in self._growing:
            return True
        index = bisect_left(self._sorted_keys, key)
        return index < len(self._sorted_keys) and self._sorted_keys[index] == key


class EmittedIds:
    """A lookup of emitted lines, messages and answers, backed by a temporary file."""

    def __init__(self) -> None:
        self._groups = [_Group()]
        self._answers: set[int] = set()
        self._chunks = ValueSpill[bytes](0)
        self._loaded: tuple[int, Any] = (-1, None)

    def add(self, lines: Lines, signatures: Signatures, answers: Answers) -> None:
        """Add lines (uuid: message id), messages (id: signature) and answers (API id: message id and usage)."""
        try:
            chunk = orjson.dumps((lines, signatures, answers))
        except TypeError:  # some usage is past 64 bits
            without = {api_id: (message_id, None) for api_id, (message_id, _) in answers.items()}
            chunk = orjson.dumps((lines, signatures, without))
        if not self._groups[-1].add([*lines, *answers], self._chunks.put(chunk)):
            self._groups.append(_Group())
        self._answers.update(map(hash, answers))

    def message_of_line(self, uuid: str) -> str | None:
        """Return the id of a line's message or of its nearest ancestor; "" for a root, None for an unknown line."""
        return self._find(uuid, 0)

    def signature(self, message_id: str) -> int | None:
        return self._find(message_id, 1)

    def answer(self, api_id: str) -> tuple[str, dict[str, Any]] | None:
        if hash(api_id) not in self._answers or (found := self._find(api_id, 2)) is None:
            return None
        return found[0], found[1] or {}

    def close(self) -> None:
        self._chunks.close()

    def _find(self, text: str, part: int) -> Any:
        """Look up an id, newest chunks first."""
        key = hash(text)
        for group in reversed(self._groups):
            if group.may_contain(key):
                for offset in reversed(group.chunks):
                    if (found := self._load(offset)[part].get(text)) is not None:
                        return found
        return None

    def _load(self, offset: int) -> Any:
        if self._loaded[0] != offset:
            self._loaded = (offset, orjson.loads(self._chunks.get(offset)))
        return self._loaded[1]


def signature(content: list[dict[str, Any]]) -> int:
    """Return a hash of a content, made of the length and both ends of its texts; never 0."""
    ends: list[Any] = []
    for block in content:
        for key in _SIGNED_FIELDS:
            if key in block:
                value = block[key]
                if isinstance(value, str):
                    ends += (len(value), value[:_END_LENGTH], value[-_END_LENGTH:])
                else:
                    ends.append(len(value) if isinstance(value, dict | list) else 1)
                break
    return hash(tuple(ends)) or 1


_SIGNED_FIELDS = ("text", "thinking", "content", "input", "raw")
_END_LENGTH = 48
