"""Where a JSON value ends: a window over a stream, a fast guess, and an exact scan.

The scan knows brackets and strings, and nothing of what is inside a scalar: NaN, bad escapes, bad UTF-8 or any depth
of nesting do not stop it. It does look at what stands next to what, so that a lost quote or bracket shows within a
few tokens, not at the end of the file.
"""

import codecs
import re
from typing import BinaryIO, cast

from palaver.sources.parse import NOT_JSON, parse

SPACE = rb"[ \t\n\r]*+"
BLANK = rb"[\x00-\x20]*+"
"""White space where something is damaged: NULs between two tokens need not stop us."""
STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
SCALAR = rb'(?:%b|[^\x00-\x20"{}\[\],:]++)' % STRING
OPENING_BYTES = 1 << 12
"""How far to look for the two keys that make an opening; a longer one is not recognised at a chunk's end."""

_SPACE = re.compile(SPACE)
_KEY = re.compile(rb"%b,?%b(%b)%b:" % (SPACE, SPACE, STRING, SPACE), re.DOTALL)


class Window:
    """The part of a stream that is in memory: what lies before `at` is forgotten with the next read."""

    __slots__ = ("_chunk_bytes", "_stream", "at", "ended", "held", "origin")

    def __init__(self, stream: BinaryIO, chunk_bytes: int) -> None:
        self._stream = stream
        self._chunk_bytes = max(1, chunk_bytes)
        self.held = bytearray()
        self.at = 0
        self.origin = 0
        self.ended = False

    @property
    def offset(self) -> int:
        """Where `at` is in the stream."""
        return self.origin + self.at

    @property
    def ahead(self) -> int:
        """How many bytes from `at` on are in memory."""
        return len(self.held) - self.at

    def more(self) -> bool:
        """Read one chunk; positions in `held` change, distances from `at` do not."""
        chunk = b"" if self.ended else self._stream.read(self._chunk_bytes)
        if not chunk:
            self.ended = True
            return False
        if self.at:
            del self.held[: self.at]
            self.origin += self.at
            self.at = 0
        self.held += chunk
        return True

    def reach(self, size: int) -> None:
        """Have that many bytes ahead, if the stream has them."""
        while len(self.held) - self.at < size and self.more():
            pass

    def peek(self) -> int:
        """Go past white space; the byte there, or -1 at the end."""
        while True:
            if self.at < len(self.held) and self.held[self.at] > 32:
                return self.held[self.at]
            self.at = cast("re.Match[bytes]", _SPACE.match(self.held, self.at)).end()
            if self.at < len(self.held):
                return self.held[self.at]
            if not self.more():
                return -1

    def peek_behind(self, size: int) -> int:
        """The first byte after white space that many bytes ahead, or -1 at the end."""
        while True:
            end = cast("re.Match[bytes]", _SPACE.match(self.held, self.at + size)).end()
            if end < len(self.held):
                return self.held[end]
            size = end - self.at
            if not self.more():
                return -1

    def copy(self, start: int, size: int) -> bytes:
        start += self.at
        return bytes(memoryview(self.held)[start : start + size])

    def view(self, size: int, start: int = 0) -> memoryview:
        """The same bytes in place; it has to be released before anything is read."""
        start += self.at
        return memoryview(self.held)[start : start + size]

    def skip_byte_order_mark(self) -> None:
        self.reach(len(codecs.BOM_UTF8))
        if self.held.startswith(codecs.BOM_UTF8):
            self.at = len(codecs.BOM_UTF8)

    def take_key(self) -> str | None:
        """Go past `"key":`, with the comma before it if there is one."""
        self.reach(OPENING_BYTES)
        if not (match := _KEY.match(self.held, self.at)):
            return None
        self.at = match.end()
        try:
            return parse(match[1])
        except NOT_JSON:
            return match[1][1:-1].decode(errors="replace")


_SEPARATOR = re.compile(rb"%b,%b" % (SPACE, SPACE))
_OPENING = re.compile(
    rb"\{%b(%b)%b:(?:%b%b%b,%b(%b)%b:)?" % (SPACE, STRING, SPACE, SPACE, SCALAR, SPACE, SPACE, STRING, SPACE),
    re.DOTALL,
)


class Opening:
    """How an object begins: its first key, and its second one where the first value is a scalar.

    One key would not do: lists of objects often hold lists of other objects with the same first key.
    """

    def __init__(self, match: re.Match[bytes]) -> None:
        self.start = match[0][: match.end(1) - match.start()]
        pattern = rb"\{%b%b%b:" % (SPACE, re.escape(match[1]), SPACE)
        if match[2]:
            pattern += rb"%b%b%b,%b%b%b:" % (SPACE, SCALAR, SPACE, SPACE, re.escape(match[2]), SPACE)
        self.pattern = re.compile(pattern, re.DOTALL)
        self.boundary = re.compile(rb",%b(?=%b)" % (BLANK, pattern), re.DOTALL)
        """A comma before such an object."""

    @classmethod
    def of(cls, held: bytearray, at: int) -> "Opening | None":
        match = _OPENING.match(held, at, at + OPENING_BYTES)
        return cls(match) if match else None


_PATIENT_CHUNKS = 16
"""An exact scan takes twenty times as long as a search: it is worth some memory to find the next opening."""


