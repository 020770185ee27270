"""A transport that records what passes through another one of httpx or httpx2, synchronous or asynchronous.

A client calls its transport once for each request that it sends, so that every redirect and every retry is an exchange
of its own. Bodies are recorded in pieces as they pass, in their content encoding. Neither library is imported here: the
classes of the inner transport show which one is in use, and its streams have to be of the same.
"""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any, Protocol

from palaver.api.exchange import Exchange

_LIBRARIES = ("httpx", "httpx2")


class Log(Protocol):
    def start(self, method: str, url: str, headers: Any, *, upstream: str = "") -> Exchange: ...


def recording_transport(log: Log, inner: Any) -> Any:
    """Return a transport that records to a log what passes through the inner one.

    Raises:
        TypeError: The inner transport is of neither library.
    """
    library = _library_of(inner)
    is_sync = library is not None and isinstance(inner, library.BaseTransport)
    is_async = library is not None and isinstance(inner, library.AsyncBaseTransport)
    if library is None or not (is_sync or is_async):
        raise TypeError(f"a transport of httpx or httpx2 is needed, such as httpx2.HTTPTransport(), not {inner!r}")
    return _transport_class(library, is_sync=is_sync, is_async=is_async)(log, inner, library)


class _Transport:
    def __init__(self, log: Log, inner: Any, library: ModuleType) -> None:
        self._log = log
        self._inner = inner
        self._library = library

    def _start(self, request: Any) -> Exchange:
        headers = request.headers.multi_items()
        return self._log.start(request.method, str(request.url), headers, upstream=request.url.host)

    def _passed_on(self, request: Any, stream: Any) -> Any:
        """Return a copy of a request with another stream: the client may send the original once more."""
        return self._library.Request(
            request.method, request.url, headers=request.headers, stream=stream, extensions=request.extensions
        )

    def _respond(self, exchange: Exchange, response: Any) -> None:
        version = response.extensions.get("http_version", b"HTTP/1.1").decode("ascii", "replace")
        exchange.respond(response.status_code, response.headers.multi_items(), http_version=version, more_to_send=True)

    def _passed_back(self, response: Any, stream: Any) -> Any:
        return self._library.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )


class _SyncTransport(_Transport):
    def __enter__(self) -> Any:
        self._inner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._inner.__exit__(*error)

    def handle_request(self, request: Any) -> Any:
        stream = _stream_class(self._library, _SyncStream, "SyncByteStream")
        exchange = self._start(request)
        try:
            sent = stream(_sent(exchange, request.stream), _nothing)
            response = self._inner.handle_request(self._passed_on(request, sent))
        except BaseException as error:
            exchange.end(error)
            raise
        self._respond(exchange, response)

        def close() -> None:
            _stop(exchange)
            response.stream.close()

        return self._passed_back(response, stream(exchange.record(response.stream), close))

    def close(self) -> None:
        self._inner.close()


class _AsyncTransport(_Transport):
    async def __aenter__(self) -> Any:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._inner.__aexit__(*error)

    async def handle_async_request(self, request: Any) -> Any:
        stream = _stream_class(self._library, _AsyncStream, "AsyncByteStream")
        exchange = self._start(request)
        try:
            sent = stream(_sent_async(exchange, request.stream), _nothing_async)
            response = await self._inner.handle_async_request(self._passed_on(request, sent))
        except BaseException as error:
            exchange.end(error)
            raise
        self._respond(exchange, response)

        async def close() -> None:
            _stop(exchange)
            await response.stream.aclose()

        return self._passed_back(response, stream(exchange.record_async(response.stream), close))

    async def aclose(self) -> None:
        await self._inner.aclose()


class _SyncStream:
    def __init__(self, chunks: Iterator[bytes], close: Callable[[], None]) -> None:
        self._chunks = chunks
        self._close = close

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def close(self) -> None:
        self._close()


class _AsyncStream:
    def __init__(self, chunks: AsyncIterator[bytes], close: Callable[[], Awaitable[None]]) -> None:
        self._chunks = chunks
        self._close = close

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def aclose(self) -> None:
        await self._close()


def _sent(exchange: Exchange, chunks: Any) -> Iterator[bytes]:
    try:
        for chunk in chunks:
            _send(exchange, chunk)
            yield chunk
    except Exception:
        _abort(exchange)
        raise
    exchange.end_request()


async def _sent_async(exchange: Exchange, chunks: Any) -> AsyncIterator[bytes]:
    try:
        async for chunk in chunks:
            _send(exchange, chunk)
            yield chunk
    except Exception:
        _abort(exchange)
        raise
    exchange.end_request()


def _send(exchange: Exchange, chunk: bytes) -> None:
    if not exchange.is_finished:  # a client may have gone away from an answer that came before the request had ended
        exchange.send(chunk)


def _abort(exchange: Exchange) -> None:
    """Write an exchange whose client has failed to give all of the request."""
    if not exchange.is_finished:
        exchange.abort("client_aborted", "the body of the request broke off")


def _stop(exchange: Exchange) -> None:
    if not exchange.is_finished:
        exchange.stop()


def _nothing() -> None: ...


async def _nothing_async() -> None: ...


def _library_of(inner: Any) -> ModuleType | None:
    packages = [each.__module__.partition(".")[0] for each in type(inner).__mro__]
    return next((sys.modules[package] for package in packages if package in _LIBRARIES), None)


@cache
def _transport_class(library: Any, *, is_sync: bool, is_async: bool) -> Any:
    """Return a class that its library takes for one of its transports."""
    ours = [_SyncTransport] * is_sync + [_AsyncTransport] * is_async
    theirs = [library.BaseTransport] * is_sync + [library.AsyncBaseTransport] * is_async
    return type("RecordingTransport", (*ours, *theirs), {})


@cache
def _stream_class(library: Any, ours: type, theirs: str) -> Any:
    """Return a class that its library takes for one of its streams."""
    return type("RecordedStream", (ours, getattr(library, theirs)), {})
