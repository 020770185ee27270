"""A finder of keys in one text that arrives in fragments, cut anywhere and with JSON's escapes left in place.

A key may be in JSON inside a JSON string, and its characters may be escaped once or several times; so the text is
searched as it reads without escapes, while places are those in the fragments. What may be the beginning of a key is
held as `pieces` until the next fragment decides. Once a key is certain, its rest goes as it comes: nothing is held.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from palaver.redact.key_shapes import (
    CONTEXT_CHARACTERS,
    MAX_OPEN_CHARACTERS,
    KeyShape,
    key_starts,
    match_key,
    may_hold_key,
    open_start,
    rest_end,
)

Span = tuple[int, int]
_ESCAPE = re.compile(rb"\\{1,63}(?:u([0-9a-fA-F]{4})|([bfnrt\"/])|)")
_CUT_ESCAPE = re.compile(rb"\\{1,63}(?:u[0-9a-fA-F]{0,3})?\Z")
_MAX_ESCAPE_BYTES = 68
_CHARACTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"/": b"/", b'"': b"'"}
"""What an escape stands for. A quote becomes another one, so that it differs from those around a JSON string."""
_OTHER = b"\x80"
_MAX_ASCII = 0x7F
_TAIL_BYTES = 10 * MAX_OPEN_CHARACTERS


class _Piece(NamedTuple):
    """A part of a fragment, and its place in the body."""

    offset: int
    raw: bytes


class KeyFinder:
    """Finds the keys of one text and hands the spans of each to `mask`, with whether a key begins in the first one."""

    def __init__(self, mask: Callable[[list[Span], bool], None], context: bytes = b"") -> None:
        self._mask = mask
        self._context = _Unescaped(context).text
        """The last characters before the undecided ones."""
        self._pieces: list[_Piece] = []
        self._inside: KeyShape | None = None

    @property
    def open_from(self) -> int | None:
        """The place of the first byte that may belong to a key, or None."""
        return self._pieces[0].offset if self._pieces else None

    @property
    def is_idle(self) -> bool:
        """Whether it neither holds the beginning of a key nor is inside of one."""
        return not self._pieces and self._inside is None

    def feed(self, raw: bytes, offset: int) -> None:
        """Take the next fragment of the text."""
        if raw:
            self._pieces.append(_Piece(offset, raw))
            self._search(is_whole=False)

    def close(self) -> None:
        """End the text."""
        self._search(is_whole=True)
        self._inside = None
        self._context = b""

    def _search(self, *, is_whole: bool) -> None:
        raw = b"".join(piece.raw for piece in self._pieces) if len(self._pieces) != 1 else self._pieces[0].raw
        has_keys = self._inside is not None or may_hold_key(raw)
        if not has_keys and not is_whole and b"\\" not in raw and self._pass_harmless(raw):
            return
        # Without a key, only the end is of interest: it may be the beginning of one.
        skipped = 0 if has_keys else max(0, len(raw) - _TAIL_BYTES)
        text = _Unescaped(raw, skipped, b"" if skipped else self._context, is_whole=is_whole)
        end = self._mask_keys(text, has_keys=has_keys, is_whole=is_whole)
        self._context = text.text[max(0, end - CONTEXT_CHARACTERS) : end]
        self._pieces = _between(self._pieces, text.place(end), len(raw))

    def _pass_harmless(self, raw: bytes) -> bool:
        """Pass a text without escapes and keys, unless its end may be the beginning of one: the usual case, fast."""
        text = self._context + raw[-_TAIL_BYTES:]
        if open_start(text, len(self._context)) is not None:
            return False
        self._context = text[-CONTEXT_CHARACTERS:]
        self._pieces.clear()
        return True

    def _mask_keys(self, unescaped: "_Unescaped", *, has_keys: bool, is_whole: bool) -> int:
        """Mask the keys in a text and return up to where it is decided."""
        text, position = unescaped.text, unescaped.start
        if self._inside is not None:
            end, goes_on = rest_end(self._inside, text, position, is_whole=is_whole)
            self._report(unescaped, position, end, is_begin=False)
            if goes_on:
                return end
            self._inside = None
            position = end
        opening = None if is_whole else open_start(text, position)
        for start, shape in key_starts(text) if has_keys else ():
            if start < position:
                continue
            if opening is not None and start > opening:
                break
            key = match_key(shape, text, start, is_whole=is_whole)
            if key is None:
                continue
            position, goes_on = rest_end(shape, text, key[1], is_whole=is_whole)
            self._report(unescaped, key[0], position, is_begin=True)
            if goes_on:
                self._inside = shape
                return position
            if opening is not None and opening < position:
                opening = open_start(text, position)
        return len(text) if opening is None else opening

    def _report(self, text: "_Unescaped", start: int, end: int, *, is_begin: bool) -> None:
        found = _between(self._pieces, text.place(start), text.place(end))
        if found:
            self._mask([(piece.offset, piece.offset + len(piece.raw)) for piece in found], is_begin)


class _Unescaped:
    """A text as it reads without escapes, after some context; what it leaves out at its end is a cut escape."""

    def __init__(self, raw: bytes, skipped: int = 0, context: bytes = b"", *, is_whole: bool = True) -> None:
        self.start = len(context)
        self._positions = [self.start]
        self._places = [skipped]
        end = len(raw)
        if not is_whole and (cut := _CUT_ESCAPE.search(raw, max(skipped, end - _MAX_ESCAPE_BYTES))):
            end = cut.start()
        pieces = [context]
        done = skipped
        size = self.start
        if raw.find(b"\\", skipped, end) >= 0:
            for found in _ESCAPE.finditer(raw, skipped, end):
                start, following = found.span()
                pieces += (raw[done:start], _character(found))
                size += start - done + 1
                done = following
                self._positions.append(size)
                self._places.append(done)
        pieces.append(raw[done:end])
        self.text = b"".join(pieces)

    def place(self, position: int) -> int:
        """Return the place of a character in the raw text."""
        index = bisect_right(self._positions, position) - 1
        return self._places[index] + position - self._positions[index]


def _character(escape: re.Match[bytes]) -> bytes:
    code, letter = escape.groups()
    if code is not None:
        number = int(code, 16)
        return bytes([number]) if number <= _MAX_ASCII else _OTHER
    return b"\\" if letter is None else _CHARACTERS[letter]


def _between(pieces: list[_Piece], start: int, end: int) -> list[_Piece]:
    """Return the part of some consecutive pieces between two places, counted from the first of them."""
    found: list[_Piece] = []
    passed = 0
    for offset, raw in pieces:
        first, last = max(start - passed, 0), min(end - passed, len(raw))
        if first < last:
            found.append(_Piece(offset + first, raw[first:last]))
        passed += len(raw)
    return found
