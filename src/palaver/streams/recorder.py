"""A stream recorded while it is running, for whoever passes it on: a proxy.

Every chunk is cut into events, checked and written down as it arrives, so that next to nothing is left to do at the
end. Nothing in a chunk raises. Beyond a limit the journals go on in files, and the answer is put together only when
somebody asks for it: a stream takes less than 10 MB however long it is, unless a single event is larger than that.
"""

import json
from codecs import getincrementaldecoder
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import orjson

from palaver.errors import ContentError
from palaver.model.build import JsonObject
from palaver.streams import anthropic, assemble, assembler, gemini, openai_chat, openai_responses
from palaver.streams._contract import Assembler, Event
from palaver.streams._writing import written
from palaver.streams.details import Details, is_time
from palaver.streams.journal import Budget, Journal

# Imported before the first chunk, which would have to wait for it.
_ASSEMBLERS = (anthropic, gemini, openai_chat, openai_responses)
HELD_BYTES = 8_000_000
"""What the journals of one stream may hold in memory; the answer, as far as it is put together, comes on top."""


class StreamRecorder:
    """Takes the chunks of one response, with what content encoding they had undone, and their times in seconds."""

    def __init__(self, *, held_bytes: int = HELD_BYTES) -> None:
        self._budget = Budget(held_bytes)
        self._body = Journal(self._budget)
        self._events = Journal(self._budget)
        self._details = Details(self._events.write)
        self._assembler: Assembler | None = None
        self._is_assembled = True
        self._is_finished = False

    def feed(self, chunk: bytes, timestamp: float) -> None:
        """Take what one read of the network gave."""
        if self._is_finished:
            raise ContentError("the recording of this stream is finished: begin another one")
        if not is_time(timestamp):
            raise ContentError(f"{timestamp} is no time")
        self._body.write(chunk)
        self._assemble(self._details.feed(chunk, timestamp))

    def finish(self, timestamp: float | None = None) -> "Recording":
        """Say that the stream came to its end; `timestamp` counts where there was no chunk at all."""
        if self._is_finished:
            raise ContentError("the recording of this stream is finished already")
        if timestamp is not None and not self._body.size_bytes:
            self._details.feed(b"", timestamp)
        self._is_finished = True
        self._assemble(self._details.close())
        return Recording(self._details, self._body, self._events, self._assembler if self._is_assembled else None)

    def abort(self, reason: str, timestamp: float | None = None) -> "Recording":
        """Say that the stream broke off, and why; what there is is kept."""
        self._details.note("aborted", reason)
        return self.finish(timestamp)

    def _assemble(self, events: list[Event]) -> None:
        if not self._is_assembled or not events:
            return
        if self._events.is_spilled or self._body.is_spilled:
            self._is_assembled = False
            self._assembler = None
            return
        if self._assembler is None:
            # Events before the first one that tells the format are none of any format.
            if self._details.wire_format is None:
                return
            self._assembler = assembler(self._details.wire_format)
        feed = self._assembler.feed
        for event in events:
            feed(event)


class Recording:
    """What a stream was: its body as it came, the details of its events, and the answer they add up to."""

    def __init__(self, details: Details, body: Journal, events: Journal, made: Assembler | None) -> None:
        self._details = details
        self._body = body
        self._events = events
        self._assembler = made
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
        """Whether some of it lies in a file, and is better written in pieces than made into one object."""
        return self._body.is_spilled or self._events.is_spilled

    @property
    def size_bytes(self) -> int:
        return self._body.size_bytes

    def payload(self) -> JsonObject:
        """The response as it would have come without streaming; of a spilled recording this takes its time."""
        if self.wire_format is None:
            return {}
        if self._assembler is not None:
            return self._assembler.result().payload
        return assemble(self.wire_format, self._body.pieces()).payload

    def body(self) -> Iterator[bytes]:
        """The body as it came."""
        return self._body.pieces()

    def details(self) -> Iterator[bytes]:
        """`streaming_details` as JSON, in pieces."""
        summary = written(self._details.summary(is_from_chunks=True))
        yield summary[:-1] + b',"chunks":['
        yield from self._events.pieces()
        yield b"]" + (b',"issues":%b' % written(self.issues) if self.issues else b"") + b"}"

    def response(self) -> Iterator[bytes]:
        """`{"body_raw": …, "streaming_details": …}` as JSON, in pieces: what a log has in its response."""
        yield b'{"body_raw":"'
        decode = getincrementaldecoder("utf-8")("replace").decode
        for piece in self._body.pieces():
            yield orjson.dumps(decode(piece))[1:-1]
        yield orjson.dumps(decode(b"", final=True))[1:-1] + b'","streaming_details":'
        yield from self.details()
        yield b"}"

    def to_json(self) -> JsonObject:
        """All as one object: `body_raw`, `streaming_details` and `payload`."""
        made: Any = json.loads(b"".join(self.response()))
        return {**made, "payload": self.payload()}

    def close(self) -> None:
        """Let go of the files."""
        self._body.close()
        self._events.close()
