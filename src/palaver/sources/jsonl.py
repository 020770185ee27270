"""JSON Lines, read in binary and split on newlines only, with damage repaired and recorded.

Files also contain objects spread over several lines: their lines are buffered until the object closes, or until a
line shows that there was no object.
"""

import re
from collections.abc import Iterator
from io import BytesIO
from itertools import chain
from operator import length_hint, sub
from typing import Any, BinaryIO, NamedTuple

from palaver.errors import SourceError
from palaver.model.finding import FindingKind, finding_kind
from palaver.sources.damage import BAD_JSON, BOM, SPACE, TOO_DEEP, Repaired, repair
from palaver.sources.parse import NOT_JSON, parse, parse_lines, parses
from palaver.sources.run import Run, line_position

UNFINISHED_TAIL = finding_kind(
    "unfinished-tail", "note", "The last line is still being written; the next import reads it."
)
PRETTY_PRINTED = finding_kind("pretty-printed", "note", "An object spread over several lines was read.")
CARRIAGE_RETURNS = finding_kind("carriage-returns", "note", "Lines end with CR LF.")
CUT_OFF = finding_kind(
    "source-cut-off", "error", "The source could not be read to the end; the records before are kept."
)
LINE_TOO_LONG = finding_kind("line-too-long", "error", "A line is longer than 512 MiB; its beginning is quarantined.")

CHUNK_BYTES = 1 << 18
LONGEST_LINE_BYTES = 1 << 29
_LONG_LINE_EXCERPT_BYTES = 1 << 16
_MIN_VALUE_BYTES = 2
"""Two braces. A shorter line is blank, part of a value, or not worth the fast path."""
_BLANK = SPACE + b"\0"
_BEGINS_RECORD = re.compile(rb'\{[ \t]*"')
_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


class _Line(NamedTuple):
    number: int
    offset: int
    raw: bytes


class _Block:
    """Consecutive lines, as positions in the bytes that were read: a line is copied only on request."""

    __slots__ = ("data", "ends", "is_last", "origin", "searched_words", "start")

    def __init__(self, data: bytes, origin: int, start: int, ends: list[int], *, is_last: bool = False) -> None:
        self.data = data
        self.origin = origin
        """Where the data begins in the stream."""
        self.start = start
        """Where the first line begins in the data."""
        self.ends = ends
        """Where each line ends in the data, not counting its newline."""
        self.is_last = is_last
        """Whether the block ends the stream, without a newline."""
        self.searched_words: dict[bytes, bool] = {}
        """The words that `may_contain` looked up, with whether the data contains them."""

    def begin(self, index: int) -> int:
        return self.ends[index - 1] + 1 if index else self.start

    def line(self, index: int) -> bytes:
        return self.data[self.begin(index) : self.ends[index]]

    def values(self) -> list[Any] | None:
        """Return the values if every line is one, which is the usual case; else None."""
        try:
            values = parse_lines(memoryview(self.data)[self.start : self.ends[-1]])
        except NOT_JSON:
            return None
        shortest = min(map(sub, self.ends, chain((self.start - 1,), self.ends)))
        return values if len(values) == len(self.ends) and shortest > _MIN_VALUE_BYTES else None


class _PendingObject:
    """The lines so far of an object that began with a lone bracket."""

    def __init__(self, line: _Line) -> None:
        self.lines: list[_Line] = []
        self.size_bytes = 0
        self._depth = 0
        self._last_byte = b""
        self.add(line)

    def add(self, line: _Line) -> bytes | None:
        """Add a line; once the object closes, return what follows on the same line."""
        rest: bytes | None = None
        for token in _TOKENS.finditer(line.raw):
            if token[0] in b"{[":
                self._depth += 1
            elif token[0] in b"}]":
                self._depth -= 1
                if self._depth == 0:
                    rest = line.raw[token.end() :]
                    line = line._replace(raw=line.raw[: token.end()])
                    break
        self.lines.append(line)
        self.size_bytes += len(line.raw) + 1
        self._last_byte = line.raw.rstrip(_BLANK)[-1:] or self._last_byte
        return rest

    def is_contradicted_by(self, raw: bytes, *, is_tail: bool) -> bool:
        """Return whether a line shows that there was no object: it begins a value where none is allowed."""
        if _without_prefix(raw).lstrip(_BLANK)[:1] not in {b"{", b"["}:
            return False
        return self._last_byte not in {b"[", b",", b":"} or (not is_tail and _looks_like_record(raw) and parses(raw))

    def contains_records(self) -> bool:
        """Return whether any line looks like a record of its own: parts of an object would be indented."""
        return any(_looks_like_record(line.raw) for line in self.lines[1:])

    def joined(self) -> _Line:
        first = self.lines[0]
        return first._replace(raw=b"\n".join([line.raw for line in self.lines]))


