"""CSV: what the portal exports, with a header; and lines of cells that a policy wrote, without one.

The portal writes `dynamic` columns as JSON with doubled quotes, and times as `3/14/2026, 9:01:12.900 AM` in a column
`TimeGenerated [UTC]`. Without a header, cells are told by what they look like: a time, an id, a body, an address.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import BinaryIO

from palaver.errors import SourceError
from palaver.importers.azure_openai.row import KNOWN, plain
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.damage import BOM, BYTE_ORDER_MARK, INVALID_UTF8, NUL_BYTES
from palaver.sources.jsonl import CUT_OFF
from palaver.sources.run import Run, place

ODD_ROW = finding_kind(
    "odd-row", "warning", "A row of a CSV file has more or fewer cells than the header; it was read as far as it goes."
)
BAD_ROW = finding_kind("bad-row", "error", "A line is no row of a CSV file; its bytes are set aside.")


_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+Z?|[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}[, ]+[0-9:.]+ ?(?:[AP]M)?")
_GUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_ADDRESS = re.compile(r"(?:[0-9]{1,3}\.){3}(?:[0-9]{1,3}|\*+)")
_SHAPES = ((_TIME, "EventTime"), (_GUID, "RequestId"), (_ADDRESS, "RequestIp"))
_LARGEST_CELL = 1 << 29
_ENOUGH = 3


def is_header(cells: list[str]) -> bool:
    """Whether cells are names of columns: some of them are known."""
    known = sum(plain(cell) in KNOWN for cell in cells)
    return len(cells) > 1 and known >= min(_ENOUGH, len(cells))


def first_cells(lines: Iterable[str]) -> list[str]:
    csv.field_size_limit(_LARGEST_CELL)
    try:
        return next(csv.reader(line.replace("\0", "") for line in lines), [])
    except csv.Error:
        return []


class CsvRows:
    """Iterates over the rows of a stream as objects; counts each on the run, and sets aside what is none."""

    def __init__(self, stream: BinaryIO, run: Run) -> None:
        self._stream = stream
        self._run = run
        self._read_bytes = 0
        self._lines = 0
        self._taken: list[str] = []
        self._start = (1, 0)

    @property
    def size_bytes(self) -> int:
        """How large the current row is."""
        return sum(map(len, self._taken))

    def where(self) -> str:
        return place(*self._start)

    def __iter__(self) -> Iterator[JsonObject]:
        csv.field_size_limit(_LARGEST_CELL)
        rows = csv.reader(self._texts())
        header: list[str] = []
        while True:
            self._taken = []
            self._start = self._lines + 1, self._read_bytes
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                # A carriage return where no cell can have one.
                cells = first_cells([text := "".join(self._taken).replace("\r", " ")])
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
            yield self._named(header, cells) if header else _told_by_shape(cells)

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
                self._run.note(BYTE_ORDER_MARK, place(1, 0))
                raw = raw.removeprefix(BOM)
            try:
                text = raw.decode()
            except UnicodeDecodeError:
                self._run.note(INVALID_UTF8, place(self._lines, start))
                text = raw.decode(errors="replace")
            if "\0" in text:
                self._run.note(NUL_BYTES, place(self._lines, start))
                text = text.replace("\0", "")
            self._taken.append(text)
            yield text

    def _raw_lines(self) -> Iterator[bytes]:
        try:
            for raw in self._stream:
                self._run.advance(len(raw))
                yield raw
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, f"after byte {self._read_bytes}", str(error), kept=False)


def record_of(text: str) -> JsonObject | None:
    """One line that a policy wrote, by the shapes of its cells; None where there is only one."""
    cells = first_cells(StringIO(text, newline=""))
    return _told_by_shape(cells) if len(cells) > 1 else None


def _told_by_shape(cells: list[str]) -> JsonObject:
    """Cells without names: the first of each shape has the name that it would have, the others their numbers."""
    record: JsonObject = {}
    for number, cell in enumerate(cells):
        name = next((name for shape, name in _SHAPES if name not in record and shape.fullmatch(cell)), f"cell_{number}")
        record[name] = cell
    return record
