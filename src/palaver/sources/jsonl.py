"""JSON Lines, read in binary and split on newlines only, with damage repaired and accounted for."""

from collections.abc import Iterator
from io import BytesIO
from itertools import chain
from operator import length_hint, sub
from typing import Any, BinaryIO

from palaver.errors import SourceError
from palaver.model.finding import FindingKind, finding_kind
from palaver.sources.damage import BAD_JSON, SPACE, TOO_DEEP, Repaired, repair
from palaver.sources.parse import NOT_JSON, parse, parse_lines
from palaver.sources.run import Run, place
from palaver.sources.spread import Line, Spread, is_balanced, opens

UNFINISHED_TAIL = finding_kind("unfinished-tail", "note", "The last line is not finished yet; it is read when it is.")
PRETTY_PRINTED = finding_kind("pretty-printed", "note", "An object spread over several lines was read.")
CARRIAGE_RETURNS = finding_kind("carriage-returns", "note", "Lines end with CR LF.")
CUT_OFF = finding_kind("source-cut-off", "error", "The source could not be read to its end; what came before is kept.")
LINE_TOO_LONG = finding_kind("line-too-long", "error", "A line is longer than 512 MiB; its beginning is set aside.")

CHUNK_BYTES = 1 << 18
LONGEST_LINE_BYTES = 1 << 29
_TOO_LONG_KEPT = 1 << 16


class _Block:
    """Lines in a row, as they lie in the bytes that were read: nothing is copied before somebody asks for it."""

    __slots__ = ("data", "ends", "is_last", "looked_for", "origin", "start")

    def __init__(self, data: bytes, origin: int, start: int, ends: list[int], *, is_last: bool = False) -> None:
        self.data = data
        self.origin = origin
        """Where the data begins in the stream."""
        self.start = start
        """Where the first line begins in the data."""
        self.ends = ends
        """Where each line ends in the data, not counting its newline."""
        self.is_last = is_last
        """Whether there is no newline behind it, nor anything else."""
        self.looked_for: dict[bytes, bool] = {}
        """Words, and whether they are anywhere in the data."""

    def begin(self, index: int) -> int:
        return self.ends[index - 1] + 1 if index else self.start

    def line(self, index: int) -> bytes:
        return self.data[self.begin(index) : self.ends[index]]

    def values(self) -> list[Any] | None:
        """The values, if every line is one, which is the rule."""
        try:
            values = parse_lines(memoryview(self.data)[self.start : self.ends[-1]])
        except NOT_JSON:
            return None
        shortest = min(map(sub, self.ends, chain((self.start - 1,), self.ends)))
        return values if len(values) == len(self.ends) and shortest > _SHORTEST_BYTES else None


_SHORTEST_BYTES = 2
"""Two braces. What is shorter is blank, or a part of a value, or not worth the hurry."""


