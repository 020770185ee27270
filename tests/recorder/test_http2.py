"""What only HTTP/2 has: an upstream that announces the end of a connection, and answers what it has been asked."""

from http import HTTPStatus

import httpx2
import pytest

from recorder.conftest import Stage
from recorder.upstream import Http2Call
from streaming import sse

_PIECES = [sse({"type": "ping"}), sse({"type": "message_stop"})]


@pytest.mark.parametrize("is_early", [False, True])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_call_goes_on_when_the_upstream_takes_no_further_ones(stage: Stage, place: int, *, is_early: bool) -> None:
    """A server that is restarted, or has had enough calls on a connection, closes it after the answers."""

    def reply(call: Http2Call) -> None:
        call.read_all()
        steps = [
            lambda: call.respond(200, ("content-type", "text/event-stream")),
            *(lambda piece=piece: call.send(piece) for piece in _PIECES),
            call.end,
        ]
        steps.insert(place, lambda: call.announce_end(is_early=is_early))
        for step in steps:
            step()

    upstream = stage.upstream(reply, "h2")
    with stage.recorder(upstream) as recorder, httpx2.Client() as client:
        for _ in range(2):
            answer = client.post(recorder.url, content=b"{}")
            assert (answer.status_code, answer.content) == (HTTPStatus.OK, b"".join(_PIECES))
        assert not any("error" in line for line in recorder.lines(2))
    assert upstream.connection_count == 2


def test_a_connection_that_ends_before_the_answer_is_complete_has_broken_off(stage: Stage) -> None:
    def reply(call: Http2Call) -> None:
        call.read_all()
        call.respond(200, ("content-type", "text/event-stream"))
        call.announce_end()
        call.send(_PIECES[0])
        call.close()

    with stage.recorder(stage.upstream(reply, "h2")) as recorder:
        with pytest.raises(httpx2.RemoteProtocolError):
            httpx2.post(recorder.url, content=b"{}")
        (line,) = recorder.lines()
    assert line["error"]["type"] == "upstream_aborted"
    assert line["response"]["body_raw"].encode() == _PIECES[0]
