"""A base class for small pickles, for objects held per source and sent between processes."""

from typing import Any


class CompactPickle:
    """Pickles the values of its slots only, in field order; the default protocol would also store every slot name."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return self.__class__, tuple([getattr(self, name) for name in self.__slots__])
