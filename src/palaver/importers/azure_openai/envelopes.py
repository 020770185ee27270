"""Envelopes: the rows of a log in whatever it was kept, one by one.

A blob holds a row a line; an Event Hub's message `{"records": […]}`, alone, one a line or one behind the other; a query
answers with tables, the command line with a list of rows; Capture wraps messages in Avro. A message that a policy wrote
is anything: an object, a line of cells, an HTTP message.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol, cast

import msgspec

from palaver.importers.azure_openai.avro import AvroRecords
from palaver.importers.azure_openai.batches import JoinedBatches
from palaver.importers.azure_openai.bodies import decoded
from palaver.importers.azure_openai.cells import CsvRows, record_of
from palaver.importers.azure_openai.custom import FieldMap, told
from palaver.importers.azure_openai.formats import request_kind, response_kind
from palaver.importers.azure_openai.forms import Form, form_of
from palaver.importers.azure_openai.messages import HttpMessages, is_message, message_of
from palaver.importers.azure_openai.row import Row, is_row, row_of
from palaver.importers.azure_openai.secrets import MaskedRun
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind, finding_kind
from palaver.sources.damage import BAD_JSON, NOT_AN_OBJECT
from palaver.sources.elements import CUT_RECORD, JsonElements
from palaver.sources.jsonl import JsonLines
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.run import Run
from palaver.sources.source import Source

PARTIAL_RESULT = finding_kind(
    "partial-result", "warning", "The query behind this result failed in part: rows may be missing."
)
AROUND_ROWS = finding_kind("around-rows", "note", "Fields that stand around rows belong to none and are not kept.")


_DEEPEST = 4
_AROUND = frozenset({"columns", "rows", "Body"})
"""Names of what may stand around rows."""


class _Reader(Protocol):
    def where(self) -> str: ...

    def __iter__(self) -> Iterator[Any]: ...


def rows_of(source: Source, run: Run, fields: FieldMap) -> Iterator[Row]:
    """Every row of a log; each is counted on the run, and what is none has been set aside."""
    form: Form = run.form or form_of(source)  # pyright: ignore[reportAssignmentType] - our own word, handed back
    with source.open() as stream:
        rescue = _Rescue(run, fields)
        reader = _reader(form, stream, rescue)
        unpacking = _Unpacking(reader, run, fields)
        for value in reader:
            is_cut = rescue.has_cut_record()
            if isinstance(value, dict) and _AROUND.isdisjoint(value) and is_row(value):
                yield unpacking.row(value, is_cut=is_cut)
            else:
                yield from unpacking.rows(value, is_cut=is_cut)
            if rescue.has_rows():
                yield from rescue.rows()
        yield from rescue.rows()
        if isinstance(reader, JsonElements):
            unpacking.tell_around(reader.wrapper, reader.where())


def _reader(form: Form, stream: BinaryIO, run: Run) -> _Reader:
    match form:
        case "records":
            return JsonElements(cast("BinaryIO", JoinedBatches(stream)), run, ("records",), takes_cut=True)
        case "tables":
            return JsonElements(stream, run, ("tables",), takes_cut=True)
        case "array":
            return JsonElements(stream, run, takes_cut=True)
        case "cells":
            return CsvRows(stream, run)
        case "messages":
            return HttpMessages(stream, run)
        case "avro":
            return AvroRecords(stream, run)
        case "lines":
            return JsonLines(stream, run)


class _Rescue(MaskedRun):
    """Takes what a reader would set aside and is the beginning of a row: an Event Hub cuts what is too large for it."""

    def __init__(self, run: Run, fields: FieldMap) -> None:
        super().__init__(run)
        self._fields = fields
        self._rows: list[Row] = []
        self._has_cut_record = False

    def has_cut_record(self) -> bool:
        """Whether the reader said so since this was asked last."""
        found, self._has_cut_record = self._has_cut_record, False
        return found

    def note(self, kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        self._has_cut_record |= kind is CUT_RECORD
        super().note(kind, where, message, kept=kept)

    def has_rows(self) -> bool:
        return bool(self._rows)

    def rows(self) -> Iterator[Row]:
        """The rows that were taken since this was asked last."""
        rows, self._rows = self._rows, []
        yield from rows

    def quarantined(self, kind: FindingKind, raw: bytes, where: str, message: str = "") -> None:
        found = decoded(raw) if kind is BAD_JSON and raw.lstrip().startswith(b"{") else None
        if found is not None and found.is_cut and isinstance(found.value, dict) and is_row(found.value):
            super().note(CUT_RECORD, where, "a line ends within its record; what is there was read")
            self._rows.append(_row(found.value, where, len(raw), self._fields, is_cut=True))
        else:
            super().quarantined(kind, raw, where, message)


class _Unpacking:
    """Makes rows of what a reader gives, each of which it has counted as one record."""

    def __init__(self, reader: _Reader, run: Run, fields: FieldMap) -> None:
        self._reader = reader
        self._run = run
        self._fields = fields
        self._is_cut = False

    def row(self, record: JsonObject, *, is_cut: bool) -> Row:
        """The row that a value is by itself."""
        return _row(record, self._reader.where(), self._size_bytes(), self._fields, is_cut=is_cut)

    def rows(self, value: Any, *, is_cut: bool) -> Iterator[Row]:
        self._is_cut = is_cut
        records = list(self._records(value, 0))
        self._run.read(len(records) - 1)
        where = self._reader.where() if records else ""
        size_bytes = self._size_bytes() // max(1, len(records))
        for number, record in enumerate(records):
            place = where if len(records) == 1 else f"{where}, row {number}"
            if isinstance(record, dict):
                is_last = number + 1 == len(records)
                yield _row(record, place, size_bytes, self._fields, is_cut=self._is_cut and is_last)
            else:
                self._run.quarantined(NOT_AN_OBJECT, _bytes(record), place)

    def tell_around(self, around: JsonObject, where: str) -> None:
        """Say that something stood around the rows; of a query's result, that it is not all."""
        stated = dict(around)
        match stated.pop("error", None):
            case None:
                pass
            case {"message": str(message)} | {"code": str(message)}:
                self._run.note(PARTIAL_RESULT, where, message)
            case _:
                self._run.note(PARTIAL_RESULT, where)
        if stated:
            self._run.note(AROUND_ROWS, where, ", ".join(map(str, stated)), kept=False)

    def _size_bytes(self) -> int:
        match self._reader:
            case JsonLines() | CsvRows() | HttpMessages():
                return self._reader.size_bytes
            case JsonElements():
                return len(self._reader.raw)
            case _:
                return 0

    def _records(self, value: Any, depth: int) -> Iterator[Any]:
        """What a value of the file holds: the records in it, or itself."""
        match value:
            case {"columns": list() as columns, "rows": list() as rows}:
                yield from _zipped(columns, rows)
                self.tell_around({name: value[name] for name in value if name == "error"}, self._reader.where())
            case list() if depth < _DEEPEST:
                for item in value:
                    yield from self._records(item, depth + 1)
            case {"Body": bytes() | str() as body, **around} if "EnqueuedTimeUtc" in around:
                for record in self._records(self._event(body), depth + 1):
                    yield {**_captured(around), **record} if isinstance(record, dict) else record
            case str() | bytes() if depth < _DEEPEST and (event := self._event(value)) is not value:
                yield from self._records(event, depth + 1)
            case dict() if depth < _DEEPEST and not is_row(value) and (lists := _lists(value)):
                for name in lists:
                    yield from self._records(value[name], depth + 1)
                around = {name: item for name, item in value.items() if name not in lists}
                self.tell_around(around, self._reader.where())
            case _:
                yield value

    def _event(self, body: bytes | str) -> Any:
        """What an Event Hub's message says; itself where that cannot be told."""
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        try:
            return parse(text)
        except (*NOT_JSON, UnicodeEncodeError):
            pass
        if is_message(text):
            return message_of(text)
        found = decoded(text)
        if found is not None and isinstance(found.value, dict):
            self._is_cut |= found.is_cut
            return found.value
        return record_of(text) or body


