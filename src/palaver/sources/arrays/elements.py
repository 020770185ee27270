"""The elements of a JSON array as records on a run, with damage repaired and recorded."""

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

import msgspec

from palaver.errors import SourceError
from palaver.model.finding import finding_kind
from palaver.sources.arrays.splitter import ArrayElements
from palaver.sources.damage import BAD_JSON, BOM, NUL_BYTES, repair
from palaver.sources.jsonl import CUT_OFF, UNFINISHED_TAIL
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.run import Run
from palaver.sources.small_files import read_at_most
from palaver.sources.source import Source
from palaver.sources.source_head import close_truncated

TRAILING_BYTES = finding_kind("trailing-bytes", "warning", "The JSON document is followed by more text.")
ODD_BEGINNING = finding_kind(
    "odd-beginning", "warning", "The document does not begin as an array; it was read as an array."
)
CUT_RECORD = finding_kind(
    "cut-record", "warning", "The file ends within its last record; the records before it are kept."
)
NO_ARRAY = finding_kind("no-array", "error", "The document lacks the expected array; nothing was read.")

SMALL_BYTES = 1 << 23
"""The largest file that is parsed at once."""
_OPENING = re.compile(rb"\[\s*\{|\{\s*\"")
_MAX_STRAY_BYTES = 256
"""How many stray bytes may precede the array or replace its beginning."""
_BEFORE_VALUE = bytes(range(33)) + b"]},:"


class _DamageTolerantStream:
    """A stream that ends where it becomes unreadable, without NUL bytes that a crash left at its start.

    With `is_array`, the stream starts with an opening bracket even if the file does not.
    """

    def __init__(self, stream: BinaryIO, run: Run, label: str, *, is_array: bool) -> None:
        # `read1` returns pieces of any size, which need not be joined into full chunks.
        self._read = getattr(stream, "read1", stream.read)
        self._run = run
        self._label = label
        self._is_array = is_array
        self._bytes_read = 0

    def read(self, size: int) -> bytes:
        try:
            chunk = self._read(size)
            if not self._bytes_read and chunk.startswith(b"\0"):
                self._run.note(NUL_BYTES, f"{self._label}the beginning")
                while chunk.startswith(b"\0"):
                    chunk = chunk.lstrip(b"\0") or self._read(size)
            if self._is_array and not self._bytes_read:
                chunk = self._as_array(chunk)
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, f"{self._label}byte {self._bytes_read}", str(error), kept=False)
            return b""
        self._bytes_read += len(chunk)
        self._run.advance(len(chunk))
        return chunk

    def _as_array(self, chunk: bytes) -> bytes:
        """Add the opening bracket, which a single element lacks and a damaged array may have lost."""
        rest = chunk.removeprefix(BOM).lstrip(_BEFORE_VALUE)
        if not rest:
            return chunk
        if not chunk.removeprefix(BOM).lstrip().startswith((b"[", b"{")):
            opening = _OPENING.search(rest, 0, _MAX_STRAY_BYTES)
            stray = rest[: opening.start()] if opening else b""
            self._run.note(ODD_BEGINNING, f"{self._label}the beginning", f"{stray!r}"[1:] if stray else "")
            rest = rest[len(stray) :]
        return rest if rest.startswith(b"[") else b"[" + rest


