"""JSON Lines, read in binary and split on newlines only, with damage repaired and accounted for."""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson

from palaver.errors import SourceError
from palaver.model.finding import finding_kind
from palaver.sources.damage import BAD_JSON, repair
from palaver.sources.run import Run, place

UNFINISHED_TAIL = finding_kind(
    "unfinished-tail", "note", "The last line is not finished yet; it is read when it is."
)
PRETTY_PRINTED = finding_kind("pretty-printed", "note", "An object spread over several lines was read.")
CARRIAGE_RETURNS = finding_kind("carriage-returns", "note", "Lines end with CR LF.")
CUT_OFF = finding_kind(
    "source-cut-off", "error", "The source could not be read to its end; what came before is kept."
)
LINE_TOO_LONG = finding_kind(
    "line-too-long", "error", "A line is longer than 512 MiB; its beginning is set aside."
)

CHUNK_BYTES = 1 << 18
LONGEST_LINE_BYTES = 1 << 29
_TOO_LONG_KEPT = 1 << 16


class JsonLines:
    """Iterates over the values of a JSON Lines stream; `number`, `offset` and `raw` tell the current record's place.

    Counts every record on the run, and sets aside (quarantines) what cannot be read. A place is worked out only when
    somebody asks for it: most lines are never spoken of.
    """

    def __init__(self, stream: BinaryIO, run: Run, *, label: str = "", start: int = 0, number: int = 0) -> None:
        self.taken = start
        """Bytes before the current block of lines."""
        self.end = start
        """Where a later run may continue, once all is read: behind the last whole record."""
        self._stream = stream
        self._run = run
        self._label = label
        self._before = number
        self._lines: list[bytes] = []
        self._index = 0
        self._pretty: list[bytes] = []
        self._pretty_start = 0
        self._pending: int | None = None

    @property
    def number(self) -> int:
        return self._before + self._index + 1

    @property
    def raw(self) -> bytes:
        return self._lines[self._index]

    @property
    def offset(self) -> int:
        return self.taken + sum(map(len, self._lines[: self._index])) + self._index

    def where(self) -> str:
        return place(self.number, self.offset, self._label)

    def __iter__(self) -> Iterator[Any]:
        loads = orjson.loads
        is_first = True
        for base, block, is_last in self._blocks():
            lines = block.split(b"\n")
            self._enter(base, lines)
            suspects = _lines_of(lines, long_numbers(block))
            if is_first:
                is_first = False
                if lines[0].endswith(b"\r"):
                    self._run.note(CARRIAGE_RETURNS, self.where())
            slow = 0
            for self._index, raw in enumerate(lines):
                if not self._pretty and not (suspects and self._index in suspects):
                    try:
                        value = loads(raw)
                    except orjson.JSONDecodeError:
                        pass
                    else:
                        yield value
                        continue
                slow += 1
                yield from self._slowly(raw, is_tail=is_last and self._index == len(lines) - 1)
            self._run.read(len(lines) - slow)
            self.end = base + len(block) + (not is_last)
        if self._pretty:
            self._run.note(UNFINISHED_TAIL, self.where())
            self.end = self._pretty_start
        elif self._pending is not None:
            self.end = self._pending

    def _enter(self, base: int, lines: list[bytes]) -> None:
        self._before += len(self._lines)
        self._lines = lines
        self._index = 0
        self.taken = base

    def _blocks(self) -> Iterator[tuple[int, bytes, bool]]:
        """Whole lines without their last newline, with their offset; last, what follows the final newline."""
        offset = self.taken
        pieces: list[bytes] = []
        held = 0
        while chunk := self._read():
            cut = chunk.rfind(b"\n")
            if cut < 0:
                pieces.append(chunk)
                held += len(chunk)
                if held > LONGEST_LINE_BYTES:
                    offset, rest = self._pass_over(offset, pieces, held)
                    pieces, held = [rest], len(rest)
                continue
            pieces.append(chunk[:cut])
            block = b"".join(pieces)
            pieces = [chunk[cut + 1 :]]
            held = len(pieces[0])
            yield offset, block, False
            offset += len(block) + 1
        if rest := b"".join(pieces):
            yield offset, rest, True

    def _read(self) -> bytes:
        try:
            chunk = self._stream.read(CHUNK_BYTES)
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, f"after byte {self.end}", str(error), kept=False)
            return b""
        self._run.advance(len(chunk))
        return chunk

    def _pass_over(self, offset: int, pieces: list[bytes], held: int) -> tuple[int, bytes]:
        """Set the beginning of an endless line aside, read on to its newline, return what follows."""
        beginning = b"".join(pieces)[:_TOO_LONG_KEPT]
        self._enter(offset, [beginning])
        self._run.read()
        self._run.quarantined(LINE_TOO_LONG, beginning, self.where())
        offset += held
        while chunk := self._read():
            cut = chunk.find(b"\n")
            if cut >= 0:
                self.end = offset + cut + 1
                # What follows may hold whole lines: hand it on as if it had just been read.
                return self.end, chunk[cut + 1 :]
            offset += len(chunk)
        self.end = offset
        return offset, b""

    def _slowly(self, raw: bytes, *, is_tail: bool) -> Iterator[Any]:
        if self._pretty:
            collected = self._continue_pretty(raw)
            if collected is None:
                return
            raw = collected
        stripped = raw.strip()
        if not stripped:
            return
        if stripped in {b"{", b"["}:
            self._pretty.append(raw)
            self._pretty_start = self.offset
            return
        repaired = repair(raw, self._openings())
        for kind, message in repaired.remarks:
            self._run.note(kind, self.where(), message)
        for value in repaired.values:
            self._run.read()
            yield value
        for start, piece, kind, message in repaired.torn:
            if is_tail and kind is BAD_JSON and piece is repaired.torn[-1][1]:
                self._run.note(UNFINISHED_TAIL, self.where())
                self._pending = self.offset + (start if repaired.values else 0)
            else:
                self._run.read()
                self._run.quarantined(kind, piece, self.where(), message)

    def _openings(self) -> tuple[str, ...]:
        """How the records around the current one begin."""
        around = (self._lines[index] for index in (self._index - 1, self._index + 1) if 0 <= index < len(self._lines))
        openings = {line[: line.find(b":")].decode(errors="replace") for line in around if line.startswith(b'{"')}
        return (*sorted(openings), '{"')

    def _continue_pretty(self, raw: bytes) -> bytes | None:
        """Collect lines until the object closes; a whole object on a line of its own ends a false start."""
        if raw.startswith((b'{"', b"{ ")) and _parses(raw):
            self._run.read()
            self._run.quarantined(BAD_JSON, b"\n".join(self._pretty), self.where(), "an object was never closed")
            self._pretty = []
            return raw
        self._pretty.append(raw)
        if raw.startswith((b"}", b"]")):
            whole = b"\n".join(self._pretty)
            if raw.rstrip() in {b"}", b"]"} or _parses(whole):
                self._pretty = []
                self._run.note(PRETTY_PRINTED, self.where())
                return whole
        return None


def long_numbers(block: bytes) -> list[int]:
    """Offsets of digit runs that may be integers past 64 bits.

    A run of 20 digits holds five bytes of every fourth: looking at those alone makes the search nearly free.
    """
    sampled = block[::4].translate(_DIGITS)
    found: list[int] = []
    position = sampled.find(b"00000")
    while position >= 0:
        start = position * 4
        if block[start : start + 17].isdigit() and (run := _LONG_RUN.search(block, max(0, start - 3), start + 24)):
            found.append(run.start())
        position = sampled.find(b"00000", position + 5)
    return found


def _lines_of(lines: list[bytes], offsets: list[int]) -> set[int]:
    """Which lines some offsets of their block fall into."""
    found: set[int] = set()
    if offsets:
        waiting = sorted(offsets, reverse=True)
        end = 0
        for index, line in enumerate(lines):
            end += len(line) + 1
            while waiting and waiting[-1] < end:
                found.add(index)
                waiting.pop()
    return found


_DIGITS = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))
_LONG_RUN = re.compile(rb"(?<![0-9.])[0-9]{19}")


def _parses(raw: bytes) -> bool:
    try:
        orjson.loads(raw)
    except orjson.JSONDecodeError:
        return False
    return True
