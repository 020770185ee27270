"""What was already handed out of a session too large for memory: looked up rarely, kept on disk.

A session past the fragment size leaves in pieces. A later line may still point back (a parent link, a replayed line,
a late block of an answer), so ids must stay known. Memory holds eight bytes an id; the rest is in a temporary file, a
piece for each fragment, read again only when an id of it turns up. A bitmap answers nearly every question before that.
"""

import tempfile
from array import array
from bisect import bisect_left
from typing import Any

import orjson

_BITS = 26
_MASK = (1 << _BITS) - 1

Lines = dict[str, tuple[str, int]]
Answers = dict[str, tuple[str, dict[str, Any] | None]]


class Flushed:
    def __init__(self) -> None:
        self._bits = bytearray(1 << (_BITS - 3))
        self._keys: list[array[int]] = []
        self._places: list[tuple[int, int]] = []
        self._file = tempfile.TemporaryFile(prefix="palaver-")  # noqa: SIM115 - closed in `close`
        self._loaded: tuple[int, Any] = (-1, None)

    def add(self, lines: Lines, answers: Answers) -> None:
        """Remember lines as uuid: (message id, content signature), and answers as API id: (message id, usage)."""
        keys = sorted([*map(hash, lines), *map(hash, answers)])
        bits = self._bits
        for key in keys:
            bit = key & _MASK
            bits[bit >> 3] |= 1 << (bit & 7)
        self._keys.append(array("q", keys))
        try:
            piece = orjson.dumps((lines, answers))
        except TypeError:  # some usage is past 64 bits
            piece = orjson.dumps((lines, {api_id: (message_id, None) for api_id, (message_id, _) in answers.items()}))
        self._places.append((self._file.seek(0, 2), len(piece)))
        self._file.write(piece)

    def may_hold(self, text: str) -> bool:
        bit = hash(text) & _MASK
        return self._bits[bit >> 3] & (1 << (bit & 7)) != 0

    def line(self, uuid: str) -> tuple[str, int] | None:
        return self._find(uuid, 0)

    def answer(self, api_id: str) -> tuple[str, dict[str, Any]] | None:
        found = self._find(api_id, 1)
        return None if found is None else (found[0], found[1] or {})

    def close(self) -> None:
        self._file.close()

    def _find(self, text: str, part: int) -> Any:
        """Look for an id, in the newest fragment first."""
        if not self.may_hold(text):
            return None
        key = hash(text)
        for number in range(len(self._keys) - 1, -1, -1):
            keys = self._keys[number]
            index = bisect_left(keys, key)
            if index < len(keys) and keys[index] == key and (found := self._load(number)[part].get(text)) is not None:
                return found
        return None

    def _load(self, number: int) -> Any:
        if self._loaded[0] != number:
            start, size = self._places[number]
            self._file.seek(start)
            self._loaded = (number, orjson.loads(self._file.read(size)))
        return self._loaded[1]


def signature(content: list[dict[str, Any]]) -> int:
    """A number that tells different contents apart, by the length and both ends of their texts; never 0."""
    ends: list[Any] = []
    for block in content:
        for key in _SIGNED:
            if key in block:
                value = block[key]
                if value.__class__ is str:
                    ends += (len(value), value[:_END], value[-_END:])
                else:
                    ends.append(len(value) if value.__class__ in _SIZED else 1)
                break
    return hash(tuple(ends)) or 1


_SIGNED = ("text", "thinking", "content", "input", "raw")
_SIZED = (dict, list)
_END = 48
