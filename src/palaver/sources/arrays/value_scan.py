"""The end of a JSON value in a stream: a window over the stream, a fast guess, and an exact scan.

The scan knows brackets and strings and ignores what is inside a scalar: NaN, bad escapes, bad UTF-8 and any depth of
nesting do not stop it. It does check which tokens are adjacent, so that a lost quote or bracket shows within a few
tokens instead of at the end of the file.
"""

import codecs
import re
from typing import BinaryIO, cast

from palaver.sources.parse import NOT_JSON, parse

SPACE = rb"[ \t\n\r]*+"
BLANK = rb"[\x00-\x20]*+"
"""White space in damaged input, where NUL bytes may occur between two tokens."""
STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
SCALAR = rb'(?:%b|[^\x00-\x20"{}\[\],:]++)' % STRING
OPENING_BYTES = 1 << 12
"""How far to look for the two keys of an opening; a longer one is not recognised at the end of a chunk."""

_SPACE = re.compile(SPACE)
_KEY = re.compile(rb"%b,?%b(%b)%b:" % (SPACE, SPACE, STRING, SPACE), re.DOTALL)


class StreamWindow:
    """The part of a stream that is in memory; the next read drops what lies before `position`."""

    __slots__ = ("_chunk_bytes", "_stream", "buffer", "is_at_end", "origin", "position")

    def __init__(self, stream: BinaryIO, chunk_bytes: int) -> None:
        self._stream = stream
        self._chunk_bytes = max(1, chunk_bytes)
        self.buffer = bytearray()
        self.position = 0
        self.origin = 0
        self.is_at_end = False

    @property
    def offset(self) -> int:
        """Return the offset of `position` in the stream."""
        return self.origin + self.position

    @property
    def available(self) -> int:
        """Return how many bytes from `position` on are in memory."""
        return len(self.buffer) - self.position

    def read_chunk(self) -> bool:
        """Read one chunk and return whether there was one.

        Positions in `buffer` change, distances from `position` do not.
        """
        chunk = b"" if self.is_at_end else self._stream.read(self._chunk_bytes)
        if not chunk:
            self.is_at_end = True
            return False
        if self.position:
            del self.buffer[: self.position]
            self.origin += self.position
            self.position = 0
        self.buffer += chunk
        return True

    def require(self, size: int) -> None:
        """Read until this many bytes are available or the stream ends."""
        while len(self.buffer) - self.position < size and self.read_chunk():
            pass

    def peek(self) -> int:
        """Skip white space and return the byte after it, or -1 at the end."""
        while True:
            if self.position < len(self.buffer) and self.buffer[self.position] > 32:
                return self.buffer[self.position]
            self.position = cast("re.Match[bytes]", _SPACE.match(self.buffer, self.position)).end()
            if self.position < len(self.buffer):
                return self.buffer[self.position]
            if not self.read_chunk():
                return -1

    def peek_after(self, size: int) -> int:
        """Skip this many bytes and white space, and return the byte after them, or -1 at the end; do not move."""
        while True:
            end = cast("re.Match[bytes]", _SPACE.match(self.buffer, self.position + size)).end()
            if end < len(self.buffer):
                return self.buffer[end]
            size = end - self.position
            if not self.read_chunk():
                return -1

    def copy(self, start: int, size: int) -> bytes:
        start += self.position
        return bytes(memoryview(self.buffer)[start : start + size])

    def view(self, size: int, start: int = 0) -> memoryview:
        """Return a view of bytes in the buffer; release it before the next read."""
        start += self.position
        return memoryview(self.buffer)[start : start + size]

    def skip_byte_order_mark(self) -> None:
        self.require(len(codecs.BOM_UTF8))
        if self.buffer.startswith(codecs.BOM_UTF8):
            self.position = len(codecs.BOM_UTF8)

    def take_key(self) -> str | None:
        """Skip `"key":` and a comma before it, and return the key; None if there is no key."""
        self.require(OPENING_BYTES)
        if not (match := _KEY.match(self.buffer, self.position)):
            return None
        self.position = match.end()
        try:
            return parse(match[1])
        except NOT_JSON:
            return match[1][1:-1].decode(errors="replace")


