"""A real upstream on loopback, in whose answers a test decides every byte, every border and every pause.

Each connection has a thread that blocks, so that a handler reads as a list of what happens: `call.respond(200, …)`,
`call.send(…)`, wait for the test, `call.send(…)`, `call.reset()`. HTTP/1.1 is written by hand, HTTP/2 with `h2`.
"""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import trustme
from hyperframe.frame import GoAwayFrame

Headers = list[tuple[bytes, bytes]]
DEADLINE_S = 20.0
"""How long anything may take that a test waits for."""
_BLOCK_BYTES = 1 << 16
_MAX_STREAM_ID = (1 << 31) - 1


class Gate:
    """Holds one side back until the other one opens it."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def open(self) -> None:
        self._event.set()

    def wait(self) -> None:
        assert self._event.wait(DEADLINE_S), "this gate was never opened"

    def opens_within(self, seconds: float) -> bool:
        """Wait for at most this long, and return whether it is open."""
        return self._event.wait(seconds)


class PeerGoneError(Exception):
    """The other side has closed the connection or reset the stream."""


class Call:
    """A request with the means to answer it; the subclasses know the protocol."""

    http_version: str
    method: str
    target: bytes
    headers: Headers

    def __init__(self) -> None:
        self.body = b""
        """What `read` and `read_all` have returned."""

    def values(self, name: str) -> list[str]:
        return [value.decode("latin-1") for key, value in self.headers if key.lower() == name.encode()]

    def read(self) -> bytes:
        """Wait for the next piece of the body and return it, or b"" at its end."""
        piece = self._read()
        self.body += piece
        return piece

    def read_all(self) -> bytes:
        while self.read():
            pass
        return self.body

    def answer(self, status: int, body: bytes = b"", *headers: tuple[str, str], media_type: str = "application/json"):
        """Read the request to its end and send a whole response."""
        self.read_all()
        self.respond(status, ("content-type", media_type), *headers, ("content-length", str(len(body))))
        if body:
            self.send(body)
        self.end()

    def stream(self, pieces: Any, *headers: tuple[str, str], media_type: str = "text/event-stream"):
        """Read the request to its end and send a response in pieces."""
        self.read_all()
        self.respond(200, ("content-type", media_type), *headers)
        for piece in pieces:
            self.send(piece)
        self.end()

    def _read(self) -> bytes:
        raise NotImplementedError

    def respond(self, status: int, *headers: tuple[str, str]) -> None:
        """Send the head of the response; without a length, the body of HTTP/1.1 is chunked."""
        raise NotImplementedError

    def send(self, piece: bytes) -> None:
        """Send a piece of the response's body, which is a chunk or a frame of its own."""
        raise NotImplementedError

    def end(self) -> None:
        """End the response."""
        raise NotImplementedError

    def wait_until_gone(self) -> bool:
        """Wait until the client gives the call up; return whether it does."""
        raise NotImplementedError

    def reset(self) -> None:
        """Break off: the connection is reset, of HTTP/2 only the stream."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection, whatever has been sent."""
        raise NotImplementedError


Handler = Callable[[Any], None]


