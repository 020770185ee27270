"""Huge JSON arrays: the elements of one, read from a stream and handed out one by one.

Most elements are cut out by a guess (a separator and the opening of the element before) which the parser confirms by
accepting the slice. Where it does not, an exact scan finds the element's end. Where there is no end to find, because
a quote or bracket is lost, reading resumes at the next element that can be read, and what lies between is handed out
as one damaged element.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

import orjson

from palaver.sources._cutter import BLANK, OPENING_BYTES, SCALAR, SPACE, Guess, Opening, Scan, Window
from palaver.sources.damage import repair
from palaver.sources.inflate import fast_zlib
from palaver.sources.parse import NOT_JSON, parse, parses

_TRAILING_BYTES = 1 << 10
_BRACE, _BRACKET, _BRACKET_END, _BRACE_END, _COMMA = b"{[]},"

_SMALL = re.compile(rb"(?:%b|\{%b\}|\[%b\])(?=%b[,\]])" % (SCALAR, SPACE, SPACE, SPACE), re.DOTALL)
_CONTROLS = re.compile(BLANK)
_BEFORE_OBJECT = re.compile(rb",%b(?=\{)" % BLANK)
_BEFORE_VALUE = re.compile(rb',%b(?=[{\["\-0-9tfn])' % BLANK)
_LIST_OF_OBJECTS = re.compile(rb"%b\[%b\{" % (SPACE, SPACE))


@dataclass(slots=True)
class Element:
    raw: bytes
    """The exact bytes, without the white space around them."""
    index: int
    """The position in the array, counting damaged ones."""
    offset: int
    """Where the element begins in the (inflated) stream."""
    value: Any | None
    """The element, parsed; None for null, and if it does not parse."""
    error: str | None
    """Why it does not parse, or None."""

    def taken(self) -> Any:
        """The value, which is the caller's alone from now on: it is freed when the caller is done with it."""
        value, self.value = self.value, None
        return value


