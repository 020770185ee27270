"""The elements of a huge JSON array as records, with damage repaired and accounted for."""

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

import msgspec

from palaver.errors import SourceError
from palaver.model.finding import finding_kind
from palaver.sources.arrays import ArrayElements
from palaver.sources.damage import BAD_JSON, BOM, NUL_BYTES, repair
from palaver.sources.glimpse import closed
from palaver.sources.jsonl import CUT_OFF, UNFINISHED_TAIL
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import read_at_most

TRAILING_BYTES = finding_kind("trailing-bytes", "warning", "Something follows the end of the JSON document.")
ODD_BEGINNING = finding_kind("odd-beginning", "warning", "The document does not begin as an array; it was read as one.")
CUT_RECORD = finding_kind("cut-record", "warning", "The file ends within its last record; what came before is kept.")
NO_ARRAY = finding_kind("no-array", "error", "The document does not hold the array that it should; nothing was read.")


_OPENING = re.compile(rb"\[\s*\{|\{\s*\"")
SMALL_BYTES = 1 << 23
"""Up to here a file is parsed at once."""
_STRAY_BYTES = 256
"""How much may stand before the array, or instead of its beginning."""
_BEFORE_A_VALUE = bytes(range(33)) + b"]},:"


class _UpToDamage:
    """A stream that ends where it cannot be read any more, without the NUL bytes a crash may have left at its start.

    With `opens` it is an array, whatever it begins with.
    """

    def __init__(self, stream: BinaryIO, run: Run, label: str, *, opens: bool) -> None:
        # Pieces as they come are as good as whole chunks, and need not be joined.
        self._read = getattr(stream, "read1", stream.read)
        self._run = run
        self._label = label
        self._opens = opens
        self._taken = 0

    def read(self, size: int) -> bytes:
        try:
            chunk = self._read(size)
            if not self._taken and chunk.startswith(b"\0"):
                self._run.note(NUL_BYTES, f"{self._label}the beginning")
                while chunk.startswith(b"\0"):
                    chunk = chunk.lstrip(b"\0") or self._read(size)
            if self._opens and not self._taken:
                chunk = self._opened(chunk)
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, f"{self._label}byte {self._taken}", str(error), kept=False)
            return b""
        self._taken += len(chunk)
        self._run.advance(len(chunk))
        return chunk

    def _opened(self, chunk: bytes) -> bytes:
        """The beginning of an array, which one of a single element may lack, and a damaged one have lost."""
        begun = chunk.removeprefix(BOM).lstrip(_BEFORE_A_VALUE)
        if not begun:
            return chunk
        if not chunk.removeprefix(BOM).lstrip().startswith((b"[", b"{")):
            opening = _OPENING.search(begun, 0, _STRAY_BYTES)
            stray = begun[: opening.start()] if opening else b""
            self._run.note(ODD_BEGINNING, f"{self._label}the beginning", f"{stray!r}"[1:] if stray else "")
            begun = begun[len(stray) :]
        return begun if begun.startswith(b"[") else b"[" + begun


class JsonElements:
    """Iterates over the elements of an array; `number`, `taken` and `raw` tell the current record's place.

    Of a file that grows, an element that is cut off is read when it is whole; of one that does not (`takes_cut`), it is
    taken as it is, and so is a single element without an array around it. One that `is_embedded` in something else is
    followed by the rest of that.
    """

    def __init__(
        self,
        stream: BinaryIO,
        run: Run,
        path: tuple[str, ...] = (),
        *,
        label: str = "",
        takes_cut: bool = False,
        is_embedded: bool = False,
    ) -> None:
        self.number = 0
        self.taken = 0
        self._label = f"{label}: " if label else ""
        self._elements = ArrayElements(
            cast("BinaryIO", _UpToDamage(stream, run, self._label, opens=takes_cut and not path)),
            path,
            keeps_raw=False,
        )
        self._run = run
        self._takes_cut = takes_cut
        self._is_embedded = is_embedded

    @property
    def raw(self) -> bytes:
        return self._elements.raw()

    def checksum(self) -> tuple[int, int]:
        """What tells the current element's bytes from others."""
        return self._elements.checksum()

    @property
    def wrapper(self) -> dict[str, Any]:
        """The other keys of the object around the array, as far as they were read."""
        return self._elements.wrapper

    def holds(self, records: int) -> None:
        """Say how many records the current element is, for formats in which that is not one."""
        self._run.read(records - 1)

    def where(self) -> str:
        return f"{self._label}element {self.number - 1}, byte {self.taken}"

    def __iter__(self) -> Iterator[Any]:
        for element in self._elements:
            self.number = element.index + 1
            self.taken = element.offset
            if element.error is None:
                self._run.read()
                yield element.taken()
            elif element.error != "truncated":
                yield from self._repaired(element.raw)
            elif self._takes_cut:
                yield from self._cut(element.raw)
            else:
                self._run.note(UNFINISHED_TAIL, self.where())
        if not self._elements.found:
            self._run.note(NO_ARRAY, f"{self._label}the document", kept=False)
        if self._elements.trailing and not self._is_embedded:
            self._run.note(TRAILING_BYTES, self.where(), kept=False)

    def _cut(self, raw: bytes) -> Iterator[Any]:
        """The part of an element that the file still holds."""
        whole = closed(raw)
        if len(whole) > 2:
            self._run.note(CUT_RECORD, self.where())
            yield from self._repaired(whole)
        else:
            self._run.read()
            self._run.quarantined(BAD_JSON, raw, self.where(), "the file ends within it")

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


class WholeElements:
    """The same for a file that is small and sound: parsed at once, which takes a third of the time."""

    def __init__(self, values: list[Any], wrapper: dict[str, Any], run: Run, label: str) -> None:
        self.number = 0
        self.taken = 0
        self.wrapper = wrapper
        self._values = values
        self._run = run
        self._label = f"{label}: " if label else ""
        self._value: Any = None

    @property
    def raw(self) -> bytes:
        return msgspec.json.encode(self._value)

    def where(self) -> str:
        return f"{self._label}element {self.number - 1}"

    def objects(self) -> list[dict[str, Any]] | None:
        """All elements at once, where each is an object."""
        if not set(map(type, self._values)) <= {dict}:
            return None
        self._run.read(len(self._values))
        return self._values

    def __iter__(self) -> Iterator[Any]:
        self._run.read(len(self._values))
        for self.number, self._value in enumerate(self._values, 1):  # noqa: B020 - they tell where it is
            yield self._value


@contextmanager
def elements_of(source: Source, run: Run, key: str = "", *, label: str = "") -> Generator[JsonElements | WholeElements]:
    """The elements of a file that does not grow: of an array, or of the one that an object has under a key."""
    if (whole := _whole(source, run, key, label)) is not None:
        yield whole
        return
    with source.open() as stream:
        yield JsonElements(stream, run, (key,) if key else (), label=label, takes_cut=True)


def _whole(source: Source, run: Run, key: str, label: str) -> WholeElements | None:
    size_bytes = source.size_bytes
    if size_bytes > SMALL_BYTES or not source.can_move:
        return None
    try:
        with source.open() as stream:
            raw = read_at_most(stream, size_bytes + 1)
            if stream.read(1):
                return None
        value = parse(raw)
    except (SourceError, OSError, *NOT_JSON):
        return None  # whoever reads it with care tells why
    wrapper: dict[str, Any] = {}
    if key and isinstance(value, dict):
        wrapper, value = value, value.pop(key, None)
    elif key:
        return None
    if not isinstance(value, list):
        return None
    run.advance(len(raw))
    return WholeElements(value, wrapper, run, label)
