"""Streams that are all there and written by the book: each event has a name and one line of data, an object.

Nearly all that a log holds are such. Pieces of one text that follow each other differ in nothing but their words, and
are read as one. All other streams are read event by event.
"""

import re
from typing import Any

from palaver.model.build import JsonObject
from palaver.streams._reading import NOT_JSON, parse

Read = tuple[int, str, JsonObject]
"""How many events these are, the name of the first, and the data."""

_LARGEST_BYTES = 1 << 20
"""Its events are all in memory at a time."""
_NAME, _DATA = b"event: ", b"data: "
_PIECE = re.compile(
    rb'data: \{"type": ?"content_block_delta", ?"index": ?[0-9]+, ?"delta": ?\{'
    rb'"type": ?"(?:text|thinking|input_json)_delta", ?"(text|thinking|partial_json)": ?'
)
_END = b"}}"


def read_together(body: bytes) -> list[Read] | None:
    """The events of a stream; None where there is anything else in it."""
    if len(body) > _LARGEST_BYTES or not body.startswith(_NAME) or b"\r" in body:
        return None
    *lines, rest = body.split(b"\n")
    stated, data, blank = lines[::3], lines[1::3], lines[2::3]
    if rest or any(blank) or not len(stated) == len(data) == len(blank):
        return None
    if not all(line.startswith(_NAME) and line != _NAME for line in set(stated)):
        return None
    try:
        return _events(stated, data)
    except NOT_JSON:
        return None


def _events(stated: list[bytes], data: list[bytes]) -> list[Read] | None:
    events: list[Read] = []
    at = 0
    while at < len(data):
        line = data[at]
        piece = _PIECE.match(line)
        if piece is None:
            value: Any = parse(line[len(_DATA) :]) if line.startswith(_DATA) else None
            after = at + 1
        else:
            start, after = piece[0], at + 1
            while after < len(data) and data[after].startswith(start):
                after += 1
            value = _joined(piece, data[at:after])
        if not isinstance(value, dict):
            return None
        events.append((after - at, stated[at][len(_NAME) :].decode("utf-8", "replace"), value))
        at = after
    return events


def _joined(piece: re.Match[bytes], lines: list[bytes]) -> JsonObject | None:
    """Lines that are the same up to their words, as one."""
    start, end = piece.end(), -len(_END)
    pieces = [line[start:end] for line in lines if line[end:] == _END]
    # What is one text each here is one there, too: a piece with more or less in it would make more or fewer of them.
    words: list[Any] = parse(b"[" + b",".join(pieces) + b"]")
    if not len(words) == len(pieces) == len(lines) or set(map(type, words)) != {str}:
        return None
    value: JsonObject = parse(piece[0][len(_DATA) :] + b'""' + _END)
    value["delta"][piece[1].decode()] = "".join(words)
    return value
