"""An object that arrives in pieces, each an object itself: what is text grows, what names something stays."""

from collections.abc import Callable
from io import StringIO
from typing import Any

_DEEPEST = 8
# Said once, though some servers repeat it in every piece.
_STAYS = {"role", "id", "type", "name", "index", "format"}

Write = Callable[[str], int]


class Joined:
    """Strings are joined and lists lengthened, objects are joined in their turn; of all else the last one counts.

    Text is held as a `StringIO`: a list of short strings takes ten times the memory.
    """

    __slots__ = ("_depth", "_lists", "_plain", "_texts", "_within", "writers")

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._plain: dict[str, Any] = {}
        self._lists: dict[str, list[Any]] = {}
        self._texts: dict[str, StringIO] = {}
        self._within: dict[str, Joined] = {}
        self.writers: dict[str, Write] = {}
        """How to lengthen each text that has begun."""

    def add(self, piece: dict[str, Any]) -> None:
        for name, value in piece.items():
            if value is None:
                self._plain.setdefault(name, None)
            elif name in _STAYS:
                self._plain[name] = self._plain.get(name) or value
            elif isinstance(value, str):
                self.write(name, value)
            elif isinstance(value, dict) and self._depth < _DEEPEST:
                self.within(name).add(value)
            elif isinstance(value, list):
                self._plain.setdefault(name, None)
                self._lists.setdefault(name, []).extend(value)
            else:
                self._plain[name] = value

    def write(self, name: str, text: str) -> None:
        if name not in self.writers:
            self._plain.setdefault(name, None)
            self._texts[name] = StringIO()
            self.writers[name] = self._texts[name].write
        self.writers[name](text)

    def within(self, name: str) -> "Joined":
        if name not in self._within:
            self._plain.setdefault(name, None)
            self._within[name] = Joined(self._depth + 1)
        return self._within[name]

    def knows(self, name: str, value: Any) -> bool:
        """Whether adding this would change nothing."""
        return name in self._plain and (value is None or (name in _STAYS and bool(self._plain[name])))

    def has(self, name: str) -> bool:
        """Whether an object of that name has begun."""
        return name in self._within

    def said(self, name: str) -> Any:
        """A value that is neither text nor an object."""
        return self._plain.get(name)

    def value(self) -> dict[str, Any]:
        made = dict(self._plain)
        made |= {name: list(values) for name, values in self._lists.items()}
        made |= {name: joined.value() for name, joined in self._within.items()}
        return made | {name: text.getvalue() for name, text in self._texts.items()}
