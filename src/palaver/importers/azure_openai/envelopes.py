"""Envelopes: the rows of a log, read from any of the containers that hold them.

A blob holds one row per line; an Event Hub delivers `{"records": […]}`, once, one per line or one right after the
other; a query returns tables, the command line a list of rows; Capture wraps messages in Avro. A message written by a
policy can be anything: an object, a line of cells, an HTTP message.
"""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol, cast

import msgspec

from palaver.importers.azure_openai.avro import AvroRecords
from palaver.importers.azure_openai.bodies import decode_body
from palaver.importers.azure_openai.custom_rows import FieldMap, with_known_columns
from palaver.importers.azure_openai.payload_formats import request_kind, response_kind
from palaver.importers.azure_openai.recognition import Form, detect_form
from palaver.importers.azure_openai.row import Row, is_row, row_from_record
from palaver.importers.azure_openai.text_rows import (
    CsvRows,
    HttpMessages,
    headerless_record,
    http_message_columns,
    is_http_message,
)
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind, finding_kind
from palaver.redact.text import mask_text
from palaver.sources.arrays.elements import CUT_RECORD, JsonElements
from palaver.sources.damage import BAD_JSON, NOT_AN_OBJECT
from palaver.sources.jsonl import JsonLines
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.run import MaskedRun, Run
from palaver.sources.source import Source

PARTIAL_RESULT = finding_kind(
    "partial-result", "warning", "The query of this result failed in part; rows may be missing."
)
AROUND_ROWS = finding_kind("around-rows", "note", "Fields around the rows belong to no row and are not kept.")

_MAX_DEPTH = 4
_WRAPPER_FIELDS = frozenset({"columns", "rows", "Body"})
"""Fields of objects that may wrap rows."""
_BATCH_BOUNDARY = re.compile(rb'(\[\s*)?\]\s*\}\s*\{\s*"records"\s*:\s*\[(?=\s*(\])?)')
_MAX_BOUNDARY_BYTES = 256
"""Limit of what separates two batches, including whitespace."""


class _Reader(Protocol):
    def where(self) -> str: ...

    def __iter__(self) -> Iterator[Any]: ...


def read_rows(source: Source, run: Run, fields: FieldMap) -> Iterator[Row]:
    """Yield every row of a log; count each on the run, and quarantine what is not a row."""
    form: Form = run.form or detect_form(source)  # pyright: ignore[reportAssignmentType] - from `recognize`
    with source.open() as stream:
        rescue = _RescuingRun(run, fields)
        reader = _reader(form, stream, rescue)
        unpacker = _RowUnpacker(reader, run, fields)
        for value in reader:
            is_cut = rescue.has_cut_record()
            if isinstance(value, dict) and _WRAPPER_FIELDS.isdisjoint(value) and is_row(value):
                yield unpacker.row(value, is_cut=is_cut)
            else:
                yield from unpacker.rows(value, is_cut=is_cut)
            if rescue.has_rows():
                yield from rescue.rows()
        yield from rescue.rows()
        if isinstance(reader, JsonElements):
            unpacker.note_wrapper(reader.wrapper, reader.where())


def _reader(form: Form, stream: BinaryIO, run: Run) -> _Reader:
    match form:
        case "records":
            return JsonElements(cast("BinaryIO", JoinedBatches(stream)), run, ("records",), accepts_truncated=True)
        case "tables":
            return JsonElements(stream, run, ("tables",), accepts_truncated=True)
        case "array":
            return JsonElements(stream, run, accepts_truncated=True)
        case "cells":
            return CsvRows(stream, run)
        case "messages":
            return HttpMessages(stream, run)
        case "avro":
            return AvroRecords(stream, run)
        case "lines":
            return JsonLines(stream, run)