class JsonElements:
    """An iterator over the elements of an array; `number`, `bytes_read` and `raw` describe the current one.

    In a file that grows, a truncated last element is left for a later run. With `accepts_truncated` (the file does not
    grow) it is read as far as it goes, and so is a single element without an array around it. An array that
    `is_embedded` in something else may be followed by other bytes.
    """

    def __init__(
        self,
        stream: BinaryIO,
        run: Run,
        path: tuple[str, ...] = (),
        *,
        label: str = "",
        accepts_truncated: bool = False,
        is_embedded: bool = False,
    ) -> None:
        self.number = 0
        self.bytes_read = 0
        self._label = f"{label}: " if label else ""
        self._elements = ArrayElements(
            cast("BinaryIO", _DamageTolerantStream(stream, run, self._label, is_array=accepts_truncated and not path)),
            path,
            keeps_raw=False,
        )
        self._run = run
        self._accepts_truncated = accepts_truncated
        self._is_embedded = is_embedded

    @property
    def raw(self) -> bytes:
        return self._elements.raw()

    def checksum(self) -> tuple[int, int]:
        """Return the size and CRC-32 of the current element's bytes."""
        return self._elements.checksum()

    @property
    def wrapper(self) -> dict[str, Any]:
        """Return the other keys of the object around the array that were read so far."""
        return self._elements.wrapper

    def count_records(self, records: int) -> None:
        """Count the current element as several records, for formats in which an element is not one record."""
        self._run.read(records - 1)

    def where(self) -> str:
        return f"{self._label}element {self.number - 1}, byte {self.bytes_read}"

    def __iter__(self) -> Iterator[Any]:
        for element in self._elements:
            self.number = element.index + 1
            self.bytes_read = element.offset
            if element.error is None:
                self._run.read()
                yield element.take_value()
            elif element.error != "truncated":
                yield from self._yield_repaired(element.raw)
            elif self._accepts_truncated:
                yield from self._yield_truncated(element.raw)
            else:
                self._run.note(UNFINISHED_TAIL, self.where())
        if not self._elements.found:
            self._run.note(NO_ARRAY, f"{self._label}the document", kept=False)
        if self._elements.trailing and not self._is_embedded:
            self._run.note(TRAILING_BYTES, self.where(), kept=False)

    def _yield_truncated(self, raw: bytes) -> Iterator[Any]:
        """Yield the part of the last element that the file contains."""
        closed = close_truncated(raw)
        if len(closed) > 2:
            self._run.note(CUT_RECORD, self.where())
            yield from self._yield_repaired(closed)
        else:
            self._run.read()
            self._run.quarantined(BAD_JSON, raw, self.where(), "the file ends within it")

    def _yield_repaired(self, raw: bytes) -> Iterator[Any]:
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
    """The elements of a small, undamaged file, with the interface of `JsonElements`.

    Such a file is parsed at once, which takes a third of the time.
    """

    def __init__(self, values: list[Any], wrapper: dict[str, Any], run: Run, label: str) -> None:
        self.number = 0
        self.bytes_read = 0
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
        """Return all elements at once if each is an object, else None."""
        if not set(map(type, self._values)) <= {dict}:
            return None
        self._run.read(len(self._values))
        return self._values

    def __iter__(self) -> Iterator[Any]:
        self._run.read(len(self._values))
        for self.number, self._value in enumerate(self._values, 1):  # noqa: B020 - `where` and `raw` use them
            yield self._value


@contextmanager
def open_elements(
    source: Source, run: Run, key: str = "", *, label: str = ""
) -> Generator[JsonElements | WholeElements]:
    """Open the array that a file holds, or that its object holds under a key; the file must not grow."""
    if (elements := _small_array(source, run, key, label)) is not None:
        yield elements
        return
    with source.open() as stream:
        yield JsonElements(stream, run, (key,) if key else (), label=label, accepts_truncated=True)


def _small_array(source: Source, run: Run, key: str, label: str) -> WholeElements | None:
    size_bytes = source.size_bytes
    if size_bytes > SMALL_BYTES or not source.is_reopenable:
        return None
    try:
        with source.open() as stream:
            raw = read_at_most(stream, size_bytes + 1)
            if stream.read(1):
                return None
        value = parse(raw)
    except (SourceError, OSError, *NOT_JSON):
        return None  # JsonElements records why
    wrapper: dict[str, Any] = {}
    if key and isinstance(value, dict):
        wrapper, value = value, value.pop(key, None)
    elif key:
        return None
    if not isinstance(value, list):
        return None
    run.advance(len(raw))
    return WholeElements(value, wrapper, run, label)
