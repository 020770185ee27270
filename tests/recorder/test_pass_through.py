"""What a client gets through the recorder is what the upstream sends, and the other way round, byte by byte."""

import gzip
import random
import zlib
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import brotli
import httpx2
import pytest
import zstandard

from cassettes import needs_samples
from palaver.streams.content_encoding import slices
from recorder.conftest import Stage
from recorder.upstream import Call, Http1Call
from recorder.wire import Wire
from stream_oracles import every_stream
from streaming import sse

BODY = b'{"model": "claude-x", "messages": []}'
ANSWER = b'{"id": "msg_1", "content": "Gr\xc3\xbc\xc3\x9fe"}'
EVENTS = sse(*({"type": "ping", "number": number, "text": "Grüße" * number} for number in range(20)))
CODINGS = {
    "gzip": gzip.compress(EVENTS),
    "deflate": zlib.compress(EVENTS),
    "br": brotli.compress(EVENTS),
    "zstd": zstandard.compress(EVENTS),
    "gzip, br": brotli.compress(gzip.compress(EVENTS)),
    "unheard-of": b"\x00\xff" * 40,
}
FRAMINGS = [b"content-length: 2\r\n\r\n{}", b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"]


def cut(body: bytes, seed: int = 0) -> Iterator[bytes]:
    """Cut a body at odd places: in the middle of events, of lines and of characters."""
    chance = random.Random(seed)
    start = 0
    while start < len(body):
        size = chance.choice([1, 2, 3, 7, 60, 900, 5_000])
        yield body[start : start + size]
        start += size


@needs_samples
def test_every_recorded_stream_passes_unchanged(stage: Stage, protocol: str) -> None:
    streams = every_stream()

    def play(call: Call) -> None:
        number = int(call.target[1:])
        call.stream(cut(streams[number].body, number))

    with stage.recorder(stage.upstream(play, protocol)) as recorder, httpx2.Client(base_url=recorder.url) as client:
        for number, stream in enumerate(streams):
            answer = client.post(f"/{number}", content=BODY)
            assert answer.content == stream.body, stream.name
        for stream, line, ended in zip(streams, recorder.lines(len(streams)), recorder.events.ended, strict=True):
            assert line["response"]["body_raw"].encode() == stream.body, stream.name
            assert ended.wire_format == stream.wire_format, stream.name
            assert line["response"]["http_version"] == ("HTTP/2" if protocol == "h2" else "HTTP/1.1")
    assert len(streams) > 100


def test_encoded_bodies_pass_encoded_and_are_logged_decoded(stage: Stage, protocol: str) -> None:
    def play(call: Call) -> None:
        (coding,) = call.values("accept-encoding")
        call.stream(cut(CODINGS[coding]), ("content-encoding", coding))

    with stage.recorder(stage.upstream(play, protocol)) as recorder, httpx2.Client() as client:
        for coding, encoded in CODINGS.items():
            with client.stream("POST", recorder.url, content=BODY, headers={"accept-encoding": coding}) as answer:
                assert b"".join(answer.iter_raw()) == encoded, coding
                assert answer.headers["content-encoding"] == coding
        *known, unknown = recorder.lines(len(CODINGS))
    for line in known:
        assert line["response"]["body_raw"].encode() == EVENTS
    assert unknown["response"]["body_base64"].startswith("AP8A")


def test_json_redirects_and_errors_pass_unchanged(stage: Stage, protocol: str) -> None:
    statuses = [200, 201, 302, 400, 401, 404, 413, 429, 500, 503, 529]
    headers = [("retry-after", "7"), ("x-several", "one"), ("location", "/b?c"), ("x-several", "two"), ("date", "now")]

    def reply(call: Call) -> None:
        call.answer(int(call.target[1:]), ANSWER, *headers)

    with stage.recorder(stage.upstream(reply, protocol)) as recorder, httpx2.Client(base_url=recorder.url) as client:
        for status in statuses:
            answer = client.post(f"/{status}", content=BODY)
            assert (answer.status_code, answer.content) == (status, ANSWER)
            assert answer.headers.multi_items() == [
                ("content-type", "application/json"),
                *headers,
                ("content-length", str(len(ANSWER))),
            ]
        logged = recorder.lines(len(statuses))
    assert [line["response"]["status_code"] for line in logged] == statuses
    for line in logged:
        assert line["response"]["body"] == {"id": "msg_1", "content": "Grüße"}
        assert "error" not in line


def test_the_target_of_a_request_passes_unchanged(stage: Stage, protocol: str) -> None:
    targets = [
        "/v1/messages?beta=true",
        "/v1/models/publishers%2Fgoogle%2Fmodels%2Fgemini:streamGenerateContent?alt=sse&x=%2B+%20%C3%BC&y=a%00b",
        "//a//b/../c/./d;e=1/%2e%2e/%7Euser?q=%5B1%5D&q=[2]&empty=&=x&&flag",
        '/a|b"c^d`{e}?f=|"{}^`<>',
        "/lines%0A%0Dand%00",
        "/no-query?",
        "/?",
        "/%",
        "/",
    ]
    upstream = stage.upstream(lambda call: call.answer(200, ANSWER), protocol)
    with stage.recorder(f"{upstream.url}/base%20path") as recorder, httpx2.Client() as client:
        for target in targets:
            request = httpx2.Request("GET", recorder.url, extensions={"target": target.encode()})
            assert client.send(request).status_code == HTTPStatus.OK
    assert [call.target for call in upstream.calls] == [b"/base%20path" + target.encode() for target in targets]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "HEAD"])
