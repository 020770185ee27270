"""The elements of a huge JSON array as records, with damage repaired and accounted for."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from palaver.errors import SourceError
from palaver.model.finding import finding_kind
from palaver.sources.arrays import ArrayElements
from palaver.sources.damage import BAD_JSON, repair
from palaver.sources.jsonl import CUT_OFF, UNFINISHED_TAIL, long_numbers
from palaver.sources.run import Run

TRAILING_BYTES = finding_kind("trailing-bytes", "warning", "Something follows the end of the JSON document.")


class JsonElements:
    """Iterates over the elements of an array; `number`, `taken` and `raw` tell the current record's place."""

    def __init__(self, stream: BinaryIO, run: Run, path: tuple[str, ...] = ()) -> None:
        self.number = 0
        self.taken = 0
        self.raw = b""
        self._elements = ArrayElements(stream, path)
        self._run = run

    @property
    def wrapper(self) -> dict[str, Any]:
        """The other keys of the object around the array, as far as they were read."""
        return self._elements.wrapper

    def where(self) -> str:
        return f"element {self.number - 1}, byte {self.taken}"

    def __iter__(self) -> Iterator[Any]:
        try:
            for element in self._elements:
                self.number = element.index + 1
                self.taken = element.offset
                self.raw = element.raw
                if element.error is None and not long_numbers(element.raw):
                    self._run.read()
                    yield element.value
                elif element.error == "truncated":
                    self._run.note(UNFINISHED_TAIL, self.where())
                else:
                    yield from self._repaired(element.raw)
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, self.where(), str(error), kept=False)
        if self._elements.trailing:
            self._run.note(TRAILING_BYTES, self.where(), kept=False)

    def _repaired(self, raw: bytes) -> Iterator[Any]:
        repaired = repair(raw)
        for kind, message in repaired.remarks:
            self._run.note(kind, self.where(), message)
        self._run.read()
        if len(repaired.values) == 1 and not repaired.torn:
            yield repaired.values[0]
        else:
            kind, message = (repaired.torn[0][2:]) if repaired.torn else (BAD_JSON, "")
            self._run.quarantined(kind, raw, self.where(), message)
