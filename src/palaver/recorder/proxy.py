"""The reverse proxy: it decides which upstream a request goes to, whether it may, and whether it is logged."""

import hmac
import random
import re
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote_to_bytes

import httpx2
from starlette.routing import Router
from starlette.websockets import WebSocket

from palaver.errors import OptionError
from palaver.recorder.addresses import is_loopback
from palaver.recorder.connections import Connections
from palaver.recorder.http_relay import (
    HAS_QUERY,
    Destination,
    HttpRelay,
    Message,
    RawHeaders,
    Unrecorded,
    send_error,
)
from palaver.recorder.settings import ProxySettings, Watcher
from palaver.recorder.upstreams import Upstream
from palaver.recorder.websockets import WebSocketRelay
from palaver.redact.policy import mask_url
from palaver.redact.text import mask_error
from palaver.streams.exchange import Exchange
from palaver.streams.exchange_log import ExchangeLog

TOKEN_HEADER = b"x-palaver-token"
_PORT = re.compile(r":[0-9]*$")


class Proxy:
    """Forwards requests to their upstreams and logs the exchanges; `application` is what a server runs."""

    def __init__(
        self, upstreams: Sequence[Upstream], log: ExchangeLog, settings: ProxySettings, watcher: Watcher
    ) -> None:
        self._upstreams = sorted(upstreams, key=lambda upstream: len(upstream.prefix), reverse=True)
        self._log = log
        self._settings = settings
        self._watcher = watcher
        tls = _tls_context(settings)
        self._connections = {upstream.name: Connections(tls, settings.timeout_s, http2=True) for upstream in upstreams}
        # A WebSocket begins with an upgrade, which HTTP/2 does not have.
        self._websocket_connections = Connections(tls, settings.timeout_s, http2=False)
        # Without routes, the default gets everything: no pattern of Starlette matches every path.
        self.application = Router(default=self, lifespan=self._lifespan)

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        """Relay one request or WebSocket."""
        try:
            path, refusal = self._admitted_path(scope)
            upstream = None if refusal else self._upstream_of(path)
            if upstream is None:
                await _refuse(scope, send, *(refusal or (404, self._places())))
                return
            await self._relay(scope, receive, send, upstream, path.removeprefix(upstream.prefix))
        except Exception as error:  # noqa: BLE001 - a defect of ours must not end the recorder
            self._watcher.failed(f"{type(error).__name__}: {mask_error(str(error))}")

    @asynccontextmanager
    async def _lifespan(self, _: object) -> AsyncGenerator[None]:
        yield
        for connections in (*self._connections.values(), self._websocket_connections):
            await connections.close()

    async def _relay(self, scope: Message, receive: Any, send: Any, upstream: Upstream, path: str) -> None:
        query = scope["query_string"].decode("latin-1")
        below = f"{path}{'?' if query or scope.get(HAS_QUERY) else ''}{query}"
        scope["headers"] = self._without_token(scope["headers"])
        exchange = self._exchange(scope, upstream, path, below)
        destination = Destination(upstream.url, below)
        if scope["type"] == "websocket":
            scope["subprotocols"] = [each for each in scope["subprotocols"] if not self._holds_token(each.encode())]
            websocket = WebSocket(scope, receive, send)
            await WebSocketRelay(websocket, exchange, self._watcher).run(self._websocket_connections, destination)
        else:
            connections = self._connections[upstream.name]
            await HttpRelay(scope, receive, send, exchange, self._watcher).run(connections, destination)

    def _exchange(self, scope: Message, upstream: Upstream, path: str, below: str) -> Exchange | Unrecorded:
        """Begin to record, unless the settings leave this exchange out."""
        settings = self._settings
        is_sampled = settings.sample >= 1 or random.random() < settings.sample  # noqa: S311 - no secret hangs on it
        if not is_sampled or not settings.wants(path):
            return Unrecorded()
        headers = [
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"] if name != b"host"
        ]
        method = scope.get("method", "GET")
        exchange = self._log.start(method, f"{upstream.url}{below}", headers, upstream=upstream.name)
        self._watcher.started(exchange.request_id, method, mask_url(path))
        return exchange

    def _admitted_path(self, scope: Message) -> tuple[str, tuple[int, str] | None]:
        """Return the path without the token, and why the request may not pass, if it may not."""
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        if not (token := self._settings.token):
            host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
            # Pages on the web can have names that resolve to this machine.
            is_local = not host or is_loopback(_PORT.sub("", host).strip("[]"))
            return path, None if is_local else (421, f"requests must name this machine, not {host!r}")
        stated = next((value for name, value in scope["headers"] if name == TOKEN_HEADER), b"")
        first, _, rest = path[1:].partition("/")
        is_first = hmac.compare_digest(unquote_to_bytes(first.encode("latin-1")), token.encode())
        if not is_first and not hmac.compare_digest(stated, token.encode()):
            return path, (401, "this recorder needs its token, in the header x-palaver-token or first in the path")
        path = f"/{rest}" if is_first else path
        if self._holds_token(path.encode("latin-1")) or self._holds_token(scope["query_string"]):
            return path, (400, "the token goes no further: send it in the header x-palaver-token or first in the path")
        return path, None

    def _holds_token(self, text: bytes) -> bool:
        token = self._settings.token.encode()
        return bool(token) and token in unquote_to_bytes(text)

    def _without_token(self, headers: RawHeaders) -> RawHeaders:
        """Return the headers without those that hold the token; it is also part of the address, as in `referer`."""
        return [(name, value) for name, value in headers if name != TOKEN_HEADER and not self._holds_token(value)]

    def _upstream_of(self, path: str) -> Upstream | None:
        for upstream in self._upstreams:
            if path.startswith(f"{upstream.prefix}/") or (upstream.prefix and path == upstream.prefix):
                return upstream
        return None

    def _places(self) -> str:
        prefixes = ", ".join(sorted(upstream.prefix or "/" for upstream in self._upstreams))
        return f"nothing is forwarded from this path; paths begin with {prefixes}"


async def _refuse(scope: Message, send: Any, status: int, message: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.http.response.start", "status": status, "headers": []})
        await send({"type": "websocket.http.response.body", "body": message.encode()})
    else:
        await send_error(send, status, message)


def _tls_context(settings: ProxySettings) -> ssl.SSLContext:
    """Return what checks the certificates of upstreams: the system's authorities, and those of a file."""
    context = httpx2.create_ssl_context()
    if settings.ca is not None:
        try:
            context.load_verify_locations(settings.ca)
        except OSError as error:
            reason = "it holds no certificate as PEM" if isinstance(error, ssl.SSLError) else error.strerror
            raise OptionError(f"--ca: cannot read certificates from {settings.ca}: {reason}") from error
    return context
