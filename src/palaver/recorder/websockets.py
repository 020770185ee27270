"""Relays WebSockets: the messages of both sides pass through, and only their number is noted in the log."""

import asyncio
import base64
import secrets

import httpx2
import wsproto.events
from httpx2.websockets import AsyncWebSocketSession, HTTPXWSException, WebSocketDisconnect
from starlette.websockets import WebSocket, WebSocketState
from starlette.websockets import WebSocketDisconnect as ClientDisconnect

from palaver.recorder.http_relay import RawHeaders, Unrecorded, failure_of, forwarded_headers
from palaver.recorder.settings import Watcher
from palaver.streams.exchange import Exchange

MAX_MESSAGE_BYTES = 1 << 26
_SWITCHING_PROTOCOLS = 101
_NOT_FORWARDED = frozenset({b"host"})
_NO_STATUS = 1005
_GOING_AWAY = 1001
_INTERNAL_ERROR = 1011
_NORMAL = 1000


class WebSocketRelay:
    """Relays one WebSocket."""

    def __init__(self, websocket: WebSocket, exchange: Exchange | Unrecorded, watcher: Watcher) -> None:
        self._websocket = websocket
        self._exchange = exchange
        self._watcher = watcher
        self._sent = 0
        self._received = 0
        self._is_open = False
        self._is_logged = False

    async def run(self, client: httpx2.AsyncClient, url: httpx2.URL) -> None:
        """Ask the upstream for a WebSocket; pass messages until one side closes it, or the answer if it refuses."""
        self._exchange.end_request()
        headers = _handshake(self._websocket.scope["headers"], self._websocket.scope.get("subprotocols") or [])
        request = httpx2.Request("GET", url, headers=headers)
        try:
            response = await client.send(request, stream=True, auth=None, follow_redirects=False)
        except httpx2.TransportError as error:
            await self._fail(error)
            return
        try:
            self._exchange.respond(
                response.status_code, response.headers.multi_items(), http_version=response.http_version
            )
            if response.status_code == _SWITCHING_PROTOCOLS:
                await self._relay(response)
            else:
                await self._refuse(response)
        finally:
            await response.aclose()

    async def _relay(self, response: httpx2.Response) -> None:
        headers = [item for item in forwarded_headers(response.headers.raw) if not _is_handshake(item[0])]
        session = AsyncWebSocketSession(
            response.extensions["network_stream"],
            max_message_size_bytes=MAX_MESSAGE_BYTES,
            keepalive_ping_interval_seconds=None,
            response=response,
        )
        try:
            async with session as upstream:
                await self._websocket.accept(upstream.subprotocol, headers)
                self._is_open = True
                down = asyncio.create_task(self._pass_down(upstream))
                up = asyncio.create_task(self._pass_up(upstream))
                try:
                    await asyncio.wait({down, up}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    down.cancel()
                    up.cancel()
                    await asyncio.wait({down, up})
        except asyncio.CancelledError:
            self._end("recorder_stopped", "the recorder was stopped meanwhile")
            raise
        finally:
            self._end()

    async def _pass_down(self, upstream: AsyncWebSocketSession) -> None:
        """Pass messages of the upstream to the client, and its close at the end."""
        try:
            while True:
                event = await upstream.receive()
                if isinstance(event, wsproto.events.TextMessage):
                    self._received += 1
                    await self._websocket.send_text(event.data)
                elif isinstance(event, wsproto.events.BytesMessage):
                    self._received += 1
                    await self._websocket.send_bytes(bytes(event.data))
        except WebSocketDisconnect as closed:
            await self._close_client(_sendable(closed.code), closed.reason)
        except HTTPXWSException:
            await self._close_client(_INTERNAL_ERROR, "the upstream broke off")

    async def _close_client(self, code: int, reason: str | None) -> None:
        if self._websocket.client_state is WebSocketState.CONNECTED:
            await self._websocket.close(code, reason)

    async def _pass_up(self, upstream: AsyncWebSocketSession) -> None:
        """Pass messages of the client to the upstream, and its close at the end."""
        try:
            while True:
                message = await self._websocket.receive()
                if message["type"] == "websocket.disconnect":
                    await upstream.close(_sendable(message.get("code", _NORMAL)), message.get("reason") or None)
                    return
                self._sent += 1
                if (text := message.get("text")) is not None:
                    await upstream.send_text(text)
                else:
                    await upstream.send_bytes(message.get("bytes") or b"")
        except (HTTPXWSException, ClientDisconnect):
            return

    async def _refuse(self, response: httpx2.Response) -> None:
        """Pass on the answer of an upstream that does not accept the WebSocket."""
        headers = forwarded_headers(response.headers.raw)
        await self._websocket.send(
            {"type": "websocket.http.response.start", "status": response.status_code, "headers": headers}
        )
        async for chunk in response.aiter_raw():
            self._exchange.receive(chunk)
            await self._websocket.send({"type": "websocket.http.response.body", "body": chunk, "more_body": True})
        self._end()
        await self._websocket.send({"type": "websocket.http.response.body", "body": b""})

    async def _fail(self, error: httpx2.TransportError) -> None:
        failure = failure_of(error)
        self._end(failure.kind, failure.message)
        await self._websocket.send({"type": "websocket.http.response.start", "status": failure.status, "headers": []})
        await self._websocket.send({"type": "websocket.http.response.body", "body": failure.message.encode()})

    def _end(self, kind: str = "", message: str = "") -> None:
        if not isinstance(self._exchange, Exchange) or self._is_logged:
            return
        self._is_logged = True
        if self._is_open:
            self._exchange.note_websocket(self._sent, self._received)
        self._watcher.finished(self._exchange.abort(kind, message) if kind else self._exchange.finish())


def _handshake(headers: RawHeaders, subprotocols: list[str]) -> RawHeaders:
    """Return the headers that ask the upstream for a WebSocket: those of the client, with a handshake of our own."""
    kept = [item for item in forwarded_headers(headers, also=_NOT_FORWARDED) if not _is_handshake(item[0])]
    asked = [
        (b"connection", b"Upgrade"),
        (b"upgrade", b"websocket"),
        (b"sec-websocket-key", base64.b64encode(secrets.token_bytes(16))),
        (b"sec-websocket-version", b"13"),
    ]
    wanted = [(b"sec-websocket-protocol", ", ".join(subprotocols).encode("latin-1"))] if subprotocols else []
    return [*kept, *asked, *wanted]


def _is_handshake(name: bytes) -> bool:
    return name.lower().startswith(b"sec-websocket-")


def _sendable(code: int) -> int:
    """Return a code that may stand in a close frame: some codes only say how a connection ended."""
    return {_NO_STATUS: _NORMAL, 1006: _GOING_AWAY, 1015: _GOING_AWAY}.get(code, code)
