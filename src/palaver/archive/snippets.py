"""The passage of a message that shows why it was found, with the words in it."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from palaver.archive.query import Query, Term, any_of
from palaver.archive.scratch import Range, Scratch
from palaver.archive.words import spaced, worded
from palaver.model.build import JsonObject

COLUMNS = ("text", "thinking", "tool")
"""Of the index, in its order."""
_AT_ONCE = 1 << 16
_READ_AT_MOST = 1 << 20
"""How much of a message is read for its words; where it is longer, stretches that cannot hold them are passed over."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The words of one block."""

    column: str
    block: str
    tool: str | None
    """Of a call."""
    tool_use_id: str | None
    """Of a result: the call that it answers."""
    text: str


@dataclass(frozen=True, slots=True)
class Snippet:
    piece: Piece
    start: int
    text: str
    ranges: tuple[Range, ...]
    """Where the words are, within `text`."""

    @property
    def is_cut_before(self) -> bool:
        return self.start > 0

    @property
    def is_cut_after(self) -> bool:
        return self.start + len(self.text) < len(self.piece.text)


def pieces(content: list[JsonObject], columns: Iterable[str] = ()) -> Iterator[Piece]:
    """What the index holds of a message, block by block."""
    wanted = tuple(columns) or COLUMNS
    for block in content:
        kind = block["type"]
        for column, text in zip(COLUMNS, worded([block]), strict=True):
            if text and column in wanted:
                tool = block["name"] if kind == "tool_use" else None
                answered = block.get("tool_use_id") if kind == "tool_result" else None
                yield Piece(column, kind, tool, answered, text)


def snippet(
    content: list[JsonObject], columns: Iterable[str], query: Query, room: int, scratch: Scratch
) -> Snippet | None:
    """The passage where most of the words stand closest together; the beginning where none is found."""
    best: tuple[int, int, Piece, Range, list[Range]] | None = None
    first: Piece | None = None
    terms = list(query.terms())
    left = _READ_AT_MOST
    for piece in pieces(content, columns):
        first = first or piece
        for start, stretch in _stretches(piece.text):
            if left <= 0 or not _may_hold(terms, stretch):
                continue
            left -= len(stretch)
            if not (found := found_ranges(stretch, terms, scratch)):
                continue
            words, (begin, end) = _densest(found, stretch, terms, room)
            if best is None or (words, begin - end) > best[:2]:
                there = [(start + one, start + other) for one, other in found]
                best = words, begin - end, piece, (start + begin, start + end), there
        if best and best[0] >= len(query.required):
            break
    if best is not None:
        return _cut(*best[2:], room)
    return None if first is None else _cut(first, (0, 0), [], room)


def found_ranges(text: str, terms: list[Term], scratch: Scratch) -> list[Range]:
    """Where any of the terms stands, in order and apart from each other."""
    found: list[Range] = []
    for term in terms:
        if term.signs is not None:
            found += [match.span() for match in term.signs.finditer(text)]
    if expression := any_of(term for term in terms if term.signs is None):
        found += scratch.ranges(text, expression)
    found.sort()
    apart: list[Range] = []
    for start, end in found:
        if apart and start < apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((start, end))
    return apart


def _stretches(text: str) -> Iterator[tuple[int, str]]:
    """A long text in parts that end between words."""
    start = 0
    while start < len(text):
        end = start + _AT_ONCE
        if end < len(text):
            end = max(text.rfind(" ", start, end), text.rfind("\n", start, end), start + _AT_ONCE // 2)
        yield start, text[start:end]
        start = end


def _may_hold(terms: list[Term], text: str) -> bool:
    if not text.isascii() or any(term.signs for term in terms):
        return True
    lowered = text.lower()
    return any(all(token in lowered for token in term.tokens) for term in terms)


def _densest(found: list[Range], text: str, terms: list[Term], room: int) -> tuple[int, Range]:
    """How many different terms stand within so many characters, and where they are closest together."""
    passages = [text[start:end] for start, end in found]
    which = dict.fromkeys(passages, 0) if len(terms) == 1 else {one: _which(one, terms) for one in set(passages)}
    labels = [which[one] for one in passages]
    best = (0, 0, (0, 0))
    held: Counter[int | str] = Counter()
    first = 0
    for last, (_, end) in enumerate(found):
        held[labels[last]] += 1
        while first < last and (end - found[first][0] > room or held[labels[first]] > 1):
            held[labels[first]] -= 1
            first += 1
        start = found[first][0]
        if (number := sum(count > 0 for count in held.values()), start - end) > best[:2]:
            best = number, start - end, (start, end)
    return best[0], best[2]


def _which(text: str, terms: list[Term]) -> int | str:
    """Which term a passage is, as far as that can be told cheaply: only the choice of a passage depends on it."""
    letters = [sign for sign in unicodedata.normalize("NFKD", spaced(text).lower()) if not unicodedata.combining(sign)]
    words = tuple("".join(sign if sign.isalnum() else " " for sign in letters).split())
    for number, term in enumerate(terms):
        if term.signs.fullmatch(text) if term.signs else term.stands_in(words):
            return number
    return text


def _cut(piece: Piece, passage: Range, found: list[Range], room: int) -> Snippet:
    """As much around a passage as there is room for, from a word's beginning to a word's end."""
    text = piece.text
    first, last = passage
    if len(spaced(text[first : first + room])) > room:
        # Such signs are twice as wide as letters.
        room //= 2
    start = max(0, min(first - (room - min(last - first, room)) // 3, len(text) - room))
    end = min(len(text), start + room)
    if start:
        space = next((place for place in range(start, first) if text[place - 1].isspace()), start)
        start = space if space - start < room // 4 else start
    if end < len(text):
        space = next((place for place in range(end, min(last, end), -1) if text[place].isspace()), end)
        end = space if end - space < room // 4 else end
    ranges = ((max(one, start) - start, min(other, end) - start) for one, other in found if one < end and other > start)
    return Snippet(piece, start, text[start:end], tuple(ranges))
