"""A recorder for a stream that is still running, for use in a proxy.

Every chunk is parsed, checked and recorded as it arrives, so that almost no work is left at the end. The content of a
chunk never raises; an argument of a wrong type raises TypeError, and an impossible one ValueError. Beyond a limit the
buffers spill to files, and the response is assembled only on request: a stream takes less than 10 MB however long it
is, unless a single event is larger than that.
"""

import json
import time
from codecs import getincrementaldecoder
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from types import TracebackType
from typing import Any, Self

import orjson

from palaver.model.build import JsonObject
from palaver.storage.spill import ByteSpill, MemoryBudget
from palaver.streams import anthropic, assemble, assembler, gemini, openai_chat, openai_responses
from palaver.streams._contract import Assembler, Event
from palaver.streams.details import StreamingDetails, encode_json
from palaver.streams.first_content import is_content_event
from palaver.streams.log_entries import MIN_MILLISECONDS

# Imported now, so that the first chunk does not have to wait for it.
_ASSEMBLERS = (anthropic, gemini, openai_chat, openai_responses)
HELD_BYTES = 8_000_000
"""The limit for the buffers of one stream in memory, not counting the response as far as it is assembled."""


class StreamRecorder:
    """Records the chunks of one response, with any content encoding removed, and their times in seconds."""

    def __init__(self, *, held_bytes: int = HELD_BYTES) -> None:
        if type(held_bytes) is not int:
            raise TypeError(f"held_bytes must be an int, not {type(held_bytes).__name__}")
        if held_bytes < 0:
            raise ValueError(f"held_bytes must not be negative: {held_bytes}")
        self._budget = MemoryBudget(held_bytes)
        self._body = ByteSpill(self._budget)
        self._events = ByteSpill(self._budget)
        self._details = StreamingDetails(self._events.write)
        self._assembler: Assembler | None = None
        self._is_assembled = True
        self._first_content: float | None = None
        self._is_finished = False

    @property
    def has_last_event(self) -> bool:
        """Whether the event has arrived that ends a stream of its API."""
        return self._details.has_last_event

    def record(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield chunks as they come, each recorded with the time; `finish` or `abort` ends the recording then."""
        for chunk in chunks:
            self.feed(chunk, time.time())
            yield chunk

    async def record_async(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        """Yield the chunks of an asynchronous iterator as `record` does."""
        async for chunk in chunks:
            self.feed(chunk, time.time())
            yield chunk

    def feed(self, chunk: bytes | bytearray | memoryview, timestamp: float) -> None:
        """Record the result of one network read."""
        self._check_open()
        if not isinstance(chunk, bytes):
            chunk = _copied(chunk)
        _check_timestamp(timestamp)
        self._body.write(chunk)
        events = self._details.feed(chunk, timestamp)
        if self._first_content is None and any(map(is_content_event, events)):
            self._first_content = timestamp
        self._assemble(events)

    def finish(self, timestamp: float | None = None) -> "Recording":
        """End the recording; `timestamp` is used only if there was no chunk at all."""
        self._check_open()
        if timestamp is not None:
            _check_timestamp(timestamp)
        if timestamp is not None and not self._body.size_bytes:
            self._details.feed(b"", timestamp)
        self._is_finished = True
        self._assemble(self._details.close())
        fed = self._assembler if self._is_assembled else None
        return Recording(self._details, self._body, self._events, fed, self._first_content)

    def abort(self, reason: str, timestamp: float | None = None) -> "Recording":
        """End the recording of a stream that broke off, and note why; everything recorded so far is preserved."""
        self._check_open()
        _check_text(reason)
        if timestamp is not None:
            _check_timestamp(timestamp)
        self._details.note("aborted", reason)
        return self.finish(timestamp)

    def _check_open(self) -> None:
        if self._is_finished:
            raise ValueError("this recording is finished: create a StreamRecorder for each stream")

    def _assemble(self, events: list[Event]) -> None:
        if not self._is_assembled or not events:
            return
        if self._events.is_spilled or self._body.is_spilled:
            self._is_assembled = False
            self._assembler = None
            return
        if self._assembler is None:
            # Events before the first one that shows the format belong to no format.
            if self._details.wire_format is None:
                return
            self._assembler = assembler(self._details.wire_format)
        feed = self._assembler.feed
        for event in events:
            feed(event)


def _copied(chunk: object) -> bytes:
    """Return the bytes of a buffer that its owner may use again."""
    if not isinstance(chunk, bytearray | memoryview):
        hint = ": encode it first" if isinstance(chunk, str) else ""
        raise TypeError(f"chunk must be bytes, not {type(chunk).__name__}{hint}")
    return bytes(chunk)


def _check_text(reason: object) -> None:
    if not isinstance(reason, str):
        raise TypeError(f"reason must be a str, not {type(reason).__name__}")


def _check_timestamp(timestamp: object) -> None:
    if not isinstance(timestamp, int | float) or isinstance(timestamp, bool):
        raise TypeError(f"timestamp must be a number of seconds since 1970, not {type(timestamp).__name__}")
    if not 0 <= timestamp < MIN_MILLISECONDS:
        hint = ": divide milliseconds by 1,000" if timestamp >= MIN_MILLISECONDS else ""
        raise ValueError(f"timestamp must be a number of seconds since 1970, not {timestamp}{hint}")


class Recording:
    """A finished recording: the raw body, the details of its events, and the response they encode."""

    def __init__(
        self,
        details: StreamingDetails,
        body: ByteSpill,
        events: ByteSpill,
        fed: Assembler | None,
        first_content: float | None,
    ) -> None:
        self.first_content = first_content
        """When the first chunk with content came, and not only the head of the answer; None if there was none."""
        self._details = details
        self._body = body
        self._events = events
        self._assembler = fed
        self.wire_format = details.wire_format
        self.issues = details.issues()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_spilled(self) -> bool:
        """Whether part of it is in a file, so that it is better written in pieces than as one object."""
        return self._body.is_spilled or self._events.is_spilled

    @property
    def size_bytes(self) -> int:
        return self._body.size_bytes

    def payload(self) -> JsonObject:
        """Return the response as the API sends it without streaming, or {}; slow for a spilled recording."""
        return next(iter(self.payloads()), {})

    def payloads(self) -> list[JsonObject]:
        """Return the response, and those that followed it if the stream held several messages."""
        if self.wire_format is None:
            return []
        fed = self._assembler
        first = assemble(self.wire_format, self._body.pieces()) if fed is None else fed.result()
        return [made.payload for made in (first, *first.following)]

    def body(self) -> Iterator[bytes]:
        """Yield the raw body."""
        return self._body.pieces()

    def details(self) -> Iterator[bytes]:
        """Yield `streaming_details` as JSON, in pieces."""
        summary = encode_json(self._details.summary(is_from_chunks=False))
        yield summary[:-1] + b',"chunks":['
        yield from self._events.pieces()
        yield b"]" + (b',"issues":%b' % encode_json(self.issues) if self.issues else b"") + b"}"

    def response(self) -> Iterator[bytes]:
        """Yield `{"body_raw": …, "streaming_details": …}` as JSON, in pieces: the response of a log entry."""
        yield b'{"body_raw":"'
        decode = getincrementaldecoder("utf-8")("replace").decode
        for piece in self._body.pieces():
            yield orjson.dumps(decode(piece))[1:-1]
        yield orjson.dumps(decode(b"", final=True))[1:-1] + b'","streaming_details":'
        yield from self.details()
        yield b"}"

    def to_json(self) -> JsonObject:
        """Return `body_raw`, `streaming_details`, `payload`, and `following_payloads` if there are any."""
        response: Any = json.loads(b"".join(self.response()))
        first, *following = self.payloads() or [{}]
        return {**response, "payload": first, **({"following_payloads": following} if following else {})}

    def close(self) -> None:
        """Close the files."""
        self._body.close()
        self._events.close()
