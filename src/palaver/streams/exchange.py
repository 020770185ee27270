"""One exchange with an API while it passes: the request, the response with the time of every piece, and its end.

Nothing here raises because of what the other side sent, or because a disk is full: an exchange that cannot be recorded
goes on, and says in the end why it is not in the log. Bodies are in memory up to a limit, and beyond it in files
without a name; the journal gets every piece of the response before the caller passes it on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Lock
from typing import Any, NamedTuple, Protocol

import orjson

from palaver.model.build import JsonObject
from palaver.model.timestamps import normalize_timestamp
from palaver.storage.spill import ByteSpill, MemoryBudget
from palaver.streams.content_encoding import content_decoder
from palaver.streams.details import encode_json
from palaver.streams.exchange_entry import entry_line, header_values, headers_by_name, stated_model
from palaver.streams.journal import CHUNK, END, REQUEST_BODY, RESPONSE, START, Frame, JournalFile
from palaver.streams.passing_response import DECODING_ERROR, HELD_BYTES, PassingResponse
from palaver.streams.recorder import Recording


class ContentMask(Protocol):
    """Masks secrets in a body; what may turn out to be a part of one is held back."""

    def feed(self, chunk: bytes, timestamp: float) -> list[tuple[bytes, float]]:
        """Take a chunk; return what can be stored now, with the times of the chunks it came in."""
        ...

    def close(self) -> list[tuple[bytes, float]]:
        """Return the rest."""
        ...


class Masks(NamedTuple):
    """The functions that remove secrets before anything is written."""

    headers: Callable[[Mapping[str, Any]], Any]
    url: Callable[[str], str]
    request_body: Callable[[bytes], bytes]
    content: Callable[[str], ContentMask] | None = None
    """Returns a mask for a body of a media type; None leaves bodies as they are."""


class FinishedExchange(NamedTuple):
    """What became of an exchange; times are in seconds since 1970."""

    request_id: str
    method: str
    url: str
    upstream: str
    status: int | None
    started: float
    responded: float | None
    first_chunk: float | None
    """When the first bytes of the response's body came."""
    first_content: float | None
    """When the first piece of a stream with content came, and not only the head of the answer."""
    ended: float
    is_stream: bool
    wire_format: str | None
    """The format of a stream, as in `palaver.streams.FORMATS`."""
    requested_model: str | None
    payload: JsonObject
    """The response as the API sends it without streaming; {} if it is unknown or very large."""
    error: JsonObject | None
    place: str | None
    """The file and line in which it was logged; None if it was not."""
    unwritten: str = ""
    """Why it was not logged."""