class Upstream:
    """Listens until it is closed; `handler` answers every call."""

    def __init__(self, handler: Handler, *, authority: trustme.CA | None = None, http2: bool = False) -> None:
        self.handler = handler
        self.calls: list[Call] = []
        """All calls so far."""
        self.errors: list[BaseException] = []
        """What handlers have raised."""
        self._http2 = http2
        self._tls = None if authority is None else server_context(authority, "h2" if http2 else "http/1.1")
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.connection_count = 0
        host = "127.0.0.1" if authority is None else "localhost"
        self.url = f"http{'s' if authority else ''}://{host}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_connections()
        if error is None:
            assert not self.errors, self.errors

    def drop_connections(self) -> None:
        """Close every connection."""
        with self._lock:
            open_connections = list(self._connections)
        for connection in open_connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connection_count += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(DEADLINE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._connections.add(connection)
        try:
            if self._tls is not None:
                plain, connection = connection, self._tls.wrap_socket(connection, server_side=True)
                with self._lock:
                    self._connections.discard(plain)
                    self._connections.add(connection)
            for call in _http2_calls(connection) if self._http2 else _http1_calls(connection):
                self.calls.append(call)
                self.handler(call)
        except (PeerGoneError, OSError, ssl.SSLError):
            pass
        except BaseException as error:  # noqa: BLE001 - reported by the test that owns the upstream
            self.errors.append(error)
        finally:
            with self._lock:
                self._connections.discard(connection)
            with suppress(OSError):
                connection.close()


@contextmanager
def refusing_url() -> Iterator[str]:
    """Yield a URL at which nothing listens, nor begins to."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{reserved.getsockname()[1]}"


def server_context(authority: trustme.CA, protocol: str) -> ssl.SSLContext:
    """Return the means to prove to be `localhost`, and to agree on a protocol."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    context.set_alpn_protocols([protocol])
    return context


class Http1Call(Call):
    """A call by HTTP/1.1; `connection` can send what no protocol allows."""

    http_version = "HTTP/1.1"

    def __init__(self, connection: socket.socket, head: bytes, rest: bytes) -> None:
        super().__init__()
        self.connection = connection
        first, *lines = head.split(b"\r\n")
        method, self.target, _ = first.split(b" ")
        self.method = method.decode()
        self.headers = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
        self.rest = rest
        self._left = int((self.values("content-length") or ["0"])[0])
        self._is_chunked = "chunked" in self.values("transfer-encoding")
        self._sends_chunks = False

    def _read(self) -> bytes:
        if self._is_chunked:
            while b"\r\n" not in self.rest:
                self._fill()
            size = int(self.rest[: self.rest.index(b"\r\n")], 16)
            start = self.rest.index(b"\r\n") + 2
            while len(self.rest) < start + size + 2:
                self._fill()
            piece = self.rest[start : start + size]
            self.rest = self.rest[start + size + 2 :]
            self._is_chunked = size > 0
            return piece
        if not self._left:
            return b""
        if not self.rest:
            self._fill()
        piece, self.rest = self.rest[: self._left], self.rest[self._left :]
        self._left -= len(piece)
        return piece

    def _fill(self) -> None:
        got = self.connection.recv(_BLOCK_BYTES)
        if not got:
            raise PeerGoneError
        self.rest += got

    def respond(self, status: int, *headers: tuple[str, str]) -> None:
        names = {name for name, _ in headers}
        self._sends_chunks = "content-length" not in names and self.method != "HEAD" and status not in {101, 204, 304}
        framing = [("transfer-encoding", "chunked")] if self._sends_chunks else []
        lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in (*headers, *framing)), "", ""]
        self.connection.sendall("\r\n".join(lines).encode("latin-1"))

    def send(self, piece: bytes) -> None:
        self.connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if self._sends_chunks else piece)

    def end(self) -> None:
        if self._sends_chunks:
            self.connection.sendall(b"0\r\n\r\n")

    def wait_until_gone(self) -> bool:
        try:
            while self.connection.recv(_BLOCK_BYTES):
                pass
        except TimeoutError:
            return False
        except OSError:
            return True
        return True

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        self.connection.close()
        raise PeerGoneError


def _http1_calls(connection: socket.socket) -> Iterator[Http1Call]:
    rest = b""
    while True:
        while b"\r\n\r\n" not in rest:
            got = connection.recv(_BLOCK_BYTES)
            if not got:
                return
            rest += got
        head, _, rest = rest.partition(b"\r\n\r\n")
        call = Http1Call(connection, head, rest)
        yield call
        call.read_all()
        rest = call.rest


