"""The server of the proxy: uvicorn in a thread of its own, so that the caller keeps its signals and its terminal."""

import asyncio
import logging
import socket
import sys
import threading
from typing import Any, Self

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from palaver.errors import OptionError
from palaver.recorder.http_relay import HALF_CLOSED, HAS_QUERY
from palaver.recorder.proxy import Proxy
from palaver.recorder.websockets import MAX_MESSAGE_BYTES

_BACKLOG = 2048
_THREAD_SWITCH_S = 0.0005
"""How long a thread that writes the log may keep the one that relays waiting."""

_SILENT_LOGGERS = ("uvicorn.error", "uvicorn.access", "httpx2", "httpcore2", "hpack")
"""Their messages have URLs and headers with all secrets; what went wrong is in the log of exchanges."""


class ProxyServer:
    """Listens from `start` to `stop`."""

    def __init__(self, proxy: Proxy, host: str, port: int) -> None:
        self._proxy = proxy
        self._host = host
        self._port = port
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self._switch_interval_s = sys.getswitchinterval()
        self.base_url = ""
        """Where it listens, once it does."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(0)

    def start(self) -> None:
        """Listen; return when requests are served.

        Raises:
            OptionError: The address cannot be listened on.
        """
        listener = self._listen()
        address = listener.getsockname()
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        self.base_url = f"http://{host}:{address[1]}"
        for name in _SILENT_LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._switch_interval_s = sys.getswitchinterval()
        sys.setswitchinterval(_THREAD_SWITCH_S)
        config = uvicorn.Config(
            self._proxy.application,
            http=_PatientProtocol,
            ws="wsproto",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            ws_max_size=MAX_MESSAGE_BYTES,
            ws_ping_interval=None,
            timeout_keep_alive=75,
        )
        self._server = _Server(config)
        self._thread = threading.Thread(target=self._server.serve_on, args=(listener,), daemon=True)
        self._thread.start()
        self._server.is_ready.wait()

    def stop(self, grace_s: float) -> None:
        """Stop listening; exchanges that go on get this much time, and are then logged as interrupted."""
        if self._server is None or self._thread is None:
            return
        self._server.config.timeout_graceful_shutdown = grace_s  # pyright: ignore[reportAttributeAccessIssue]
        self._server.should_exit = True
        self._thread.join()
        self._server = self._thread = None
        sys.setswitchinterval(self._switch_interval_s)

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        # Without the protocol's number, asyncio does not set TCP_NODELAY, and small pieces wait 40 ms for each other.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if sys.platform != "win32":
            # On Windows, this would let two programs listen on one port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self._host, self._port))
        except OSError as error:
            listener.close()
            place = f"{self._host}:{self._port}"
            raise OptionError(
                f"cannot listen on {place}: {error.strerror}: choose another address with --listen"
            ) from error
        return listener


class _Server(uvicorn.Server):
    """A server that signals when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = threading.Event()

    def serve_on(self, listener: socket.socket) -> None:
        try:
            self.run(sockets=[listener])
        finally:
            self.is_ready.set()
            listener.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_ready.set()


class _PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 that answers clients which have closed their side of the connection, or which offer another protocol."""

    _received = b""
    """What is being parsed."""

    def data_received(self, data: bytes) -> None:
        self._received = data
        super().data_received(data)
        self._received = b""

    def _unsupported_upgrade_warning(self) -> None:
        """Take a request that offers another protocol as one that does not; httptools has ended it before its body."""
        parser: Any = self.parser
        upgrade: Any = sys.exc_info()[1]
        (end_of_head,) = upgrade.args
        lines = [
            b"%b %b HTTP/1.1" % (parser.get_method(), self.url),
            *(b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"),
        ]
        self.data_received(b"\r\n".join([*lines, b"", self._received[end_of_head:]]))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        scope: Any = self.scope
        scope[HALF_CLOSED] = asyncio.Event()

    def on_headers_complete(self) -> None:
        scope: Any = self.scope
        scope[HAS_QUERY] = b"?" in self.url
        if self._offers_other_protocol():
            return
        super().on_headers_complete()
        # What comes after the body are trailers: they must not get among the headers of the scope.
        self.headers = list(self.headers)

    def on_message_complete(self) -> None:
        if not self._offers_other_protocol():
            super().on_message_complete()

    def _offers_other_protocol(self) -> bool:
        """Return whether a request can be answered by HTTP/1.1 or by another protocol that is not spoken here."""
        parser: Any = self.parser
        return parser.should_upgrade() and not self._should_upgrade() and parser.get_method() != b"CONNECT"

    def eof_received(self) -> Any:
        cycle: Any = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body:
            return None
        scope: Any = self.scope
        scope[HALF_CLOSED].set()
        cycle.keep_alive = False
        return True