class _RescuingRun(MaskedRun):
    """Rescues truncated rows that a reader would quarantine: an Event Hub truncates what is too large for it."""

    def __init__(self, run: Run, fields: FieldMap) -> None:
        super().__init__(run, mask_text)
        self._fields = fields
        self._rows: list[Row] = []
        self._has_cut_record = False

    def has_cut_record(self) -> bool:
        """Whether the reader noted a truncated record since the last call."""
        found, self._has_cut_record = self._has_cut_record, False
        return found

    def note(self, kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        self._has_cut_record |= kind is CUT_RECORD
        super().note(kind, where, message, kept=kept)

    def has_rows(self) -> bool:
        return bool(self._rows)

    def rows(self) -> Iterator[Row]:
        """Yield the rows rescued since the last call."""
        rows, self._rows = self._rows, []
        yield from rows

    def quarantined(self, kind: FindingKind, raw: bytes, where: str, message: str = "") -> None:
        found = decode_body(raw) if kind is BAD_JSON and raw.lstrip().startswith(b"{") else None
        if found is not None and found.is_cut and isinstance(found.value, dict) and is_row(found.value):
            super().note(CUT_RECORD, where, "a line ends within its record; what is there was read")
            self._rows.append(_row(found.value, where, len(raw), self._fields, is_cut=True))
        else:
            super().quarantined(kind, raw, where, message)


class _RowUnpacker:
    """Makes rows of the values of a reader, which has counted each as one record."""

    def __init__(self, reader: _Reader, run: Run, fields: FieldMap) -> None:
        self._reader = reader
        self._run = run
        self._fields = fields
        self._is_cut = False

    def row(self, record: JsonObject, *, is_cut: bool) -> Row:
        """Make a row of a value that is a row by itself."""
        return _row(record, self._reader.where(), self._size_bytes(), self._fields, is_cut=is_cut)

    def rows(self, value: Any, *, is_cut: bool) -> Iterator[Row]:
        self._is_cut = is_cut
        records = list(self._records(value, 0))
        self._run.read(len(records) - 1)
        where = self._reader.where() if records else ""
        size_bytes = self._size_bytes() // max(1, len(records))
        for number, record in enumerate(records):
            position = where if len(records) == 1 else f"{where}, row {number}"
            if isinstance(record, dict):
                is_last = number + 1 == len(records)
                yield _row(record, position, size_bytes, self._fields, is_cut=self._is_cut and is_last)
            else:
                self._run.quarantined(NOT_AN_OBJECT, _raw_bytes(record), position)

    def note_wrapper(self, wrapper: JsonObject, where: str) -> None:
        """Note the fields of an object that wraps rows, and that the result of a query is partial."""
        fields = dict(wrapper)
        match fields.pop("error", None):
            case None:
                pass
            case {"message": str(message)} | {"code": str(message)}:
                self._run.note(PARTIAL_RESULT, where, message)
            case _:
                self._run.note(PARTIAL_RESULT, where)
        if fields:
            self._run.note(AROUND_ROWS, where, ", ".join(map(str, fields)), kept=False)

    def _size_bytes(self) -> int:
        match self._reader:
            case JsonLines() | CsvRows() | HttpMessages():
                return self._reader.size_bytes
            case JsonElements():
                return len(self._reader.raw)
            case _:
                return 0

    def _records(self, value: Any, depth: int) -> Iterator[Any]:
        """Yield the records that a value wraps, or the value itself."""
        match value:
            case {"columns": list() as columns, "rows": list() as rows}:
                yield from _table_rows(columns, rows)
                self.note_wrapper({name: value[name] for name in value if name == "error"}, self._reader.where())
            case list() if depth < _MAX_DEPTH:
                for item in value:
                    yield from self._records(item, depth + 1)
            case {"Body": bytes() | str() as body, **wrapper} if "EnqueuedTimeUtc" in wrapper:
                for record in self._records(self._event(body), depth + 1):
                    yield {**_capture_columns(wrapper), **record} if isinstance(record, dict) else record
            case str() | bytes() if depth < _MAX_DEPTH and (event := self._event(value)) is not value:
                yield from self._records(event, depth + 1)
            case dict() if depth < _MAX_DEPTH and not is_row(value) and (lists := _row_lists(value)):
                for name in lists:
                    yield from self._records(value[name], depth + 1)
                wrapper = {name: item for name, item in value.items() if name not in lists}
                self.note_wrapper(wrapper, self._reader.where())
            case _:
                yield value

    def _event(self, body: bytes | str) -> Any:
        """Decode a message of an Event Hub; return it unchanged if that fails."""
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        try:
            return parse(text)
        except (*NOT_JSON, UnicodeEncodeError):
            pass
        if is_http_message(text):
            return http_message_columns(text)
        found = decode_body(text)
        if found is not None and isinstance(found.value, dict):
            self._is_cut |= found.is_cut
            return found.value
        return headerless_record(text) or body


def _row(record: JsonObject, where: str, size_bytes: int, fields: FieldMap, *, is_cut: bool) -> Row:
    row = with_known_columns(row_from_record(record, where, size_bytes), fields)
    row.is_cut = is_cut
    return row


def _row_lists(value: JsonObject) -> list[str]:
    """Return the names of the fields in which an object holds lists of rows."""
    if request_kind(value) is not None or response_kind(value) is not None:
        return []
    return [
        name for name, item in value.items() if isinstance(item, list) and item and any(map(_is_wrapper_or_row, item))
    ]


def _is_wrapper_or_row(value: Any) -> bool:
    return isinstance(value, dict) and (is_row(value) or isinstance(value.get("rows"), list) or bool(_row_lists(value)))


def _table_rows(columns: list[Any], rows: list[Any]) -> Iterator[Any]:
    names = [
        column["name"] if isinstance(column, dict) and isinstance(column.get("name"), str) else f"column_{number}"
        for number, column in enumerate(columns)
    ]
    for row in rows:
        if isinstance(row, list):
            record = dict(zip(names, row, strict=False))
            if rest := row[len(names) :]:
                record["more_cells"] = rest
            yield record
        else:
            yield row


def _capture_columns(wrapper: JsonObject) -> JsonObject:
    """Return what Capture records about an event, under names that no row has."""
    return {
        "EnqueuedTimeUtc": wrapper["EnqueuedTimeUtc"],
        **{f"captured_{name}": item for name, item in wrapper.items() if name in {"Offset", "SequenceNumber"}},
        **{name: item for name in ("Properties", "SystemProperties") if (item := wrapper.get(name))},
    }


def _raw_bytes(value: Any) -> bytes:
    try:
        return value if isinstance(value, bytes) else msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return repr(value)[: 1 << 20].encode("utf-8", "replace")


class JoinedBatches:
    """A stream of several Event Hub batches, readable as one batch.

    `]}{"records":[` occurs only between batches: inside a text its quotes would be escaped, and inside an object a
    comma would precede it. It is replaced by a comma and blanks, so that byte offsets stay the same.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._pending = b""

    def read(self, size: int = -1) -> bytes:
        """Return some bytes, perhaps fewer than `size`; none at the end."""
        while True:
            chunk = self._stream.read(size)
            self._pending = _BATCH_BOUNDARY.sub(_blank_boundary, self._pending + chunk)
            # Hold back what may be the start of a boundary.
            ready = self._pending if not chunk else self._pending[:-_MAX_BOUNDARY_BYTES]
            self._pending = self._pending[len(ready) :]
            if ready or not chunk:
                return ready


def _blank_boundary(found: re.Match[bytes]) -> bytes:
    size = len(found[0])
    if found[1]:
        return b"[".ljust(size)
    return (b" " if found[2] else b",").ljust(size)
