"""A shelf: values are put down, and taken up again by their numbers; beyond a limit they lie in a temporary file."""

import pickle
import tempfile
from array import array
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")


class Shelf(Generic[T]):
    """Takes values that can be pickled; each can be taken up once."""

    def __init__(self, limit_bytes: int) -> None:
        self._room_bytes = limit_bytes
        self._held: dict[int, T] = {}
        self._count = 0
        self._file: Any = None
        self._places = array("q")
        """Of the values in the file, the last ones, where each begins."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held = {}
        if self._file is not None:
            self._file.close()

    def put(self, value: T, size_bytes: int) -> int:
        """Put a value down that is about this large; its number."""
        number = self._count
        self._count += 1
        self._room_bytes -= size_bytes
        if self._room_bytes >= 0:
            self._held[number] = value
        else:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="palaver-")  # noqa: SIM115 - closed in `__exit__`
            self._places.append(self._file.tell())
            pickle.dump(value, self._file, protocol=5)
        return number

    def take(self, number: int) -> T:
        """Take a value up; nothing can be put down any more."""
        if number in self._held:
            return self._held.pop(number)
        self._file.seek(self._places[number - self._count])
        return pickle.load(self._file)  # noqa: S301 - a file without a name, which only this object has written
