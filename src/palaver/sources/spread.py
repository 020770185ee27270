"""Objects spread over several lines: their lines are held until the object closes, or proves never to have begun."""

import re
from typing import NamedTuple

from palaver.sources.damage import BOM, SPACE
from palaver.sources.parse import parses

_BLANK = SPACE + b"\0"
_BEGINS_RECORD = re.compile(rb'\{[ \t]*"')
_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


class Line(NamedTuple):
    number: int
    offset: int
    raw: bytes


def opens(raw: bytes) -> bool:
    """Whether a line is a lone opening bracket, as pretty-printed objects begin."""
    return len(raw) < 100 and _first_part(raw).strip(_BLANK) in {b"{", b"["}


class Spread:
    """The lines so far of an object that began with a lone bracket."""

    def __init__(self, line: Line) -> None:
        self.lines: list[Line] = []
        self.size_bytes = 0
        self._depth = 0
        self._last = b""
        self.add(line)

    def add(self, line: Line) -> bytes | None:
        """Take a line in; once the object closes, return what follows on the same line."""
        rest: bytes | None = None
        for token in _TOKENS.finditer(line.raw):
            if token[0] in b"{[":
                self._depth += 1
            elif token[0] in b"}]":
                self._depth -= 1
                if self._depth == 0:
                    rest = line.raw[token.end() :]
                    line = line._replace(raw=line.raw[: token.end()])
                    break
        self.lines.append(line)
        self.size_bytes += len(line.raw) + 1
        self._last = line.raw.rstrip(_BLANK)[-1:] or self._last
        return rest

    def is_refuted_by(self, raw: bytes, *, is_tail: bool) -> bool:
        """Whether a line shows that there was no object: it begins a value of its own where none can stand."""
        if _first_part(raw).lstrip(_BLANK)[:1] not in {b"{", b"["}:
            return False
        return self._last not in {b"[", b",", b":"} or (not is_tail and _is_like_a_record(raw) and parses(raw))

    def holds_records(self) -> bool:
        """Whether some lines look like records of their own: parts of an object would be indented."""
        return any(_is_like_a_record(line.raw) for line in self.lines[1:])

    def joined(self) -> Line:
        first = self.lines[0]
        return first._replace(raw=b"\n".join([line.raw for line in self.lines]))


def is_balanced(raw: bytes) -> bool:
    """Whether every bracket of a line is closed."""
    tokens = [token[0] for token in _TOKENS.finditer(raw)]
    return sum(token in b"{[" for token in tokens) <= sum(token in b"}]" for token in tokens)


def _first_part(raw: bytes) -> bytes:
    return raw.lstrip(b"\0").removeprefix(BOM)


def _is_like_a_record(raw: bytes) -> bool:
    return _BEGINS_RECORD.match(_first_part(raw)) is not None
