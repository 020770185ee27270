"""Groups of rows with one correlation id: their calls, and the messages that are spread over several rows.

A call has at most one gateway row with its bodies, or two messages of a policy; a set of rows of the log for language
models; and any number of rows without content. The same id can recur with other content: that is another call.

The log for language models writes the messages of a request and those of its answer to separate rows, in numbered
chunks of 32 KB if they are larger. A chunk is an array, the text of an array, or a part of such a text that is not JSON
by itself. Rows arrive in any order, repeatedly, or not at all; the number of a row does not imply which part it holds.
"""

from dataclasses import dataclass, field
from math import inf
from operator import itemgetter
from typing import Any

from palaver.importers.azure_openai.bodies import Body, decode_body
from palaver.importers.azure_openai.column_values import parse_int, parse_time
from palaver.importers.azure_openai.row import BODY_COLUMNS, MESSAGE_COLUMNS, Row
from palaver.sources.parse import NOT_JSON, parse

_REQUEST, _RESPONSE = (BODY_COLUMNS[0], BODY_COLUMNS[2]), (BODY_COLUMNS[1], BODY_COLUMNS[3])
_FIRST_CHUNK = 1
"""Row 0 holds only token counts, and is often not logged."""


@dataclass(slots=True)
class CallRows:
    """The rows of one call."""

    heads: list[Row] = field(default_factory=list[Row])
    """Rows of the gateway or of a policy that hold the bodies or describe the call."""
    llm: list[Row] = field(default_factory=list[Row])
    """Rows of the log for language models."""
    others: list[Row] = field(default_factory=list[Row])
    """Rows without content."""

    @property
    def rows(self) -> list[Row]:
        return [*self.heads, *self.llm, *self.others]

    @property
    def has_content(self) -> bool:
        return any(row.has_bodies for row in self.heads) or any(row.has_messages for row in self.llm)


def distinct_rows(rows: list[Row]) -> list[Row]:
    """Return the rows without exact copies."""
    if len(rows) == 1:
        return rows
    found: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        alike = found.setdefault((row.table, row.text("sequencenumber"), len(row.columns)), [])
        if not alike or not any(row.columns == other.columns for other in alike):
            alike.append(row)
    return [row for alike in found.values() for row in alike]


def split_calls(rows: list[Row]) -> list[CallRows]:
    """Split the rows of a group into calls; rows without content form a call only if no row has any."""
    llm = [row for row in rows if row.table == "llm" and not row.has_bodies]
    if len(llm) == len(rows) and len(sets := chunk_sets(llm)) == 1:
        return [CallRows(llm=sets[0])]
    heads = _pair_halves(sorted((row for row in rows if row.has_bodies), key=_time))
    calls = [CallRows(heads=pair) for pair in heads]
    for index, chunks in enumerate(chunk_sets(llm)):
        if index < len(calls):
            calls[index].llm = chunks
        elif calls and not any(row.has_messages for row in chunks):
            calls[0].llm += chunks
        else:
            calls.append(CallRows(llm=chunks))
    without_content = [row for row in rows if row.table != "llm" and not row.has_bodies]
    for row in sorted(without_content, key=_time):
        headless = next((call for call in calls if not call.heads), None) if row.table == "gateway" else None
        if headless is not None:
            headless.heads.append(row)
        elif calls:
            calls[0].others.append(row)
        else:
            calls.append(CallRows(others=[row]))
    return calls


def _pair_halves(rows: list[Row]) -> list[list[Row]]:
    """Pair a row that has only a request with the row that has only its answer; leave other rows alone."""
    found: list[list[Row]] = []
    for row in rows:
        absent, present = (_RESPONSE, _REQUEST) if not row.has(_REQUEST) else (_REQUEST, _RESPONSE)
        is_half = not row.has(_REQUEST) or not row.has(_RESPONSE)
        other = next((pair for pair in found if is_half and _is_other_half(pair, absent, present)), None)
        if other is None:
            found.append([row])
        else:
            other.append(row)
    return [sorted(pair, key=lambda row: not row.has(_REQUEST)) for pair in found]