class Guess:
    """Where the object at the window's `at` probably ends: before a separator and an opening like those seen before."""

    def __init__(self, window: Window, chunk_bytes: int) -> None:
        self.opening: Opening | None = None
        """How elements usually begin; before the first one, which is taken at its own word, nothing is known."""
        self._window = window
        self._chunk_bytes = chunk_bytes
        self._separator = b""
        self._opening_at = 0
        self._blind_until = 0
        self._largest = 0
        self._misses = 0
        self._patience = 2

    def size(self) -> int:
        """The size of the object if the guess is right, or 0 for no guess."""
        window = self._window
        start = window.offset
        if start < self._blind_until or not (opening := self.opening or Opening.of(window.held, window.at)):
            return 0
        search = start
        while (found := self._find(opening, search - window.origin)) < 0:
            # An opening that the window's end cuts is seen the next time.
            search = max(start, window.origin + len(window.held) - OPENING_BYTES)
            # Waiting much longer than for the largest element so far would hold a document whose elements open
            # differently in memory.
            if window.ahead > max(_PATIENT_CHUNKS * self._chunk_bytes, self._largest) or not window.more():
                self._blind_until = search + 1
                self._misses += 1
                return 0
        return window.origin + found - start + 1

    def _find(self, opening: Opening, at: int) -> int:
        held = self._window.held
        if not self.opening:
            found = opening.boundary.search(held, at + 1)
            return found.start() - 1 if found else -1
        while (at := held.find(self._separator, at)) >= 0:
            if opening.pattern.match(held, at + self._opening_at):
                break
            at += 1
        return at

    def was_right(self, size: int) -> None:
        if not self.opening:
            self.learn(size)
        self._misses = 0
        self._largest = max(self._largest, size)

    def was_wrong(self, size: int) -> None:
        # Not guessing before the wrong guess's end keeps the bytes of all wrong guesses disjoint: linear time.
        self._blind_until = self._window.offset + size
        self._misses += 1

    def learn(self, size: int) -> None:
        """Look at how an element of known size begins and what follows it, unless guessing works."""
        self._largest = max(self._largest, size)
        if self._misses < self._patience and self.opening:
            return
        window = self._window
        window.reach(size + OPENING_BYTES)
        end = window.at + size
        separator = _SEPARATOR.match(window.held, end)
        opening = Opening.of(window.held, window.at)
        if separator and opening and window.held[end - 1] == ord("}"):
            self.opening = opening
            self._separator = b"}" + separator[0] + opening.start
            self._opening_at = 1 + len(separator[0])
            self._misses = 0
            self._patience *= 2


_BLANK_BYTES = bytes(range(33))
# A string is followed by a comma, a colon or a closing bracket, or else there is a quote too many or too few. The
# count is limited because each repetition takes memory until the match is over, and not possessive because Python
# 3.11.4 and older do not go back from a possessive group's last, failed repetition.
_TO_BRACKET = rb'[^"{}\[\]]*+(?:%b%b(?=[,:}\]])[^"{}\[\]]*+){0,1000}' % (STRING, BLANK)
_BRACKET = re.compile(rb"%b[{}\[\]]" % _TO_BRACKET, re.DOTALL)
_NO_BRACKET = re.compile(_TO_BRACKET, re.DOTALL)
# Group 1 of these is empty where the window ends.
_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
_AFTER_STRING = re.compile(rb"%b(?=(.?))" % BLANK, re.DOTALL)
_IN_WORD = re.compile(rb'[^\x00-\x20"{}\[\],:]*+(?=(.?))', re.DOTALL)
_CLOSERS = {ord("{"): ord("}"), ord("["): ord("]")}
_BEFORE_VALUE = {ord("}"): b":", ord("]"): b",["}


class Scan:
    """Finds the end of one JSON value, over as many chunks as it takes, without going back."""

    __slots__ = ("_closers", "_inside", "done", "is_broken", "size")

    def __init__(self) -> None:
        self.size = 0
        """The size of the value, once its end is found."""
        self.is_broken = False
        """No value goes on like this."""
        self.done = 0
        """How far the scan came."""
        self._closers = bytearray()
        self._inside: re.Pattern[bytes] | None = None

    def run(self, held: bytearray, start: int) -> bool:
        """Scan the value that begins at `start` as far as it is in memory; False asks for more."""
        at = start + (self.done or self._begin(held[start]))
        closers = self._closers
        while not self.is_broken:
            if self._inside:
                match = cast("re.Match[bytes]", self._inside.match(held, at))
                at = match.end()
                if not match[1]:
                    break
                if not closers:
                    self.size = at - start
                    break
                if self._inside is _IN_STRING:
                    self._inside = _AFTER_STRING
                    continue
                self.is_broken = match[1] not in b",:}]"
                self._inside = None
            elif match := _BRACKET.match(held, at):
                at = match.end()
                bracket = held[at - 1]
                if closer := _CLOSERS.get(bracket):
                    if closers:
                        before = held[at - 2]
                        if before <= 32:
                            before = _visible_before(held, at - 1)
                        self.is_broken = before not in _BEFORE_VALUE[closers[-1]]
                    closers.append(closer)
                else:
                    self.is_broken = closers.pop() != bracket
                    if not closers and not self.is_broken:
                        self.size = at - start
                        break
            else:
                at = cast("re.Match[bytes]", _NO_BRACKET.match(held, at)).end()
                if at == len(held):
                    break
                at += 1
                self._inside = _IN_STRING
        self.done = at - start
        return self.is_broken or self.size > 0

    def _begin(self, first: int) -> int:
        if first == ord('"'):
            self._inside = _IN_STRING
            return 1
        if first not in b"{[":
            self._inside = _IN_WORD
            self.is_broken = first <= 32 or first in b",:}]"
        return 0


def _visible_before(held: bytearray, at: int) -> int:
    width = 64
    while not (tail := held[max(0, at - width) : at].rstrip(_BLANK_BYTES)) and width < at:
        width *= 8
    return tail[-1] if tail else 0
