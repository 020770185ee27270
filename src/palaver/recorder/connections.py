"""Connections to an upstream, of which every exchange in flight has one to itself.

HTTP/2 could carry many exchanges over one connection. But httpx2 cannot give up a single stream: the upstream would go
on sending, and a timeout or a cancelled write would end the other exchanges too. To close a connection that carries one
exchange ends just that one, and the upstream learns of it at once.
"""

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2

from palaver.recorder.http2 import use_http2_connections

CONNECT_TIMEOUT_S = 30.0
_MAX_IDLE = 20
_MAX_IDLE_S = 4.0
"""How long an idle connection may wait; many servers close theirs after 5 seconds, and a request would cross that."""


class _Idle(NamedTuple):
    client: httpx2.AsyncClient
    network_stream: Any


class Connections:
    """The connections to one upstream; those that are idle are used again."""

    def __init__(self, tls: ssl.SSLContext, timeout_s: float, *, http2: bool) -> None:
        self._tls = tls
        self._timeout = httpx2.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s))
        self._http2 = http2
        self._idle: list[_Idle] = []
        use_http2_connections()

    @asynccontextmanager
    async def send(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Response]:
        """Send a request; at the end, its connection is kept if the block has read the whole response, else closed."""
        client = await self._take()
        is_complete = False
        try:
            response = await client.send(request, stream=True, auth=None, follow_redirects=False)
            yield response
            await response.aclose()
            is_complete = True
            if len(self._idle) < _MAX_IDLE:
                self._idle.append(_Idle(client, response.extensions["network_stream"]))
            else:
                await client.aclose()
        finally:
            if not is_complete:
                await client.aclose()

    async def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.pop().client.aclose()

    async def _take(self) -> httpx2.AsyncClient:
        while self._idle:
            client, network_stream = self._idle.pop()
            # What comes over an idle connection is its end, or says that the end is near.
            if not network_stream.get_extra_info("is_readable"):
                return client
            await client.aclose()
        limits = httpx2.Limits(keepalive_expiry=_MAX_IDLE_S)
        return httpx2.AsyncClient(http2=self._http2, verify=self._tls, timeout=self._timeout, limits=limits)