def test_methods_headers_and_bodies_of_requests_pass_unchanged(stage: Stage, protocol: str, method: str) -> None:
    headers = [
        ("accept", "*/*"),
        ("x-several", "one"),
        ("authorization", "Bearer abcdefgh"),
        ("x-several", "two"),
        ("user-agent", "Tést/1".encode("latin-1")),
        ("cookie", "a=b"),
    ]
    dropped = [("te", "trailers"), ("keep-alive", "5"), ("proxy-authorization", "Basic eDp5"), ("x-hop", "1")]
    body = b"" if method in {"GET", "HEAD", "OPTIONS"} else bytes(range(256)) * 40
    length = [("content-length", str(len(body)))] if body else []

    upstream = stage.upstream(lambda call: call.answer(200, b"" if method == "HEAD" else ANSWER), protocol)
    with stage.recorder(upstream) as recorder, httpx2.Client() as client:
        sent: Any = [*headers, *length, *dropped, ("connection", "keep-alive, X-Hop")]
        answer = client.send(httpx2.Request(method, recorder.url, headers=sent, content=body or None))
        recorder.lines()
    (call,) = upstream.calls
    assert answer.content == (b"" if method == "HEAD" else ANSWER)
    assert (call.method, call.body) == (method, body)
    expected = [(name.encode(), value if isinstance(value, bytes) else value.encode()) for name, value in headers]
    got = [(name.lower(), value) for name, value in call.headers]
    assert [pair for pair in got if pair[0] not in {b"host", b"content-length"}] == expected
    assert [value for name, value in got if name == b"content-length"] == [value.encode() for _, value in length]


def test_a_chunked_request_passes_chunked(stage: Stage) -> None:
    upstream = stage.upstream(lambda call: call.answer(200, ANSWER))
    with stage.recorder(upstream) as recorder, httpx2.Client() as client:
        client.post(recorder.url, content=iter([BODY[:5], BODY[5:]]))
        (line,) = recorder.lines()
    assert upstream.calls[0].body == BODY
    assert upstream.calls[0].values("transfer-encoding") == ["chunked"]
    assert line["request"]["body"] == {"model": "claude-x", "messages": []}


