"""The chunks of a body that are held until it is certain what of them is a key."""

from bisect import insort
from collections import deque
from typing import NamedTuple

from palaver.redact.policy import MASK

_MASK = MASK.encode()


class _Chunk(NamedTuple):
    offset: int
    raw: bytes
    timestamp: float


class HeldChunks:
    """Holds chunks with their times, and takes keys out of them; places count from the beginning of the body."""

    def __init__(self) -> None:
        self.start = 0
        """The place of the first byte that is held."""
        self.end = 0
        self._chunks: deque[_Chunk] = deque()
        self._cuts: list[tuple[int, int, bytes]] = []
        """What is replaced, in order: from the negated end of each, so that the longest of several comes first."""

    @property
    def size_bytes(self) -> int:
        return self.end - self.start

    def add(self, chunk: bytes, timestamp: float) -> None:
        """Hold one more chunk."""
        self._chunks.append(_Chunk(self.end, chunk, timestamp))
        self.end += len(chunk)

    def content(self) -> bytes:
        """Return what is held, as it came."""
        return b"".join(chunk.raw for chunk in self._chunks)

    def mask(self, spans: list[tuple[int, int]], is_begin: bool) -> None:  # noqa: FBT001 - called by KeyFinder only
        """Remove the spans of a key; if it begins in the first one that is still held, the mask replaces that."""
        replacement = _MASK if is_begin else b""
        for start, end in spans:
            if end > self.start:
                insort(self._cuts, (max(start, self.start), -end, replacement))
                replacement = b""

    def release(self, limit: int, *, in_parts: bool = False) -> list[tuple[bytes, float]]:
        """Return the chunks that end before a place, and with `in_parts` also what precedes it of the next one."""
        released: list[tuple[bytes, float]] = []
        while self._chunks:
            offset, raw, timestamp = self._chunks[0]
            end = offset + len(raw)
            if end <= limit:
                self._chunks.popleft()
            elif in_parts and offset < limit:
                self._chunks[0] = _Chunk(limit, raw[limit - offset :], timestamp)
                raw, end = raw[: limit - offset], limit
            else:
                break
            self.start = end
            if kept := self._without_cuts(offset, raw):
                released.append((kept, timestamp))
        return released

    def _without_cuts(self, offset: int, raw: bytes) -> bytes:
        if not self._cuts or self._cuts[0][0] >= offset + len(raw):
            return raw
        pieces: list[bytes] = []
        place = offset
        later: list[tuple[int, int, bytes]] = []
        end = offset + len(raw)
        while self._cuts and self._cuts[0][0] < end:
            start, negated_end, replacement = self._cuts.pop(0)
            if -negated_end > end:
                later.append((end, negated_end, b""))
            if -negated_end > place:
                if start >= place:
                    pieces += (raw[place - offset : start - offset], replacement)
                place = min(-negated_end, end)
        pieces.append(raw[place - offset :])
        for cut in later:
            insort(self._cuts, cut)
        return b"".join(pieces)