class ArrayElements:
    """Iterates, once, over the elements of the array that is the document, or that `path` leads to.

    In memory are the current element and a few chunks; while damage is passed over, up to
    `largest_element_bytes`. Without `keeps_raw`, elements come without their bytes, which `raw` has for the last one
    only. No bytes raise an exception, only the stream does.
    """

    def __init__(
        self,
        stream: BinaryIO,
        path: tuple[str, ...] = (),
        *,
        chunk_bytes: int = 1 << 18,
        largest_element_bytes: int = 1 << 30,
        keeps_raw: bool = True,
    ) -> None:
        self.wrapper: dict[str, Any] = {}
        """The other keys around the array, those behind it once the iteration has ended; nested as in the document."""
        self.found = False
        """Whether the path leads to an array."""
        self.truncated = False
        """Whether the array or the document ended too early."""
        self.trailing = b""
        """The beginning of what follows the document, or of the part behind the array that cannot be read."""
        self._path = path
        self._depth = 0
        self._window = Window(stream, chunk_bytes)
        self._guess = Guess(self._window, chunk_bytes)
        self._limit_bytes = largest_element_bytes
        self._index = 0
        self._holds_objects = True
        """Whether the last value that could be read was an object; true as long as none was read."""
        self._keeps_raw = keeps_raw
        self._last_bytes = 0
        self._vain_bytes = 0
        self._sought_last = False
        self._array_end = re.compile(rb"%b\]%b%b\Z" % (SPACE, SPACE, (rb"\}" + SPACE) * len(path)))

    def __iter__(self) -> Iterator[Element]:
        is_inside = self._enter()
        self.found = is_inside
        while is_inside:
            yield from self._elements()
            is_inside = self._next_array()
            if not is_inside and self._goes_on():
                if self._window.peek() != _BRACE:
                    yield from self._damaged("bytes between elements, after a stray bracket")
                is_inside = True

    def _enter(self) -> bool:
        window = self._window
        window.skip_byte_order_mark()
        first = window.peek()
        if first != (_BRACE if self._path else _BRACKET):
            self.truncated = first < 0
            return False
        window.at += 1
        if not self._path:
            return True
        self._depth = 1
        return self._next_array()

    def _next_array(self) -> bool:
        """Go on to the array the path leads to (again, for a repeated key), keeping the other keys on the way."""
        window = self._window
        while self._depth:
            first = window.peek()
            if first == _BRACE_END:
                window.at += 1
                self._depth -= 1
                continue
            if (key := window.take_key()) is None:
                self.truncated |= first < 0
                return self._array_by_name()
            first = window.peek()
            is_own = key == self._path[self._depth - 1]
            if is_own and first == (_BRACKET if self._depth == len(self._path) else _BRACE):
                window.at += 1
                if first == _BRACKET:
                    return True
                self._depth += 1
                continue
            if first < 0:
                self.truncated = True
                return False
            scan = self._scan(0)
            if not scan.size and not scan.is_broken and window.ended:
                self.truncated = True
                return False
            if not scan.size or window.peek_behind(scan.size) not in {_COMMA, _BRACE_END, -1}:
                return self._array_by_name()
            if not is_own:
                self._keep(key, window.copy(0, scan.size))
            window.at += scan.size
        return False

    def _array_by_name(self) -> bool:
        """Look for the array's key alone: the way to it is damaged."""
        window = self._window
        name = re.compile(rb"%b%b:%b\[" % (re.escape(orjson.dumps(self._path[-1])), SPACE, SPACE))
        while not self.found:
            if match := name.search(window.held, window.at):
                window.at = match.end()
                self._depth = len(self._path)
                return True
            window.at = max(window.at, len(window.held) - OPENING_BYTES)
            if not window.more():
                break
        return False

    def _keep(self, key: str, raw: bytes) -> None:
        level = self.wrapper
        for name in self._path[: self._depth - 1]:
            level = level.setdefault(name, {})
        try:
            level[key] = parse(raw)
        except NOT_JSON:
            if values := repair(raw).values:
                level[key] = values[0]

    def _elements(self) -> Iterator[Element]:
        """All elements up to the closing bracket, or to the end of the stream."""
        window = self._window
        while (first := window.peek()) >= 0:
            if first == _COMMA:
                window.at += 1
                continue
            if first == _BRACKET_END:
                window.at += 1
                return
            element = (self._guessed() if first == _BRACE else None) or self._exact(first)
            if isinstance(element, Element):
                yield element
            else:
                yield from self._damaged(element)
            # The caller may be done with it: two large ones need not be in memory at once.
            del element
        self.truncated = True

    def _guessed(self) -> Element | None:
        window = self._window
        if not (size := self._guess.size() or self._last_ahead()):
            return None
        # A slice that begins where an element begins and parses cannot be wrong: no object is the beginning of another
        # one, since its last brace closes its first. So a separator inside the element gives a slice that is too short
        # to parse, and one behind a later element a slice with a comma between two values.
        try:
            with window.view(size) as raw:
                value = parse(raw)
        except NOT_JSON:
            self._guess.was_wrong(size)
            return None
        self._guess.was_right(size)
        return self._taken(window.copy(0, size) if self._keeps_raw else b"", value, None, size)

    def _last_ahead(self) -> int:
        """The size of the last element, if it is the one ahead: all up to the bracket at the end of the document."""
        if self._sought_last or not self._window.ended:
            return 0
        self._sought_last = True
        return max(0, self._array_end_ahead())

    def _exact(self, first: int) -> Element | str:
        """The element, or why it has no end."""
        window = self._window
        if first <= 32:
            return self._stray_controls()
        if small := _SMALL.match(window.held, window.at):
            size = small.end() - window.at
        else:
            scan = self._scan(0)
            size = scan.size
            if scan.is_broken:
                return f"structure broken at byte {window.offset + scan.done} of the stream"
            if not size and not window.ended:
                return f"no end within {self._limit_bytes} bytes"
            if self._swallowed_others(size):
                return "structure broken: its end is lost"
            if not size:
                self.truncated = True
                return self._taken(window.copy(0, window.ahead), None, "truncated")
        if first == _BRACE:
            self._guess.learn(size)
        raw = window.copy(0, size)
        try:
            return self._taken(raw, parse(raw), None)
        except NOT_JSON as error:
            return self._taken(raw, None, str(error)) if self._is_followed(size) else str(error)

    def _taken(self, raw: bytes, value: Any, error: str | None, size: int = 0) -> Element:
        element = Element(raw, self._index, self._window.offset, value, error)
        if error is None:
            self._holds_objects = isinstance(value, dict)
        self._index += 1
        self._last_bytes = size or len(raw)
        self._window.at += self._last_bytes
        return element

    def raw(self) -> bytes:
        """The bytes of the element that was handed out last, until the next one is asked for."""
        return self._window.copy(-self._last_bytes, self._last_bytes)

    def checksum(self) -> tuple[int, int]:
        """The size of the element that was handed out last, and a number that tells it from others."""
        with self._window.view(self._last_bytes, -self._last_bytes) as raw:
            return self._last_bytes, fast_zlib.crc32(raw)

    def _stray_controls(self) -> Element:
        window = self._window
        size = 0
        while match := _CONTROLS.match(window.held, window.at + size):
            size = match.end() - window.at
            if size < window.ahead or size > self._limit_bytes or not window.more():
                break
        return self._taken(window.copy(0, size), None, "control bytes between elements")

    def _scan(self, start: int) -> Scan:
        """Scan the value that begins `start` bytes ahead, to its end, the stream's or the limit."""
        window = self._window
        scan = Scan()
        while not scan.run(window.held, window.at + start):
            if window.ahead > self._limit_bytes or not window.more():
                break
        return scan

    def _is_followed(self, size: int) -> bool:
        return self._window.peek_behind(size) in {_COMMA, _BRACKET_END, -1}

    def _goes_on(self) -> bool:
        """Whether what follows the array or document shows that a stray bracket ended it."""
        window = self._window
        if (first := window.peek()) < 0:
            return False
        known = self._guess.opening
        if first in {_BRACE, _BRACKET} and (self._holds_objects or not self._path):
            window.at += first == _BRACKET
            return True
        is_stray = first in b",]}" or first <= 32  # a bracket, or control bytes behind one
        if is_stray and self._damage_bytes(known.boundary if known else _BEFORE_OBJECT) >= 0:
            return True
        window.reach(_TRAILING_BYTES)
        self.trailing = window.copy(0, min(window.ahead, _TRAILING_BYTES))
        return False

    def _swallowed_others(self, size: int) -> bool:
        """Whether the element took the document's last brackets for its own, and all elements before them with them."""
        window = self._window
        if size and (not self._path or window.peek_behind(size) >= 0):
            return False
        if not window.held[-OPENING_BYTES:].rstrip().endswith(b"}" if self._path else b"]"):
            return False
        opening = self._guess.opening or Opening.of(window.held, window.at)
        return opening is not None and self._damage_bytes(opening.boundary) >= 0

    def _array_end_ahead(self) -> int:
        """How far ahead the array ends, which is before the white space at its bracket, if the document ends there."""
        window = self._window
        end = self._array_end.search(window.held, max(window.at, len(window.held) - OPENING_BYTES))
        return end.start() - window.at if end else -1

    def _damaged(self, why: str) -> Iterator[Element]:
        """Hand out the bytes up to the next element that can be read."""
        window = self._window
        while window.peek() >= 0:
            size = self._readable_ahead()
            is_over = True
            if size < 0 and window.ended:
                size = self._array_end_ahead()
                if size < 0:
                    self.truncated = True
                    size = window.ahead
            elif size < 0:
                size = max(1, window.ahead - min(OPENING_BYTES, window.ahead // 2))
                is_over = False
            if raw := window.copy(0, size).rstrip(b" \t\n\r"):
                yield self._taken(raw, None, why)
                window.at += size - len(raw)
            if is_over:
                return

    def _readable_ahead(self) -> int:
        """The size of the damage, or -1 if nothing behind it can be read."""
        window = self._window
        known = self._guess.opening
        # The surest first, unless looking for it far and wide was in vain too often.
        if self._vain_bytes <= 4 * (window.offset + window.ahead):
            if known and (size := self._damage_bytes(known.boundary, is_cut_good=True)) >= 0:
                return size
            own = Opening.of(window.held, window.at)
            if own and (size := self._damage_bytes(own.boundary)) >= 0:
                return size
            self._vain_bytes += 2 * window.ahead
        is_object = known or window.held[window.at] == _BRACE
        return self._damage_bytes(_BEFORE_OBJECT if is_object else _BEFORE_VALUE)

    def _damage_bytes(self, boundary: re.Pattern[bytes], *, is_cut_good: bool = False) -> int:
        """How many bytes there are before a separator and an element that can be read, or -1."""
        window = self._window
        searched = 0
        scanned = 0
        cut = -1
        while True:
            found = boundary.search(window.held, window.at + searched)
            if not found:
                searched = max(searched, window.ahead - OPENING_BYTES)
                if window.ahead > self._limit_bytes or not window.more():
                    return cut if is_cut_good and window.ended else -1
                continue
            size, start = found.start() - window.at, found.end() - window.at
            scan = self._scan(start)
            if scan.size:
                if self._is_followed(start + scan.size) and parses(window.copy(start, scan.size)):
                    return size
            elif not scan.is_broken and not window.ended and start > window.ahead // 2:
                return size
            elif not scan.is_broken and cut < 0:
                cut = size
            # Past some work, what is nested in a broken or endless candidate is not tried: it may be nested deeply.
            scanned += scan.done
            searched = start + scan.done if scan.size or scanned > 8 * window.ahead else start


def elements_path(head: bytes) -> tuple[str, ...] | None:
    """Where the elements are, by a document's first bytes: `()` for an array, `("key",)` for the first list of objects.

    None if it is neither, or if that list begins behind these bytes.
    """
    window = Window(BytesIO(head), len(head))
    window.skip_byte_order_mark()
    first = window.peek()
    if first == _BRACKET:
        return ()
    if first != _BRACE:
        return None
    window.at += 1
    while (key := window.take_key()) is not None:
        if _LIST_OF_OBJECTS.match(window.held, window.at):
            return (key,)
        if window.peek() < 0:
            return None
        scan = Scan()
        if not scan.run(window.held, window.at) or scan.is_broken:
            return None
        window.at += scan.size
    return None
