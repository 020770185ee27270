"""A JSON array that arrives in chunks, one event per element: how Gemini streams unless it is asked for SSE.

Objects that follow each other without an array around them are elements too. What an element is worth is not judged
here: only where it ends.
"""

import re

from palaver.streams._contract import Event

_MARK = re.compile(rb'["\[\]{}]')
_MARK_OR_COMMA = re.compile(rb'["\[\]{},]')
_IN_STRING = re.compile(rb'["\\]')
_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


class ElementParser:
    """Looks at every byte once: the pieces of an element are joined when its end has come."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._depth = 0
        self._outer = 0
        """How deep elements stand: 1 within an array, else 0."""
        self._has_begun = False
        self._is_in_string = False
        self._is_escaped = False

    def feed(self, chunk: bytes) -> list[Event]:
        """The elements that end in this chunk."""
        events: list[Event] = []
        begin = at = 0
        if not self._has_begun:
            begin = at = self._begin(chunk)
        while at < len(chunk):
            if self._is_escaped:
                self._is_escaped = False
                at += 1
                continue
            if self._is_in_string:
                mark = _IN_STRING.search(chunk, at)
                if mark is None:
                    break
                self._is_escaped = mark[0] == b"\\"
                self._is_in_string = self._is_escaped
                at = mark.end()
                continue
            mark = (_MARK if self._depth > self._outer else _MARK_OR_COMMA).search(chunk, at)
            if mark is None:
                break
            at = mark.end()
            match mark[0]:
                case b'"':
                    self._is_in_string = True
                case b"[" | b"{":
                    self._depth += 1
                case b",":
                    self._give(chunk[begin : at - 1], events)
                    begin = at
                case _:
                    self._depth -= 1
                    if self._depth == self._outer:
                        self._give(chunk[begin:at], events)
                        begin = at
                    elif self._depth < self._outer:
                        self._give(chunk[begin : at - 1], events)
                        begin = at
                        self._outer = self._depth = 0
        if begin < len(chunk):
            self._pieces.append(chunk[begin:])
        return events

    def close(self) -> list[Event]:
        """The element that the end cuts off, if there is one."""
        events: list[Event] = []
        self._give(b"", events, is_cut=True)
        return events

    def _begin(self, chunk: bytes) -> int:
        """Where the first element starts; the bytes before it are blank, or the array's bracket."""
        self._pieces.append(chunk)
        head = b"".join(self._pieces)
        bare = head.removeprefix(_BOM).lstrip(_BLANK)
        if not bare or _BOM.startswith(head):
            return len(chunk)
        self._has_begun = True
        self._pieces.clear()
        if bare.startswith(b"["):
            self._outer = self._depth = 1
            bare = bare[1:]
        return len(chunk) - len(bare)

    def _give(self, last: bytes, events: list[Event], *, is_cut: bool = False) -> None:
        self._pieces.append(last)
        element = b"".join(self._pieces).strip(_BLANK)
        self._pieces.clear()
        if element:
            events.append(Event("message", element, is_cut=is_cut))