class Exchange:
    """An exchange that is being recorded; `ExchangeLog.start` creates it."""

    def __init__(
        self,
        head: JsonObject,
        masks: Masks,
        journal: JournalFile | None,
        write: Callable[[Iterator[bytes]], str],
        clock: Callable[[], float],
    ) -> None:
        self.request_id: str = head["request_id"]
        self._head = head
        """What is known from the start, with secrets masked: id, upstream, method, URL, headers and time."""
        self._masks = masks
        self._journal = journal
        self._write = write
        self._clock = clock
        self._request = ByteSpill(MemoryBudget(HELD_BYTES))
        self._has_request = False
        self._end_of_request = Lock()
        self._model: str | None = None
        self._response: PassingResponse | None = None
        self._mask: ContentMask | None = None
        self._websocket: JsonObject = {}
        self._failure = ""
        self._is_finished = False
        self._note(START, head["timestamp"], encode_json(head))

    @property
    def has_response(self) -> bool:
        return self._response is not None

    @property
    def is_finished(self) -> bool:
        """Whether it was written to the log, or discarded."""
        return self._is_finished

    @property
    def size_bytes(self) -> int:
        """The size of both bodies as far as they are recorded."""
        return self._request.size_bytes + (0 if self._response is None else self._response.size_bytes)

    def send(self, chunk: bytes) -> None:
        """Record a piece of the request's body."""
        if self._has_request:
            raise ValueError("the request has ended: send all pieces of its body before")
        self._guard(self._request.write, chunk)

    def end_request(self) -> None:
        """Note that the request's body is complete."""
        # An abort may come from another thread while this one is still at work.
        with self._end_of_request:
            if not self._has_request:
                self._has_request = True
                self._guard(self._keep_request_body)

    def respond(
        self,
        status: int,
        headers: Iterable[tuple[str, str]],
        *,
        http_version: str = "HTTP/1.1",
        timestamp: float | None = None,
        more_to_send: bool = False,
    ) -> None:
        """Record the head of the response; `more_to_send` says that it came before the request had ended."""
        if not more_to_send:
            self.end_request()
        time = self._clock() if timestamp is None else timestamp
        masked = self._masks.headers(headers_by_name(headers))
        self._begin_response(PassingResponse(status, masked, http_version, time, self._head["url"]))

    def receive(self, chunk: bytes, timestamp: float | None = None) -> None:
        """Record a piece of the response's body as it came over the network, in its content encoding."""
        if self._response is None:
            raise ValueError("there is no response yet: call `respond` with its status and headers first")
        if chunk:
            self._guard(self._receive, self._response, chunk, self._clock() if timestamp is None else timestamp)

    def note_websocket(self, sent_messages: int, received_messages: int) -> None:
        """Note how many messages passed over a WebSocket; they are not recorded."""
        self._websocket = {"websocket": {"sent_messages": sent_messages, "received_messages": received_messages}}

    def finish(self, timestamp: float | None = None) -> FinishedExchange:
        """Write the exchange to the log."""
        return self._finish(None, timestamp)

    def abort(self, kind: str, message: str, timestamp: float | None = None) -> FinishedExchange:
        """Write the exchange to the log as one that was interrupted, with all that had arrived."""
        return self._finish({"type": kind, "message": message}, timestamp)

    def stop(self, timestamp: float | None = None) -> FinishedExchange:
        """Write the exchange of a client that stopped reading; after the last event of a stream, it is complete."""
        self._guard(self._flush_mask)
        if self._response is not None and self._response.has_last_event:
            return self.finish(timestamp)
        return self.abort("client_aborted", "the client stopped reading", timestamp)

    def discard(self) -> None:
        """Forget the exchange."""
        self._is_finished = True
        self._close(is_settled=True)

    def replay(self, frame: Frame) -> None:
        """Take a frame from the journal of a killed recorder: its content is decoded, and masked as that one did."""
        if frame.kind == REQUEST_BODY:
            self._has_request = True
            self._request.write(self._masked_request(frame.payload))
        elif frame.kind == RESPONSE:
            stated = orjson.loads(frame.payload)
            status, headers = stated["status_code"], stated["headers"]
            version, time = stated["http_version"], stated["timestamp"]
            self._begin_response(PassingResponse(status, headers, version, time, self._head["url"]))
        elif frame.kind == CHUNK and self._response is not None:
            self._receive_decoded(self._response, frame.payload, frame.timestamp)

    def _keep_request_body(self) -> None:
        headers = self._head["headers"]
        pieces: Iterable[bytes] = self._request.pieces()
        decoder = content_decoder(", ".join(header_values(headers, "content-encoding")))
        if decoder is not None:
            pieces = (piece for chunk in self._request.pieces() for piece in decoder.feed(chunk))
        body = self._masks.request_body(b"".join(pieces))
        if decoder is not None and decoder.is_damaged:
            self._head.update(DECODING_ERROR)
        if self._masks.content is not None and decoder is None:
            body = b""  # what cannot be read may hold secrets
        body = self._masked_request(body)
        self._request.close()
        self._request = ByteSpill(MemoryBudget(HELD_BYTES))
        self._request.write(body)
        self._model = stated_model(body)
        if body:
            self._note(REQUEST_BODY, self._clock(), body)

    def _masked_request(self, body: bytes) -> bytes:
        if self._masks.content is None or not body:
            return body
        mask = self._masks.content("".join(header_values(self._head["headers"], "content-type")[:1]).lower())
        return b"".join(piece for piece, _ in (*mask.feed(body, 0.0), *mask.close()))

    def _begin_response(self, response: PassingResponse) -> None:
        self._response = response
        if self._masks.content is not None:
            self._mask = self._masks.content(response.media_type)
        self._note(RESPONSE, response.timestamp, encode_json(response.head()))

    def _receive(self, response: PassingResponse, chunk: bytes, timestamp: float) -> None:
        for piece in response.decoded(chunk):
            self._receive_decoded(response, piece, timestamp)

    def _receive_decoded(self, response: PassingResponse, piece: bytes, timestamp: float) -> None:
        if self._mask is None:
            self._keep(response, piece, timestamp)
        elif not response.is_encoded:  # what cannot be read may hold secrets
            for masked, time in self._mask.feed(piece, timestamp):
                self._keep(response, masked, time)

    def _keep(self, response: PassingResponse, piece: bytes, timestamp: float) -> None:
        self._note(CHUNK, timestamp, piece)
        response.store(piece, timestamp)

    def _finish(self, error: JsonObject | None, timestamp: float | None) -> FinishedExchange:
        if self._is_finished:
            raise ValueError("this exchange has ended: start another one")
        self._is_finished = True
        ended = self._clock() if timestamp is None else timestamp
        self.end_request()
        response = self._response
        self._guard(self._flush_mask)
        if not self._failure:  # else the journal has a part only, which is no complete exchange
            self._note(END, ended, encode_json(error))
        recording = None if response is None else self._guard(response.end, error, ended)
        place = self._guard(self._write, self._line(recording, error, ended))
        finished = FinishedExchange(
            request_id=self.request_id,
            method=self._head["method"],
            url=self._head["url"],
            upstream=self._head["upstream"],
            status=None if response is None else response.status,
            started=self._head["timestamp"],
            responded=None if response is None else response.timestamp,
            first_chunk=None if response is None else response.first_chunk,
            first_content=None if recording is None else recording.first_content,
            ended=ended,
            is_stream=recording is not None,
            wire_format=None if recording is None else recording.wire_format,
            requested_model=self._model,
            payload=(self._guard(response.payload, recording) or {}) if response is not None else {},
            error=error,
            place=place,
            unwritten=self._failure,
        )
        if recording is not None:
            recording.close()
        self._close(is_settled=place is not None)
        return finished

    def _flush_mask(self) -> None:
        mask, self._mask = self._mask, None
        if mask is not None and self._response is not None:
            for piece, time in mask.close():
                self._keep(self._response, piece, time)

    def _line(self, recording: Recording | None, error: JsonObject | None, ended: float) -> Iterator[bytes]:
        head = self._head
        fields: JsonObject = {
            "duration_ms": max(0, round((ended - head["timestamp"]) * 1_000)),
            "upstream": head["upstream"],
            "request_id": self.request_id,
            "logged_at": normalize_timestamp(self._clock()),
            **self._websocket,
        }
        if error is not None:
            fields["error"] = error
        request = {
            name: head[name] for name in ("timestamp", "method", "url", "headers", *DECODING_ERROR) if name in head
        }
        response = (b"null",) if self._response is None else self._response.json(recording)
        return entry_line(request, self._request.pieces(), response, fields)

    def _note(self, kind: int, timestamp: float, payload: bytes) -> None:
        """Write to the journal; where that is impossible, the exchange goes on without one."""
        if self._journal is None:
            return
        try:
            self._journal.write(kind, timestamp, payload)
        except OSError:
            self._journal.remove()
            self._journal = None

    def _guard(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Call it and return its result; if it fails, note why and record no more."""
        if self._failure:
            return None
        try:
            return action(*arguments)
        except OSError as error:
            self._failure = error.strerror or str(error)
        except Exception as error:  # noqa: BLE001 - a defect of ours must not break the traffic; it is reported at the end
            self._failure = f"{type(error).__name__}: {error}"
        return None

    def _close(self, *, is_settled: bool) -> None:
        """Close all files; the journal keeps an exchange that is not settled, for the next start."""
        self._request.close()
        if self._response is not None:
            self._response.close()
        if self._journal is not None and is_settled:
            self._journal.remove()
        elif self._journal is not None:
            self._journal.close()
