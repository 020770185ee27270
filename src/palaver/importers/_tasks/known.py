"""What the API history already says: a row of the interface whose words stand there is not told twice.

A text is looked for in the messages around its turn first, which is cheap; only then are the long lines of all
messages collected, once.
"""

from collections.abc import Iterable
from typing import Any

from palaver.importers._tasks.requests import payload
from palaver.importers._tasks.ui_rows import LONG

Json = dict[str, Any]

_PARSED = 1 << 16
"""JSON in a text that is longer is a file that a tool read."""
_BETWEEN = "\n\0\n"


class Known:
    """The texts of some records of the API history, by their places."""

    def __init__(self, records: dict[int, Json]) -> None:
        self.records = records
        self._texts: dict[int, list[str]] = {}
        self._joined: dict[int, str] = {}
        self._lines: set[str] | None = None

    def texts(self, place: int) -> list[str]:
        """All texts of a record, the last ones first."""
        found = self._texts.get(place)
        if found is None:
            record = self.records.get(place)
            found = self._texts[place] = texts_in(record) if record is not None else []
        return found

    def words(self, place: int) -> str:
        """The same in one, with a mark between them."""
        found = self._joined.get(place)
        if found is None:
            found = self._joined[place] = _BETWEEN.join(["", *self.texts(place), ""])
        return found

    def has(self, text: str, places: Iterable[int]) -> bool:
        """Whether a text stands, as it is, in one of some records."""
        return any(text in self.words(place) for place in places)

    def has_words(self, text: str, places: list[int]) -> bool:
        """Whether a short text stands by itself: what one person says in a word, many results hold by chance."""
        wanted = (f">\n{text}\n<", f"{_BETWEEN}{text}{_BETWEEN}", f'"{text}"')
        return any(word in self.words(place) for place in places for word in wanted)

    def has_lines(self, text: str, places: list[int]) -> bool:
        """Whether every long line of a text stands somewhere; false where it has none."""
        lines = long_lines(text)
        missing = [line for line in lines if not self.has(line, places)]
        return bool(lines) and (not missing or self._all_lines.issuperset(missing))

    @property
    def _all_lines(self) -> set[str]:
        if self._lines is None:
            self._lines = {line for place in self.records for line in long_lines(self.words(place))}
        return self._lines


def long_lines(text: str) -> list[str]:
    return [line for part in text.split("\n") if len(line := part.strip()) >= LONG]


def texts_in(value: Any) -> list[str]:
    """Every text in a JSON value, at any depth, also those in JSON that is written in a text; the last ones first."""
    found: list[str] = []
    stack = [value]
    while stack:
        value = stack.pop()
        kind = value.__class__
        if kind is str:
            found.append(value)
            if len(value) < _PARSED and value.startswith(('{"', '[{"')) and (inner := payload(value)) is not None:
                stack.append(inner)
        elif kind is dict:
            stack += value.values()
        elif kind is list:
            stack += value
    return found
