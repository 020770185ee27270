"""Groups that outgrow memory: values by key, beyond a limit in a temporary file.

When the values in memory are more than the limit, they are written in parts: keys that came at about the same time are
in one, and what comes later for a key goes where the key went first. In the end one part after the other is read back,
so that only one of them is in memory, and groups come in the order of their first values. A part that is too large
itself is spread once more. Of very many keys, the last are spread over a number of parts by their hash.
"""

import pickle
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from types import TracebackType
from typing import Any, Self

LIMIT_BYTES = 1 << 26
PARTS = 64
"""How many are made of what is in memory at a time."""
_MOST_PLACED = 1 << 17
"""How many keys are remembered with their part."""
_DEEPEST = 4
_OVERHEAD_BYTES = 200
"""What a value costs beside its size: the list, the numbers, the names."""


class Spill:
    """Takes values one by one; gives them back by groups, each key once, its values in the order they came."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES, *, depth: int = 0) -> None:
        self._limit_bytes = limit_bytes
        self._depth = depth
        self._held: dict[str, list[Any]] = {}
        self._held_bytes = 0
        self._file: Any = None
        self._pieces: list[list[tuple[int, int]]] = []
        """Of every part, where in the file its pieces are; first those of keys that are not remembered."""
        self._places: dict[int, int] = {}
        """The part of each key, by the key's hash: keys that share one share the part, and no more."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def spilled_bytes(self) -> int:
        """How much was written to the file."""
        return sum(size for pieces in self._pieces for _, size in pieces)

    def add(self, key: str, value: Any, size_bytes: int) -> None:
        """Take a value that can be pickled and is about this large."""
        values = self._held.get(key)
        if values is None:
            values = self._held[key] = []
            self._held_bytes += _OVERHEAD_BYTES
        values.append(value)
        self._held_bytes += size_bytes + _OVERHEAD_BYTES
        if self._held_bytes > self._limit_bytes and self._depth < _DEEPEST:
            self._write()

    def groups(self) -> Iterator[tuple[str, list[Any]]]:
        """All that was taken; nothing can be added any more."""
        if not self._pieces:
            for key in list(self._held):
                yield key, self._held.pop(key)
            return
        self._write()
        for pieces in (*self._pieces[PARTS:], *self._pieces[:PARTS]):
            yield from self._part(pieces)

    def close(self) -> None:
        self._held = {}
        if self._file is not None:
            self._file.close()

    def _write(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="palaver-")  # noqa: SIM115 - closed in `close`
            self._pieces = [[] for _ in range(PARTS)]
        self._place_new_keys()
        parts: dict[int, list[tuple[str, list[Any]]]] = {}
        for key, values in self._held.items():
            parts.setdefault(self._part_of(key), []).append((key, values))
        self._held = {}
        self._held_bytes = 0
        for number, part in parts.items():
            start = self._file.tell()
            pickle.dump(part, self._file, protocol=5)
            self._pieces[number].append((start, self._file.tell() - start))

    def _place_new_keys(self) -> None:
        new = [place for key in self._held if (place := hash(key)) not in self._places]
        if len(self._places) + len(new) > _MOST_PLACED:
            return
        first, count = len(self._pieces), min(PARTS, len(new))
        self._pieces += [[] for _ in range(count)]
        for at, place in enumerate(new):
            self._places[place] = first + at * count // len(new)

    def _part_of(self, key: str) -> int:
        if (number := self._places.get(hash(key))) is not None:
            return number
        salt = self._depth.to_bytes(2, "little")
        digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=4, salt=salt).digest()
        return int.from_bytes(digest, "little") % PARTS

    def _part(self, pieces: list[tuple[int, int]]) -> Iterator[tuple[str, list[Any]]]:
        is_large = sum(size for _, size in pieces) > self._limit_bytes and self._depth + 1 < _DEEPEST
        if is_large:
            with Spill(self._limit_bytes, depth=self._depth + 1) as again:
                for start, size in pieces:
                    loaded = self._loaded(start)
                    each = size // sum(len(values) for _, values in loaded)
                    for key, values in loaded:
                        for value in values:
                            again.add(key, value, each)
                yield from again.groups()
            return
        groups: dict[str, list[Any]] = {}
        for start, _ in pieces:
            for key, values in self._loaded(start):
                groups.setdefault(key, []).extend(values)
        while groups:
            key = next(iter(groups))
            yield key, groups.pop(key)

    def _loaded(self, start: int) -> list[tuple[str, list[Any]]]:
        self._file.seek(start)
        return pickle.load(self._file)  # noqa: S301 - a file without a name, which only this object has written
