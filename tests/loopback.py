"""An HTTP server on loopback that gives the answers a test wants, piece by piece, and keeps what it was asked."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

DEADLINE_S = 20
ABORT = object()
"""A piece of an answer: here the server resets the connection."""
SSE = {"content-type": "text/event-stream; charset=utf-8"}
JSON = {"content-type": "application/json"}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []}
EVENTS = [
    f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()
    for data in (
        {"type": "message_start", "message": {**MESSAGE, "usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Good morning."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    )
]


@dataclass
class Asked:
    """A request as the server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Answer:
    """A response: its pieces are sent one by one; an event among them is waited for."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[Any] = field(default_factory=list)


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    """How many connections may wait for a thread; with few, those of a hundred clients at once are reset."""


class Loopback:
    """The server; `answer` returns what each request gets."""

    def __init__(self, answer: Callable[[Asked], Answer]) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def streamed(*pieces: Any) -> Answer:
    return Answer(200, SSE, list(pieces or EVENTS))


def entries(folder: Path) -> list[dict[str, Any]]:
    """Every line of a log of exchanges, in the order of writing."""
    return [json.loads(line) for path in sorted(folder.glob("log-*.jsonl")) for line in path.read_bytes().splitlines()]


def event_types(entry: dict[str, Any]) -> list[str]:
    return [chunk["event_type"] for chunk in entry["response"]["streaming_details"]["chunks"]]


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _handler_of(loopback: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = b"".join(self._body())
            asked = Asked(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            loopback.asked.append(asked)
            answer = loopback.answer(asked)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                self._send(answer.pieces)
            except OSError:
                self.close_connection = True

        do_GET = do_POST = do_PUT = _serve  # noqa: N815 - the names that the server looks for

        def _send(self, pieces: list[Any]) -> None:
            for piece in pieces:
                if isinstance(piece, threading.Event):
                    assert piece.wait(DEADLINE_S), "the test never released the next piece"
                elif piece is ABORT:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                    raise ConnectionAbortedError
                else:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

        def _body(self) -> Iterator[bytes]:
            if self.headers.get("transfer-encoding", "") != "chunked":
                yield self.rfile.read(int(self.headers.get("content-length", 0)))
                return
            while size := int(self.rfile.readline() or b"0", 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()

        def log_message(self, *_: object) -> None: ...

    return Handler
