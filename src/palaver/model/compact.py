"""What is kept of every source until a run ends, and goes from process to process: small when it is pickled."""

from typing import Any


class Compact:
    """Pickled by its values alone, in the order of its fields; of an object with slots, the names would go along."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return self.__class__, tuple([getattr(self, name) for name in self.__slots__])
