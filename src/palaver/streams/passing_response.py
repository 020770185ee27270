"""The response of an exchange while it passes: a stream of events or a plain body, without its content encoding."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from palaver.model.build import JsonObject
from palaver.storage.spill import ByteSpill, MemoryBudget
from palaver.streams.content_encoding import content_decoder
from palaver.streams.exchange_entry import header_values, plain_response, streamed_response
from palaver.streams.recorder import Recording, StreamRecorder

HELD_BYTES = 2_000_000
"""The limit for a body in memory, with the details of its events if it is a stream."""
DECODING_ERROR = {"decoding_error": "the body could not be decoded to its end"}
_MAX_PAYLOAD_BYTES = 1 << 26
_FIRST_ERROR_STATUS = 400
_STREAM_TYPE = "text/event-stream"
_STREAM_STARTS = (b"event:", b"data:")
_STREAMED_ARRAY_PATH = re.compile(r":streamGenerateContent(?:\?|$)")
"""Gemini streams a JSON array, unless the request asks for server-sent events."""


class PassingResponse:
    """A response as far as it has come."""

    def __init__(self, status: int, headers: JsonObject, http_version: str, timestamp: float, url: str) -> None:
        self.status = status
        self.timestamp = timestamp
        self.first_chunk: float | None = None
        self.media_type = "".join(header_values(headers, "content-type")[:1]).lower()
        self._headers = headers
        self._http_version = http_version
        self._decoder = content_decoder(", ".join(header_values(headers, "content-encoding")))
        self.is_encoded = self._decoder is None
        """Whether the body is in a content encoding that cannot be removed."""
        is_array = "json" in self.media_type and _STREAMED_ARRAY_PATH.search(url) is not None
        self._may_be_stream = status < _FIRST_ERROR_STATUS and not self.is_encoded
        is_stream = self._may_be_stream and (self.media_type.startswith(_STREAM_TYPE) or is_array)
        self._recorder = StreamRecorder(held_bytes=HELD_BYTES) if is_stream else None
        self._body = ByteSpill(MemoryBudget(HELD_BYTES))
        self.size_bytes = 0

    @property
    def has_last_event(self) -> bool:
        return self._recorder is not None and self._recorder.has_last_event

    def head(self) -> JsonObject:
        fields: JsonObject = {
            "timestamp": self.timestamp,
            "status_code": self.status,
            "http_version": self._http_version,
            "headers": self._headers,
        }
        if self._decoder is not None and self._decoder.is_damaged:
            fields.update(DECODING_ERROR)
        return fields

    def decoded(self, chunk: bytes) -> Iterable[bytes]:
        return (chunk,) if self._decoder is None else self._decoder.feed(chunk)

    def store(self, piece: bytes, timestamp: float) -> None:
        if self.first_chunk is None:
            self.first_chunk = timestamp
        if not self.size_bytes and self._recorder is None and self._may_be_stream and piece.startswith(_STREAM_STARTS):
            # Some servers send events under another media type.
            self._recorder = StreamRecorder(held_bytes=HELD_BYTES)
        self.size_bytes += len(piece)
        if self._recorder is not None:
            self._recorder.feed(piece, timestamp)
        else:
            self._body.write(piece)

    def end(self, error: JsonObject | None, ended: float) -> Recording | None:
        """End the recording of a stream and return it; None if the response is not a stream."""
        if self._recorder is None:
            return None
        if error is None:
            return self._recorder.finish(ended)
        return self._recorder.abort(f"{error['type']}: {error['message']}", ended)

    def json(self, recording: Recording | None) -> Iterator[bytes]:
        """Yield the response as JSON."""
        if recording is not None:
            return streamed_response(self.head(), recording)
        return plain_response(self.head(), self._body.pieces(), is_encoded=self.is_encoded)

    def payload(self, recording: Recording | None) -> JsonObject:
        """Return the response as the API sends it without streaming, or {}."""
        if self.size_bytes > _MAX_PAYLOAD_BYTES:
            return {}
        if recording is not None:
            return recording.payload()
        try:
            found: Any = orjson.loads(b"".join(self._body.pieces()))
        except orjson.JSONDecodeError:
            return {}
        return found if isinstance(found, dict) else {}

    def close(self) -> None:
        self._body.close()
