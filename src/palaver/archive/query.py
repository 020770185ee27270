"""What people type to search: words, all required; "a phrase"; the beginning of a word*; -without; this OR that.

Everything else is taken for what it looks like, and is never an error of SQLite: `foo-bar` and `col:x` are two words
one after the other, `AND`, `NOT` and `NEAR(` are words. The index holds letters and digits only. Signs that mean
something by themselves (`C++`, `$HOME`, an emoji) are therefore looked for in the text of what the index finds.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from palaver.archive.scratch import Scratch
from palaver.archive.words import spaced
from palaver.errors import OptionError

LONGEST = 5_000
_PIECE = re.compile(
    r'(?P<minus>-(?=[^\s-]))?(?:"(?P<phrase>[^"]*)(?:"(?P<star>\*(?!\*))?|$)|(?P<word>[^\s"]+))',
)
_BEGINNING = re.compile(r"[^*]+\*")
_SIGNS_IN_JSON = re.compile(r'[^\w\s"\\]+')
_MEANING_SIGNS = frozenset("#@&%")
_MEANING_CATEGORIES = frozenset(("Sm", "Sc", "So"))
_ALSO_A_SPACE = frozenset(("Cc", "Cs", "Zl", "Zp"))


@dataclass(frozen=True, slots=True)
class Term:
    """A word, a phrase, or the beginning of one."""

    text: str
    tokens: tuple[str, ...]
    """As the index spells them."""
    is_prefix: bool = False
    is_phrase: bool = False
    signs: re.Pattern[str] | None = None
    """The whole as it was typed, where the index alone could not tell it from something else."""

    @property
    def expression(self) -> str:
        quoted = spaced(self.text).replace('"', '""')
        return f'"{quoted}" *' if self.is_prefix else f'"{quoted}"'

    def stands_in(self, words: tuple[str, ...]) -> bool:
        """Whether it is among the words of a text, one after the other."""
        length = len(self.tokens)
        *first, last = self.tokens
        for start in range(len(words) - length + 1):
            end = words[start + length - 1]
            if (end.startswith(last) if self.is_prefix else end == last) and words[start : start + length - 1] == tuple(
                first
            ):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Query:
    """Of each group in `required` one term has to be there, and none of `excluded`."""

    required: tuple[tuple[Term, ...], ...]
    excluded: tuple[Term, ...] = ()

    def terms(self) -> Iterator[Term]:
        for group in self.required:
            yield from group

    def expression(self, columns: Iterable[str] = ()) -> str | None:
        """For the index, which may find more than is meant if `is_looser`; None if it holds nothing of this."""
        groups = [group for group in self.required if all(term.tokens for term in group)]
        if not groups:
            return None
        wanted = " AND ".join(f"({_either(group)})" for group in groups)
        if unwanted := [term for term in self.excluded if term.signs is None]:
            wanted = f"({wanted}) NOT ({_either(unwanted)})"
        return f"{{{' '.join(columns)}}} : ({wanted})" if columns else wanted

    @property
    def is_looser(self) -> bool:
        """Whether what the index finds has to be read."""
        return any(term.signs for term in (*self.terms(), *self.excluded))

    def signs(self) -> list[bytes]:
        """Signs that have to stand in the JSON of a message: a quick way to pass over most of them."""
        alone = [group[0] for group in self.required if len(group) == 1 and group[0].signs is not None]
        return [max(runs, key=len).encode() for term in alone if (runs := _SIGNS_IN_JSON.findall(term.text))]

    def holds(self, texts: Iterable[str], scratch: Scratch) -> bool:
        """Whether it is so in these texts, whatever the index says."""
        read = [(text, scratch.tokens(text)) for text in texts if text]

        def stands(term: Term) -> bool:
            if term.signs is not None:
                return any(term.signs.search(text) for text, _ in read)
            return any(term.stands_in(words) for _, words in read)

        return all(any(map(stands, group)) for group in self.required) and not any(map(stands, self.excluded))


def _either(terms: Iterable[Term]) -> str:
    return " OR ".join(term.expression for term in terms)


def any_of(terms: Iterable[Term]) -> str:
    """For highlighting: whatever of these the index knows; empty if it knows none."""
    return _either(term for term in terms if term.tokens)


def parse(text: str, scratch: Scratch) -> Query:
    """Understand a query; one that asks for nothing is an OptionError with advice."""
    if len(text) > LONGEST:
        raise OptionError(f"that is too long to search for ({len(text):,} characters): some of its words will do")
    text = "".join(" " if unicodedata.category(sign) in _ALSO_A_SPACE else sign for sign in text)
    required: list[list[Term]] = []
    excluded: list[Term] = []
    joins = False
    pieces = list(_pieces(text, scratch))
    for number, (term, is_excluded) in enumerate(pieces):
        if is_excluded:
            excluded.append(term)
        elif _is_or(term) and required and _is_required(pieces, number - 1) and _is_required(pieces, number + 1):
            joins = True
        elif joins:
            required[-1].append(term)
            joins = False
        else:
            required.append([term])
    if required:
        return Query(tuple(map(tuple, required)), tuple(excluded))
    if excluded:
        raise OptionError("-word only takes away from what is found: say a word that has to be there as well")
    raise OptionError('there is no word to search for: write words, "a phrase", the beginning of a word*, or -without')


_OR = Term("OR", ("or",))


def _is_or(term: Term) -> bool:
    return term == _OR


def _is_required(pieces: list[tuple[Term, bool]], number: int) -> bool:
    if not 0 <= number < len(pieces):
        return False
    term, is_excluded = pieces[number]
    return not is_excluded and not _is_or(term)


def _pieces(text: str, scratch: Scratch) -> Iterator[tuple[Term, bool]]:
    """Each term with whether it is excluded; what holds neither a word nor a sign is passed over."""
    for piece in _PIECE.finditer(text):
        is_phrase = piece["word"] is None
        words = piece["phrase"] if is_phrase else piece["word"]
        is_prefix = bool(piece["star"]) if is_phrase else _BEGINNING.fullmatch(words) is not None
        if is_prefix and not is_phrase:
            words = words[:-1]
        tokens = scratch.tokens(words)
        is_meant = any(map(_means_something, words)) or (is_phrase and not tokens and bool(words.strip()))
        if tokens or is_meant:
            signs = _as_typed(words, is_prefix=is_prefix) if is_meant else None
            yield Term(words, tokens, is_prefix and bool(tokens), is_phrase, signs), bool(piece["minus"])


def _means_something(sign: str) -> bool:
    return sign in _MEANING_SIGNS or unicodedata.category(sign) in _MEANING_CATEGORIES


def _as_typed(words: str, *, is_prefix: bool) -> re.Pattern[str]:
    pattern = r"\s+".join(map(re.escape, words.split()))
    if words.strip()[0].isalnum():
        pattern = rf"(?<![^\W_]){pattern}"
    if words.strip()[-1].isalnum() and not is_prefix:
        pattern = rf"{pattern}(?![^\W_])"
    return re.compile(pattern, re.IGNORECASE)
