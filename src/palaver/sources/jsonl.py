"""JSON Lines, read in binary and split on newlines only, with damage repaired and accounted for."""

from collections.abc import Iterator
from io import BytesIO
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


class JsonLines:
    """Iterates over the values of a JSON Lines stream; `number`, `offset` and `raw` tell the current record's place.

    Counts every record on the run, and sets aside (quarantines) what cannot be read. A place is worked out only when
    somebody asks for it: most lines are never spoken of.
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
        self._lines: list[bytes] = []
        self._index = 0
        self._measured = 0, start
        self._spread: Spread | None = None
        self._pending: int | None = None

    @property
    def number(self) -> int:
        return self._before + self._index + 1

    @property
    def raw(self) -> bytes:
        return self._lines[self._index].removesuffix(b"\n")

    @property
    def offset(self) -> int:
        # Lines are measured once, however many of a block ask.
        index, offset = self._measured if self._measured[0] <= self._index else (0, self.taken)
        offset += sum(map(len, self._lines[index : self._index]))
        self._measured = self._index, offset
        return offset

    def where(self) -> str:
        return place(self.number, self.offset, self._label)

    def __iter__(self) -> Iterator[Any]:
        is_first = True
        for base, block, is_last in self._blocks():
            lines = BytesIO(block).readlines()  # twice as fast as splitting
            self._enter(base, lines)
            if is_first:
                is_first = False
                if lines[0].endswith(b"\r\n"):
                    self._run.note(CARRIAGE_RETURNS, self.where())
            values = None if is_last or self._spread is not None else _a_value_each(block, lines)
            if values is None:
                yield from self._one_after_another(lines, is_last=is_last)
            else:
                for self._index, value in enumerate(values):
                    yield value
                self._run.read(len(values))
            self.end = base + len(block)
            self.end_number = self.number - is_last
        if self._spread is not None:
            first = self._spread.lines[0]
            self._run.note(UNFINISHED_TAIL, place(first.number, first.offset, self._label))
            self.end, self.end_number = first.offset, first.number - 1
        elif self._pending is not None:
            self.end = self._pending

    def _one_after_another(self, lines: list[bytes], *, is_last: bool) -> Iterator[Any]:
        """Read lines of which some are damaged, blank, unfinished, or parts of an object."""
        for self._index, raw in enumerate(lines):
            is_tail = is_last and self._index == len(lines) - 1
            if self._spread is None and not is_tail:
                try:
                    value = parse(raw)
                except NOT_JSON:
                    pass
                else:
                    self._run.read()
                    yield value
                    continue
            yield from self._slowly(raw.removesuffix(b"\n"), is_tail=is_tail)

    def _enter(self, base: int, lines: list[bytes]) -> None:
        self._before += len(self._lines)
        self._lines = lines
        self._index = 0
        self._measured = 0, base
        self.taken = base

    def _blocks(self) -> Iterator[tuple[int, bytes, bool]]:
        """Whole lines with their offset; last, what follows the final newline."""
        offset = self.taken
        pieces: list[bytes] = []
        held = 0
        while chunk := self._read():
            if held + len(chunk) > LONGEST_LINE_BYTES:
                first = chunk.find(b"\n")
                if held + (len(chunk) if first < 0 else first) > LONGEST_LINE_BYTES:
                    offset, chunk = self._pass_over(offset, [*pieces, chunk])
                    pieces, held = [], 0
            cut = chunk.rfind(b"\n")
            if cut < 0:
                pieces.append(chunk)
                held += len(chunk)
                continue
            pieces.append(chunk[: cut + 1])
            block = b"".join(pieces)
            pieces = [chunk[cut + 1 :]]
            held = len(pieces[0])
            yield offset, block, False
            offset += len(block)
        if rest := b"".join(pieces):
            yield offset, rest, True

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
        self._enter(offset, [beginning])
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
        before = self._before, self.taken, self._measured, self._lines, self._index
        self._before, self._lines = line.number - 1, []
        self._enter(line.offset, [line.raw])
        for kind, message in repaired.remarks:
            self._run.note(kind, self.where(), message)
        for value in repaired.values:
            self._run.read()
            yield value
        self._before, self.taken, self._measured, self._lines, self._index = before
        for start, piece, kind, message in repaired.torn:
            torn = Line(line.number, line.offset + start, piece)
            if may_open and start + len(piece) == len(line.raw) and opens(piece):
                self._spread = Spread(torn)
            else:
                self._quarantine(torn, kind, message)

    def _quarantine(self, line: Line, kind: FindingKind, message: str) -> None:
        self._run.read()
        self._run.quarantined(kind, line.raw, place(line.number, line.offset, self._label), message)


def _a_value_each(block: bytes, lines: list[bytes]) -> list[Any] | None:
    """The values of a block in which every line is one, which is the rule; None for any other."""
    try:
        values = parse_lines(block)
    except NOT_JSON:
        return None
    return values if len(values) == len(lines) and min(map(len, lines)) >= _SHORTEST_BYTES else None


_SHORTEST_BYTES = 3
"""Braces and a newline. A shorter line is blank, or a part of a value, or not worth the hurry."""
