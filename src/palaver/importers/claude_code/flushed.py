"""What was already handed out of a session too large for memory: looked up rarely, kept on disk.

A session past the fragment size leaves in pieces. A later line may still point back (a parent link, a replayed line,
a late block of an answer), so ids must stay known. Memory holds eight bytes a line, and the ids of answers, which are
asked for often; the rest is in a temporary file, a piece for each fragment.
"""

import tempfile
from array import array
from bisect import bisect_left
from typing import Any

import orjson

_IDS_A_GROUP = 1 << 15

Lines = dict[str, str]
Signatures = dict[str, int]
Answers = dict[str, tuple[str, dict[str, Any] | None]]


class _Group:
    """Some pieces, with a number for each id in them: a set while they grow, eight bytes each when they are many."""

    def __init__(self) -> None:
        self.pieces: list[tuple[int, int]] = []
        self._open: set[int] = set()
        self._closed = array("q")

    def add(self, ids: list[str], start: int, size: int) -> bool:
        """Take in a piece; False when there is no room for another one."""
        self.pieces.append((start, size))
        self._open.update(map(hash, ids))
        if len(self._open) < _IDS_A_GROUP:
            return True
        self._closed = array("q", sorted(self._open))
        self._open = set()
        return False

    def may_hold(self, key: int) -> bool:
        if key in self._open:
            return True
        index = bisect_left(self._closed, key)
        return index < len(self._closed) and self._closed[index] == key


class Flushed:
    def __init__(self) -> None:
        self._groups = [_Group()]
        self._answers: set[int] = set()
        self._file = tempfile.TemporaryFile(prefix="palaver-")  # noqa: SIM115 - closed in `close`
        self._loaded: tuple[int, Any] = (-1, None)

    def add(self, lines: Lines, signatures: Signatures, answers: Answers) -> None:
        """Remember lines as uuid: message id, messages as id: signature, answers as API id: (message id, usage)."""
        try:
            piece = orjson.dumps((lines, signatures, answers))
        except TypeError:  # some usage is past 64 bits
            without = {api_id: (message_id, None) for api_id, (message_id, _) in answers.items()}
            piece = orjson.dumps((lines, signatures, without))
        if not self._groups[-1].add([*lines, *answers], self._file.seek(0, 2), len(piece)):
            self._groups.append(_Group())
        self._file.write(piece)
        self._answers.update(map(hash, answers))

    def line(self, uuid: str) -> str | None:
        """The id of the message that a line was or hung on; empty for one that hung on none."""
        return self._find(uuid, 0)

    def signature(self, message_id: str) -> int | None:
        return self._find(message_id, 1)

    def answer(self, api_id: str) -> tuple[str, dict[str, Any]] | None:
        if hash(api_id) not in self._answers or (found := self._find(api_id, 2)) is None:
            return None
        return found[0], found[1] or {}

    def close(self) -> None:
        self._file.close()

    def _find(self, text: str, part: int) -> Any:
        """Look for an id, in the newest pieces first."""
        key = hash(text)
        for group in reversed(self._groups):
            if group.may_hold(key):
                for start, size in reversed(group.pieces):
                    if (found := self._load(start, size)[part].get(text)) is not None:
                        return found
        return None

    def _load(self, start: int, size: int) -> Any:
        if self._loaded[0] != start:
            self._file.seek(start)
            self._loaded = (start, orjson.loads(self._file.read(size)))
        return self._loaded[1]


def signature(content: list[dict[str, Any]]) -> int:
    """A number that tells different contents apart, by the length and both ends of their texts; never 0."""
    ends: list[Any] = []
    for block in content:
        for key in _SIGNED:
            if key in block:
                value = block[key]
                if isinstance(value, str):
                    ends += (len(value), value[:_END], value[-_END:])
                else:
                    ends.append(len(value) if value.__class__ in _SIZED else 1)
                break
    return hash(tuple(ends)) or 1


_SIGNED = ("text", "thinking", "content", "input", "raw")
_SIZED = (dict, list)
_END = 48
