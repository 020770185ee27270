"""A small index in memory, for one text at a time: it decides what a word is, exactly as the archive's own does."""

import re
import sqlite3
from collections.abc import Iterator
from itertools import pairwise

from palaver.archive.words import spaced

TOKENIZER = "unicode61 remove_diacritics 2"
_OPENS, _CLOSES = "\x02", "\x03"
_ASCII_WORD = re.compile("[a-z0-9]+")
_MARK = re.compile(f"[{_OPENS}{_CLOSES}]")
# Signs that end a text for SQLite, or stand for the marks; none of them is part of a word.
_BLANKED = {0: " ", ord(_OPENS): " ", ord(_CLOSES): " "}

Range = tuple[int, int]


class Scratch:
    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._rows = 0
        self._connection.execute(f"create virtual table search using fts5 (text, tokenize = '{TOKENIZER}')")
        self._connection.execute("create virtual table vocabulary using fts5vocab (search, instance)")
        self._connection.execute("begin")

    def close(self) -> None:
        self._connection.close()

    def tokens(self, text: str) -> tuple[str, ...]:
        """The words of a text, as the index spells them."""
        if text.isascii():
            return tuple(_ASCII_WORD.findall(text.lower()))
        row = self._add(spaced(text.translate(_BLANKED)))
        query = "select term from vocabulary where doc = ? order by offset"
        found = tuple(term for (term,) in self._connection.execute(query, (row,)))
        self._clear()
        return found

    def ranges(self, text: str, expression: str) -> list[Range]:
        """Where the phrases of an expression stand in a text."""
        taken = text.translate(_BLANKED)
        row = self._add(spaced(taken))
        query = f"select highlight(search, 0, '{_OPENS}', '{_CLOSES}') from search where search match ? and rowid = ?"  # noqa: S608 - two signs
        marked = self._connection.execute(query, (expression, row)).fetchone()
        self._clear()
        if marked is None:
            return []
        found = list(_between_marks(marked[0]))
        if taken.isascii():
            return found
        origins = _origins(taken)
        return [(origins[start], origins[end - 1] + 1) for start, end in found]

    def _add(self, text: str) -> int:
        self._rows += 1
        self._connection.execute("insert into search (rowid, text) values (?, ?)", (self._rows, text))
        return self._rows

    def _clear(self) -> None:
        """Forget the row; going back costs nothing, taking it out would cost as much as putting it in."""
        self._connection.execute("rollback")
        self._connection.execute("begin")


def _between_marks(marked: str) -> Iterator[Range]:
    """Ranges of the text without its marks; each mark before a place moves it by one."""
    places = [found.start() - number for number, found in enumerate(_MARK.finditer(marked))]
    for number, (start, end) in enumerate(pairwise(places)):
        if number % 2 == 0:
            yield start, end


def _origins(text: str) -> list[int]:
    """Where each character of the spaced text comes from."""
    origins: list[int] = []
    spaces = spaced(text)
    place = 0
    for sign in spaces:
        origins.append(min(place, len(text) - 1))
        if place < len(text) and sign == text[place]:
            place += 1
    return origins
