"""The public form of an exchange: it records an iterator of chunks as they pass, and ends itself however that ends."""

import logging
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Self

from palaver.model.build import JsonObject
from palaver.redact.text import mask_error
from palaver.streams import exchange
from palaver.streams.exchange import FinishedExchange

_LOGGER = logging.getLogger(__name__)
_UNREACHABLE = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "ProxyError", "UnsupportedProtocol", "gaierror"}
)
"""Classes of errors, of the standard library and of HTTP clients, that say that there was no connection."""


class Exchange(exchange.Exchange):
    """One request with its response; `ExchangeLog.start` begins it, and a `with` block ends it at the latest."""

    _is_passing = False
    """Whether `record` has more chunks to pass on."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self.is_finished:
            return
        if self._is_passing or (self.has_response and error is not None):
            self.stop()  # an error of the source ends the exchange in `record`
        else:
            self.end(error)

    def record(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Return an iterator over the chunks of the response's body that records each before it yields it.

        The exchange ends with the chunks: it is written as `upstream_aborted` or `timeout` if they end with an error,
        and as `client_aborted` if the caller stops reading before the last event.
        """
        self._begin_passing()
        return self._record(chunks)

    def record_async(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        """Return an asynchronous iterator that does what `record` does."""
        self._begin_passing()
        return self._record_async(chunks)

    def end(self, error: BaseException | None) -> None:
        """Write the exchange, unless that was done: as complete, or with the error that ended it."""
        if self.is_finished:
            return
        if error is None:
            self.finish()
        elif isinstance(error, Exception):
            reason = mask_error(str(error))
            self.abort(_kind_of(error), f"{type(error).__name__}: {reason}".removesuffix(": "))
        else:  # the client's task was cancelled, or it stopped reading
            self.stop()

    def _finish(self, error: JsonObject | None, timestamp: float | None) -> FinishedExchange:
        finished = super()._finish(error, timestamp)
        if finished.unwritten:
            _LOGGER.warning("an exchange could not be logged: %s", finished.unwritten)
        return finished

    def _record(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        try:
            for chunk in chunks:
                self.receive(chunk)
                yield chunk
        except BaseException as error:
            self.end(error)
            raise
        self.end(None)

    async def _record_async(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        try:
            async for chunk in chunks:
                self.receive(chunk)
                yield chunk
        except BaseException as error:
            self.end(error)
            raise
        self.end(None)

    def _begin_passing(self) -> None:
        if not self.has_response:
            raise ValueError("there is no response yet: call `respond` with its status and headers first")
        self._is_passing = True


def _kind_of(error: Exception) -> str:
    """Return what an error of the upstream is called in the log; clients have classes of their own for each."""
    names = {each.__name__ for each in type(error).__mro__}
    if names & _UNREACHABLE:
        return "upstream_unreachable"
    return "timeout" if any("Timeout" in name for name in names) else "upstream_aborted"