class JsonLines:
    """An iterator over the values of a JSON Lines stream; `number`, `offset` and `raw` describe the current record.

    Counts every record on the run and quarantines what cannot be read.
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
        self.bytes_read = start
        """Bytes before the current block of lines."""
        self.end = start
        """Where a later run may continue once all is read: after the last complete record."""
        self.end_number = number
        """How many lines end before `end`."""
        self._stream = stream
        self._run = run
        self._label = label
        self._lines_before = number
        self._block = _Block(b"", start, 0, [])
        self._current = 0
        self._values: Iterator[Any] | None = None
        self._pending_object: _PendingObject | None = None
        self._pending_offset: int | None = None

    @property
    def _index(self) -> int:
        """Return the index of the current line in the block, computed because counting would dominate the cost here."""
        return self._current if self._values is None else len(self._block.ends) - length_hint(self._values) - 1

    @property
    def number(self) -> int:
        return self._lines_before + self._index + 1

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
        return line_position(self.number, self.offset, self._label)

    def may_contain(self, words: bytes) -> bool:
        """Return whether the current block contains these words, so that the current line may; looked up once."""
        known = self._block.searched_words
        if words not in known:
            known[words] = words in self._block.data
        return known[words]

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._batches())

    def _batches(self) -> Iterator[Iterator[Any]]:
        is_first = True
        for block in self._blocks():
            self._enter_block(block)
            if is_first:
                is_first = False
                if block.data.endswith(b"\r", block.start, block.ends[0]):
                    self._run.note(CARRIAGE_RETURNS, self.where())
            values = None if block.is_last or self._pending_object is not None else block.values()
            if values is None:
                yield self._read_line_by_line(block)
            else:
                self._values = iter(values)
                yield self._values
                self._run.read(len(values))
            self.end = block.origin + block.ends[-1] + (not block.is_last)
            self.end_number = self._lines_before + len(block.ends) - block.is_last
        if self._pending_object is not None:
            first = self._pending_object.lines[0]
            self._run.note(UNFINISHED_TAIL, line_position(first.number, first.offset, self._label))
            self.end, self.end_number = first.offset, first.number - 1
        elif self._pending_offset is not None:
            self.end = self._pending_offset

    def _read_line_by_line(self, block: _Block) -> Iterator[Any]:
        """Read a block in which lines are damaged, blank, unfinished or parts of an object."""
        for self._current in range(len(block.ends)):
            raw = block.line(self._current)
            if self._pending_object is None and not block.is_last:
                try:
                    value = parse(raw)
                except NOT_JSON:
                    pass
                else:
                    self._run.read()
                    yield value
                    continue
            yield from self._read_slowly(raw, is_tail=block.is_last)

    def _enter_block(self, block: _Block) -> None:
        self._lines_before += len(self._block.ends)
        self._block = block
        self._current = 0
        self._values = None
        self.bytes_read = block.origin + block.start

    def _blocks(self) -> Iterator[_Block]:
        """Yield blocks of complete lines, and last what follows the final newline."""
        origin = self.bytes_read
        pieces: list[bytes] = []
        pending_bytes = 0
        while chunk := self._read_chunk():
            first = chunk.find(b"\n")
            if pending_bytes + (len(chunk) if first < 0 else first) > LONGEST_LINE_BYTES:
                origin, chunk = self._skip_long_line(origin - pending_bytes, [*pieces, chunk])
                pieces, pending_bytes = [], 0
                first = chunk.find(b"\n")
            if first < 0:
                pieces.append(chunk)
                pending_bytes += len(chunk)
                origin += len(chunk)
                continue
            start = 0
            if pending_bytes:
                pieces.append(chunk[:first])
                yield _Block(b"".join(pieces), origin - pending_bytes, 0, [pending_bytes + first])
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
            pending_bytes = len(chunk) - start
            origin += len(chunk)
        if pending_bytes:
            yield _Block(b"".join(pieces), origin - pending_bytes, 0, [pending_bytes], is_last=True)

    def _read_chunk(self) -> bytes:
        try:
            chunk = self._stream.read(CHUNK_BYTES)
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, f"after byte {self.end}", str(error), kept=False)
            self._stream = BytesIO()
            return b""
        self._run.advance(len(chunk))
        return chunk

    def _skip_long_line(self, offset: int, pieces: list[bytes]) -> tuple[int, bytes]:
        """Quarantine the beginning of a line that is too long, skip the rest, and return what follows it."""
        beginning = b""
        for piece in pieces:
            beginning += piece
            if len(beginning) >= _LONG_LINE_EXCERPT_BYTES:
                break
        beginning = beginning[:_LONG_LINE_EXCERPT_BYTES].partition(b"\n")[0]
        self._enter_block(_Block(beginning, offset, 0, [len(beginning)]))
        self._run.read()
        self._run.quarantined(LINE_TOO_LONG, beginning, self.where())
        offset += sum(map(len, pieces[:-1]))
        chunk = pieces[-1]
        while chunk:
            newline = chunk.find(b"\n")
            if newline >= 0:
                self.end, self.end_number = offset + newline + 1, self.number
                return self.end, chunk[newline + 1 :]
            offset += len(chunk)
            chunk = self._read_chunk()
        self.end, self.end_number = offset, self.number - 1
        return offset, b""

    def _read_slowly(self, raw: bytes, *, is_tail: bool) -> Iterator[Any]:
        """Read a line that is damaged, blank, or part of an object spread over several lines."""
        if self._pending_object is None and not raw.strip(SPACE):
            return
        line = _Line(self.number, self.offset, raw)
        if self._pending_object is not None and self._pending_object.is_contradicted_by(raw, is_tail=is_tail):
            yield from self._abandon(self._pending_object)
        while self._pending_object is not None:
            rest = self._pending_object.add(line)
            if rest is None:
                if self._pending_object.size_bytes > LONGEST_LINE_BYTES:
                    yield from self._abandon(self._pending_object)
                return
            yield from self._complete(self._pending_object)
            line = _Line(line.number, line.offset + len(line.raw) - len(rest), rest)
        if _is_opening_bracket(line.raw):
            self._pending_object = _PendingObject(line)
        elif is_tail:
            yield from self._read_tail(line)
        else:
            yield from self._yield_repaired(line, repair(line.raw))

    def _complete(self, pending: _PendingObject) -> Iterator[Any]:
        self._pending_object = None
        line = pending.joined()
        repaired = repair(line.raw)
        if repaired.torn and pending.contains_records():
            yield from self._read_separately(pending)
            return
        if not repaired.torn:
            self._run.note(PRETTY_PRINTED, line_position(line.number, line.offset, self._label))
        yield from self._yield_repaired(line, repaired)

    def _abandon(self, pending: _PendingObject) -> Iterator[Any]:
        self._pending_object = None
        if pending.contains_records():
            yield from self._read_separately(pending)
        else:
            self._quarantine(pending.joined(), BAD_JSON, "an object was never closed")

    def _read_separately(self, pending: _PendingObject) -> Iterator[Any]:
        for line in pending.lines:
            yield from self._yield_repaired(line, repair(line.raw), may_start_object=False)

    def _read_tail(self, line: _Line) -> Iterator[Any]:
        """Read the last line, which has no newline: an incomplete record may be complete in a later run."""
        repaired = repair(line.raw, is_incomplete=True)
        if repaired.torn:
            start, _, kind, _ = repaired.torn[0]
            if kind is not TOO_DEEP or not _is_balanced(line.raw):
                self._run.note(UNFINISHED_TAIL, line_position(line.number, line.offset, self._label))
                self._pending_offset = line.offset + (start if repaired.values else 0)
                repaired = repair(line.raw[:start]) if repaired.values else Repaired()
        yield from self._yield_repaired(line, repaired)

    def _yield_repaired(self, line: _Line, repaired: Repaired, *, may_start_object: bool = True) -> Iterator[Any]:
        before = self._lines_before, self.bytes_read, self._block, self._current
        self._lines_before = line.number - 1
        self._block = _Block(line.raw, line.offset, 0, [len(line.raw)])
        self._current, self.bytes_read = 0, line.offset
        for kind, message in repaired.remarks:
            self._run.note(kind, self.where(), message)
        for value in repaired.values:
            self._run.read()
            yield value
        self._lines_before, self.bytes_read, self._block, self._current = before
        for start, piece, kind, message in repaired.torn:
            torn = _Line(line.number, line.offset + start, piece)
            if may_start_object and start + len(piece) == len(line.raw) and _is_opening_bracket(piece):
                self._pending_object = _PendingObject(torn)
            else:
                self._quarantine(torn, kind, message)

    def _quarantine(self, line: _Line, kind: FindingKind, message: str) -> None:
        self._run.read()
        self._run.quarantined(kind, line.raw, line_position(line.number, line.offset, self._label), message)


def _is_opening_bracket(raw: bytes) -> bool:
    """Return whether a line is a lone opening bracket, which is how pretty-printed objects begin."""
    return len(raw) < 100 and _without_prefix(raw).strip(_BLANK) in {b"{", b"["}


def _is_balanced(raw: bytes) -> bool:
    """Return whether a line closes all of its brackets."""
    tokens = [token[0] for token in _TOKENS.finditer(raw)]
    return sum(token in b"{[" for token in tokens) <= sum(token in b"}]" for token in tokens)


def _without_prefix(raw: bytes) -> bytes:
    return raw.lstrip(b"\0").removeprefix(BOM)


def _looks_like_record(raw: bytes) -> bool:
    return _BEGINS_RECORD.match(_without_prefix(raw)) is not None