_SEPARATOR = re.compile(rb"%b,%b" % (SPACE, SPACE))
_OPENING = re.compile(
    rb"\{%b(%b)%b:(?:%b%b%b,%b(%b)%b:)?" % (SPACE, STRING, SPACE, SPACE, SCALAR, SPACE, SPACE, STRING, SPACE),
    re.DOTALL,
)


class ObjectOpening:
    """The beginning of an object: its first key, and its second key if the first value is a scalar.

    One key is not enough: lists of objects often contain lists of other objects with the same first key.
    """

    def __init__(self, match: re.Match[bytes]) -> None:
        self.start = match[0][: match.end(1) - match.start()]
        pattern = rb"\{%b%b%b:" % (SPACE, re.escape(match[1]), SPACE)
        if match[2]:
            pattern += rb"%b%b%b,%b%b%b:" % (SPACE, SCALAR, SPACE, SPACE, re.escape(match[2]), SPACE)
        self.pattern = re.compile(pattern, re.DOTALL)
        self.boundary = re.compile(rb",%b(?=%b)" % (BLANK, pattern), re.DOTALL)
        """The comma before an object that begins like this."""

    @classmethod
    def at(cls, buffer: bytearray, position: int) -> "ObjectOpening | None":
        match = _OPENING.match(buffer, position, position + OPENING_BYTES)
        return cls(match) if match else None


_MAX_WAIT_CHUNKS = 16
"""How many chunks to buffer in search of the next opening: an exact scan takes twenty times as long as a search."""


class EndGuess:
    """A guess where the object at the window's position ends: before a separator and an opening like earlier ones."""

    def __init__(self, window: StreamWindow, chunk_bytes: int) -> None:
        self.opening: ObjectOpening | None = None
        """How elements usually begin; None before the first element, for which its own opening is used."""
        self._window = window
        self._chunk_bytes = chunk_bytes
        self._separator = b""
        self._opening_distance = 0
        self._resume_at = 0
        self._largest = 0
        self._misses = 0
        self._miss_limit = 2

    def size(self) -> int:
        """Return the size of the object if the guess is right, or 0 for no guess."""
        window = self._window
        start = window.offset
        if start < self._resume_at or not (opening := self.opening or ObjectOpening.at(window.buffer, window.position)):
            return 0
        search = start
        while (found := self._find(opening, search - window.origin)) < 0:
            # The next search finds an opening that the end of the window cuts off.
            search = max(start, window.origin + len(window.buffer) - OPENING_BYTES)
            # Without this limit, a document whose elements begin differently would end up in memory.
            if window.available > max(_MAX_WAIT_CHUNKS * self._chunk_bytes, self._largest) or not window.read_chunk():
                self._resume_at = search + 1
                self._misses += 1
                return 0
        return window.origin + found - start + 1

    def _find(self, opening: ObjectOpening, position: int) -> int:
        buffer = self._window.buffer
        if not self.opening:
            found = opening.boundary.search(buffer, position + 1)
            return found.start() - 1 if found else -1
        while (position := buffer.find(self._separator, position)) >= 0:
            if opening.pattern.match(buffer, position + self._opening_distance):
                break
            position += 1
        return position

    def confirm(self, size: int) -> None:
        if not self.opening:
            self.learn(size)
        self._misses = 0
        self._largest = max(self._largest, size)

    def reject(self, size: int) -> None:
        # Guessing resumes after the wrong guess, so the bytes of wrong guesses never overlap: linear time.
        self._resume_at = self._window.offset + size
        self._misses += 1

    def learn(self, size: int) -> None:
        """Learn from an element of known size how elements begin and are separated, unless guessing works."""
        self._largest = max(self._largest, size)
        if self._misses < self._miss_limit and self.opening:
            return
        window = self._window
        window.require(size + OPENING_BYTES)
        end = window.position + size
        separator = _SEPARATOR.match(window.buffer, end)
        opening = ObjectOpening.at(window.buffer, window.position)
        if separator and opening and window.buffer[end - 1] == ord("}"):
            self.opening = opening
            self._separator = b"}" + separator[0] + opening.start
            self._opening_distance = 1 + len(separator[0])
            self._misses = 0
            self._miss_limit *= 2


