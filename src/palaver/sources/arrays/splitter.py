"""Splitting a huge JSON array, read from a stream, into its elements.

Most elements are cut out by a guess (a separator followed by an opening like that of the element before), which the
parser confirms by accepting the slice. If it does not, an exact scan finds the end of the element. If there is no end
to find, because a quote or bracket is lost, reading resumes at the next readable element, and the bytes in between
become one damaged element.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

import orjson

from palaver.sources.arrays.value_scan import (
    BLANK,
    OPENING_BYTES,
    SCALAR,
    SPACE,
    EndGuess,
    ObjectOpening,
    StreamWindow,
    ValueScan,
)
from palaver.sources.damage import repair
from palaver.sources.parse import NOT_JSON, parse, parses
from palaver.sources.zip.inflate import fast_zlib

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
    """The position in the array, counting damaged elements."""
    offset: int
    """Where the element begins in the (decompressed) stream."""
    value: Any | None
    """The parsed element; None for null and for an element that does not parse."""
    error: str | None
    """Why it does not parse, or None."""

    def take_value(self) -> Any:
        """Return the value and drop it here, so that it is freed when the caller is done with it."""
        value, self.value = self.value, None
        return value


class ArrayElements:
    """An iterator over the elements of the array that is the document, or that `path` leads to; usable once.

    Holds the current element and a few chunks in memory; while skipping damage, up to `largest_element_bytes`. Without
    `keeps_raw`, elements have no bytes, and `raw` returns those of the last element only. Damage never raises an
    exception; only the stream may.
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
        """The other keys around the array, nested as in the document; complete when iteration ends."""
        self.found = False
        """Whether the path leads to an array."""
        self.truncated = False
        """Whether the array or the document ended too early."""
        self.trailing = b""
        """The beginning of what follows the document, or of an unreadable part after the array."""
        self._path = path
        self._depth = 0
        self._window = StreamWindow(stream, chunk_bytes)
        self._guess = EndGuess(self._window, chunk_bytes)
        self._limit_bytes = largest_element_bytes
        self._index = 0
        self._last_is_object = True
        """Whether the last readable value was an object; True before the first one."""
        self._keeps_raw = keeps_raw
        self._last_bytes = 0
        self._wasted_bytes = 0
        self._has_tried_last = False
        self._array_end = re.compile(rb"%b\]%b%b\Z" % (SPACE, SPACE, (rb"\}" + SPACE) * len(path)))

    def __iter__(self) -> Iterator[Element]:
        is_inside = self._enter()
        self.found = is_inside
        while is_inside:
            yield from self._elements()
            is_inside = self._next_array()
            if not is_inside and self._continues_after_bracket():
                if self._window.peek() != _BRACE:
                    yield from self._damaged("bytes between elements, after a stray bracket")
                is_inside = True

    def raw(self) -> bytes:
        """Return the bytes of the last element; call it before the next element is requested."""
        return self._window.copy(-self._last_bytes, self._last_bytes)

    def checksum(self) -> tuple[int, int]:
        """Return the size and the CRC-32 of the last element, which identify equal elements."""
        with self._window.view(self._last_bytes, -self._last_bytes) as raw:
            return self._last_bytes, fast_zlib.crc32(raw)

    def _enter(self) -> bool:
        window = self._window
        window.skip_byte_order_mark()
        first = window.peek()
        if first != (_BRACE if self._path else _BRACKET):
            self.truncated = first < 0
            return False
        window.position += 1
        if not self._path:
            return True
        self._depth = 1
        return self._next_array()

    def _next_array(self) -> bool:
        """Move to the array that the path leads to (again, for a repeated key) and collect the other keys."""
        window = self._window
        while self._depth:
            first = window.peek()
            if first == _BRACE_END:
                window.position += 1
                self._depth -= 1
                continue
            if (key := window.take_key()) is None:
                self.truncated |= first < 0
                return self._array_by_name()
            first = window.peek()
            is_on_path = key == self._path[self._depth - 1]
            if is_on_path and first == (_BRACKET if self._depth == len(self._path) else _BRACE):
                window.position += 1
                if first == _BRACKET:
                    return True
                self._depth += 1
                continue
            if first < 0:
                self.truncated = True
                return False
            scan = self._scan(0)
            if not scan.size and not scan.is_broken and window.is_at_end:
                self.truncated = True
                return False
            if not scan.size or window.peek_after(scan.size) not in {_COMMA, _BRACE_END, -1}:
                return self._array_by_name()
            if not is_on_path:
                self._add_to_wrapper(key, window.copy(0, scan.size))
            window.position += scan.size
        return False

    def _array_by_name(self) -> bool:
        """Search for the array's key alone, because the path to it is damaged."""
        window = self._window
        name = re.compile(rb"%b%b:%b\[" % (re.escape(orjson.dumps(self._path[-1])), SPACE, SPACE))
        while not self.found:
            if match := name.search(window.buffer, window.position):
                window.position = match.end()
                self._depth = len(self._path)
                return True
            window.position = max(window.position, len(window.buffer) - OPENING_BYTES)
            if not window.read_chunk():
                break
        return False

    def _add_to_wrapper(self, key: str, raw: bytes) -> None:
        level = self.wrapper
        for name in self._path[: self._depth - 1]:
            level = level.setdefault(name, {})
        try:
            level[key] = parse(raw)
        except NOT_JSON:
            if values := repair(raw).values:
                level[key] = values[0]

    def _elements(self) -> Iterator[Element]:
        """Yield the elements up to the closing bracket or the end of the stream."""
        window = self._window
        while (first := window.peek()) >= 0:
            if first == _COMMA:
                window.position += 1
                continue
            if first == _BRACKET_END:
                window.position += 1
                return
            element = (self._guessed_element() if first == _BRACE else None) or self._exact_element(first)
            if isinstance(element, Element):
                yield element
            else:
                yield from self._damaged(element)
            # Two large elements need not be in memory at once.
            del element
        self.truncated = True

    def _guessed_element(self) -> Element | None:
        window = self._window
        if not (size := self._guess.size() or self._last_element_size()):
            return None
        # A slice that starts at an element and parses cannot be wrong: no object is a prefix of another object, since
        # its last brace closes its first. A separator inside the element gives a slice too short to parse; one after
        # a later element gives a slice with a comma between two values.
        try:
            with window.view(size) as raw:
                value = parse(raw)
        except NOT_JSON:
            self._guess.reject(size)
            return None
        self._guess.confirm(size)
        return self._take_element(window.copy(0, size) if self._keeps_raw else b"", value, None, size)

    def _last_element_size(self) -> int:
        """Return the size of the next element if it is the last: all up to the bracket that ends the document."""
        if self._has_tried_last or not self._window.is_at_end:
            return 0
        self._has_tried_last = True
        return max(0, self._array_end_distance())

    def _exact_element(self, first: int) -> Element | str:
        """Return the next element, or the reason why it has no end."""
        window = self._window
        if first <= 32:
            return self._stray_controls()
        if small := _SMALL.match(window.buffer, window.position):
            size = small.end() - window.position
        else:
            scan = self._scan(0)
            size = scan.size
            if scan.is_broken:
                return f"structure broken at byte {window.offset + scan.scanned_bytes} of the stream"
            if not size and not window.is_at_end:
                return f"no end within {self._limit_bytes} bytes"
            if self._swallowed_others(size):
                return "structure broken: its end is lost"
            if not size:
                self.truncated = True
                return self._take_element(window.copy(0, window.available), None, "truncated")
        if first == _BRACE:
            self._guess.learn(size)
        raw = window.copy(0, size)
        try:
            return self._take_element(raw, parse(raw), None)
        except NOT_JSON as error:
            return self._take_element(raw, None, str(error)) if self._is_followed_by_separator(size) else str(error)

    def _take_element(self, raw: bytes, value: Any, error: str | None, size: int = 0) -> Element:
        element = Element(raw, self._index, self._window.offset, value, error)
        if error is None:
            self._last_is_object = isinstance(value, dict)
        self._index += 1
        self._last_bytes = size or len(raw)
        self._window.position += self._last_bytes
        return element

    def _stray_controls(self) -> Element:
        window = self._window
        size = 0
        while match := _CONTROLS.match(window.buffer, window.position + size):
            size = match.end() - window.position
            if size < window.available or size > self._limit_bytes or not window.read_chunk():
                break
        return self._take_element(window.copy(0, size), None, "control bytes between elements")

    def _scan(self, start: int) -> ValueScan:
        """Scan the value that begins `start` bytes ahead up to its end, the end of the stream or the limit."""
        window = self._window
        scan = ValueScan()
        while not scan.run(window.buffer, window.position + start):
            if window.available > self._limit_bytes or not window.read_chunk():
                break
        return scan

    def _is_followed_by_separator(self, size: int) -> bool:
        return self._window.peek_after(size) in {_COMMA, _BRACKET_END, -1}

    def _continues_after_bracket(self) -> bool:
        """Return whether a stray bracket ended the array or document, as shown by what follows."""
        window = self._window
        if (first := window.peek()) < 0:
            return False
        known = self._guess.opening
        if first in {_BRACE, _BRACKET} and (self._last_is_object or not self._path):
            window.position += first == _BRACKET
            return True
        is_stray = first in b",]}" or first <= 32  # a bracket, or control bytes after one
        if is_stray and self._damage_size(known.boundary if known else _BEFORE_OBJECT) >= 0:
            return True
        window.require(_TRAILING_BYTES)
        self.trailing = window.copy(0, min(window.available, _TRAILING_BYTES))
        return False

    def _swallowed_others(self, size: int) -> bool:
        """Return whether the element ends with the document's own brackets and so includes all later elements."""
        window = self._window
        if size and (not self._path or window.peek_after(size) >= 0):
            return False
        if not window.buffer[-OPENING_BYTES:].rstrip().endswith(b"}" if self._path else b"]"):
            return False
        opening = self._guess.opening or ObjectOpening.at(window.buffer, window.position)
        return opening is not None and self._damage_size(opening.boundary) >= 0

    def _array_end_distance(self) -> int:
        """Return the distance to the white space before the closing bracket; -1 if the document does not end there."""
        window = self._window
        end = self._array_end.search(window.buffer, max(window.position, len(window.buffer) - OPENING_BYTES))
        return end.start() - window.position if end else -1

    def _damaged(self, reason: str) -> Iterator[Element]:
        """Yield the bytes up to the next readable element as damaged elements."""
        window = self._window
        while window.peek() >= 0:
            size = self._damage_size_ahead()
            is_over = True
            if size < 0 and window.is_at_end:
                size = self._array_end_distance()
                if size < 0:
                    self.truncated = True
                    size = window.available
            elif size < 0:
                size = max(1, window.available - min(OPENING_BYTES, window.available // 2))
                is_over = False
            if raw := window.copy(0, size).rstrip(b" \t\n\r"):
                yield self._take_element(raw, None, reason)
                window.position += size - len(raw)
            if is_over:
                return

    def _damage_size_ahead(self) -> int:
        """Return the size of the damage, or -1 if nothing after it is readable."""
        window = self._window
        known = self._guess.opening
        # Try the surest pattern first, unless too many bytes were searched for it in vain.
        if self._wasted_bytes <= 4 * (window.offset + window.available):
            if known and (size := self._damage_size(known.boundary, accepts_truncated=True)) >= 0:
                return size
            own = ObjectOpening.at(window.buffer, window.position)
            if own and (size := self._damage_size(own.boundary)) >= 0:
                return size
            self._wasted_bytes += 2 * window.available
        is_object = known or window.buffer[window.position] == _BRACE
        return self._damage_size(_BEFORE_OBJECT if is_object else _BEFORE_VALUE)

    def _damage_size(self, boundary: re.Pattern[bytes], *, accepts_truncated: bool = False) -> int:
        """Return the number of bytes before a separator and a readable element, or -1."""
        window = self._window
        searched = 0
        scanned_total = 0
        truncated_size = -1
        while True:
            found = boundary.search(window.buffer, window.position + searched)
            if not found:
                searched = max(searched, window.available - OPENING_BYTES)
                if window.available > self._limit_bytes or not window.read_chunk():
                    return truncated_size if accepts_truncated and window.is_at_end else -1
                continue
            size, start = found.start() - window.position, found.end() - window.position
            scan = self._scan(start)
            if scan.size:
                if self._is_followed_by_separator(start + scan.size) and parses(window.copy(start, scan.size)):
                    return size
            elif not scan.is_broken and not window.is_at_end and start > window.available // 2:
                return size
            elif not scan.is_broken and truncated_size < 0:
                truncated_size = size
            # After much work, skip what is nested in a broken or endless candidate: it may be nested deeply.
            scanned_total += scan.scanned_bytes
            searched = start + scan.scanned_bytes if scan.size or scanned_total > 8 * window.available else start


def elements_path(head: bytes) -> tuple[str, ...] | None:
    """Return the path to the elements from a document's first bytes.

    `()` for an array, `("key",)` for an object, with the key of its first list of objects; None for any other document,
    or if that list begins after these bytes.
    """
    window = StreamWindow(BytesIO(head), len(head))
    window.skip_byte_order_mark()
    first = window.peek()
    if first == _BRACKET:
        return ()
    if first != _BRACE:
        return None
    window.position += 1
    while (key := window.take_key()) is not None:
        if _LIST_OF_OBJECTS.match(window.buffer, window.position):
            return (key,)
        if window.peek() < 0:
            return None
        scan = ValueScan()
        if not scan.run(window.buffer, window.position) or scan.is_broken:
            return None
        window.position += scan.size
    return None
