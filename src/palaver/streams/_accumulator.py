"""An accumulator for an object that arrives in pieces, each an object itself."""

from collections.abc import Callable
from io import StringIO
from typing import Any

_MAX_DEPTH = 8
# Fields that keep their first value; some servers repeat them in every piece.
_CONSTANT_FIELDS = {"role", "id", "type", "name", "index", "format"}

TextWriter = Callable[[str], int]


class ObjectAccumulator:
    """Joins strings, extends lists and merges objects recursively; of any other value the last wins.

    Text is held in a `StringIO`: a list of short strings takes ten times the memory.
    """

    __slots__ = ("_children", "_depth", "_lists", "_plain", "_texts", "writers")

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._plain: dict[str, Any] = {}
        self._lists: dict[str, list[Any]] = {}
        self._texts: dict[str, StringIO] = {}
        self._children: dict[str, ObjectAccumulator] = {}
        self.writers: dict[str, TextWriter] = {}
        """The function that appends to each text that has begun, by field."""

    def add(self, piece: dict[str, Any]) -> None:
        for name, value in piece.items():
            if value is None:
                self._plain.setdefault(name, None)
            elif name in _CONSTANT_FIELDS:
                self._plain[name] = self._plain.get(name) or value
            elif isinstance(value, str):
                self.write(name, value)
            elif isinstance(value, dict) and self._depth < _MAX_DEPTH:
                self.child(name).add(value)
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

    def child(self, name: str) -> "ObjectAccumulator":
        if name not in self._children:
            self._plain.setdefault(name, None)
            self._children[name] = ObjectAccumulator(self._depth + 1)
        return self._children[name]

    def is_known(self, name: str, value: Any) -> bool:
        """Return whether adding this field would change nothing."""
        return name in self._plain and (value is None or (name in _CONSTANT_FIELDS and bool(self._plain[name])))

    def has_child(self, name: str) -> bool:
        """Return whether a nested object of that name has begun."""
        return name in self._children

    def plain_value(self, name: str) -> Any:
        """Return a value that is neither text, list nor object."""
        return self._plain.get(name)

    def value(self) -> dict[str, Any]:
        value = dict(self._plain)
        value |= {name: list(values) for name, values in self._lists.items()}
        value |= {name: child.value() for name, child in self._children.items()}
        return value | {name: text.getvalue() for name, text in self._texts.items()}
