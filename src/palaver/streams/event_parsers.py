"""Incremental parsers that turn the bytes of a stream into events: server-sent events, or the elements of a JSON array.

Both accept chunks that end anywhere: inside a line end, an event or a character.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from palaver.streams._contract import Event
from palaver.streams._event_data import DONE
from palaver.streams.decompression import decompressed

_DELIMITER = re.compile(rb'["\[\]{}]')
_DELIMITER_OR_COMMA = re.compile(rb'["\[\]{},]')
_IN_STRING = re.compile(rb'["\\]')
_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_MAX_CACHED_NAMES = 64
_MAX_CACHED_NAME_BYTES = 100
_MAX_RETRY_DIGITS = 18
_OTHER_FIELDS = (b"", b"id", b"retry")
_MAY_BE_EMPTY = ("message", "ping")
_IS_JSON = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*[\[{]")
_MAX_BLANK_BYTES = 1_000
_HAS_BEGUN = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*[^ \t\r\n\xef]")


def events_of(body: bytes | Iterable[bytes]) -> Iterator[Event]:
    """Yield the events of a body, whole or in chunks, plain or compressed; a JSON body gives one event per element."""
    chunks = decompressed(body)
    head = b""
    for chunk in chunks:
        head += chunk
        if _HAS_BEGUN.match(head) or len(head) > _MAX_BLANK_BYTES:
            break
    parser = JsonElementParser() if _IS_JSON.match(head) else SseParser()
    yield from parser.feed(head)
    for chunk in chunks:
        yield from parser.feed(chunk)
    yield from parser.close()


def events_of_lines(lines: Iterable[Any]) -> Iterator[Event]:
    """Yield the events of lines that a proxy recorded.

    Where it left out the blank line, whole data ends an event. A line that is no text is a parsed event. If no line
    names its field, each is the data of an event.
    """
    raw_lines = [_line_bytes(line) for line in lines]
    while raw_lines and not raw_lines[-1]:
        raw_lines.pop()
    has_blanks = b"" in raw_lines
    has_events = False
    parser = SseParser()
    for raw, following in zip_longest(raw_lines, raw_lines[1:], fillvalue=b""):
        is_end = raw.startswith(b"data") and (not has_blanks or (following != b"" and _is_whole(raw)))
        for event in parser.feed(raw + (b"\n\n" if is_end else b"\n")):
            has_events = True
            yield event
    for event in parser.close():
        has_events = True
        yield event
    if not has_events:
        yield from (Event("message", raw) for raw in raw_lines if raw.strip() and not raw.startswith(b":"))


def _line_bytes(line: Any) -> bytes:
    if isinstance(line, str):
        return line.rstrip("\r\n").encode("utf-8", "surrogatepass")
    return b"data: " + json.dumps(line).encode()


def _is_whole(line: bytes) -> bool:
    """Return whether a `data` line holds an event of its own: a JSON object, or the mark of the end."""
    data = line.partition(b":")[2].strip()
    if data == DONE:
        return True
    try:
        return data.startswith(b"{") and isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


class SseParser:
    """A parser for server-sent events that follows the WHATWG rules; lines end with CR, LF or CRLF.

    Contrary to the rules, it also returns an event that the end of the stream cuts off, with `is_cut` set: captured
    streams often lack their last line.

    Between chunks it holds the unfinished line, in pieces so that a long line is joined once, and the fields of the
    unfinished event.
    """

    __slots__ = (
        "_data",
        "_has_begun",
        "_is_after_cr",
        "_more_data",
        "_name",
        "_names",
        "_pieces",
        "_retry_ms",
        "_unfinished_line",
        "last_event_id",
        "retry_ms",
        "stray_lines",
    )

    def __init__(self, *, collect_strays: bool = False) -> None:
        self.last_event_id = ""
        self.retry_ms: int | None = None
        """How long the server asks clients to wait before they reconnect."""
        self.stray_lines: list[bytes] | None = [] if collect_strays else None
        """Lines without a known field and event names without data; None unless they are collected."""
        self._has_begun = False
        self._is_after_cr = False
        self._unfinished_line = b""
        self._pieces: list[bytes] = []
        self._name = "message"
        self._data: bytes | None = None
        self._more_data: list[bytes] = []
        self._retry_ms: int | None = None
        self._names: dict[bytes, str] = {}

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that end in this chunk."""
        events: list[Event] = []
        if not self._has_begun:
            chunk = self._without_bom(chunk)
        if b"\r" in chunk or self._is_after_cr:
            chunk = self._with_lf_line_ends(chunk)
        lines = chunk.split(b"\n")
        if len(lines) == 1:
            if chunk:
                self._pieces.append(chunk)
            return events
        if self._pieces:
            lines[0] = b"".join((self._unfinished_line, *self._pieces, lines[0]))
            self._pieces.clear()
        else:
            lines[0] = self._unfinished_line + lines[0]
        self._unfinished_line = lines.pop()
        name, data, names = self._name, self._data, self._names
        for line in lines:
            if not line:
                if data is not None:
                    if self._more_data:
                        data = b"\n".join((data, *self._more_data))
                        self._more_data.clear()
                    events.append(Event(name, data, self.last_event_id, self._retry_ms))
                    data = None
                elif self.stray_lines is not None and name not in _MAY_BE_EMPTY:
                    self.stray_lines.append(f"event: {name}".encode())
                name = "message"
                self._retry_ms = None
            elif line[:6] == b"data: " and data is None:
                data = line[6:]
            elif line in names:
                name = names[line]
            else:
                field, _, value = line.partition(b":")
                value = value.removeprefix(b" ")
                if field == b"data":
                    if data is None:
                        data = value
                    else:
                        self._more_data.append(value)
                elif field == b"event":
                    name = value.decode("utf-8", "replace") or "message"
                    if len(names) < _MAX_CACHED_NAMES and len(line) < _MAX_CACHED_NAME_BYTES:
                        names[line] = name
                else:
                    self._take_rare_field(field, value, line)
        self._name, self._data = name, data
        return events

    def close(self) -> list[Event]:
        """Return the event that the end of the stream cuts off, if any, with `is_cut` set."""
        self._has_begun, self._is_after_cr = True, False
        if self._unfinished_line or self._pieces:
            self.feed(b"\n")
        return [Event(event.name, event.data, event.id, event.retry_ms, is_cut=True) for event in self.feed(b"\n")]

    def _take_rare_field(self, field: bytes, value: bytes, line: bytes) -> None:
        if field == b"id" and b"\0" not in value:
            self.last_event_id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) <= _MAX_RETRY_DIGITS:
            self.retry_ms = self._retry_ms = int(value)
        elif self.stray_lines is not None and field not in _OTHER_FIELDS:
            self.stray_lines.append(line)

    def _without_bom(self, chunk: bytes) -> bytes:
        head = b"".join((*self._pieces, chunk))
        self._pieces.clear()
        if len(head) >= len(_BOM) or not _BOM.startswith(head):
            self._has_begun = True
            head = head.removeprefix(_BOM)
        return head

    def _with_lf_line_ends(self, chunk: bytes) -> bytes:
        """Replace CR and CRLF by LF; a CR that ends the chunk counts at once, and swallows an LF that follows it."""
        if not chunk:
            return chunk
        if self._is_after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._is_after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class JsonElementParser:
    """A parser for a JSON array that arrives in chunks, one event per element: how Gemini streams without `alt=sse`.

    Objects that follow each other without an enclosing array count as elements too. The parser only finds where an
    element ends and does not validate it. It looks at every byte once: an element's pieces are joined at its end.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._depth = 0
        self._element_depth = 0
        """The nesting depth of the elements: 1 within an array, else 0."""
        self._has_begun = False
        self._is_in_string = False
        self._is_escaped = False

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the elements that end in this chunk."""
        events: list[Event] = []
        begin = at = 0
        if not self._has_begun:
            begin = at = self._find_first_element(chunk)
        while at < len(chunk):
            if self._is_escaped:
                self._is_escaped = False
                at += 1
                continue
            if self._is_in_string:
                delimiter = _IN_STRING.search(chunk, at)
                if delimiter is None:
                    break
                self._is_escaped = delimiter[0] == b"\\"
                self._is_in_string = self._is_escaped
                at = delimiter.end()
                continue
            delimiter = (_DELIMITER if self._depth > self._element_depth else _DELIMITER_OR_COMMA).search(chunk, at)
            if delimiter is None:
                break
            at = delimiter.end()
            match delimiter[0]:
                case b'"':
                    self._is_in_string = True
                case b"[" | b"{":
                    self._depth += 1
                case b",":
                    self._emit(chunk[begin : at - 1], events)
                    begin = at
                case _:
                    self._depth -= 1
                    if self._depth == self._element_depth:
                        self._emit(chunk[begin:at], events)
                        begin = at
                    elif self._depth < self._element_depth:
                        self._emit(chunk[begin : at - 1], events)
                        begin = at
                        self._element_depth = self._depth = 0
        if begin < len(chunk):
            self._pieces.append(chunk[begin:])
        return events

    def close(self) -> list[Event]:
        """Return the element that the end of the stream cuts off, if any, with `is_cut` set."""
        events: list[Event] = []
        self._emit(b"", events, is_cut=True)
        return events

    def _find_first_element(self, chunk: bytes) -> int:
        """Return the offset of the first element: only whitespace, a BOM or the array's bracket precedes it."""
        self._pieces.append(chunk)
        head = b"".join(self._pieces)
        bare = head.removeprefix(_BOM).lstrip(_BLANK)
        if not bare or _BOM.startswith(head):
            return len(chunk)
        self._has_begun = True
        self._pieces.clear()
        if bare.startswith(b"["):
            self._element_depth = self._depth = 1
            bare = bare[1:]
        return len(chunk) - len(bare)

    def _emit(self, last: bytes, events: list[Event], *, is_cut: bool = False) -> None:
        self._pieces.append(last)
        element = b"".join(self._pieces).strip(_BLANK)
        self._pieces.clear()
        if element:
            events.append(Event("message", element, is_cut=is_cut))
