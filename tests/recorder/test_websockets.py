"""WebSockets pass in both directions, and the log has their number only."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import pytest
import trustme
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Close
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from recorder.conftest import Stage
from recorder.running import Recorder, files_under
from recorder.upstream import DEADLINE_S, refusing_url, server_context
from recorder.wire import Wire

TOKEN = "a-token-of-this-test"  # noqa: S105 - an invented one
SECRETS = {"authorization": "Bearer sk-websocket-secret-1", "openai-organization": "org-x"}


class Far:
    """The far end of WebSockets: what it got, and how the last one was closed there."""

    def __init__(self, behave: Callable[[ServerConnection], None] | None = None, **settings: Any) -> None:
        self._behave = behave or self._echo
        self.got: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.closed: tuple[Close | None, Close | None] | None = None
        """The close frames received and sent."""
        self.is_closed = threading.Event()
        self._server: Server = serve(self._handle, "127.0.0.1", 0, **settings)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        origin = "https://localhost" if settings.get("ssl") else "http://127.0.0.1"
        self.url = f"{origin}:{self._server.socket.getsockname()[1]}"

    def close(self) -> None:
        self._server.shutdown()

    def _handle(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        self.headers.append({name.lower(): value for name, value in connection.request.headers.raw_items()})
        self.paths.append(connection.request.path)
        try:
            self._behave(connection)
        except ConnectionClosed as closed:
            self.closed = closed.rcvd, closed.sent
        finally:
            self.is_closed.set()

    def _echo(self, connection: ServerConnection) -> None:
        while True:
            self.got.append(connection.recv())
            connection.send(self.got[-1])


@contextmanager
def far_end(behave: Callable[[ServerConnection], None] | None = None, **settings: Any) -> Iterator[Far]:
    far = Far(behave, **settings)
    try:
        yield far
    finally:
        far.close()


def open_websocket(recorder: Recorder, target: str = "/v1/realtime?model=gpt-x", **settings: Any) -> ClientConnection:
    return connect(f"ws{recorder.url.removeprefix('http')}{target}", open_timeout=DEADLINE_S, proxy=None, **settings)


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["ws", "wss"])
def test_messages_pass_both_ways(stage: Stage, authority: trustme.CA, is_encrypted: bool) -> None:
    sent = ["Grüße", b"\x00\xff", "", b"", "x" * 300_000, ["in ", "three ", "pieces"], [b"a", b"b"]]
    whole = ["".join(each) if isinstance(each, list) and isinstance(each[0], str) else each for each in sent]
    whole[-1] = b"ab"
    context = server_context(authority, "http/1.1") if is_encrypted else None
    with far_end(subprotocols=[Subprotocol("realtime")], ssl=context) as far, stage.recorder(far.url) as recorder:
        asked = [Subprotocol("other"), Subprotocol("realtime")]
        with open_websocket(recorder, subprotocols=asked, additional_headers=SECRETS) as client:
            assert client.subprotocol == "realtime"
            for message, expected in zip(sent, whole, strict=True):
                client.send(message)
                assert client.recv(DEADLINE_S) == expected
            assert client.ping().wait(DEADLINE_S), "a ping is answered"
        (line,) = recorder.lines()
    assert far.got == whole
    assert far.paths == ["/v1/realtime?model=gpt-x"]
    assert far.headers[0]["authorization"] == SECRETS["authorization"]
    assert line["websocket"] == {"sent_messages": len(sent), "received_messages": len(sent)}
    assert line["response"]["status_code"] == HTTPStatus.SWITCHING_PROTOCOLS
    assert line["request"]["url"] == f"{far.url}/v1/realtime?model=[masked]"
    assert "error" not in line
    written = files_under(stage.folder)
    assert b"pieces" not in written
    assert b"websocket-secret" not in written


@pytest.mark.parametrize(("code", "reason"), [(1000, ""), (1001, "going"), (4001, "because of this"), (None, "")])
def test_the_close_of_the_client_passes(stage: Stage, code: int | None, reason: str) -> None:
    with far_end() as far, stage.recorder(far.url) as recorder:
        with open_websocket(recorder) as client:
            client.send("one")
            assert client.recv(DEADLINE_S) == "one"
            _close(client, code, reason)
        assert far.is_closed.wait(DEADLINE_S)
        (line,) = recorder.lines()
    assert far.closed is not None
    assert far.closed[0] == Close(1005 if code is None else code, reason)
    assert "error" not in line
    assert line["websocket"] == {"sent_messages": 1, "received_messages": 1}


@pytest.mark.parametrize(("code", "reason"), [(1000, ""), (1011, "overloaded"), (4001, "because"), (None, "")])
def test_the_close_of_the_upstream_passes(stage: Stage, code: int | None, reason: str) -> None:
    def close(connection: ServerConnection) -> None:
        connection.send("last")
        _close(connection, code, reason)
        connection.recv()

    with far_end(close) as far, stage.recorder(far.url) as recorder:
        with open_websocket(recorder) as client:
            assert client.recv(DEADLINE_S) == "last"
            with pytest.raises(ConnectionClosed) as closed:
                client.recv(DEADLINE_S)
        assert far.is_closed.wait(DEADLINE_S)
        (line,) = recorder.lines()
    assert closed.value.rcvd == Close(1005 if code is None else code, reason)
    assert far.closed is not None
    assert far.closed[0] == Close(1005 if code is None else code, reason), "the close is returned"
    assert "error" not in line
    assert line["websocket"] == {"sent_messages": 0, "received_messages": 1}


def _close(connection: ClientConnection | ServerConnection, code: int | None, reason: str) -> None:
    if code is not None:
        connection.close(code, reason)
        return
    with connection.send_context():
        connection.protocol.send_close()


def test_a_client_that_is_lost_is_noted(stage: Stage) -> None:
    with far_end() as far, stage.recorder(far.url) as recorder, open_websocket(recorder) as client:
        client.send("one")
        assert client.recv(DEADLINE_S) == "one"
        client.socket.shutdown(socket.SHUT_RDWR)
        assert far.is_closed.wait(DEADLINE_S)
        (line,) = recorder.lines()
    assert line["error"]["type"] == "client_aborted"
    assert far.closed is not None
    assert far.closed[0] == Close(1001, "")


def test_an_upstream_that_is_lost_is_noted(stage: Stage) -> None:
    def lose(connection: ServerConnection) -> None:
        connection.send("one")
        connection.socket.shutdown(socket.SHUT_RDWR)

    with far_end(lose) as far, stage.recorder(far.url) as recorder:
        with open_websocket(recorder) as client:
            assert client.recv(DEADLINE_S) == "one"
            with pytest.raises(ConnectionClosed) as closed:
                client.recv(DEADLINE_S)
        (line,) = recorder.lines()
    assert closed.value.rcvd == Close(1011, "the upstream broke off")
    assert line["error"]["type"] == "upstream_aborted"
    assert line["websocket"] == {"sent_messages": 0, "received_messages": 1}


def test_a_websocket_that_is_open_when_the_recorder_stops_is_noted(stage: Stage) -> None:
    with far_end() as far, stage.recorder(far.url) as recorder:
        with open_websocket(recorder) as client:
            client.send("one")
            assert client.recv(DEADLINE_S) == "one"
            recorder.server.stop(0)
            with pytest.raises(ConnectionClosed):
                client.recv(DEADLINE_S)
        (line,) = recorder.lines()
    assert line["error"]["type"] == "recorder_stopped"


def test_a_refusal_passes(stage: Stage) -> None:
    body = b'{"error": {"message": "no such model"}}'
    upstream = stage.upstream(lambda call: call.answer(404, body, ("x-request-id", "r1")))
    with stage.recorder(upstream) as recorder:
        with pytest.raises(InvalidStatus) as refused:
            open_websocket(recorder)
        (line,) = recorder.lines()
    answer = refused.value.response
    assert (answer.status_code, answer.body, answer.headers["x-request-id"]) == (404, body, "r1")
    assert line["response"]["status_code"] == HTTPStatus.NOT_FOUND
    assert line["response"]["body"] == {"error": {"message": "no such model"}}
    assert "websocket" not in line


def test_an_upstream_that_is_not_there_is_reported(stage: Stage) -> None:
    with refusing_url() as url, stage.recorder(url) as recorder:
        with pytest.raises(InvalidStatus) as refused:
            open_websocket(recorder)
        (line,) = recorder.lines()
    assert refused.value.response.status_code == HTTPStatus.BAD_GATEWAY
    assert line["error"]["type"] == "upstream_unreachable"


def test_a_client_that_goes_away_during_the_handshake_is_noted(stage: Stage) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def hesitate(*_: Any) -> None:
        asked.set()
        assert go_on.wait(DEADLINE_S)

    handshake = "GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    handshake += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    with far_end(process_request=hesitate) as far, stage.recorder(far.url) as recorder:
        with Wire(recorder.address) as client:
            client.send(handshake.encode())
            assert asked.wait(DEADLINE_S)
            client.reset()
        go_on.set()
        (line,) = recorder.lines()
    assert line["error"]["type"] == "client_aborted"


def test_a_websocket_needs_the_token(stage: Stage) -> None:
    with far_end() as far, stage.recorder(far.url, token=TOKEN) as recorder:
        for target, headers in (("/v1", {}), ("/wrong/v1", {}), ("/v1", {"x-palaver-token": "wrong"})):
            with pytest.raises(InvalidStatus) as refused:
                open_websocket(recorder, target, additional_headers=headers)
            assert refused.value.response.status_code == HTTPStatus.UNAUTHORIZED
        assert far.paths == []
        for target, headers in ((f"/{TOKEN}/v1", {}), ("/v1", {"x-palaver-token": TOKEN})):
            with open_websocket(recorder, target, additional_headers=headers) as client:
                client.send("one")
                assert client.recv(DEADLINE_S) == "one"
        recorder.lines(2)
    assert far.paths == ["/v1", "/v1"]
    assert TOKEN not in str(far.headers)
    assert TOKEN.encode() not in files_under(stage.folder)