class Http2Call(Call):
    """A call by HTTP/2."""

    http_version = "HTTP/2"

    def __init__(self, connection: "_Http2Connection", stream_id: int, headers: Headers) -> None:
        super().__init__()
        self._connection = connection
        self._stream_id = stream_id
        special = {name: value for name, value in headers if name.startswith(b":")}
        self.method = special[b":method"].decode()
        self.target = special[b":path"]
        self.headers = [(name, value) for name, value in headers if not name.startswith(b":")]

    def _read(self) -> bytes:
        return self._connection.next_piece(self._stream_id)

    def respond(self, status: int, *headers: tuple[str, str]) -> None:
        self._connection.h2.send_headers(self._stream_id, [(":status", str(status)), *headers])
        self._connection.flush()

    def send(self, piece: bytes) -> None:
        self._connection.send(self._stream_id, piece)

    def end(self) -> None:
        self._connection.h2.end_stream(self._stream_id)
        self._connection.flush()

    def wait_until_gone(self) -> bool:
        try:
            while not self._connection.is_reset(self._stream_id):
                self._connection.pump()
        except TimeoutError:
            return False
        except (PeerGoneError, OSError):
            return True
        return True

    def reset(self) -> None:
        self._connection.h2.reset_stream(self._stream_id, h2.errors.ErrorCodes.INTERNAL_ERROR)
        self._connection.flush()

    def close(self) -> None:
        self._connection.socket.close()
        raise PeerGoneError

    def refuse_rest(self) -> None:
        """Say that the rest of the request is not needed, which is no error."""
        self._connection.h2.reset_stream(self._stream_id, h2.errors.ErrorCodes.NO_ERROR)
        self._connection.flush()

    @property
    def is_first(self) -> bool:
        """Whether it is the first call on its connection."""
        return self._stream_id == 1

    def announce_end(self, *, is_early: bool = False) -> None:
        """Say that no further calls are taken on this connection; an early announcement does not name the last one."""
        frame = GoAwayFrame(last_stream_id=_MAX_STREAM_ID if is_early else self._stream_id)
        self._connection.socket.sendall(frame.serialize())

    def disown(self) -> None:
        """Close the connection, and say that this call was not processed."""
        self._connection.h2.close_connection(last_stream_id=self._stream_id - 2)
        self._connection.flush()
        self.close()


class _Http2Connection:
    """The state of one connection; its calls are answered one after the other."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding=None))
        self.requests: list[tuple[int, Headers]] = []
        self._pieces: dict[int, list[bytes]] = {}
        """The pieces of each request's body, b"" at the end."""
        self._reset: set[int] = set()
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        self.socket.sendall(self.h2.data_to_send())

    def is_reset(self, stream_id: int) -> bool:
        return stream_id in self._reset

    def next_piece(self, stream_id: int) -> bytes:
        while not self._pieces[stream_id]:
            if stream_id in self._reset:
                raise PeerGoneError
            self.pump()
        pieces = self._pieces[stream_id]
        return pieces.pop(0) if pieces[0] else b""

    def send(self, stream_id: int, piece: bytes) -> None:
        view = memoryview(piece)
        while view:
            if stream_id in self._reset:
                raise PeerGoneError
            size = min(self.h2.local_flow_control_window(stream_id), self.h2.max_outbound_frame_size)
            if size <= 0:
                self.pump()
                continue
            self.h2.send_data(stream_id, bytes(view[:size]))
            self.flush()
            view = view[size:]

    def pump(self) -> None:
        """Wait for bytes and take note of what they say."""
        got = self.socket.recv(_BLOCK_BYTES)
        if not got:
            raise PeerGoneError
        for event in self.h2.receive_data(got):
            match event:
                case h2.events.RequestReceived():
                    self.requests.append((event.stream_id, list(event.headers)))
                    self._pieces[event.stream_id] = []
                case h2.events.DataReceived():
                    if event.data:
                        self._pieces[event.stream_id].append(event.data)
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case h2.events.StreamEnded():
                    self._pieces[event.stream_id].append(b"")
                case h2.events.StreamReset():
                    self._reset.add(event.stream_id)
                case h2.events.ConnectionTerminated():
                    raise PeerGoneError
                case _:
                    pass
        self.flush()


def _http2_calls(connection: socket.socket) -> Iterator[Http2Call]:
    state = _Http2Connection(connection)
    while True:
        while not state.requests:
            state.pump()
        yield Http2Call(state, *state.requests.pop(0))
