"""What the API history already says: a row of the interface whose words stand there is not told twice.

A text is looked for in the messages around its turn first, which is cheap; only then are the long lines of all
messages collected, once. How much is looked through in all is limited: where that is reached, only whole lines are
found any more, and the worst that happens is that something short is told twice.
"""

from collections.abc import Iterator
from functools import cached_property

from palaver.importers._cline_family.ui_rows import LONG, inner_texts, texts_in
from palaver.model.build import JsonObject

_BETWEEN = "\n\0\n"
_EFFORT = 1 << 29
"""How many characters may be looked through, and how often those that are there."""
_TIMES = 256
_EACH = 64
"""What it costs to begin."""


class Known:
    """The texts of some records of the API history, by their places."""

    def __init__(self, records: dict[int, JsonObject]) -> None:
        self.records = records
        self._texts: dict[int, list[str]] = {}
        self._words: dict[int, str] = {}
        """The texts of a record in one, with a mark between them."""
        self._inner: dict[int, str] = {}
        """The same of the texts in JSON that is written in a text: it is parsed where nothing else has the words."""
        self._left = _EFFORT

    def texts(self, place: int) -> list[str]:
        """All texts of a record, the last ones first."""
        found = self._texts.get(place)
        if found is None:
            found = self._texts[place] = texts_in(self.records.get(place))
        return found

    def forget(self, before: int) -> None:
        """Let go of what was found in the records before a place."""
        for place in [place for place in self._texts if place < before]:
            del self._texts[place]
            self._words.pop(place, None)
            self._inner.pop(place, None)

    def has(self, text: str, places: list[int]) -> bool:
        """Whether a text stands, as it is, in one of some records."""
        for place in places:
            words = self._words.get(place)
            if words is None:
                words = self._words[place] = self._joined(self.texts(place))
            if self._is_in(words, text):
                return True
        for place in places:
            words = self._inner.get(place)
            if words is None:
                words = self._inner[place] = self._joined(inner_texts(self.texts(place)))
            if words and self._is_in(words, text):
                return True
        return False

    def _joined(self, texts: list[str]) -> str:
        if not texts:
            return ""
        words = _BETWEEN.join(["", *texts, ""])
        self._left += _TIMES * len(words)
        return words

    def _is_in(self, words: str, text: str) -> bool:
        self._left -= len(words) + _EACH
        return self._left >= 0 and text in words

    def has_words(self, text: str, places: list[int]) -> bool:
        """Whether a short text stands by itself: what one person says in a word, many results hold by chance."""
        wanted = (f">\n{text}\n<", f"{_BETWEEN}{text}{_BETWEEN}", f'"{text}"')
        return any(self.has(word, places) for word in wanted)

    def has_lines(self, text: str, places: list[int]) -> bool:
        """Whether every long line of a text stands somewhere; false where it has none."""
        lines = long_lines(text)
        return bool(lines) and all(line in self._all_lines or self.has(line, places) for line in lines)

    def has_anywhere(self, text: str) -> bool:
        """Whether a text is one of the history's, or all that stands in the wrapper of one, or each line is known."""
        return text.strip() in self._all_texts or self.has_lines(text, [])

    @cached_property
    def _all_lines(self) -> set[str]:
        return {line for text in self._everything() if len(text) >= LONG for line in long_lines(text)}

    @cached_property
    def _all_texts(self) -> set[str]:
        found: set[str] = set()
        for text in self._everything():
            found.add(text.strip())
            if text.startswith("<"):
                found.add(text.partition(">\n")[2].partition("\n<")[0].strip())
        return found - {""}

    def _everything(self) -> Iterator[str]:
        for place in self.records:
            texts = self.texts(place)
            yield from texts
            yield from inner_texts(texts)


def long_lines(text: str) -> list[str]:
    return [line for part in text.split("\n") if len(part) >= LONG and len(line := part.strip()) >= LONG]