def test_responses_without_a_body_end_at_once(stage: Stage, protocol: str) -> None:
    replies: list[tuple[str, int, list[tuple[str, str]]]] = [
        ("HEAD", 200, [("content-length", "1234"), ("content-type", "application/json")]),
        ("HEAD", 200, []),
        ("GET", 204, []),
        ("GET", 304, [("etag", '"x"')]),
        ("DELETE", 204, [("x-request-id", "1")]),
    ]

    def reply(call: Call) -> None:
        _, status, headers = replies[int(call.target[1:])]
        call.respond(status, *headers)
        call.end()

    upstream = stage.upstream(reply, protocol)
    with stage.recorder(upstream) as recorder, httpx2.Client(base_url=recorder.url) as client:
        for number, (method, status, headers) in enumerate(replies):
            answer = client.request(method, f"/{number}")
            assert (answer.status_code, answer.content) == (status, b"")
            assert answer.headers.multi_items() == headers
        logged = recorder.lines(len(replies))
    assert [line["response"]["status_code"] for line in logged] == [status for _, status, _ in replies]
    assert not any("error" in line for line in logged)
    assert upstream.connection_count == 1, "the connection was kept"


def test_a_length_that_contradicts_the_chunks_does_not_pass(stage: Stage) -> None:
    def respond(call: Http1Call) -> None:
        call.read_all()
        head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n"
        call.connection.sendall(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(ANSWER), ANSWER))

    with stage.recorder(stage.upstream(respond)) as recorder, httpx2.Client() as client:
        answer = client.post(recorder.url, content=BODY)
        assert (answer.content, answer.headers.get("content-length")) == (ANSWER, None)
        assert "error" not in recorder.lines()[0]


def test_trailers_of_a_request_do_not_become_headers(stage: Stage) -> None:
    upstream = stage.upstream(lambda call: call.answer(200, ANSWER))
    with stage.recorder(upstream) as recorder, Wire(recorder.address) as client:
        client.send(b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\ntrailer: x-late\r\n\r\n")
        client.send(b"2\r\n{}\r\n0\r\nx-late: 1\r\n\r\n")
        client.read_until(ANSWER)
        (line,) = recorder.lines()
    assert upstream.calls[0].values("x-late") == []
    assert "x-late" not in line["request"]["headers"]


def test_answers_in_advance_are_not_taken_for_the_response(stage: Stage) -> None:
    def hint(call: Any) -> None:
        call.read_all()
        call.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")
        call.answer(200, ANSWER)

    with stage.recorder(stage.upstream(hint)) as recorder, httpx2.Client() as client:
        answer = client.post(recorder.url, content=BODY)
        assert (answer.status_code, answer.content) == (200, ANSWER)
        assert recorder.lines()[0]["response"]["status_code"] == HTTPStatus.OK


@pytest.mark.parametrize("size", [1, 1_000])
@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_request_that_offers_another_protocol_passes_whole(stage: Stage, framing: bytes, size: int) -> None:
    """Java's HTTP client offers HTTP/2 with the first request on each connection."""
    offer = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAARAAAAA\r\n"
    request = b"POST /1 HTTP/1.1\r\nhost: localhost\r\nx-kept: 1\r\n" + offer + framing
    plain = b"POST /2 HTTP/1.1\r\nhost: localhost\r\n" + framing
    upstream = stage.upstream(lambda call: call.answer(200, call.target))
    with stage.recorder(upstream) as recorder, Wire(recorder.address) as client:
        for piece in slices(request + request + plain, size):
            client.send(piece)
        client.read_until(b"/2")
        logged = recorder.lines(3)
    assert [(call.target, call.body) for call in upstream.calls] == [(b"/1", b"{}"), (b"/1", b"{}"), (b"/2", b"{}")]
    assert [call.values("x-kept") for call in upstream.calls] == [["1"], ["1"], []]
    assert not any(call.values("upgrade") or call.values("http2-settings") for call in upstream.calls)
    assert [line["request"]["body"] for line in logged] == [{}, {}, {}]
