"""An addon for mitmproxy that records the requests to model APIs, with the time of every piece of a response.

mitmproxy calls the methods by their names. A response is passed on piece by piece, because mitmproxy would otherwise
hold a stream back until its end; its own views then show no body. Of the other traffic nothing is recorded. mitmproxy
pins older packages than palaver's extras need, so nothing beyond a plain installation is imported here.
"""

from collections.abc import Callable
from typing import Any

from palaver.api.exchange import Exchange
from palaver.importers.api_trace.endpoints import wire_of_url
from palaver.redact.text import mask_error
from palaver.streams.exchange_log import ExchangeLog

_RESET_BY_CLIENT = "stream reset by client"


class RecordingAddon:
    """Records flows; `ExchangeLog.mitmproxy_addon` creates it."""

    def __init__(self, log: ExchangeLog) -> None:
        self._log = log
        self._exchanges: dict[str, Exchange] = {}

    def requestheaders(self, flow: Any) -> None:
        """Begin an exchange, if the request asks a model."""
        request = flow.request
        if wire_of_url(request.pretty_url) is None:
            return
        headers = request.headers.items(multi=True)
        exchange = self._log.start(request.method, request.pretty_url, headers, upstream=request.pretty_host)
        assert isinstance(exchange, Exchange)
        self._exchanges[flow.id] = exchange

    def request(self, flow: Any) -> None:
        """Record the body of a request, which mitmproxy sends once it is complete."""
        if (exchange := self._exchanges.get(flow.id)) is not None:
            exchange.send(flow.request.raw_content or b"")
            exchange.end_request()

    def responseheaders(self, flow: Any) -> None:
        """Record the head of a response, and have its body passed on in pieces."""
        if (exchange := self._exchanges.get(flow.id)) is not None:
            _respond(exchange, flow.response)
            flow.response.stream = _recorder_of(exchange, flow.response.stream)

    def response(self, flow: Any) -> None:
        """Write the exchange to the log, before mitmproxy sends the end of the response to the client."""
        exchange = self._exchanges.get(flow.id)
        if exchange is None or flow.websocket is not None:
            return
        if not exchange.has_response:  # another addon has answered
            _respond(exchange, flow.response)
            exchange.receive(flow.response.raw_content or b"")
        self._exchanges.pop(flow.id).finish()

    def websocket_end(self, flow: Any) -> None:
        """Write how many messages passed over a WebSocket."""
        if (exchange := self._exchanges.pop(flow.id, None)) is not None:
            sent = sum(message.from_client for message in flow.websocket.messages)
            exchange.note_websocket(sent, len(flow.websocket.messages) - sent)
            exchange.finish()

    def error(self, flow: Any) -> None:
        """Write an exchange that was interrupted."""
        if (exchange := self._exchanges.pop(flow.id, None)) is None:
            return
        message: str = flow.error.msg
        if not flow.client_conn.connected or message.startswith(_RESET_BY_CLIENT):
            exchange.stop()
        elif exchange.has_response or _is_connected(flow.server_conn):
            exchange.abort("upstream_aborted", mask_error(message))
        else:
            exchange.abort("upstream_unreachable", mask_error(message))

    def done(self) -> None:
        """Write the exchanges that are still in flight, and close the log."""
        for exchange in self._exchanges.values():
            exchange.abort("recorder_stopped", "mitmproxy was stopped meanwhile")
        self._exchanges.clear()
        self._log.close()


def _respond(exchange: Exchange, response: Any) -> None:
    exchange.respond(
        response.status_code,
        response.headers.items(multi=True),
        http_version=response.http_version,
        timestamp=response.timestamp_start,
    )


def _recorder_of(exchange: Exchange, stream: Any) -> Callable[[bytes], Any]:
    """Return a function that records a piece, and then does with it what another addon wants, if there is one."""

    def record(chunk: bytes) -> Any:
        if not exchange.is_finished:
            exchange.receive(chunk)
        return stream(chunk) if callable(stream) else chunk

    return record


def _is_connected(connection: Any) -> bool:
    return connection.timestamp_tcp_setup is not None and (not connection.tls or connection.tls_established)
