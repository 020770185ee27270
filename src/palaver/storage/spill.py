"""Containers that keep what outgrows memory in temporary files without a name.

`GroupSpill` groups values by key, `IndexedSpill` hands each value back once by its number, `ValueSpill` any number of
times by its offset, `QueueSpill` in the order they came, and `ByteSpill` is one long run of bytes.
"""

import pickle
import tempfile
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")

LIMIT_BYTES = 1 << 26
PART_COUNT = 64
"""How many parts are made of the values in memory each time they are written."""
_MAX_REMEMBERED_KEYS = 1 << 17
"""How many keys are remembered with their part."""
_MAX_DEPTH = 4
_OVERHEAD_BYTES = 200
"""What a value costs beside its size: the list, the numbers, the names."""
_BLOCK_BYTES = 1 << 16


class _Closing(ABC):
    """A container that is a context manager around `close`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...


class GroupSpill(_Closing):
    """Values grouped by key: each key once, its values in the order they came.

    When the values in memory exceed the limit, they are written in parts: keys that came at about the same time share
    one, and later values of a key go to the part that the key went to first. In the end the parts are read back one
    after the other, so that only one of them is in memory, and groups come in the order of their first values. A part
    that is too large itself is spilled again. If there are very many keys, the last ones are spread over a fixed number
    of parts by their hash.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES, *, depth: int = 0) -> None:
        self._limit_bytes = limit_bytes
        self._depth = depth
        self._held: dict[str, list[Any]] = {}
        self._held_bytes = 0
        self._file: Any = None
        self._pieces: list[list[tuple[int, int]]] = []
        """For every part, the offsets and sizes of its pieces; first the parts of keys that are not remembered."""
        self._part_by_key_hash: dict[int, int] = {}
        """The part of each key, by the key's hash: keys with the same hash share their part, and nothing else."""

    @property
    def spilled_bytes(self) -> int:
        """The size of what was written to the file."""
        return sum(size for pieces in self._pieces for _, size in pieces)

    def add(self, key: str, value: Any, size_bytes: int) -> None:
        """Add a value that can be pickled and is about this large."""
        values = self._held.get(key)
        if values is None:
            values = self._held[key] = []
            self._held_bytes += _OVERHEAD_BYTES
        values.append(value)
        self._held_bytes += size_bytes + _OVERHEAD_BYTES
        if self._held_bytes > self._limit_bytes and self._depth < _MAX_DEPTH:
            self._write()

    def groups(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield every key with its values; nothing can be added afterwards."""
        if not self._pieces:
            for key in list(self._held):
                yield key, self._held.pop(key)
            return
        self._write()
        for pieces in (*self._pieces[PART_COUNT:], *self._pieces[:PART_COUNT]):
            yield from self._read_part(pieces)

    def close(self) -> None:
        self._held = {}
        if self._file is not None:
            self._file.close()

    def _write(self) -> None:
        if self._file is None:
            self._file = _temporary_file()
            self._pieces = [[] for _ in range(PART_COUNT)]
        self._assign_parts()
        parts: dict[int, list[tuple[str, list[Any]]]] = {}
        for key, values in self._held.items():
            parts.setdefault(self._part_of(key), []).append((key, values))
        self._held = {}
        self._held_bytes = 0
        for number, part in parts.items():
            start = self._file.tell()
            pickle.dump(part, self._file, protocol=5)
            self._pieces[number].append((start, self._file.tell() - start))

    def _assign_parts(self) -> None:
        """Give the new keys in memory parts of their own, unless too many keys are remembered already."""
        new = [key_hash for key in self._held if (key_hash := hash(key)) not in self._part_by_key_hash]
        if len(self._part_by_key_hash) + len(new) > _MAX_REMEMBERED_KEYS:
            return
        first, count = len(self._pieces), min(PART_COUNT, len(new))
        self._pieces += [[] for _ in range(count)]
        for index, key_hash in enumerate(new):
            self._part_by_key_hash[key_hash] = first + index * count // len(new)

    def _part_of(self, key: str) -> int:
        if (number := self._part_by_key_hash.get(hash(key))) is not None:
            return number
        salt = self._depth.to_bytes(2, "little")
        digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=4, salt=salt).digest()
        return int.from_bytes(digest, "little") % PART_COUNT

    def _read_part(self, pieces: list[tuple[int, int]]) -> Iterator[tuple[str, list[Any]]]:
        is_large = sum(size for _, size in pieces) > self._limit_bytes and self._depth + 1 < _MAX_DEPTH
        if is_large:
            with GroupSpill(self._limit_bytes, depth=self._depth + 1) as smaller:
                for start, size in pieces:
                    loaded = self._load(start)
                    average_bytes = size // sum(len(values) for _, values in loaded)
                    for key, values in loaded:
                        for value in values:
                            smaller.add(key, value, average_bytes)
                yield from smaller.groups()
            return
        groups: dict[str, list[Any]] = {}
        for start, _ in pieces:
            for key, values in self._load(start):
                groups.setdefault(key, []).extend(values)
        while groups:
            key = next(iter(groups))
            yield key, groups.pop(key)

    def _load(self, start: int) -> list[tuple[str, list[Any]]]:
        self._file.seek(start)
        return pickle.load(self._file)  # noqa: S301 - only this object has written the file


class IndexedSpill(_Closing, Generic[T]):
    """Values by number: all are put first, then each is taken once, in any order."""

    def __init__(self, limit_bytes: int) -> None:
        self._free_bytes = limit_bytes
        self._held: dict[int, T] = {}
        self._count = 0
        self._file: Any = None
        self._offsets = array("q")
        """Where the values in the file begin; these are the last ones that were put."""

    def put(self, value: T, size_bytes: int) -> int:
        """Add a value that can be pickled and is about this large, and return its number."""
        number = self._count
        self._count += 1
        self._free_bytes -= size_bytes
        if self._free_bytes >= 0:
            self._held[number] = value
        else:
            if self._file is None:
                self._file = _temporary_file()
            self._offsets.append(self._file.tell())
            pickle.dump(value, self._file, protocol=5)
        return number

    def take(self, number: int) -> T:
        """Remove and return a value; nothing can be put afterwards."""
        if number in self._held:
            return self._held.pop(number)
        self._file.seek(self._offsets[number - self._count])
        return pickle.load(self._file)  # noqa: S301 - only this object has written the file

    def close(self) -> None:
        self._held = {}
        if self._file is not None:
            self._file.close()


class ValueSpill(_Closing, Generic[T]):
    """Values by offset: putting and getting may alternate, and a value can be got any number of times."""

    def __init__(self, limit_bytes: int) -> None:
        self._file: Any = _spooled_file(limit_bytes)

    def put(self, value: T) -> int:
        """Add a value that can be pickled, and return its offset."""
        offset: int = self._file.seek(0, 2)
        pickle.dump(value, self._file, protocol=5)
        return offset

    def get(self, offset: int) -> T:
        self._file.seek(offset)
        return pickle.load(self._file)  # noqa: S301 - only this object has written the file

    def close(self) -> None:
        self._file.close()


class QueueSpill(_Closing, Generic[T]):
    """Values in the order they came; once all are taken, new ones can be put."""

    def __init__(self, limit_bytes: int) -> None:
        self._file: Any = _spooled_file(limit_bytes)
        self._count = 0

    def put(self, value: T) -> None:
        """Add a value that can be pickled."""
        pickle.dump(value, self._file, pickle.HIGHEST_PROTOCOL)
        self._count += 1

    def take_all(self, batch_size: int) -> Iterator[list[T]]:
        """Remove and yield all values, in lists of at most this many."""
        if not self._count:
            return
        self._file.seek(0)
        while self._count:
            size = min(self._count, batch_size)
            yield [pickle.load(self._file) for _ in range(size)]  # noqa: S301 - only this object has written the file
            self._count -= size
        self._file.seek(0)
        self._file.truncate()

    def close(self) -> None:
        self._file.close()


class MemoryBudget:
    """How much several `ByteSpill`s may hold in memory together."""

    __slots__ = ("left_bytes",)

    def __init__(self, size_bytes: int) -> None:
        self.left_bytes = size_bytes


class ByteSpill:
    """Bytes that are appended and read back from the beginning.

    What is in memory when the budget is used up stays there: to move it would take all its time at once.
    """

    __slots__ = ("_block", "_blocks", "_budget", "_file", "size_bytes")

    def __init__(self, budget: MemoryBudget) -> None:
        self.size_bytes = 0
        self._budget = budget
        self._blocks: list[bytes] = []
        self._block = bytearray()
        self._file: Any = None

    @property
    def is_spilled(self) -> bool:
        return self._file is not None

    def write(self, piece: bytes) -> None:
        self.size_bytes += len(piece)
        if self._file is not None:
            self._file.write(piece)
            return
        self._budget.left_bytes -= len(piece)
        if self._budget.left_bytes < 0:
            self._file = _temporary_file(_BLOCK_BYTES)
            self._file.write(piece)
            return
        self._block += piece
        if len(self._block) >= _BLOCK_BYTES:
            self._blocks.append(bytes(self._block))
            self._block.clear()

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes from the beginning, in pieces of a moderate size."""
        yield from self._blocks
        if self._block:
            yield bytes(self._block)
        if self._file is not None:
            self._file.flush()
            self._file.seek(0)
            while piece := self._file.read(_BLOCK_BYTES):
                yield piece

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        self._blocks = []
        self._block = bytearray()
        if self._file is not None:
            # What the disk has no room for is not needed any more.
            with suppress(OSError):
                self._file.close()


def _temporary_file(buffering: int = -1) -> Any:
    """Open a file without a name, which is gone once it is closed."""
    return tempfile.TemporaryFile(prefix="palaver-", buffering=buffering)


def _spooled_file(limit_bytes: int) -> Any:
    """Open a file that is in memory up to a size, and has no name beyond it."""
    # To the standard library, a size of 0 means no limit.
    return tempfile.SpooledTemporaryFile(max_size=limit_bytes or 1, prefix="palaver-")