def _is_other_half(rows: list[Row], absent: tuple[str, ...], present: tuple[str, ...]) -> bool:
    return len(rows) == 1 and rows[0].has(present) and not rows[0].has(absent)


def _time(row: Row) -> str:
    return parse_time(row.get("timegenerated", "time", "eventtime"))


def chunk_sets(rows: list[Row]) -> list[list[Row]]:
    """Sort rows of one correlation id into sets, one per call: a number that recurs belongs to another call."""
    numbers = [_chunk_number(row) for row in rows]
    if None not in numbers and len(set(numbers)) == len(rows):
        return [[row for _, row in sorted(zip(numbers, rows, strict=True), key=itemgetter(0))]]
    ordered = sorted(enumerate(rows), key=lambda pair: (parse_time(pair[1].get("timegenerated", "time")), pair[0]))
    sets: list[list[tuple[float, Row]]] = []
    counts: dict[object, int] = {}
    for index, row in ordered:
        number = _chunk_number(row)
        # A row without a number never counts as a repetition.
        key: object = (number, _message_columns(row)) if number is not None else index
        repetition = counts[key] = counts.get(key, -1) + 1
        while len(sets) <= repetition:
            sets.append([])
        sets[repetition].append((inf if number is None else number, row))
    return [[row for _, row in sorted(numbered, key=itemgetter(0))] for numbered in sets]


def missing_chunk_numbers(rows: list[Row]) -> list[int]:
    """Return the numbers below the highest one that no row has."""
    numbers = {number for row in rows if (number := _chunk_number(row)) is not None and number >= 0}
    # A damaged number would make millions of others missing.
    if not numbers or max(numbers) > 2 * len(rows) + 1_000:
        return []
    return sorted(set(range(_FIRST_CHUNK, max(numbers))) - numbers)


def join_messages(rows: list[Row], column: str, missing: list[int]) -> Body | None:
    """Join the messages in a column of all rows that have it; None if no row has."""
    chunks = [row for row in rows if row.get(column) is not None]
    body = _join_pieces(_same_type([row.get(column) for row in chunks])) if chunks else None
    if body is not None and missing:
        numbers = [number for row in chunks if (number := _chunk_number(row)) is not None]
        body.is_cut |= any(min(numbers) < number < max(numbers) for number in missing if numbers)
    return body


def _same_type(pieces: list[Any]) -> list[Any]:
    """Decode packed texts if some could not be packed, so that they can be joined."""
    if not any(isinstance(piece, str) for piece in pieces):
        return pieces
    return [piece.decode() if isinstance(piece, bytes) else piece for piece in pieces]


def _join_pieces(pieces: list[Any]) -> Body | None:
    if (whole := _parse_split_array(pieces)) is not None:
        return Body(whole)
    bodies = [decode_body(piece) for piece in pieces]
    if len(bodies) == 1 and (only := bodies[0]) is not None and isinstance(only.value, list) and only.value:
        return only
    if all(body is not None and isinstance(body.value, list) and not body.is_cut for body in bodies):
        return _concatenate([body for body in bodies if body is not None])
    nothing = "" if any(isinstance(piece, str) for piece in pieces) else b""
    if all(isinstance(piece, str | bytes) for piece in pieces):
        return decode_body(nothing.join(pieces))
    # Some pieces are arrays already: only adjacent texts can be parts of one text.
    joined: list[Body] = []
    run: list[Any] = []
    for piece in [*pieces, None]:
        if isinstance(piece, str | bytes):
            run.append(piece)
            continue
        found = (decode_body(nothing.join(run)), decode_body(piece))
        joined += [body for body in found if body is not None]
        run = []
    return _concatenate(joined)


def _parse_split_array(pieces: list[Any]) -> list[Any] | None:
    """Return the array whose text was split into these pieces, the usual case beyond 32 KB; else None."""
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


def _concatenate(bodies: list[Body]) -> Body | None:
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


def _chunk_number(row: Row) -> int | None:
    return parse_int(row.get("sequencenumber"))


def _message_columns(row: Row) -> tuple[str, ...]:
    return tuple(name for name in MESSAGE_COLUMNS if row.has((name,)))
