"""A mask for the keys in a body that arrives in chunks: a plain text, or a stream of events or objects.

A key may be cut anywhere between two chunks. What is undecided is held; beyond `MAX_HELD_BYTES` the oldest bytes go
nevertheless, and a key that had begun in them is removed from there on. The chunks of a stream stay apart, each with
its own time.
"""

from typing import Protocol

from palaver.redact.held_chunks import HeldChunks
from palaver.redact.key_finder import KeyFinder
from palaver.redact.stream_reader import EventReader, ObjectReader

MAX_HELD_BYTES = 1 << 16
_SLICE_BYTES = 1 << 16
_EVENTS_TYPE = "text/event-stream"
_LINES_TYPES = ("ndjson", "jsonl", "jsonlines")
_EVENT_STARTS = (b"event:", b"data:")
_BLANK_OR_BOM = b" \t\r\n\xef\xbb\xbf"


class _Reader(Protocol):
    """Searches a body for keys."""

    def feed(self, chunk: bytes, offset: int) -> None: ...

    def undecided_from(self, held_from: int) -> int | None:
        """Return the first place of what may belong to a key, or None; what is no longer held does not count."""
        ...

    def unread_from(self) -> int | None:
        """Return the first place that was not searched yet, or None."""
        ...

    def close(self) -> None: ...


class BodyMask:
    """Masks the keys in a body of a media type."""

    def __init__(self, media_type: str) -> None:
        self._media_type = media_type
        self._held = HeldChunks()
        self._head = b""
        """The beginning of the body without blanks, until it shows how to read it."""
        self._reader: _Reader | None = None
        self._is_text = False

    def feed(self, chunk: bytes, timestamp: float) -> list[tuple[bytes, float]]:
        """Take a chunk; return what is decided, with the times of the chunks it came in."""
        released: list[tuple[bytes, float]] = []
        for start in range(0, len(chunk), _SLICE_BYTES):
            released += self._feed(chunk[start : start + _SLICE_BYTES], timestamp)
        return released

    def close(self) -> list[tuple[bytes, float]]:
        """Return the rest."""
        reader = self._reader or self._begin(is_whole=True)
        if reader is not None:
            reader.close()
        return self._held.release(self._held.end)

    def _feed(self, chunk: bytes, timestamp: float) -> list[tuple[bytes, float]]:
        held = self._held
        offset = held.end
        held.add(chunk, timestamp)
        reader = self._reader
        if reader is not None:
            reader.feed(chunk, offset)
        else:
            self._head = (self._head + chunk).lstrip(_BLANK_OR_BOM)
            if (reader := self._begin(is_whole=held.size_bytes > MAX_HELD_BYTES)) is None:
                return []
        unread = _first(reader.unread_from(), held.end)
        undecided = _first(reader.undecided_from(held.start), held.end)
        released = held.release(min(unread, undecided), in_parts=self._is_text)
        if held.size_bytes > MAX_HELD_BYTES:
            released += held.release(min(unread, held.end - MAX_HELD_BYTES), in_parts=True)
        return released

    def _begin(self, *, is_whole: bool) -> _Reader | None:
        """Choose a reader by how the body begins, or return None while that is unknown."""
        first = self._head
        has_events = self._media_type.startswith(_EVENTS_TYPE)
        reader: _Reader
        if not is_whole and (not first or (not has_events and any(start.startswith(first) for start in _EVENT_STARTS))):
            return None
        if first.startswith(b"[") and (has_events or "json" in self._media_type):
            reader = ObjectReader(self._held.mask, is_array=True)
        elif first.startswith(b"{") and (has_events or any(name in self._media_type for name in _LINES_TYPES)):
            reader = ObjectReader(self._held.mask, is_array=False)
        elif (has_events and not first.startswith(b"{")) or first.startswith(_EVENT_STARTS):
            reader = EventReader(self._held.mask)
        else:
            reader = _TextReader(self._held)
            self._is_text = True
        self._reader = reader
        reader.feed(self._held.content(), self._held.start)
        self._head = b""
        return reader


class _TextReader:
    """Reads a body that is one text; keys within JSON are found as well."""

    def __init__(self, held: HeldChunks) -> None:
        self._finder = KeyFinder(held.mask)

    def feed(self, chunk: bytes, offset: int) -> None:
        self._finder.feed(chunk, offset)

    def undecided_from(self, held_from: int) -> int | None:
        place = self._finder.open_from
        return None if place is None or place < held_from else place

    def unread_from(self) -> int | None:
        return None

    def close(self) -> None:
        self._finder.close()


def _first(place: int | None, otherwise: int) -> int:
    return otherwise if place is None else place
