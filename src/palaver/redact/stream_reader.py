"""Readers of a stream that find keys spread over the fragments of one text in several events.

The mask takes the place of a key's beginning, and the rest of it is removed from the later fragments, so that every
event stays, whole and readable. An event or object longer than `MAX_UNIT_BYTES` is searched as a plain text as it
comes: whether its last fragment goes on in the next one is not looked at.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable

from palaver.redact.json_strings import DELTA, json_strings
from palaver.redact.key_finder import KeyFinder, Span
from palaver.redact.key_shapes import CONTEXT_CHARACTERS, may_hold_key

MAX_UNIT_BYTES = 1 << 15
_MAX_TEXTS = 256
_EVENT_END = re.compile(rb"\n\r?\n|\r\r")
_EVENT_END_BYTES = 3
_NOT_DATA = re.compile(rb"^(?:\xef\xbb\xbf)?(?:data:?|(?!data:).*)", re.MULTILINE)
_LINE = re.compile(rb"^(?:\xef\xbb\xbf)?(data: ?)?(.+)", re.MULTILINE)
_TYPED = re.compile(rb'(?:event:.*\n)?data:\s*\{\s*"type"')
_DELIMITER = re.compile(rb'["{}\[\]]')
_IN_STRING = re.compile(rb'["\\]')
_GEMINI_FIELD = b'"candidates"'
_BATCH_FIELD = b'"custom_id"'
_PLAIN_DATA = "data"

_Mask = Callable[[list[Span], bool], None]


class _StreamReader:
    """Reads the units of a stream, which a subclass cuts and reads."""

    def __init__(self, mask: _Mask) -> None:
        self._mask = mask
        self._unread = bytearray()
        self._unread_from = 0
        self._long: KeyFinder | None = None
        """Searches the unit that is too long, as far as it has come."""
        self._texts: OrderedDict[Hashable, KeyFinder] = OrderedDict()
        self._busy: dict[Hashable, KeyFinder] = {}

    def feed(self, chunk: bytes, offset: int) -> None:
        """Take a chunk and search the units that end in it."""
        if not self._unread:
            self._unread_from = offset
        self._unread += chunk
        for end in self._unit_ends(chunk, offset):
            raw, start = self._take(end - self._unread_from)
            if self._long is None:
                self._read(raw, start, is_cut=False)
            else:
                self._long.feed(raw.rstrip(b"\r\n"), start)
                self._long.close()
                self._long = None
        if self._long is not None or len(self._unread) > MAX_UNIT_BYTES:
            self._long = self._long or KeyFinder(self._mask)
            # The end of an event may have begun.
            self._long.feed(*self._take(len(self._unread) - _EVENT_END_BYTES))

    def undecided_from(self, held_from: int) -> int | None:
        """Return the first place of what may belong to a key, or None; what is no longer held does not count."""
        finders = (*self._busy.values(), self._long) if self._long is not None else self._busy.values()
        places = [place for finder in finders if (place := finder.open_from) is not None and place >= held_from]
        return min(places, default=None)

    def unread_from(self) -> int | None:
        """Return the first place that was not searched yet, or None."""
        return self._unread_from if self._unread else None

    def close(self) -> None:
        """Search what the end of the stream cuts off."""
        raw, start = self._take(len(self._unread))
        if self._long is not None:
            self._long.feed(raw, start)
            self._long.close()
        elif raw:
            self._read(raw, start, is_cut=True)
        for finder in self._texts.values():
            finder.close()

    def _unit_ends(self, chunk: bytes, offset: int) -> list[int]:
        raise NotImplementedError

    def _read(self, raw: bytes, start: int, *, is_cut: bool) -> None:
        raise NotImplementedError

    def _take(self, size: int) -> tuple[bytes, int]:
        size = max(0, size)
        raw, start = bytes(self._unread[:size]), self._unread_from
        del self._unread[:size]
        self._unread_from += size
        return raw, start

    def _read_json(self, raw: bytes, start: int, *, has_keys: bool, is_cut: bool) -> bool:
        """Search the strings of a JSON text; return False if it is damaged."""
        strings = json_strings(raw, is_cut=is_cut)
        for first, end, key in strings or ():
            if key is not None:
                self._read_fragment(key, raw[first:end], start + first)
            elif has_keys:
                self._read_alone(raw[first:end], start + first, raw[max(0, first - CONTEXT_CHARACTERS) : first])
        return strings is not None

    def _read_fragment(self, key: Hashable, raw: bytes, start: int) -> None:
        finder = self._texts.get(key)
        if finder is None:
            if len(self._texts) >= _MAX_TEXTS:
                oldest, given_up = self._texts.popitem(last=False)
                given_up.close()
                self._busy.pop(oldest, None)
            finder = self._texts[key] = KeyFinder(self._mask)
        else:
            self._texts.move_to_end(key)
        finder.feed(raw, start)
        if finder.is_idle:
            self._busy.pop(key, None)
        else:
            self._busy[key] = finder

    def _read_alone(self, raw: bytes, start: int, context: bytes = b"") -> None:
        if may_hold_key(raw):
            finder = KeyFinder(self._mask, context)
            finder.feed(raw, start)
            finder.close()


class EventReader(_StreamReader):
    """Reads server-sent events."""

    def __init__(self, mask: _Mask) -> None:
        super().__init__(mask)
        self._tail = b""

    def _unit_ends(self, chunk: bytes, offset: int) -> list[int]:
        text = self._tail + chunk
        base = offset - len(self._tail)
        ends = [found.end() for found in _EVENT_END.finditer(text)]
        self._tail = text[max(len(text) - _EVENT_END_BYTES + 1, ends[-1] if ends else 0) :]
        return [base + end for end in ends]

    def _read(self, raw: bytes, start: int, *, is_cut: bool) -> None:
        has_keys = may_hold_key(raw)
        has_fragments = DELTA in raw or not _TYPED.match(raw)
        if not has_keys and not has_fragments:
            return
        text = raw.replace(b"\r", b"\n") if b"\r" in raw else raw
        is_read = False
        if has_fragments:
            data = _NOT_DATA.sub(_blank, text)
            is_json = data.lstrip().startswith((b"{", b"["))
            is_read = is_json and self._read_json(data, start, has_keys=has_keys, is_cut=is_cut)
        for line in _LINE.finditer(text) if has_keys or not is_read else ():
            if line[1] is None or not has_fragments:
                self._read_alone(line[2], start + line.start(2))
            elif not is_read:
                self._read_fragment(_PLAIN_DATA, line[2], start + line.start(2))


class ObjectReader(_StreamReader):
    """Reads JSON objects, in an array as Gemini streams them, or one after the other."""

    def __init__(self, mask: _Mask, *, is_array: bool) -> None:
        super().__init__(mask)
        self._is_array = is_array
        self._depth = 0
        self._is_in_string = False
        self._is_escaped = False

    def _unit_ends(self, chunk: bytes, offset: int) -> list[int]:
        ends: list[int] = []
        position = 1 if self._is_escaped else 0
        self._is_escaped = False
        while found := (_IN_STRING if self._is_in_string else _DELIMITER).search(chunk, position):
            position = found.end()
            match found[0]:
                case b'"':
                    self._is_in_string = not self._is_in_string
                case b"\\":
                    self._is_escaped = position == len(chunk)
                    position += 1
                case b"{" | b"[":
                    self._depth += 1
                case _:
                    self._depth -= 1
                    if self._depth == self._is_array:
                        ends.append(offset + position)
        return ends

    def _read(self, raw: bytes, start: int, *, is_cut: bool) -> None:
        first = raw.find(b"{")
        # Any other array is a list of whole things, not of fragments; so are the results of a batch.
        has_fragments = first >= 0 and (_GEMINI_FIELD in raw if self._is_array else _BATCH_FIELD not in raw)
        has_keys = may_hold_key(raw)
        if not has_fragments or not self._read_json(raw[first:], start + first, has_keys=has_keys, is_cut=is_cut):
            self._read_alone(raw, start)


def _blank(found: re.Match[bytes]) -> bytes:
    return b" " * len(found[0])
