"""Chunks: messages that the gateway's log for language models spreads over rows, put together again.

The log has the messages of a request and those of its answer in rows of their own, in pieces of 32 KB where they are
larger, each with a number. A piece may be an array, the text of one, or a part of such a text that means nothing
alone. Rows come in any order, more than once, or not at all; nothing is taken from which number which part has.
"""

from math import inf
from operator import itemgetter
from typing import Any

from palaver.importers.azure_openai.bodies import Body, decoded
from palaver.importers.azure_openai.numbers import time_of, whole_number
from palaver.importers.azure_openai.row import MESSAGES, Row
from palaver.sources.parse import NOT_JSON, parse

_FIRST = 1
"""Number 0 has only counts, and is often not logged."""


def sets_of(rows: list[Row]) -> list[list[Row]]:
    """Rows of one correlation id, apart where a number comes again with something else: that is another call."""
    numbers = [_number(row) for row in rows]
    if None not in numbers and len(set(numbers)) == len(rows):
        return [[row for _, row in sorted(zip(numbers, rows, strict=True), key=itemgetter(0))]]
    ordered = sorted(enumerate(rows), key=lambda one: (time_of(one[1].get("timegenerated", "time")), one[0]))
    sets: list[list[tuple[float, Row]]] = []
    counts: dict[object, int] = {}
    for at, row in ordered:
        number = _number(row)
        # Without a number, every row is its own.
        key: object = (number, _sides(row)) if number is not None else at
        seen = counts[key] = counts.get(key, -1) + 1
        while len(sets) <= seen:
            sets.append([])
        sets[seen].append((inf if number is None else number, row))
    return [[row for _, row in sorted(some, key=itemgetter(0))] for some in sets]


def missing_numbers(rows: list[Row]) -> list[int]:
    """Numbers of rows that are not there, up to the last that is."""
    numbers = {number for row in rows if (number := _number(row)) is not None and number >= 0}
    # A damaged number would have millions of others miss.
    if not numbers or max(numbers) > 2 * len(rows) + 1_000:
        return []
    return sorted(set(range(_FIRST, max(numbers))) - numbers)


def messages_of(rows: list[Row], side: str, missing: list[int]) -> Body | None:
    """The messages of one side, out of all rows that have a part of them."""
    held = [row for row in rows if row.get(side) is not None]
    body = _joined(_alike([row.get(side) for row in held])) if held else None
    if body is not None and missing:
        numbers = [number for row in held if (number := _number(row)) is not None]
        body.is_cut |= any(min(numbers) < one < max(numbers) for one in missing if numbers)
    return body


def _alike(pieces: list[Any]) -> list[Any]:
    """The same pieces, all packed, or none where one could not be."""
    if not any(isinstance(piece, str) for piece in pieces):
        return pieces
    return [piece.decode() if isinstance(piece, bytes) else piece for piece in pieces]


def _joined(pieces: list[Any]) -> Body | None:
    if (whole := _parts_of_one_text(pieces)) is not None:
        return Body(whole)
    bodies = [decoded(piece) for piece in pieces]
    if len(bodies) == 1 and (only := bodies[0]) is not None and isinstance(only.value, list) and only.value:
        return only
    if all(body is not None and isinstance(body.value, list) and not body.is_cut for body in bodies):
        return _extended([body for body in bodies if body is not None])
    nothing = "" if any(isinstance(piece, str) for piece in pieces) else b""
    if all(isinstance(piece, str | bytes) for piece in pieces):
        return decoded(nothing.join(pieces))
    # Some are arrays already: only texts that follow each other can be parts of one.
    joined: list[Body] = []
    run: list[Any] = []
    for piece in [*pieces, None]:
        if isinstance(piece, str | bytes):
            run.append(piece)
            continue
        found = (decoded(nothing.join(run)), decoded(piece))
        joined += [body for body in found if body is not None]
        run = []
    return _extended(joined)


def _parts_of_one_text(pieces: list[Any]) -> list[Any] | None:
    """The array whose text was cut into these, as most that are larger than a row; None where it was not."""
    if len(pieces) < 2 or not all(isinstance(piece, bytes) for piece in pieces):
        return None
    first, last = pieces[0].lstrip(), pieces[-1].rstrip()
    if not first.startswith(b"[") or first.rstrip().endswith(b"]") or not last.endswith(b"]"):
        return None
    try:
        found: Any = parse(b"".join(pieces))
    except NOT_JSON:
        return None
    return found if isinstance(found, list) and found else None


def _extended(bodies: list[Body]) -> Body | None:
    values: list[Any] = []
    texts: list[str] = []
    for body in bodies:
        if isinstance(body.value, list):
            values += body.value
        elif body.value is not None:
            values.append(body.value)
        elif body.text:
            texts.append(body.text)
    is_cut = any(body.is_cut or body.is_opaque for body in bodies)
    remarks = [remark for body in bodies for remark in body.remarks]
    if not values and not texts:
        return None
    return Body(values or None, text="".join(texts), is_cut=is_cut, remarks=remarks)


def _number(row: Row) -> int | None:
    return whole_number(row.get("sequencenumber"))


def _sides(row: Row) -> tuple[str, ...]:
    return tuple(name for name in MESSAGES if row.has((name,)))