_BLANK_BYTES = bytes(range(33))
# A string that is not followed by a comma, a colon or a closing bracket means one quote too many or too few. The
# count is limited because each repetition takes memory until the match is over, and not possessive because Python
# 3.11.4 and older do not backtrack out of the last, failed repetition of a possessive group.
_TO_BRACKET = rb'[^"{}\[\]]*+(?:%b%b(?=[,:}\]])[^"{}\[\]]*+){0,1000}' % (STRING, BLANK)
_BRACKET = re.compile(rb"%b[{}\[\]]" % _TO_BRACKET, re.DOTALL)
_UP_TO_BRACKET = re.compile(_TO_BRACKET, re.DOTALL)
# Group 1 of the next three is empty at the end of the window.
_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
_AFTER_STRING = re.compile(rb"%b(?=(.?))" % BLANK, re.DOTALL)
_IN_SCALAR = re.compile(rb'[^\x00-\x20"{}\[\],:]*+(?=(.?))', re.DOTALL)
_CLOSERS = {ord("{"): ord("}"), ord("["): ord("]")}
_BEFORE_VALUE = {ord("}"): b":", ord("]"): b",["}


class ValueScan:
    """A search for the end of one JSON value over any number of chunks, without going back."""

    __slots__ = ("_closers", "_token_pattern", "is_broken", "scanned_bytes", "size")

    def __init__(self) -> None:
        self.size = 0
        """The size of the value; 0 until its end is found."""
        self.is_broken = False
        """Whether no value can continue like this."""
        self.scanned_bytes = 0
        self._closers = bytearray()
        self._token_pattern: re.Pattern[bytes] | None = None

    def run(self, buffer: bytearray, start: int) -> bool:
        """Scan the value that begins at `start` as far as it is in memory; return False to ask for more bytes."""
        position = start + (self.scanned_bytes or self._start(buffer[start]))
        closers = self._closers
        while not self.is_broken:
            if self._token_pattern:
                match = cast("re.Match[bytes]", self._token_pattern.match(buffer, position))
                position = match.end()
                if not match[1]:
                    break
                if not closers:
                    self.size = position - start
                    break
                if self._token_pattern is _IN_STRING:
                    self._token_pattern = _AFTER_STRING
                    continue
                self.is_broken = match[1] not in b",:}]"
                self._token_pattern = None
            elif match := _BRACKET.match(buffer, position):
                position = match.end()
                bracket = buffer[position - 1]
                if closer := _CLOSERS.get(bracket):
                    if closers:
                        before = buffer[position - 2]
                        if before <= 32:
                            before = _visible_before(buffer, position - 1)
                        self.is_broken = before not in _BEFORE_VALUE[closers[-1]]
                    closers.append(closer)
                else:
                    self.is_broken = closers.pop() != bracket
                    if not closers and not self.is_broken:
                        self.size = position - start
                        break
            else:
                position = cast("re.Match[bytes]", _UP_TO_BRACKET.match(buffer, position)).end()
                if position == len(buffer):
                    break
                position += 1
                self._token_pattern = _IN_STRING
        self.scanned_bytes = position - start
        return self.is_broken or self.size > 0

    def _start(self, first: int) -> int:
        """Choose the pattern for the value's first byte, and return how many bytes that takes."""
        if first == ord('"'):
            self._token_pattern = _IN_STRING
            return 1
        if first not in b"{[":
            self._token_pattern = _IN_SCALAR
            self.is_broken = first <= 32 or first in b",:}]"
        return 0


def _visible_before(buffer: bytearray, position: int) -> int:
    """Return the last byte before a position that is not blank, or 0."""
    width = 64
    while not (tail := buffer[max(0, position - width) : position].rstrip(_BLANK_BYTES)) and width < position:
        width *= 8
    return tail[-1] if tail else 0
