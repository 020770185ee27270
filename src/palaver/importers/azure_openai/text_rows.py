"""Rows of logs that are text but not JSON: CSV, and HTTP messages.

CSV comes from the portal, with a header, or from a policy, without one. The portal writes `dynamic` columns as JSON
with doubled quotes, and times as `3/14/2026, 9:01:12.900 AM` in a column `TimeGenerated [UTC]`. Without a header, cells
are recognized by their shape: a time, an id, a body, an address.

An HTTP message follows a line `request:<id>` or `response:<id>`. Policies send these to an Event Hub one by one; a file
holds many. A body may contain blank lines: a message extends to the next line that names one.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import BinaryIO

from palaver.errors import SourceError
from palaver.importers._shared.findings import BAD_CONVERSATION
from palaver.importers.azure_openai.column_values import column_headers
from palaver.importers.azure_openai.row import KNOWN_COLUMNS, plain_name
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.redact.text import mask_text
from palaver.sources.damage import BOM, BYTE_ORDER_MARK, INVALID_UTF8, NUL_BYTES
from palaver.sources.jsonl import CUT_OFF
from palaver.sources.run import Run, line_position

ODD_ROW = finding_kind(
    "odd-row", "warning", "A CSV row has more or fewer cells than the header; the matching cells were read."
)
BAD_ROW = finding_kind("bad-row", "error", "A line is not a CSV row; it is quarantined.")

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+Z?|[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}[, ]+[0-9:.]+ ?(?:[AP]M)?")
_GUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_IP_ADDRESS = re.compile(r"(?:[0-9]{1,3}\.){3}(?:[0-9]{1,3}|\*+)")
_SHAPES = ((_TIME, "EventTime"), (_GUID, "RequestId"), (_IP_ADDRESS, "RequestIp"))
_MAX_CELL_BYTES = 1 << 29
_HEADER_COLUMNS = 3
_MESSAGE_NAME = re.compile(r"\ufeff?(request|response):([^\s{}\"]{1,100})\s*")
_REQUEST_LINE = re.compile(r"^([A-Z]{3,10}) (\S+)(?: HTTP/\S+)?[ \r]*$", re.MULTILINE)
_STATUS_LINE = re.compile(r"^HTTP/\S+ ([0-9]{3})\b.*$", re.MULTILINE)
_MESSAGE_START = re.compile(r"HTTP/[0-9.]+ [0-9]{3}\b|[A-Z]{3,10} \S+ HTTP/[0-9.]+\s*$")
_BODY_START = re.compile(r"^(?:[{\[]|data:|event:)", re.MULTILINE)


def is_header(cells: list[str]) -> bool:
    """Whether the cells are names of columns: enough of them are known."""
    known = sum(plain_name(cell) in KNOWN_COLUMNS for cell in cells)
    return len(cells) > 1 and known >= min(_HEADER_COLUMNS, len(cells))


def first_cells(lines: Iterable[str]) -> list[str]:
    csv.field_size_limit(_MAX_CELL_BYTES)
    try:
        return next(csv.reader(line.replace("\0", "") for line in lines), [])
    except csv.Error:
        return []


class CsvRows:
    """Iterates over the rows of a CSV stream as objects; counts each on the run, and quarantines unreadable ones."""

    def __init__(self, stream: BinaryIO, run: Run) -> None:
        self._stream = stream
        self._run = run
        self._read_bytes = 0
        self._lines = 0
        self._row_lines: list[str] = []
        self._start = (1, 0)

    @property
    def size_bytes(self) -> int:
        """Size of the current row."""
        return sum(map(len, self._row_lines))

    def where(self) -> str:
        return line_position(*self._start)

    def __iter__(self) -> Iterator[JsonObject]:
        csv.field_size_limit(_MAX_CELL_BYTES)
        rows = csv.reader(self._texts())
        header: list[str] = []
        while True:
            self._row_lines = []
            self._start = self._lines + 1, self._read_bytes
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                # A carriage return outside of quotes.
                cells = first_cells([text := "".join(self._row_lines).replace("\r", " ")])
                if not cells:
                    self._run.read()
                    self._run.quarantined(BAD_ROW, text.encode(), self.where(), str(error))
                    continue
                self._run.note(ODD_ROW, self.where(), str(error))
            if not any(cells):
                continue
            if is_header(cells):
                header = [cell or f"column_{number}" for number, cell in enumerate(cells)]
                continue
            self._run.read()
            yield self._named(header, cells) if header else _name_by_shape(cells)

    def _named(self, header: list[str], cells: list[str]) -> JsonObject:
        if len(cells) != len(header):
            self._run.note(ODD_ROW, self.where(), f"{len(cells)} cells below {len(header)} names")
        record: JsonObject = dict(zip(header, cells, strict=False))
        if rest := cells[len(header) :]:
            record["more_cells"] = rest
        return record

    def _texts(self) -> Iterator[str]:
        for raw in self._raw_lines():
            self._lines += 1
            start = self._read_bytes
            self._read_bytes += len(raw)
            if not start and raw.startswith(BOM):
                self._run.note(BYTE_ORDER_MARK, line_position(1, 0))
                raw = raw.removeprefix(BOM)
            try:
                text = raw.decode()
            except UnicodeDecodeError:
                self._run.note(INVALID_UTF8, line_position(self._lines, start))
                text = raw.decode(errors="replace")
            if "\0" in text:
                self._run.note(NUL_BYTES, line_position(self._lines, start))
                text = text.replace("\0", "")
            self._row_lines.append(text)
            yield text

    def _raw_lines(self) -> Iterator[bytes]:
        try:
            for raw in self._stream:
                self._run.advance(len(raw))
                yield raw
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, f"after byte {self._read_bytes}", str(error), kept=False)


def headerless_record(text: str) -> JsonObject | None:
    """Return the line of a policy as a record named by the shapes of its cells; None if it has only one cell."""
    cells = first_cells(StringIO(text, newline=""))
    return _name_by_shape(cells) if len(cells) > 1 else None


def _name_by_shape(cells: list[str]) -> JsonObject:
    """Name the first cell of each shape after the column it must be, and the others by their numbers."""
    record: JsonObject = {}
    for number, cell in enumerate(cells):
        name = next((name for shape, name in _SHAPES if name not in record and shape.fullmatch(cell)), f"cell_{number}")
        record[name] = cell
    return record


def is_http_message(text: str) -> bool:
    return _MESSAGE_NAME.match(text.partition("\n")[0]) is not None


def http_message_columns(text: str) -> JsonObject | None:
    """Return an HTTP message as the columns of a row; None if no line names it."""
    first, _, rest = text.partition("\n")
    named = _MESSAGE_NAME.fullmatch(first)
    if named is None:
        return None
    side, call_id = named.groups()
    columns: JsonObject = {"RequestId": call_id}
    head, _, body = rest.replace("\r\n", "\n").partition("\n\n")
    if (body_start := _BODY_START.search(head)) and not body.lstrip().startswith(("{", "[")):
        head, body = head[: body_start.start()], f"{head[body_start.start() :]}\n\n{body}"  # the blank line is missing
    if found := _REQUEST_LINE.search(head):
        columns |= {"method": found[1], "url": found[2]}
    elif found := _STATUS_LINE.search(head):
        columns["responseCode"] = int(found[1])
    elif body.strip():
        columns["head"] = mask_text(head)  # neither a request line nor a status line
    else:
        body = rest
    if headers := column_headers(head[found.end() :] if found else ""):
        columns[f"{side}Headers"] = headers
    if body.strip():
        columns[f"{side}Body"] = body.strip("\r\n")
    return columns


class HttpMessages:
    """Iterates over the HTTP messages of a stream as objects; counts each on the run, and quarantines nameless ones."""

    def __init__(self, stream: BinaryIO, run: Run) -> None:
        self._stream = stream
        self._run = run
        self._start = (1, 0)
        self.size_bytes = 0

    def where(self) -> str:
        return line_position(*self._start)

    def __iter__(self) -> Iterator[JsonObject]:
        for text in self._texts():
            self.size_bytes = len(text)
            self._run.read()
            if (found := http_message_columns(text)) is not None:
                yield found
            else:
                self._run.quarantined(BAD_CONVERSATION, text.encode(), self.where(), "no message is named before it")

    def _texts(self) -> Iterator[str]:
        lines: list[str] = []
        has_started = False
        offset = 0
        start = (1, 0)
        for number, raw in enumerate(self._lines(), 1):
            text = raw.decode("utf-8", "replace")
            # A message whose name line is missing does not belong to the message before it.
            is_start = _MESSAGE_START.match(text) is not None
            if lines and (_MESSAGE_NAME.fullmatch(text) or (is_start and has_started)):
                if "".join(lines).strip():
                    self._start = start
                    yield "".join(lines)
                lines, has_started = [], False
            if not lines:
                start = (number, offset)
            has_started |= is_start
            lines.append(text)
            offset += len(raw)
        if "".join(lines).strip():
            self._start = start
            yield "".join(lines)

    def _lines(self) -> Iterator[bytes]:
        try:
            for raw in self._stream:
                self._run.advance(len(raw))
                yield raw
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, "the end", str(error), kept=False)
