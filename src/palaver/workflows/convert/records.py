"""Read the values that a file holds: one on each line, the elements of an array, one array of messages, or a stream."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver.model.finding import FindingKind
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.damage import BOM
from palaver.sources.jsonl import UNFINISHED_TAIL, JsonLines
from palaver.sources.parse import parses
from palaver.sources.run import Run
from palaver.sources.source import HEAD_BYTES, Source
from palaver.streams import assemble_all
from palaver.wire import Loss, formats
from palaver.workflows.convert.messages import is_message


class Record(NamedTuple):
    where: str
    value: Any
    losses: list[Loss]
    """What reading the record lost: damage that was repaired."""
    remarks: list[str]


class Refusal(NamedTuple):
    where: str
    reason: str


class _ReadingRun(Run):
    """A run that keeps every finding until the next record is there."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._refusals: list[Refusal] = []
        self._losses: list[Loss] = []

    def note(self, kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        if kind.severity == "error" or not kept or kind is UNFINISHED_TAIL:
            self._refusals.append(Refusal(where, message or kind.meaning))
        elif kind.severity == "warning":
            self._losses.append(Loss("", f"{kind.meaning} ({message})" if message else kind.meaning, "changed"))

    def refusals(self) -> list[Refusal]:
        found, self._refusals = self._refusals, []
        return found

    def losses(self) -> list[Loss]:
        found, self._losses = self._losses, []
        return found


def read_records(opened: Source, source: str) -> Iterator[Record | Refusal]:
    """Yield every record with its position, and a refusal for each that cannot be read."""
    head = opened.head().lstrip(b"\xef\xbb\xbf \r\n")
    if head.startswith((b"data:", b"event:", b":", b"id:", b"retry:")):
        with opened.open() as stream:
            yield from _stream_records(stream.read(), source)
        return
    run = _ReadingRun(opened.label)
    with opened.open() as stream:
        if head.startswith(b"[") and not _has_array_on_each_line(opened):
            yield from _array_records(JsonElements(stream, run, accepts_truncated=True), run, source)
        else:
            lines = JsonLines(stream, run)
            for value in lines:
                yield from run.refusals()
                yield Record(lines.where(), value, run.losses(), [])
    yield from run.refusals()


def _has_array_on_each_line(opened: Source) -> bool:
    """Return whether the array with which a file begins ends on its first line, and other lines follow."""
    head = opened.head()
    line, newline, rest = head.partition(b"\n")
    if not newline and len(head) == HEAD_BYTES and opened.is_plain_file():
        with opened.open() as stream:
            line, rest = stream.readline(), stream.read(HEAD_BYTES)
    return bool(rest.strip()) and line.rstrip().endswith(b"]") and parses(line.removeprefix(BOM))


def _array_records(elements: JsonElements, run: _ReadingRun, source: str) -> Iterator[Record | Refusal]:
    """Yield the elements one by one, or all of them as one record if the first is a message."""
    messages: list[Any] = []
    losses: list[Loss] = []
    is_one_value = False
    for number, value in enumerate(elements):
        is_one_value = is_one_value or (number == 0 and is_message(value, source))
        yield from run.refusals()
        if is_one_value:
            messages.append(value)
            losses += run.losses()
        else:
            yield Record(elements.where(), value, run.losses(), [])
    if is_one_value:
        yield Record("the array", messages, losses, [])


def _stream_records(body: bytes, source: str) -> Iterator[Record | Refusal]:
    """Yield the response in a recorded stream; each on its own, if there are several."""
    if source not in formats():
        yield Refusal("the stream", f"a stream of events requires a provider's format, not {source}")
        return
    messages = assemble_all(source.replace("-", "_"), body)
    for number, message in enumerate(messages, 1):
        where = "the stream" if len(messages) == 1 else f"message {number} of the stream"
        yield Record(where, message.payload, [], [f"{issue.type}: {issue.detail}" for issue in message.issues])
