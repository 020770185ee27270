"""Text files split at their headings into sections, each one record, with damage repaired and recorded."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from palaver.errors import SourceError
from palaver.model.finding import finding_kind
from palaver.sources.damage import BOM, BYTE_ORDER_MARK, INVALID_UTF8, NUL_BYTES
from palaver.sources.jsonl import CARRIAGE_RETURNS, CHUNK_BYTES, CUT_OFF
from palaver.sources.run import Run

NO_SECTIONS = finding_kind("no-sections", "warning", "A text has none of the expected headings.")

MAX_BYTES = 1 << 28


class Sections:
    """An iterator over sections, as pairs of the heading's name and the text below it.

    The first group of the heading pattern is the name. The text before the first heading is the `preface`, which is
    available before iteration and is not a record; `number`, `offset` and `raw` describe the current section.
    """

    def __init__(self, stream: BinaryIO, run: Run, heading: re.Pattern[bytes]) -> None:
        self.number = 0
        self.offset = 0
        self.raw = b""
        self._run = run
        self._data = _read_text(stream, run)
        self._headings = list(heading.finditer(self._data))
        end = self._headings[0].start() if self._headings else len(self._data)
        self.preface = self._text(0, end)

    def where(self) -> str:
        return f"section {self.number}, byte {self.offset}"

    def __iter__(self) -> Iterator[tuple[str, str]]:
        ends = [heading.start() for heading in self._headings[1:]]
        for heading, end in zip(self._headings, [*ends, len(self._data)][: len(self._headings)], strict=True):
            self.number += 1
            self.offset = heading.start()
            self.raw = self._data[heading.start() : end]
            self._run.read()
            yield heading[1].decode(errors="replace"), self._text(heading.end(), end)

    def quarantine_all(self) -> None:
        """Quarantine the whole text as one record, because the headings it should have are missing."""
        self._run.read()
        self._run.quarantined(NO_SECTIONS, self._data, "the text")

    def _text(self, start: int, end: int) -> str:
        raw = self._data[start:end]
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            self._run.note(INVALID_UTF8, self.where(), f"first at byte {start + error.start}")
            return raw.decode(errors="replace")


def _read_text(stream: BinaryIO, run: Run) -> bytes:
    """Return the readable part of the file, up to a limit, without byte order mark, NUL bytes and CR."""
    chunks: list[bytes] = []
    bytes_read = 0
    try:
        while chunk := stream.read(CHUNK_BYTES):
            if bytes_read + len(chunk) > MAX_BYTES:
                run.note(CUT_OFF, f"byte {bytes_read}", "the text is too long to be read whole", kept=False)
                break
            bytes_read += len(chunk)
            chunks.append(chunk)
            run.advance(len(chunk))
    except (SourceError, OSError) as error:
        run.note(CUT_OFF, f"byte {bytes_read}", str(error), kept=False)
    data = b"".join(chunks)
    if data.startswith(BOM):
        run.note(BYTE_ORDER_MARK, "the beginning")
        data = data.removeprefix(BOM)
    if (clean := data.translate(None, b"\0")) != data:
        run.note(NUL_BYTES, "the text", f"{len(data) - len(clean)} NUL bytes")
    if _has_carriage_returns(clean):
        run.note(CARRIAGE_RETURNS, "the text")
        clean = clean.replace(b"\r\n", b"\n")
    return clean


def _has_carriage_returns(data: bytes) -> bool:
    """Return whether every line ends with CR LF, as after a transfer; quoted text may have its own line ends."""
    return b"\r\n" in data and data.count(b"\r\n") == data.count(b"\n")
