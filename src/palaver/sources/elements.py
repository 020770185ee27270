"""The elements of a huge JSON array as records, with damage repaired and accounted for."""

from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from palaver.errors import SourceError
from palaver.model.finding import finding_kind
from palaver.sources.arrays import ArrayElements
from palaver.sources.damage import BAD_JSON, NUL_BYTES, repair
from palaver.sources.jsonl import CUT_OFF, UNFINISHED_TAIL
from palaver.sources.run import Run

TRAILING_BYTES = finding_kind("trailing-bytes", "warning", "Something follows the end of the JSON document.")


NO_ARRAY = finding_kind("no-array", "error", "The document does not hold the array that it should; nothing was read.")


class _WithoutNuls:
    """A stream without the NUL bytes that a crash may have left before its content."""

    def __init__(self, stream: BinaryIO, run: Run) -> None:
        self._stream = stream
        self._run = run
        self._is_started = False

    def read(self, size: int) -> bytes:
        chunk = self._stream.read(size)
        while not self._is_started and chunk.startswith(b"\0"):
            self._run.note(NUL_BYTES, "the beginning")
            chunk = chunk.lstrip(b"\0") or self._stream.read(size)
        self._is_started = True
        self._run.advance(len(chunk))
        return chunk


class JsonElements:
    """Iterates over the elements of an array; `number`, `taken` and `raw` tell the current record's place."""

    def __init__(self, stream: BinaryIO, run: Run, path: tuple[str, ...] = ()) -> None:
        self.number = 0
        self.taken = 0
        self.raw = b""
        self._elements = ArrayElements(cast("BinaryIO", _WithoutNuls(stream, run)), path)
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
                if element.error is None:
                    self._run.read()
                    yield element.value
                elif element.error == "truncated":
                    self._run.note(UNFINISHED_TAIL, self.where())
                else:
                    yield from self._repaired(element.raw)
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, self.where(), str(error), kept=False)
        if not self._elements.found:
            self._run.note(NO_ARRAY, "the document", kept=False)
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
