"""Bodies pass while they are being sent, in both directions, and many at a time."""

import asyncio
import socket
from collections.abc import Iterator
from hashlib import sha256
from itertools import repeat
from pathlib import Path

import httpx2
import pytest

from recorder.conftest import Stage
from recorder.standalone import Standalone
from recorder.upstream import Call, Gate, Http1Call
from recorder.wire import Wire
from streaming import sse

CHUNKS = [sse({"type": "ping", "number": number}) for number in range(8)]
LARGE_BYTES = 100 << 20
MANY = 200


def test_the_client_has_each_chunk_before_the_next_one_is_sent(stage: Stage, protocol: str) -> None:
    gates = [Gate() for _ in CHUNKS]

    def play(call: Call) -> None:
        call.read_all()
        call.respond(200, ("content-type", "text/event-stream"))
        for chunk, gate in zip(CHUNKS, gates, strict=True):
            call.send(chunk)
            gate.wait()
        call.end()

    with stage.recorder(stage.upstream(play, protocol)) as recorder, httpx2.Client() as client:
        with client.stream("POST", recorder.url) as answer:
            pieces = answer.iter_raw()
            for chunk, gate in zip(CHUNKS, gates, strict=True):
                assert next(pieces) == chunk
                gate.open()
            assert list(pieces) == []
        (line,) = recorder.lines()
    assert line["response"]["streaming_details"]["network_chunks"] == len(CHUNKS)


def test_the_upstream_has_each_piece_before_the_next_one_is_sent(stage: Stage, protocol: str) -> None:
    gates = [Gate() for _ in CHUNKS]
    read: list[bytes] = []

    def receive(call: Call) -> None:
        for gate in gates:
            read.append(call.read())
            gate.open()
        call.answer(200, b"{}")

    def body() -> Iterator[bytes]:
        for chunk, gate in zip(CHUNKS, gates, strict=True):
            yield chunk
            gate.wait()

    with stage.recorder(stage.upstream(receive, protocol)) as recorder, httpx2.Client() as client:
        assert client.post(recorder.url, content=body()).content == b"{}"
        recorder.lines()
    assert read == CHUNKS


def test_a_body_is_asked_for_only_when_the_upstream_is_reached(stage: Stage) -> None:
    def receive(call: Http1Call) -> None:
        assert call.values("expect") == []
        call.answer(200, call.read_all())

    with stage.recorder(stage.upstream(receive)) as recorder, Wire(recorder.address) as client:
        client.ask(b"", "Expect: 100-continue", length=2)
        assert client.read_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(b"{}")
        assert b"HTTP/1.1 200 OK" in client.read_until(b"{}")


def test_many_streams_run_at_once(stage: Stage, protocol: str) -> None:
    """Every stream is open at the client before any of them goes on."""
    go_on = Gate()

    def play(call: Call) -> None:
        call.read_all()
        call.respond(200, ("content-type", "text/event-stream"))
        call.send(CHUNKS[0])
        go_on.wait()
        for chunk in CHUNKS[1:]:
            call.send(chunk)
        call.send(call.target)
        call.end()

    async def ask(client: httpx2.AsyncClient, number: int, opened: asyncio.Barrier) -> bytes:
        async with client.stream("POST", f"/{number}", content=b"{}") as answer:
            pieces = answer.aiter_raw()
            first = await anext(pieces)
            await opened.wait()
            return first + b"".join([piece async for piece in pieces])

    async def ask_all(url: str) -> list[bytes]:
        limits = httpx2.Limits(max_connections=None)
        opened = asyncio.Barrier(MANY + 1)
        async with httpx2.AsyncClient(base_url=url, limits=limits, timeout=60) as client, asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(client, number, opened)) for number in range(MANY)]
            await opened.wait()
            go_on.open()
        return [task.result() for task in asked]

    with stage.recorder(stage.upstream(play, protocol)) as recorder:
        answers = asyncio.run(ask_all(recorder.url))
        logged = recorder.lines(MANY)
    assert answers == [b"".join([*CHUNKS, b"/%d" % number]) for number in range(MANY)]
    assert {line["response"]["body_raw"].encode() for line in logged} == set(answers)
    assert not any("error" in line for line in logged)


def test_small_pieces_do_not_wait_for_each_other(stage: Stage) -> None:
    """Without TCP_NODELAY, the second piece of a response waits until the client has acknowledged the first."""
    upstream = stage.upstream(lambda call: call.answer(200, b"{}"))
    with stage.recorder(upstream) as recorder, httpx2.Client() as client:
        client.post(recorder.url)
        assert recorder.server._server is not None
        (connection,) = recorder.server._server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


EVENT = sse({"type": "ping", "text": "x" * 8_000})
BYTES = bytes(range(256)) * 256


@pytest.mark.parametrize(
    ("protocol", "asked", "answered"),
    [
        ("http/1.1", (b" " * 65_536, b'{"model": "claude-x"}'), (EVENT, b"data: [DONE]\n\n")),
        ("h2", (BYTES, b"\xff"), (BYTES, b"\xff")),
    ],
    ids=["a stream over HTTP/1.1", "bytes over HTTP/2"],
)
def test_large_bodies_pass_in_bounded_memory(
    stage: Stage, protocol: str, asked: tuple[bytes, bytes], answered: tuple[bytes, bytes], ca_file: Path
) -> None:
    """Two bodies of 100 MB; only one at a time is in memory, while its part of the line is written."""
    received, returned = sha256(), sha256()

    def play(call: Call) -> None:
        while piece := call._read():
            received.update(piece)
        call.respond(200, ("content-type", "text/event-stream" if answered[0] == EVENT else "image/png"))
        for piece in large_body(*answered):
            call.send(piece)
        call.end()

    upstream = stage.upstream(play, protocol)
    with Standalone(stage.folder, upstream.url, ca=str(ca_file)) as recorder, httpx2.Client(timeout=60) as client:
        with client.stream("POST", recorder.url, content=large_body(*asked)) as answer:
            for piece in answer.iter_raw():
                returned.update(piece)
        *_, error, place, unwritten = recorder.next("finished")
        size = sum(path.stat().st_size for path in stage.folder.glob("log-*.jsonl"))
    (peak_bytes,) = [said["peak_bytes"] for said in recorder.said if "peak_bytes" in said]
    assert received.digest() == sha256(b"".join(large_body(*asked))).digest()
    assert returned.digest() == sha256(b"".join(large_body(*answered))).digest()
    assert (error, bool(place), unwritten) == (None, True, "")
    assert size > 2 * LARGE_BYTES
    assert peak_bytes < 5 * LARGE_BYTES


def large_body(block: bytes, last: bytes) -> Iterator[bytes]:
    yield from repeat(block, LARGE_BYTES // len(block))
    yield last
