"""Snippets: the passage of a message that shows why it was found, with the matches in it."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from palaver.archive.query import Query, Range, ScratchIndex, Term, any_term_expression
from palaver.archive.search_text import content_texts, space_cjk
from palaver.model.build import JsonObject

COLUMNS = ("text", "thinking", "tool")
"""Columns of the index, in order."""
_STRETCH_CHARACTERS = 1 << 16
_MAX_READ_CHARACTERS = 1 << 20
"""How much of a message is searched; stretches that cannot match are skipped and do not count."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one block in one column."""

    column: str
    block: str
    tool: str | None
    """Name of the tool, for a call."""
    tool_use_id: str | None
    """Id of the call, for a result."""
    text: str


@dataclass(frozen=True, slots=True)
class Snippet:
    piece: Piece
    start: int
    text: str
    ranges: tuple[Range, ...]
    """Where the matches are within `text`."""

    @property
    def is_cut_before(self) -> bool:
        return self.start > 0

    @property
    def is_cut_after(self) -> bool:
        return self.start + len(self.text) < len(self.piece.text)


def pieces(content: list[JsonObject], columns: Iterable[str] = ()) -> Iterator[Piece]:
    """Yield what the index holds of a message, block by block."""
    wanted = tuple(columns) or COLUMNS
    for block in content:
        kind = block["type"]
        for column, text in zip(COLUMNS, content_texts([block]), strict=True):
            if text and column in wanted:
                tool = block["name"] if kind == "tool_use" else None
                tool_use_id = block.get("tool_use_id") if kind == "tool_result" else None
                yield Piece(column, kind, tool, tool_use_id, text)


def best_snippet(
    content: list[JsonObject], columns: Iterable[str], query: Query, length: int, scratch: ScratchIndex
) -> Snippet | None:
    """Return the passage with the most terms closest together, or the beginning if none is found."""
    best: tuple[int, int, Piece, Range, list[Range]] | None = None
    first: Piece | None = None
    terms = list(query.terms())
    left = _MAX_READ_CHARACTERS
    for piece in pieces(content, columns):
        first = first or piece
        for start, stretch in _stretches(piece.text):
            if left <= 0 or not _may_hold(terms, stretch):
                continue
            left -= len(stretch)
            if not (found := found_ranges(stretch, terms, scratch)):
                continue
            words, (begin, end) = _densest(found, stretch, terms, length)
            if best is None or (words, begin - end) > best[:2]:
                ranges = [(start + match_start, start + match_end) for match_start, match_end in found]
                best = words, begin - end, piece, (start + begin, start + end), ranges
        if best and best[0] >= len(query.required):
            break
    if best is not None:
        return _cut(*best[2:], length)
    return None if first is None else _cut(first, (0, 0), [], length)


def found_ranges(text: str, terms: list[Term], scratch: ScratchIndex) -> list[Range]:
    """Return where the terms occur, in order and without overlaps."""
    found: list[Range] = []
    for term in terms:
        if term.typed_pattern is not None:
            found += [match.span() for match in term.typed_pattern.finditer(text)]
    if expression := any_term_expression(term for term in terms if term.typed_pattern is None):
        found += scratch.ranges(text, expression)
    found.sort()
    merged: list[Range] = []
    for start, end in found:
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _stretches(text: str) -> Iterator[tuple[int, str]]:
    """Yield a long text in parts that end between words, each with its offset."""
    start = 0
    while start < len(text):
        end = start + _STRETCH_CHARACTERS
        if end < len(text):
            end = max(text.rfind(" ", start, end), text.rfind("\n", start, end), start + _STRETCH_CHARACTERS // 2)
        yield start, text[start:end]
        start = end


def _may_hold(terms: list[Term], text: str) -> bool:
    if not text.isascii() or any(term.typed_pattern for term in terms):
        return True
    lowered = text.lower()
    return any(all(token in lowered for token in term.tokens) for term in terms)


def _densest(found: list[Range], text: str, terms: list[Term], length: int) -> tuple[int, Range]:
    """Return how many different terms occur within `length` characters, and where they are closest together."""
    passages = [text[start:end] for start, end in found]
    is_single = len(terms) == 1
    term_of = {passage: 0 if is_single else _matching_term(passage, terms) for passage in set(passages)}
    labels = [term_of[passage] for passage in passages]
    best = (0, 0, (0, 0))
    held: Counter[int | str] = Counter()
    first = 0
    for last, (_, end) in enumerate(found):
        held[labels[last]] += 1
        while first < last and (end - found[first][0] > length or held[labels[first]] > 1):
            held[labels[first]] -= 1
            first += 1
        start = found[first][0]
        if (number := sum(count > 0 for count in held.values()), start - end) > best[:2]:
            best = number, start - end, (start, end)
    return best[0], best[2]


def _matching_term(text: str, terms: list[Term]) -> int | str:
    """Return the number of the term that a passage matches, or the passage itself.

    This is a cheap approximation: only the choice of the snippet depends on it.
    """
    decomposed = unicodedata.normalize("NFKD", space_cjk(text).lower())
    letters = [letter for letter in decomposed if not unicodedata.combining(letter)]
    words = tuple("".join(letter if letter.isalnum() else " " for letter in letters).split())
    for number, term in enumerate(terms):
        if term.typed_pattern.fullmatch(text) if term.typed_pattern else term.occurs_in(words):
            return number
    return text


def _cut(piece: Piece, passage: Range, found: list[Range], length: int) -> Snippet:
    """Cut a snippet of about `length` characters around a passage, from the start of a word to the end of one."""
    text = piece.text
    first, last = passage
    if len(space_cjk(text[first : first + length])) > length:
        # Chinese and Japanese characters are twice as wide as letters.
        length //= 2
    start = max(0, min(first - (length - min(last - first, length)) // 3, len(text) - length))
    end = min(len(text), start + length)
    if start:
        space = next((index for index in range(start, first) if text[index - 1].isspace()), start)
        start = space if space - start < length // 4 else start
    if end < len(text):
        space = next((index for index in range(end, min(last, end), -1) if text[index].isspace()), end)
        end = space if end - space < length // 4 else end
    visible = ((max(left, start), min(right, end)) for left, right in found if left < end and right > start)
    ranges = ((left - start, right - start) for left, right in visible)
    return Snippet(piece, start, text[start:end], tuple(ranges))
