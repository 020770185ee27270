"""Relays WebSockets: the messages of both sides pass through, and only their number is noted in the log."""

import asyncio
import base64
import secrets
from typing import Any

import httpx2
import wsproto.events
from httpx2.websockets import AsyncWebSocketSession, HTTPXWSException, WebSocketDisconnect
from starlette.websockets import WebSocket, WebSocketState
from starlette.websockets import WebSocketDisconnect as ClientDisconnect
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import LocalProtocolError

from palaver.recorder.connections import Connections
from palaver.recorder.http_relay import (
    CLIENT_GONE,
    RECORDER_STOPPED,
    Destination,
    Failure,
    RawHeaders,
    Unrecorded,
    failure_of,
    forwarded_headers,
)
from palaver.recorder.settings import Watcher
from palaver.streams.exchange import Exchange

MAX_MESSAGE_BYTES = 1 << 26
_SWITCHING_PROTOCOLS = 101
_NOT_FORWARDED = frozenset({b"host"})
_UPSTREAM_GONE = Failure(502, "upstream_aborted", "the upstream broke off")


class WebSocketRelay:
    """Relays one WebSocket."""

    def __init__(self, websocket: WebSocket, exchange: Exchange | Unrecorded, watcher: Watcher) -> None:
        self._websocket = websocket
        self._exchange = exchange
        self._watcher = watcher
        self._sent = 0
        self._received = 0
        self._is_open = False
        self._has_response = False
        self._client_close: tuple[int, str | None] = (CloseReason.INTERNAL_ERROR, _UPSTREAM_GONE.message)
        """The code and the reason with which the WebSocket of the client is closed, unless the client closes it."""

    async def run(self, connections: Connections, destination: Destination) -> None:
        """Ask the upstream for a WebSocket; pass messages until one side closes it, or the answer if it refuses."""
        self._exchange.end_request()
        headers = _handshake(self._websocket.scope["headers"], self._websocket.scope.get("subprotocols") or [])
        try:
            async with connections.send(destination.request("GET", headers)) as response:
                failure = await self._relay_response(response)
        except asyncio.CancelledError:
            self._log(RECORDER_STOPPED)
            raise
        except (ClientDisconnect, OSError):
            self._log(CLIENT_GONE)
        except Exception as error:  # noqa: BLE001 - every failure is logged and reported to the client
            failure = failure_of(error)
            self._log(failure)
            if not self._has_response:
                await self._answer(failure)
        else:
            self._log(failure)

    async def _relay_response(self, response: httpx2.Response) -> Failure | None:
        self._exchange.respond(response.status_code, response.headers.multi_items(), http_version=response.http_version)
        self._has_response = True
        if response.status_code == _SWITCHING_PROTOCOLS:
            return await self._relay(response)
        await self._refuse(response)
        return None

    async def _relay(self, response: httpx2.Response) -> Failure | None:
        """Pass messages both ways; return why it ended, or None if one side closed it properly."""
        headers = [item for item in forwarded_headers(response.headers.raw) if not _is_handshake(item[0])]
        session = AsyncWebSocketSession(
            response.extensions["network_stream"],
            max_message_size_bytes=MAX_MESSAGE_BYTES,
            keepalive_ping_interval_seconds=None,
            response=response,
        )
        await self._websocket.accept(session.subprotocol, headers)
        self._is_open = True
        async with session as upstream:
            relays = [asyncio.create_task(self._pass_down(upstream)), asyncio.create_task(self._pass_up(upstream))]
            try:
                ended, _ = await asyncio.wait(relays, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for relay in relays:
                    relay.cancel()
                await asyncio.wait(relays)
        if self._websocket.client_state is WebSocketState.CONNECTED:
            await self._websocket.close(*self._client_close)
        failures = [relay.result() for relay in ended]
        return None if None in failures else failures[0]

    async def _pass_down(self, upstream: AsyncWebSocketSession) -> Failure | None:
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
            self._client_close = _sendable(closed.code), closed.reason
            await upstream.close(*self._client_close)
            return None
        except (HTTPXWSException, LocalProtocolError):
            return _UPSTREAM_GONE
        except ClientDisconnect:
            return CLIENT_GONE

    async def _pass_up(self, upstream: AsyncWebSocketSession) -> Failure | None:
        """Pass messages of the client to the upstream, and its close at the end."""
        try:
            while True:
                message = await self._websocket.receive()
                if message["type"] == "websocket.disconnect":
                    return await self._close_upstream(upstream, message)
                self._sent += 1
                if (text := message.get("text")) is not None:
                    await upstream.send_text(text)
                else:
                    await upstream.send_bytes(message.get("bytes") or b"")
        except (HTTPXWSException, LocalProtocolError):
            return _UPSTREAM_GONE

    async def _close_upstream(self, upstream: AsyncWebSocketSession, message: Any) -> Failure | None:
        if "reason" in message:
            await upstream.close(_sendable(message["code"]), message["reason"] or None)
            return None
        # The client has not closed the WebSocket: its connection is lost, or the server stops.
        await upstream.close(CloseReason.GOING_AWAY)
        return RECORDER_STOPPED if message["code"] == CloseReason.SERVICE_RESTART else CLIENT_GONE

    async def _refuse(self, response: httpx2.Response) -> None:
        """Pass on the answer of an upstream that does not accept the WebSocket."""
        headers = forwarded_headers(response.headers.raw)
        await self._websocket.send(
            {"type": "websocket.http.response.start", "status": response.status_code, "headers": headers}
        )
        async for chunk in response.aiter_raw():
            self._exchange.receive(chunk)
            await self._websocket.send({"type": "websocket.http.response.body", "body": chunk, "more_body": True})
        self._log(None)
        await self._websocket.send({"type": "websocket.http.response.body", "body": b""})

    async def _answer(self, failure: Failure) -> None:
        await self._websocket.send({"type": "websocket.http.response.start", "status": failure.status, "headers": []})
        await self._websocket.send({"type": "websocket.http.response.body", "body": failure.message.encode()})

    def _log(self, failure: Failure | None) -> None:
        exchange, self._exchange = self._exchange, Unrecorded()
        if isinstance(exchange, Unrecorded):
            return
        if self._is_open:
            exchange.note_websocket(self._sent, self._received)
        finished = exchange.finish() if failure is None else exchange.abort(failure.kind, failure.message)
        self._watcher.finished(finished)


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
    """Return a code that can be sent: some only say how a connection ended, and 1005 that there was no code."""
    if code == CloseReason.NO_STATUS_RCVD:
        return CloseReason.NO_STATUS_RCVD
    return CloseReason.GOING_AWAY if code in {CloseReason.ABNORMAL_CLOSURE, CloseReason.TLS_HANDSHAKE_FAILED} else code