class JsonLines:
    """Iterates over the values of a JSON Lines stream; `number`, `offset` and `raw` tell the current record's place.

    Counts every record on the run, and sets aside (quarantines) what cannot be read.
    """

    def __init__(
        self,
        stream: BinaryIO,
        run: Run,
        *,
        label: str = "",
        start: int = 0,
        number: int = 0,
    ) -> None:
        self.taken = start
        """Bytes before the current block of lines."""
        self.end = start
        """Where a later run may continue, once all is read: behind the last whole record."""
        self.end_number = number
        """How many lines end before that."""
        self._stream = stream
        self._run = run
        self._label = label
        self._before = number
        self._block = _Block(b"", start, 0, [])
        self._current = 0
        self._values: Iterator[Any] | None = None
        self._spread: Spread | None = None
        self._pending: int | None = None

    @property
    def _index(self) -> int:
        """Which line of the block is the current one: keeping count would cost more than all else here."""
        return self._current if self._values is None else len(self._block.ends) - length_hint(self._values) - 1

    @property
    def number(self) -> int:
        return self._before + self._index + 1

    @property
    def raw(self) -> bytes:
        return self._block.line(self._index)

    @property
    def size_bytes(self) -> int:
        index = self._index
        return self._block.ends[index] - self._block.begin(index)

    @property
    def offset(self) -> int:
        return self._block.origin + self._block.begin(self._index)

    def where(self) -> str:
        return place(self.number, self.offset, self._label)

    def may_hold(self, words: bytes) -> bool:
        """Whether words are in the current line or in one that was read along with it, which is looked up once."""
        known = self._block.looked_for
        if words not in known:
            known[words] = words in self._block.data
        return known[words]

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._batches())

    def _batches(self) -> Iterator[Iterator[Any]]:
        is_first = True
        for block in self._blocks():
            self._enter(block)
            if is_first:
                is_first = False
                if block.data.endswith(b"\r", block.start, block.ends[0]):
                    self._run.note(CARRIAGE_RETURNS, self.where())
            values = None if block.is_last or self._spread is not None else block.values()
            if values is None:
                yield self._one_after_another(block)
            else:
                self._values = iter(values)
                yield self._values
                self._run.read(len(values))
            self.end = block.origin + block.ends[-1] + (not block.is_last)
            self.end_number = self._before + len(block.ends) - block.is_last
        if self._spread is not None:
            first = self._spread.lines[0]
            self._run.note(UNFINISHED_TAIL, place(first.number, first.offset, self._label))
            self.end, self.end_number = first.offset, first.number - 1
        elif self._pending is not None:
            self.end = self._pending

    def _one_after_another(self, block: _Block) -> Iterator[Any]:
        """Read lines of which some are damaged, blank, unfinished, or parts of an object."""
        for self._current in range(len(block.ends)):
            raw = block.line(self._current)
            if self._spread is None and not block.is_last:
                try:
                    value = parse(raw)
                except NOT_JSON:
                    pass
                else:
                    self._run.read()
                    yield value
                    continue
            yield from self._slowly(raw, is_tail=block.is_last)

    def _enter(self, block: _Block) -> None:
        self._before += len(self._block.ends)
        self._block = block
        self._current = 0
        self._values = None
        self.taken = block.origin + block.start

    def _blocks(self) -> Iterator[_Block]:
        """Whole lines, and last, what follows the final newline."""
        origin = self.taken
        pieces: list[bytes] = []
        held = 0
        while chunk := self._read():
            first = chunk.find(b"\n")
            if held + (len(chunk) if first < 0 else first) > LONGEST_LINE_BYTES:
                origin, chunk = self._pass_over(origin - held, [*pieces, chunk])
                pieces, held = [], 0
                first = chunk.find(b"\n")
            if first < 0:
                pieces.append(chunk)
                held += len(chunk)
                origin += len(chunk)
                continue
            start = 0
            if held:
                pieces.append(chunk[:first])
                yield _Block(b"".join(pieces), origin - held, 0, [held + first])
                start = first + 1
                first = chunk.find(b"\n", start)
            ends: list[int] = []
            found, find = ends.append, chunk.find
            while first >= 0:
                found(first)
                first = find(b"\n", first + 1)
            if ends:
                yield _Block(chunk, origin, start, ends)
                start = ends[-1] + 1
            pieces = [chunk[start:]]
            held = len(chunk) - start
            origin += len(chunk)
        if held:
            yield _Block(b"".join(pieces), origin - held, 0, [held], is_last=True)

    def _read(self) -> bytes:
        try:
            chunk = self._stream.read(CHUNK_BYTES)
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, f"after byte {self.end}", str(error), kept=False)
            self._stream = BytesIO()
            return b""
        self._run.advance(len(chunk))
        return chunk

    def _pass_over(self, offset: int, pieces: list[bytes]) -> tuple[int, bytes]:
        """Set the beginning of an endless line aside, read on to its newline, return what follows."""
        beginning = b""
        for piece in pieces:
            beginning += piece
            if len(beginning) >= _TOO_LONG_KEPT:
                break
        beginning = beginning[:_TOO_LONG_KEPT].partition(b"\n")[0]
        self._enter(_Block(beginning, offset, 0, [len(beginning)]))
        self._run.read()
        self._run.quarantined(LINE_TOO_LONG, beginning, self.where())
        offset += sum(map(len, pieces[:-1]))
        chunk = pieces[-1]
        while chunk:
            cut = chunk.find(b"\n")
            if cut >= 0:
                self.end, self.end_number = offset + cut + 1, self.number
                return self.end, chunk[cut + 1 :]
            offset += len(chunk)
            chunk = self._read()
        self.end, self.end_number = offset, self.number - 1
        return offset, b""

    def _slowly(self, raw: bytes, *, is_tail: bool) -> Iterator[Any]:
        """Read a line that is damaged, blank, or a part of an object spread over several lines."""
        if self._spread is None and not raw.strip(SPACE):
            return
        line = Line(self.number, self.offset, raw)
        if self._spread is not None and self._spread.is_refuted_by(raw, is_tail=is_tail):
            yield from self._give_up(self._spread)
        while self._spread is not None:
            rest = self._spread.add(line)
            if rest is None:
                if self._spread.size_bytes > LONGEST_LINE_BYTES:
                    yield from self._give_up(self._spread)
                return
            yield from self._close(self._spread)
            line = Line(line.number, line.offset + len(line.raw) - len(rest), rest)
        if opens(line.raw):
            self._spread = Spread(line)
        elif is_tail:
            yield from self._tail(line)
        else:
            yield from self._take(line, repair(line.raw))

    def _close(self, spread: Spread) -> Iterator[Any]:
        self._spread = None
        line = spread.joined()
        repaired = repair(line.raw)
        if repaired.torn and spread.holds_records():
            yield from self._one_by_one(spread)
            return
        if not repaired.torn:
            self._run.note(PRETTY_PRINTED, place(line.number, line.offset, self._label))
        yield from self._take(line, repaired)

    def _give_up(self, spread: Spread) -> Iterator[Any]:
        self._spread = None
        if spread.holds_records():
            yield from self._one_by_one(spread)
        else:
            self._quarantine(spread.joined(), BAD_JSON, "an object was never closed")

    def _one_by_one(self, spread: Spread) -> Iterator[Any]:
        for line in spread.lines:
            yield from self._take(line, repair(line.raw), may_open=False)

    def _tail(self, line: Line) -> Iterator[Any]:
        """Read a line without a newline: what is not whole may be so in a later run."""
        repaired = repair(line.raw, goes_on=True)
        if repaired.torn:
            start, _, kind, _ = repaired.torn[0]
            if kind is not TOO_DEEP or not is_balanced(line.raw):
                self._run.note(UNFINISHED_TAIL, place(line.number, line.offset, self._label))
                self._pending = line.offset + (start if repaired.values else 0)
                repaired = repair(line.raw[:start]) if repaired.values else Repaired()
        yield from self._take(line, repaired)

    def _take(self, line: Line, repaired: Repaired, *, may_open: bool = True) -> Iterator[Any]:
        before = self._before, self.taken, self._block, self._current
        self._before = line.number - 1
        self._block = _Block(line.raw, line.offset, 0, [len(line.raw)])
        self._current, self.taken = 0, line.offset
        for kind, message in repaired.remarks:
            self._run.note(kind, self.where(), message)
        for value in repaired.values:
            self._run.read()
            yield value
        self._before, self.taken, self._block, self._current = before
        for start, piece, kind, message in repaired.torn:
            torn = Line(line.number, line.offset + start, piece)
            if may_open and start + len(piece) == len(line.raw) and opens(piece):
                self._spread = Spread(torn)
            else:
                self._quarantine(torn, kind, message)

    def _quarantine(self, line: Line, kind: FindingKind, message: str) -> None:
        self._run.read()
        self._run.quarantined(kind, line.raw, place(line.number, line.offset, self._label), message)
