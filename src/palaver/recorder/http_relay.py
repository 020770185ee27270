"""Relays an HTTP exchange: the request to the upstream, the response to the client, both in pieces as they come.

Bodies pass as they are, in their content encoding; of the headers only those that belong to a single connection are
left out. A response that breaks off is broken off for the client too, never ended as if it were complete.
"""

import asyncio
import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, MutableMapping
from contextlib import aclosing
from typing import Any, NamedTuple

import httpx2
import orjson

from palaver.recorder.connections import Connections
from palaver.recorder.settings import Watcher
from palaver.redact.text import mask_error
from palaver.streams.exchange import Exchange, FinishedExchange

Message = MutableMapping[str, Any]
RawHeaders = list[tuple[bytes, bytes]]

HALF_CLOSED = "palaver.half_closed"
"""The event in a request's scope that is set when the client will send nothing more on this connection."""
HAS_QUERY = "palaver.has_query"
"""Whether a request's target has a query, which may be empty; only requests over HTTP state it."""
SILENCE_S = 5.0
"""How long a client that has closed its side of the connection is taken for one that still reads."""
_ONE_CONNECTION = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te"}
    | {b"trailer", b"transfer-encoding", b"upgrade"}
)
"""Headers that belong to one connection, not to the message."""
_REQUEST_ONLY = frozenset({b"host", b"expect"})
_QUOTED = re.compile(r"(?<![:\s])[:\s]*+(?:b|bytearray\(b)?['\"].*", re.DOTALL)
_LARGE_BYTES = 1 << 20
_WITHOUT_BODY = (204, 304)


class Destination(NamedTuple):
    """Where a request goes: the URL of an upstream, and the path and query below it as the client spells them."""

    url: str
    below: str

    def request(self, method: str, headers: RawHeaders, content: AsyncIterable[bytes] | None = None) -> httpx2.Request:
        """Return a request; its target is given apart from its URL, which httpx2 would spell in its own way."""
        url = httpx2.URL(self.url)
        target = (url.raw_path.rstrip(b"/") + self.below.encode("latin-1")) or b"/"
        target = target if target.startswith(b"/") else b"/" + target
        return httpx2.Request(method, url, headers=headers, content=content, extensions={"target": target})


class Unrecorded:
    """Stands for an exchange that is not logged."""

    request_id = ""
    size_bytes = 0

    def send(self, chunk: bytes) -> None: ...

    def end_request(self) -> None: ...

    def respond(self, *_: Any, **__: Any) -> None: ...

    def receive(self, chunk: bytes) -> None: ...

    def finish(self) -> None: ...

    def abort(self, kind: str, message: str) -> None: ...

    def stop(self) -> None: ...


class Failure(NamedTuple):
    """Why an exchange ended early, for the log and for the client; status 0 if there is no client left."""

    status: int
    kind: str
    message: str


CLIENT_GONE = Failure(0, "client_aborted", "the client closed the connection")
RECORDER_STOPPED = Failure(0, "recorder_stopped", "the recorder was stopped meanwhile")


class ClientGoneError(Exception):
    """The client closed its connection before the exchange was complete."""


