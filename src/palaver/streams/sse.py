"""Server-sent events, read to the rules of the WHATWG as the bytes arrive.

Lines end with CR, LF or CRLF, and a chunk may end anywhere: within a line end, an event, a character. Against the
rules, an event that the stream's end cuts off is given too, and marked: captured streams often lack their last line.
"""

import re
from collections.abc import Iterable, Iterator

from palaver.streams._contract import Event
from palaver.streams.elements import ElementParser
from palaver.streams.unpacking import unpacked

_BOM = b"\xef\xbb\xbf"
_NAMES_KEPT = 64
_NAME_BYTES = 100
_MOST_DIGITS = 18
_FIELDS = (b"", b"id", b"retry")
_MAY_BE_EMPTY = ("message", "ping")
_IS_JSON = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*[\[{]")
_HAS_BEGUN = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*[^ \t\r\n\xef]")


def events_of(body: bytes | Iterable[bytes]) -> Iterator[Event]:
    """The events of a body, whole or in chunks, plain or packed; a body that is JSON gives an event per element."""
    chunks = unpacked(body)
    head = b""
    for chunk in chunks:
        head += chunk
        if _HAS_BEGUN.match(head) or len(head) > 1_000:
            break
    parser = ElementParser() if _IS_JSON.match(head) else SseParser()
    yield from parser.feed(head)
    for chunk in chunks:
        yield from parser.feed(chunk)
    yield from parser.close()


def events_of_lines(lines: Iterable[str]) -> Iterator[Event]:
    """The events of lines that a proxy wrote down; where it left out the blank ones, every `data` ends its event."""
    raw_lines = [line.rstrip("\r\n").encode("utf-8", "surrogatepass") for line in lines]
    while raw_lines and not raw_lines[-1]:
        raw_lines.pop()
    end = b"\n" if b"" in raw_lines else b"\n\n"
    parser = SseParser()
    for raw in raw_lines:
        yield from parser.feed(raw + (end if raw.startswith(b"data") else b"\n"))
    yield from parser.close()


class SseParser:
    """Bytes in, events out.

    Held between chunks: a line that has no end yet, as pieces where it is long, so that it is joined once; and the
    fields of an event that has no end yet.
    """

    __slots__ = (
        "_data",
        "_has_begun",
        "_held",
        "_is_after_cr",
        "_more_data",
        "_name",
        "_names",
        "_pieces",
        "_retry_ms",
        "last_event_id",
        "retry_ms",
        "strays",
    )

    def __init__(self, *, keeps_strays: bool = False) -> None:
        self.last_event_id = ""
        self.retry_ms: int | None = None
        """How long the stream asks to wait before connecting again."""
        self.strays: list[bytes] | None = [] if keeps_strays else None
        """Lines that mean nothing though somebody wrote them: no field at all, or an event's name without data."""
        self._has_begun = False
        self._is_after_cr = False
        self._held = b""
        self._pieces: list[bytes] = []
        self._name = "message"
        self._data: bytes | None = None
        self._more_data: list[bytes] = []
        self._retry_ms: int | None = None
        self._names: dict[bytes, str] = {}

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that end in this chunk."""
        events: list[Event] = []
        if not self._has_begun:
            chunk = self._without_bom(chunk)
        if b"\r" in chunk or self._is_after_cr:
            chunk = self._with_plain_ends(chunk)
        lines = chunk.split(b"\n")
        if len(lines) == 1:
            if chunk:
                self._pieces.append(chunk)
            return events
        if self._pieces:
            lines[0] = b"".join((self._held, *self._pieces, lines[0]))
            self._pieces.clear()
        else:
            lines[0] = self._held + lines[0]
        self._held = lines.pop()
        name, data, names = self._name, self._data, self._names
        for line in lines:
            if not line:
                if data is not None:
                    if self._more_data:
                        data = b"\n".join((data, *self._more_data))
                        self._more_data.clear()
                    events.append(Event(name, data, self.last_event_id, self._retry_ms))
                    data = None
                elif self.strays is not None and name not in _MAY_BE_EMPTY:
                    self.strays.append(f"event: {name}".encode())
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
                    if len(names) < _NAMES_KEPT and len(line) < _NAME_BYTES:
                        names[line] = name
                else:
                    self._take_other(field, value, line)
        self._name, self._data = name, data
        return events

    def close(self) -> list[Event]:
        """The event that the end cuts off, if there is one."""
        self._has_begun, self._is_after_cr = True, False
        if self._held or self._pieces:
            self.feed(b"\n")
        return [Event(event.name, event.data, event.id, event.retry_ms, is_cut=True) for event in self.feed(b"\n")]

    def _take_other(self, field: bytes, value: bytes, line: bytes) -> None:
        if field == b"id" and b"\0" not in value:
            self.last_event_id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) <= _MOST_DIGITS:
            self.retry_ms = self._retry_ms = int(value)
        elif self.strays is not None and field not in _FIELDS:
            self.strays.append(line)

    def _without_bom(self, chunk: bytes) -> bytes:
        head = b"".join((*self._pieces, chunk))
        self._pieces.clear()
        if len(head) >= len(_BOM) or not _BOM.startswith(head):
            self._has_begun = True
            head = head.removeprefix(_BOM)
        return head

    def _with_plain_ends(self, chunk: bytes) -> bytes:
        """With LF at every line's end; a CR at the chunk's end counts at once, and takes an LF after it along."""
        if not chunk:
            return chunk
        if self._is_after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._is_after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
