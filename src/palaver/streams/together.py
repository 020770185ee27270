"""Streams that are all there and written by the book: each event has a name and one line of data, an object.

Nearly all that a log holds are such, and what is there at once is parsed at once. All others are read event by event.
"""

from palaver.streams._contract import Json
from palaver.streams._reading import NOT_JSON, parse_lines

_LARGEST_BYTES = 1 << 20
"""Its events are all in memory at a time."""
_NAME, _DATA = b"event: ", b"data: "


def read_together(body: bytes) -> tuple[list[str], list[Json]] | None:
    """The names of the events, and their data; None where a stream has anything else in it."""
    if len(body) > _LARGEST_BYTES or not body.startswith(_NAME) or b"\r" in body:
        return None
    *lines, rest = body.split(b"\n")
    stated, data, blank = lines[::3], lines[1::3], lines[2::3]
    if rest or any(blank) or not len(stated) == len(data) == len(blank):
        return None
    joined = b"\n".join(data)
    # A line that begins and ends with its braces cannot be a part of a value that other lines hold the rest of.
    between = b"}\n" + _DATA + b"{"
    if not joined.startswith(_DATA + b"{") or not joined.endswith(b"}") or joined.count(between) != len(data) - 1:
        return None
    names = {line: line.removeprefix(_NAME).decode("utf-8", "replace") for line in set(stated)}
    if not all(line.startswith(_NAME) and name for line, name in names.items()):
        return None
    try:
        values = parse_lines(joined.replace(between, b"}\n{")[len(_DATA) :])
    except NOT_JSON:
        return None
    return ([names[line] for line in stated], values) if len(values) == len(data) else None