class HttpRelay:
    """Relays one exchange."""

    def __init__(
        self, scope: Message, receive: Any, send: Any, exchange: Exchange | Unrecorded, watcher: Watcher
    ) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._exchange = exchange
        self._watcher = watcher
        self._has_read_request = asyncio.Event()
        self._has_begun = False
        """Whether the client has the head of a response."""
        self._is_complete = False
        """Whether the whole response has passed; then the exchange is logged as complete, whatever the client does."""
        self._is_logged = False
        self._last_sent = time.monotonic()

    async def run(self, connections: Connections, destination: Destination) -> None:
        """Relay the exchange to its end."""
        relay = asyncio.create_task(self._relay(connections, destination))
        gone = asyncio.create_task(self._wait_until_gone())
        try:
            await asyncio.wait({relay, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not relay.done() and not self._is_complete:
                relay.cancel()
            await asyncio.wait({relay})
        except asyncio.CancelledError:
            relay.cancel()
            gone.cancel()
            if not self._is_complete:
                # Without waiting: the server is about to cancel whatever still waits.
                self._log(self._exchange.abort(RECORDER_STOPPED.kind, RECORDER_STOPPED.message))
            raise
        gone.cancel()
        await asyncio.wait({gone})
        await self._end(relay)

    async def _end(self, relay: asyncio.Task[None]) -> None:
        """Log the exchange if it was interrupted, and answer the client if it has no response yet."""
        if relay.cancelled():
            if not self._is_logged:
                # Some clients close the connection after the last event, without waiting for the end of the body.
                self._log(await asyncio.to_thread(self._exchange.stop))
            return
        error = relay.exception()
        if error is None:
            return
        failure = failure_of(error)
        await self._abort(failure)
        if not self._has_begun and failure is not CLIENT_GONE:
            await send_error(self._send, failure.status, failure.message)

    async def _relay(self, connections: Connections, destination: Destination) -> None:
        headers = forwarded_headers(self._scope["headers"], also=_REQUEST_ONLY)
        content = _RequestBody(self._request_body()) if _has_body(self._scope["headers"]) else None
        if content is None:
            self._exchange.end_request()
            self._has_read_request.set()
        request = destination.request(self._scope["method"], headers, content)
        async with connections.send(request) as response:
            await self._relay_response(response)

    async def _relay_response(self, response: httpx2.Response) -> None:
        exchange = self._exchange
        exchange.respond(
            response.status_code,
            response.headers.multi_items(),
            http_version=response.http_version,
            more_to_send=not self._has_read_request.is_set(),
        )
        if exchange.request_id and "event-stream" in response.headers.get("content-type", ""):
            self._watcher.streaming(exchange.request_id)
        headers = forwarded_headers(response.headers.raw)
        if response.status_code in _WITHOUT_BODY:
            headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
        self._has_begun = True
        await self._send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        async for chunk in response.aiter_raw():
            exchange.receive(chunk)
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
            self._last_sent = time.monotonic()
        self._is_complete = True
        # Once the client sees the end, the exchange is in the log; only a large one takes too long for that.
        is_large = exchange.size_bytes > _LARGE_BYTES
        if not is_large:
            self._log(await asyncio.to_thread(exchange.finish))
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        if is_large:
            self._log(await asyncio.to_thread(exchange.finish))

    async def _request_body(self) -> AsyncGenerator[bytes]:
        try:
            more = True
            while more:
                message = await self._receive()
                if message["type"] == "http.disconnect":
                    raise ClientGoneError
                more = message.get("more_body", False)
                if body := message.get("body", b""):
                    self._exchange.send(body)
                if not more:
                    await self._end_request()
                if body:
                    yield body
        finally:
            self._has_read_request.set()

    async def _end_request(self) -> None:
        """Record that the body is complete, before the upstream can answer it."""
        if self._exchange.size_bytes > _LARGE_BYTES:
            await asyncio.to_thread(self._exchange.end_request)
        else:
            self._exchange.end_request()

    async def _wait_until_gone(self) -> None:
        """Return once the client has closed its connection, or has closed its side of it and nothing more comes."""
        await self._has_read_request.wait()
        disconnected = asyncio.create_task(self._wait_for_disconnect())
        half_closed = asyncio.create_task(self._scope[HALF_CLOSED].wait())
        try:
            await asyncio.wait({disconnected, half_closed}, return_when=asyncio.FIRST_COMPLETED)
            while not disconnected.done() and (silence := time.monotonic() - self._last_sent) < SILENCE_S:
                await asyncio.wait({disconnected}, timeout=SILENCE_S - silence)
        finally:
            disconnected.cancel()
            half_closed.cancel()

    async def _wait_for_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _abort(self, failure: Failure) -> None:
        if not self._is_logged:
            self._log(await asyncio.to_thread(self._exchange.abort, failure.kind, failure.message))

    def _log(self, finished: FinishedExchange | None) -> None:
        self._is_logged = True
        if finished is not None:
            self._watcher.finished(finished)


class _RequestBody:
    """The body of a request, which may be sent twice if it is short.

    An upstream that closes an HTTP/2 connection says which requests it has not processed, and httpx2 sends them again.
    """

    def __init__(self, pieces: AsyncGenerator[bytes]) -> None:
        self._pieces = pieces
        self._sent = bytearray()
        self._is_repeatable = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if not self._is_repeatable:
            raise httpx2.RemoteProtocolError("the connection was closed before the request was processed")
        if self._sent:
            yield bytes(self._sent)
            return
        self._is_repeatable = False
        size_bytes = 0
        async with aclosing(self._pieces) as pieces:
            async for piece in pieces:
                size_bytes += len(piece)
                if size_bytes <= _LARGE_BYTES:
                    self._sent += piece
                yield piece
        self._is_repeatable = size_bytes <= _LARGE_BYTES


def forwarded_headers(headers: RawHeaders, *, also: frozenset[bytes] = frozenset()) -> RawHeaders:
    """Return the headers that are passed on; `also` names further ones that are not."""
    named = {
        name.strip().lower() for key, value in headers if key.lower() == b"connection" for name in value.split(b",")
    }
    dropped = _ONE_CONNECTION | also | named
    if any(key.lower() == b"transfer-encoding" for key, _ in headers):
        dropped |= {b"content-length"}  # chunks override it, and it may be wrong
    return [(name, value) for name, value in headers if name.lower() not in dropped]


async def send_error(send: Any, status: int, message: str) -> None:
    """Answer a request in the recorder's own name."""
    body = orjson.dumps({"type": "error", "error": {"type": "palaver_record", "message": f"palaver record: {message}"}})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _has_body(headers: RawHeaders) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0") for name, value in headers
    )


def failure_of(error: BaseException) -> Failure:
    """Return what the failure of an upstream means for the log and for the client."""
    match error:
        case ClientGoneError():
            return CLIENT_GONE
        case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.UnsupportedProtocol() | httpx2.ProxyError():
            return Failure(502, "upstream_unreachable", f"the upstream cannot be reached: {_reason(error)}")
        case httpx2.TimeoutException():
            return Failure(504, "timeout", "the upstream has sent nothing for too long: see --timeout")
        case httpx2.TransportError():
            # What is quoted in it is what the upstream sent.
            return Failure(502, "upstream_aborted", f"the upstream broke off: {_QUOTED.sub('', _reason(error))}")
        case _:
            message = f"{type(error).__name__}: {_reason(error)}"
            return Failure(502, "upstream_aborted", _QUOTED.sub("", message))


def _reason(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {cause.verify_message.rstrip('.')}: see --ca"
        cause = cause.__cause__ or cause.__context__
    return mask_error(str(error)) or type(error).__name__