def _row(record: JsonObject, where: str, size_bytes: int, fields: FieldMap, *, is_cut: bool) -> Row:
    row = told(row_of(record, where, size_bytes), fields)
    row.is_cut = is_cut
    return row


def _lists(value: JsonObject) -> list[str]:
    """The names under which an object holds lists of objects, if it is one that stands around rows."""
    if request_kind(value) is not None or response_kind(value) is not None:
        return []
    return [
        name for name, item in value.items() if isinstance(item, list) and item and any(map(_is_around_or_row, item))
    ]


def _is_around_or_row(value: Any) -> bool:
    return isinstance(value, dict) and (is_row(value) or isinstance(value.get("rows"), list) or bool(_lists(value)))


def _zipped(columns: list[Any], rows: list[Any]) -> Iterator[Any]:
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


def _captured(around: JsonObject) -> JsonObject:
    """What Capture says of an event, under names that no row has."""
    return {
        "EnqueuedTimeUtc": around["EnqueuedTimeUtc"],
        **{f"captured_{name}": item for name, item in around.items() if name in {"Offset", "SequenceNumber"}},
        **{name: item for name in ("Properties", "SystemProperties") if (item := around.get(name))},
    }


def _bytes(value: Any) -> bytes:
    try:
        return value if isinstance(value, bytes) else msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return repr(value)[: 1 << 20].encode("utf-8", "replace")
