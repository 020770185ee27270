"""The search query language: words, all required; "a phrase"; a prefix*; -without or NOT without; this OR that.

Everything else is taken literally, and never causes an SQLite error: `foo-bar` and `col:x` are two consecutive words,
`NEAR(` is a word, and so are `AND`, `OR` and `NOT` where they connect nothing. The index holds letters and digits only.
Symbols with a meaning of their own (`C++`, `$HOME`, an emoji) are therefore looked for in the texts of the hits.
"""

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from palaver.archive.search_text import space_cjk
from palaver.errors import OptionError

MAX_QUERY_CHARACTERS = 5_000
_PIECE = re.compile(
    r'(?P<minus>-(?=[^\s-]))?(?:"(?P<phrase>[^"]*)(?:"(?P<star>\*(?!\*))?|$)|(?P<word>[^\s"]+))',
)
_PREFIX = re.compile(r"[^*]+\*")
_SYMBOLS_IN_JSON = re.compile(r'[^\w\s"\\]+')
_MEANINGFUL_SYMBOLS = frozenset("#@&%")
_MEANINGFUL_CATEGORIES = frozenset(("Sm", "Sc", "So"))
_SPACE_CATEGORIES = frozenset(("Cc", "Cs", "Zl", "Zp"))


@dataclass(frozen=True, slots=True)
class Term:
    """A word, a phrase, or a prefix of one."""

    text: str
    tokens: tuple[str, ...]
    """Words as the index normalizes them."""
    is_prefix: bool = False
    is_phrase: bool = False
    typed_pattern: re.Pattern[str] | None = None
    """Pattern for the term as typed, if the index alone cannot distinguish it."""

    @property
    def expression(self) -> str:
        quoted = space_cjk(self.text).replace('"', '""')
        return f'"{quoted}" *' if self.is_prefix else f'"{quoted}"'

    @property
    def description(self) -> str:
        """The term as people write it."""
        if self.typed_pattern is not None:
            return f'"{self.text}"' if self.is_phrase else self.text
        if self.is_phrase or len(self.tokens) > 1:
            quoted = self.text if self.is_phrase else " ".join(self.tokens)
            return f'"{quoted}"*' if self.is_prefix else f'"{quoted}"'
        return f"{self.text}*" if self.is_prefix else self.text

    def occurs_in(self, words: tuple[str, ...]) -> bool:
        """Return whether the tokens occur consecutively among the words of a text."""
        length = len(self.tokens)
        last = self.tokens[-1]
        for start in range(len(words) - length + 1):
            end = words[start + length - 1]
            is_last = end.startswith(last) if self.is_prefix else end == last
            if is_last and words[start : start + length - 1] == self.tokens[:-1]:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: one term of each group in `required` must occur, and no term in `excluded`."""

    required: tuple[tuple[Term, ...], ...]
    excluded: tuple[Term, ...] = ()

    def terms(self) -> Iterator[Term]:
        for group in self.required:
            yield from group

    @property
    def is_plain(self) -> bool:
        """Whether the query is words only, all of them required."""
        return not self.excluded and all(
            len(group) == 1 and group[0].description == group[0].text and not group[0].is_phrase
            for group in self.required
        )

    @property
    def description(self) -> str:
        """How the query was read, such as `(this or that) and "a phrase", without it`."""
        groups = [" or ".join(term.description for term in group) for group in self.required]
        if len(groups) > 1:
            groups = [
                f"({text})" if len(group) > 1 else text for text, group in zip(groups, self.required, strict=True)
            ]
        without = f", without {' or '.join(term.description for term in self.excluded)}" if self.excluded else ""
        return " and ".join(groups) + without

    def expression(self, columns: Iterable[str] = ()) -> str | None:
        """Return the FTS5 expression, or None if the index holds none of the terms.

        If `needs_text_check` is set, the index may find more than the query asks for.
        """
        groups = [group for group in self.required if all(term.tokens for term in group)]
        if not groups:
            return None
        expression = " AND ".join(f"({_or_expression(group)})" for group in groups)
        if excluded := [term for term in self.excluded if term.typed_pattern is None]:
            expression = f"({expression}) NOT ({_or_expression(excluded)})"
        return f"{{{' '.join(columns)}}} : ({expression})" if columns else expression

    @property
    def needs_text_check(self) -> bool:
        """Whether the text of each hit must be checked."""
        return any(term.typed_pattern for term in (*self.terms(), *self.excluded))

    def required_symbols(self) -> list[bytes]:
        """Return symbols that must occur in the JSON of a matching message, to rule out most of them quickly."""
        single = [group[0] for group in self.required if len(group) == 1 and group[0].typed_pattern is not None]
        return [max(runs, key=len).encode() for term in single if (runs := _SYMBOLS_IN_JSON.findall(term.text))]

    def matches(self, texts: Iterable[str], scratch: "ScratchIndex") -> bool:
        """Return whether the query matches these texts, without asking the index."""
        tokenized = [(text, scratch.tokens(text)) for text in texts if text]

        def occurs(term: Term) -> bool:
            if term.typed_pattern is not None:
                return any(term.typed_pattern.search(text) for text, _ in tokenized)
            return any(term.occurs_in(words) for _, words in tokenized)

        return all(any(map(occurs, group)) for group in self.required) and not any(map(occurs, self.excluded))


def _or_expression(terms: Iterable[Term]) -> str:
    return " OR ".join(term.expression for term in terms)


def any_term_expression(terms: Iterable[Term]) -> str:
    """Return an FTS5 expression for any of the terms, to highlight them; empty if the index knows none of them."""
    return _or_expression(term for term in terms if term.tokens)


def parse(text: str, scratch: "ScratchIndex") -> Query:
    """Parse a query; raise OptionError, with advice, if it asks for nothing."""
    required: list[list[Term]] = []
    excluded: list[Term] = []
    is_alternative = False
    pieces = list(_pieces(_cleaned(text), scratch))
    operators = _operators(pieces)
    for number, (term, is_excluded) in enumerate(pieces):
        if number in operators:
            is_alternative = term == _OR
        elif is_excluded or operators.get(number - 1) == _NOT:
            excluded.append(term)
        elif is_alternative:
            required[-1].append(term)
            is_alternative = False
        else:
            required.append([term])
    if required:
        return Query(tuple(map(tuple, required)), tuple(excluded))
    if excluded:
        raise OptionError("-word and NOT word only exclude: add at least one word to look for")
    raise OptionError('nothing to search for: write words, "a phrase", a prefix such as compil*, or this OR that')


def parse_as_typed(text: str, scratch: "ScratchIndex") -> Query | None:
    """Return the query for a text exactly as typed, if `-` in it may belong to a pasted command line; None otherwise.

    `git commit -m` is then `-m` after the two words, not the two words without "m".
    """
    text = _cleaned(text).strip()
    if '"' in text or not any(piece["minus"] for piece in _PIECE.finditer(text)):
        return None
    if not text or not (tokens := scratch.tokens(text)):
        return None
    return Query(((Term(text, tokens, is_phrase=True, typed_pattern=_typed_pattern(text, is_prefix=False)),),))


def _cleaned(text: str) -> str:
    if len(text) > MAX_QUERY_CHARACTERS:
        raise OptionError(f"the query is too long ({len(text):,} characters): some of its words will do")
    return "".join(" " if unicodedata.category(character) in _SPACE_CATEGORIES else character for character in text)


_AND, _OR, _NOT = (Term(word, (word.lower(),)) for word in ("AND", "OR", "NOT"))


def _operators(pieces: list[tuple[Term, bool]]) -> dict[int, Term]:
    """Return the operators by number: `AND` and `OR` between two terms, `NOT` before one, also after `AND`."""

    def is_term(number: int, *, or_exclusion: bool = False) -> bool:
        if not 0 <= number < len(pieces):
            return False
        term, is_excluded = pieces[number]
        return or_exclusion if is_excluded else term not in (_AND, _OR, _NOT)

    operators: dict[int, Term] = {}
    for number in reversed(range(len(pieces))):
        term, is_excluded = pieces[number]
        if is_excluded:
            continue
        if term == _NOT and is_term(number + 1):
            operators[number] = term
        elif term == _AND and is_term(number - 1, or_exclusion=True):
            if is_term(number + 1, or_exclusion=True) or operators.get(number + 1) == _NOT:
                operators[number] = term
        elif term == _OR and is_term(number - 1) and is_term(number + 1) and not _is_after_not(pieces, number - 1):
            operators[number] = term
    return operators


def _is_after_not(pieces: list[tuple[Term, bool]], number: int) -> bool:
    return number > 0 and pieces[number - 1] == (_NOT, False)


def _pieces(text: str, scratch: "ScratchIndex") -> Iterator[tuple[Term, bool]]:
    """Yield each term and whether it is excluded, skipping input with neither a word nor a meaningful symbol."""
    for piece in _PIECE.finditer(text):
        is_phrase = piece["word"] is None
        words = piece["phrase"] if is_phrase else piece["word"]
        is_prefix = bool(piece["star"]) if is_phrase else _PREFIX.fullmatch(words) is not None
        if is_prefix and not is_phrase:
            words = words[:-1]
        tokens = scratch.tokens(words)
        has_symbols = any(map(_is_meaningful_symbol, words)) or (is_phrase and not tokens and bool(words.strip()))
        if tokens or has_symbols:
            pattern = _typed_pattern(words, is_prefix=is_prefix) if has_symbols else None
            yield Term(words, tokens, is_prefix and bool(tokens), is_phrase, pattern), bool(piece["minus"])


def _is_meaningful_symbol(character: str) -> bool:
    return character in _MEANINGFUL_SYMBOLS or unicodedata.category(character) in _MEANINGFUL_CATEGORIES


def _typed_pattern(words: str, *, is_prefix: bool) -> re.Pattern[str]:
    pattern = r"\s+".join(map(re.escape, words.split()))
    if words.strip()[0].isalnum():
        pattern = rf"(?<![^\W_]){pattern}"
    if words.strip()[-1].isalnum() and not is_prefix:
        pattern = rf"{pattern}(?![^\W_])"
    return re.compile(pattern, re.IGNORECASE)


TOKENIZER = "unicode61 remove_diacritics 2"
_OPENS, _CLOSES = "\x02", "\x03"
_ASCII_WORD = re.compile("[a-z0-9]+")
_MARKER = re.compile(f"[{_OPENS}{_CLOSES}]")
# Characters that end a text for SQLite, or are used as markers; none of them is part of a word.
_BLANKED = {0: " ", ord(_OPENS): " ", ord(_CLOSES): " "}

Range = tuple[int, int]


class ScratchIndex:
    """An in-memory index for one text at a time, which splits words exactly as the archive's index does."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._rows = 0
        self._connection.execute(f"create virtual table search using fts5 (text, tokenize = '{TOKENIZER}')")
        self._connection.execute("create virtual table vocabulary using fts5vocab (search, instance)")
        self._connection.execute("begin")

    def close(self) -> None:
        self._connection.close()

    def tokens(self, text: str) -> tuple[str, ...]:
        """Return the words of a text as the index normalizes them."""
        if text.isascii():
            return tuple(_ASCII_WORD.findall(text.lower()))
        row = self._add(space_cjk(text.translate(_BLANKED)))
        query = "select term from vocabulary where doc = ? order by offset"
        found = tuple(term for (term,) in self._connection.execute(query, (row,)))
        self._clear()
        return found

    def ranges(self, text: str, expression: str) -> list[Range]:
        """Return where the phrases of an expression occur in a text."""
        cleaned = text.translate(_BLANKED)
        row = self._add(space_cjk(cleaned))
        query = f"select highlight(search, 0, '{_OPENS}', '{_CLOSES}') from search where search match ? and rowid = ?"  # noqa: S608 - constants, bound values
        marked = self._connection.execute(query, (expression, row)).fetchone()
        self._clear()
        if marked is None:
            return []
        found = list(_marked_ranges(marked[0]))
        if cleaned.isascii():
            return found
        origins = _origins(cleaned)
        return [(origins[start], origins[end - 1] + 1) for start, end in found]

    def _add(self, text: str) -> int:
        self._rows += 1
        self._connection.execute("insert into search (rowid, text) values (?, ?)", (self._rows, text))
        return self._rows

    def _clear(self) -> None:
        """Remove the row by rolling back, which is free; deleting it would cost as much as inserting it."""
        self._connection.execute("rollback")
        self._connection.execute("begin")


def _marked_ranges(marked: str) -> Iterator[Range]:
    """Yield ranges in the text without its markers; each marker shifts what follows by one."""
    offsets = [found.start() - number for number, found in enumerate(_MARKER.finditer(marked))]
    for number, (start, end) in enumerate(pairwise(offsets)):
        if number % 2 == 0:
            yield start, end


def _origins(text: str) -> list[int]:
    """Return the offset in the text of each character of the spaced text."""
    origins: list[int] = []
    offset = 0
    for character in space_cjk(text):
        origins.append(min(offset, len(text) - 1))
        if offset < len(text) and character == text[offset]:
            offset += 1
    return origins
