"""Relays WebSockets: the messages of both sides pass through, and only their number is noted in the log."""

import asyncio
from typing import Any

import httpx2
import wsproto.events
from httpx2.websockets import (
    AsyncWebSocketClient,
    AsyncWebSocketSession,
    HTTPXWSException,
    WebSocketDisconnect,
    WebSocketUpgradeError,
)
from starlette.websockets import WebSocket
from starlette.websockets import WebSocketDisconnect as ClientDisconnect

from palaver.recorder.http_relay import RawHeaders, Unrecorded, forwarded_headers
from palaver.recorder.settings import Watcher
from palaver.streams.exchange import Exchange

MAX_MESSAGE_BYTES = 1 << 26
_HANDSHAKE = frozenset({b"host"})
_HANDSHAKE_PREFIX = b"sec-websocket-"
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

    async def run(self, client: httpx2.AsyncClient, url: httpx2.URL) -> None:
        """Connect to the upstream, and pass messages until one side closes."""
        opened = AsyncWebSocketClient(
            client, max_message_size_bytes=MAX_MESSAGE_BYTES, keepalive_ping_interval_seconds=None
        ).connect(
            str(url),
            subprotocols=self._websocket.scope.get("subprotocols") or None,
            headers=_forwarded(self._websocket.scope["headers"]),
            follow_redirects=False,
        )
        self._exchange.end_request()
        try:
            async with opened as upstream:
                await self._relay(upstream)
        except* WebSocketUpgradeError as group:
            await self._refuse(group)
        except* (httpx2.TransportError, HTTPXWSException, OSError) as group:
            await self._fail(_first(group))

    async def _relay(self, upstream: AsyncWebSocketSession) -> None:
        response = upstream.response
        assert response is not None
        self._respond(response)
        headers = [
            (name, value)
            for name, value in forwarded_headers(response.headers.raw)
            if not name.lower().startswith(_HANDSHAKE_PREFIX)
        ]
        await self._websocket.accept(upstream.subprotocol, headers)
        down = asyncio.create_task(self._pass_down(upstream))
        up = asyncio.create_task(self._pass_up(upstream))
        try:
            await asyncio.wait({down, up}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._end("recorder_stopped", "the recorder was stopped meanwhile")
            raise
        finally:
            for task in (down, up):
                task.cancel()
            await asyncio.wait({down, up})
        self._end()

    async def _pass_down(self, upstream: AsyncWebSocketSession) -> None:
        """Pass messages of the upstream to the client, and its close at the end."""
        fragments: list[Any] = []
        try:
            while True:
                event = await upstream.receive()
                if isinstance(event, wsproto.events.TextMessage | wsproto.events.BytesMessage):
                    fragments.append(event.data)
                    if not event.message_finished:
                        continue
                    whole = fragments[0][:0].join(fragments)
                    fragments.clear()
                    self._received += 1
                    if isinstance(whole, str):
                        await self._websocket.send_text(whole)
                    else:
                        await self._websocket.send_bytes(bytes(whole))
        except WebSocketDisconnect as closed:
            await self._websocket.close(_sendable(closed.code), closed.reason)
        except HTTPXWSException:
            await self._websocket.close(_INTERNAL_ERROR, "the upstream broke off")

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

    async def _refuse(self, group: BaseExceptionGroup[WebSocketUpgradeError]) -> None:
        """Pass on the answer of an upstream that does not accept the WebSocket."""
        error: Any = _first(group)
        response: httpx2.Response = error.response
        self._respond(response)
        body = response.content if response.is_stream_consumed else b""
        self._exchange.receive(body)
        self._end()
        headers = [item for item in forwarded_headers(response.headers.raw) if item[0].lower() != b"content-length"]
        start = {"type": "websocket.http.response.start", "status": response.status_code, "headers": headers}
        await self._websocket.send(start)
        await self._websocket.send({"type": "websocket.http.response.body", "body": body})

    async def _fail(self, error: BaseException) -> None:
        self._end("upstream_unreachable", f"the upstream cannot be reached: {error}")
        start = {"type": "websocket.http.response.start", "status": 502, "headers": []}
        await self._websocket.send(start)
        await self._websocket.send({"type": "websocket.http.response.body", "body": b""})

    def _respond(self, response: httpx2.Response) -> None:
        self._exchange.respond(response.status_code, response.headers.multi_items(), http_version=response.http_version)

    def _end(self, kind: str = "", message: str = "") -> None:
        if not isinstance(self._exchange, Exchange):
            return
        if self._exchange.has_response:
            self._exchange.note_websocket(self._sent, self._received)
        self._watcher.finished(self._exchange.abort(kind, message) if kind else self._exchange.finish())


def _forwarded(headers: RawHeaders) -> RawHeaders:
    kept = forwarded_headers(headers, also=_HANDSHAKE)
    return [(name, value) for name, value in kept if not name.lower().startswith(_HANDSHAKE_PREFIX)]


def _sendable(code: int) -> int:
    """Return a code that may stand in a close frame: some codes only say how a connection ended."""
    return {_NO_STATUS: _NORMAL, 1006: _GOING_AWAY, 1015: _GOING_AWAY}.get(code, code)


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    """Return the first exception in a group of groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
