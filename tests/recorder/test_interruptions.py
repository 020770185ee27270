"""Exchanges that break off: the log says how, keeps what had come, and no client takes a part for the whole."""

import threading
from http import HTTPStatus
from typing import Any

import httpx2
import pytest
import trustme

from palaver.recorder import connections, http_relay
from recorder.conftest import Stage
from recorder.upstream import DEADLINE_S, Call, Gate, Http1Call, Http2Call, Upstream, refusing_url
from recorder.wire import Wire
from streaming import sse

BODY = b'{"model": "claude-x"}'
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [], "usage": {}}
FIRST = sse({"type": "message_start", "message": MESSAGE})
SECOND = sse({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
STREAM = ("content-type", "text/event-stream")


def issues(line: dict[str, Any]) -> set[str]:
    return {issue["type"] for issue in line["response"]["streaming_details"]["issues"]}


class Unfinished:
    """Answers with the beginning of a stream and notes whether the client gives it up."""

    def __init__(self) -> None:
        self.was_given_up: bool | None = None
        self.noticed = Gate()

    def __call__(self, call: Call) -> None:
        call.read_all()
        call.respond(200, STREAM)
        call.send(FIRST)
        self.was_given_up = call.wait_until_gone()
        self.noticed.open()


@pytest.mark.parametrize("manner", ["reset", "close"])
def test_a_client_that_goes_away_ends_the_exchange_at_the_upstream(
    stage: Stage, protocol: str, manner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_relay, "SILENCE_S", 0.1)
    unfinished = Unfinished()
    with stage.recorder(stage.upstream(unfinished, protocol)) as recorder, Wire(recorder.address) as client:
        client.ask(BODY)
        client.read_until(FIRST)
        getattr(client, manner)()
        unfinished.noticed.wait()
        (line,) = recorder.lines()
    assert unfinished.was_given_up
    assert line["error"]["type"] == "client_aborted"
    assert line["response"]["body_raw"].encode() == FIRST
    assert "aborted" in issues(line)


def test_a_client_that_closes_after_the_last_event_has_the_whole_stream(
    stage: Stage, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some clients do not wait for the end of the body."""
    monkeypatch.setattr(http_relay, "SILENCE_S", 0.1)
    last, noticed = sse({"type": "message_stop"}), Gate()

    def leave_open(call: Call) -> None:
        call.read_all()
        call.respond(200, STREAM)
        call.send(FIRST)
        call.send(last)
        if call.wait_until_gone():
            noticed.open()

    with stage.recorder(stage.upstream(leave_open, protocol)) as recorder, Wire(recorder.address) as client:
        client.ask(BODY)
        client.read_until(last)
        client.close()
        noticed.wait()
        (line,) = recorder.lines()
    assert line["response"]["body_raw"].encode() == FIRST + last
    assert "error" not in line


def test_a_client_that_goes_away_harms_no_other_exchange(stage: Stage, protocol: str) -> None:
    go_on, unfinished = Gate(), Unfinished()

    def reply(call: Call) -> None:
        if call.target == b"/given-up":
            return unfinished(call)
        call.read_all()
        call.respond(200, STREAM)
        call.send(FIRST)
        go_on.wait()
        call.send(SECOND)
        return call.end()

    with stage.recorder(stage.upstream(reply, protocol)) as recorder:
        with Wire(recorder.address) as kept, Wire(recorder.address) as given_up:
            kept.ask(BODY)
            kept.read_until(FIRST)
            given_up.ask(BODY, target="/given-up")
            given_up.read_until(FIRST)
            given_up.reset()
            unfinished.noticed.wait()
            go_on.open()
            assert SECOND in kept.read_until(b"\r\n0\r\n\r\n")
        whole, cut = sorted(recorder.lines(2), key=lambda line: "error" in line)
    assert whole["response"]["body_raw"].encode() == FIRST + SECOND
    assert cut["error"]["type"] == "client_aborted"


@pytest.mark.parametrize("manner", ["reset", "close", "close_sending"])
def test_a_client_that_goes_away_in_mid_upload_ends_the_exchange(stage: Stage, protocol: str, manner: str) -> None:
    started, noticed = Gate(), Gate()

    def read(call: Call) -> None:
        assert call.read() == b"0123456789"
        started.open()
        if call.wait_until_gone():
            noticed.open()

    with stage.recorder(stage.upstream(read, protocol)) as recorder, Wire(recorder.address) as client:
        client.ask(b"0123456789", length=20)
        started.wait()
        getattr(client, manner)()
        noticed.wait()
        (line,) = recorder.lines()
    assert line["error"]["type"] == "client_aborted"
    assert line["request"]["body_raw"] == "0123456789"
    assert line["response"] is None


def test_a_client_that_goes_away_before_the_response_ends_the_exchange(
    stage: Stage, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_relay, "SILENCE_S", 0.1)
    asked, noticed = Gate(), Gate()

    def think(call: Call) -> None:
        call.read_all()
        asked.open()
        if call.wait_until_gone():
            noticed.open()

    with stage.recorder(stage.upstream(think, protocol)) as recorder, Wire(recorder.address) as client:
        client.ask(BODY)
        asked.wait()
        client.close()
        noticed.wait()
        (line,) = recorder.lines()
    assert (line["error"]["type"], line["response"]) == ("client_aborted", None)


def test_a_client_that_closes_its_side_still_gets_the_response(stage: Stage, protocol: str) -> None:
    go_on = Gate()

    def reply(call: Call) -> None:
        call.read_all()
        call.respond(200, STREAM)
        call.send(FIRST)
        go_on.wait()
        call.send(SECOND)
        call.end()

    with stage.recorder(stage.upstream(reply, protocol)) as recorder, Wire(recorder.address) as client:
        client.ask(BODY)
        client.close_sending()
        client.read_until(FIRST)
        go_on.open()
        received = client.read_to_end()
        (line,) = recorder.lines()
    assert received.endswith(b"\r\n0\r\n\r\n")
    assert line["response"]["body_raw"].encode() == FIRST + SECOND
    assert "error" not in line


@pytest.mark.parametrize("manner", ["reset", "close"])
def test_an_upstream_that_breaks_off_before_the_response(stage: Stage, protocol: str, manner: str) -> None:
    def break_off(call: Call) -> None:
        call.read_all()
        getattr(call, manner)()

    with stage.recorder(stage.upstream(break_off, protocol)) as recorder, httpx2.Client() as client:
        answer = client.post(recorder.url, content=BODY)
        (line,) = recorder.lines()
    assert answer.status_code == HTTPStatus.BAD_GATEWAY
    assert answer.json()["error"]["message"].startswith("palaver record: the upstream broke off")
    assert line["error"]["type"] == "upstream_aborted"
    assert line["request"]["body"] == {"model": "claude-x"}
    assert line["response"] is None


@pytest.mark.parametrize("manner", ["reset", "close"])
@pytest.mark.parametrize("length", [None, 10_000])
def test_an_upstream_that_breaks_off_in_mid_body(stage: Stage, protocol: str, manner: str, length: int | None) -> None:
    seen = Gate()
    framing = [] if length is None else [("content-length", str(length))]

    def break_off(call: Call) -> None:
        call.read_all()
        call.respond(200, STREAM, *framing)
        call.send(FIRST)
        seen.wait()
        getattr(call, manner)()

    with stage.recorder(stage.upstream(break_off, protocol)) as recorder, httpx2.Client() as client:
        with client.stream("POST", recorder.url, content=BODY) as answer:
            pieces = answer.iter_raw()
            assert next(pieces) == FIRST
            seen.open()
            with pytest.raises(httpx2.RemoteProtocolError, match="without sending complete message body"):
                next(pieces)
        (line,) = recorder.lines()
    assert line["error"]["type"] == "upstream_aborted"
    assert line["response"]["body_raw"].encode() == FIRST
    assert "aborted" in issues(line)


def test_a_body_that_is_shorter_than_its_length_is_not_presented_as_whole(stage: Stage) -> None:
    def shorten(call: Http1Call) -> None:
        call.read_all()
        call.respond(200, ("content-type", "application/json"), ("content-length", "100"))
        call.send(b'{"id": 1}')
        call.close()

    with stage.recorder(stage.upstream(shorten)) as recorder, Wire(recorder.address) as client:
        client.ask(BODY)
        received = client.read_to_end()
        (line,) = recorder.lines()
    assert b"content-length: 100\r\n" in received
    assert received.endswith(b'\r\n\r\n{"id": 1}')
    assert line["error"]["type"] == "upstream_aborted"
    assert line["response"]["body"] == {"id": 1}


def test_an_upstream_that_stays_silent_before_the_response(stage: Stage, protocol: str) -> None:
    upstream = stage.upstream(lambda call: (call.read_all(), call.wait_until_gone()), protocol)
    with stage.recorder(upstream, timeout_s=0.3) as recorder, httpx2.Client() as client:
        answer = client.post(recorder.url, content=BODY)
        (line,) = recorder.lines()
    assert answer.status_code == HTTPStatus.GATEWAY_TIMEOUT
    assert line["error"]["type"] == "timeout"
    assert "--timeout" in line["error"]["message"]


def test_an_upstream_that_falls_silent_in_mid_stream(stage: Stage, protocol: str) -> None:
    unfinished = Unfinished()
    with stage.recorder(stage.upstream(unfinished, protocol), timeout_s=0.3) as recorder:
        with Wire(recorder.address) as client:
            client.ask(BODY)
            received = client.read_to_end()
        unfinished.noticed.wait()
        (line,) = recorder.lines()
    assert not received.endswith(b"0\r\n\r\n")
    assert line["error"]["type"] == "timeout"
    assert line["response"]["body_raw"].encode() == FIRST
    assert "aborted" in issues(line)


def test_a_silent_exchange_does_not_end_a_younger_one(stage: Stage, protocol: str) -> None:
    asked, timed_out = Gate(), Gate()

    def reply(call: Call) -> None:
        call.read_all()
        if call.target == b"/silent":
            asked.open()
            call.wait_until_gone()
            timed_out.open()
        else:
            call.respond(200, STREAM)
            while not timed_out.opens_within(0.1):
                call.send(FIRST)
            call.end()

    with stage.recorder(stage.upstream(reply, protocol), timeout_s=1.0) as recorder:
        with Wire(recorder.address) as silent, Wire(recorder.address) as younger:
            silent.ask(BODY, target="/silent")
            asked.wait()
            younger.ask(BODY)
            assert b" 504 " in silent.read_until(b"\r\n")
            younger.read_until(b"\r\n0\r\n\r\n")
        logged = recorder.lines(2)
    errors = {line["request"]["url"].endswith("/silent"): line.get("error", {}).get("type") for line in logged}
    assert errors == {True: "timeout", False: None}


def test_an_upstream_that_is_not_there(stage: Stage) -> None:
    with refusing_url() as url, stage.recorder(url) as recorder, Wire(recorder.address) as client:
        client.ask(b"", "Expect: 100-continue", length=500)
        received = client.read_until(b"}}")
        (line,) = recorder.lines()
    assert received.startswith(b"HTTP/1.1 502 "), "no body was asked for"
    assert line["error"]["type"] == "upstream_unreachable"
    assert line["response"] is None


def test_an_upstream_whose_name_is_unknown(stage: Stage) -> None:
    with stage.recorder("https://no-such-host.invalid/v1") as recorder, httpx2.Client() as client:
        answer = client.post(recorder.url, content=BODY)
        (line,) = recorder.lines()
    assert answer.status_code == HTTPStatus.BAD_GATEWAY
    assert line["error"]["type"] == "upstream_unreachable"
    assert line["request"]["url"] == "https://no-such-host.invalid/v1/"


def test_an_upstream_with_a_certificate_of_strangers_gets_nothing(stage: Stage) -> None:
    with Upstream(lambda call: call.answer(200, b"{}"), authority=trustme.CA(), http2=True) as stranger:
        with stage.recorder(stranger) as recorder, httpx2.Client() as client:
            answer = client.post(recorder.url, content=BODY, headers={"authorization": "Bearer abcdefghij"})
            (line,) = recorder.lines()
        assert answer.status_code == HTTPStatus.BAD_GATEWAY
        message = answer.json()["error"]["message"]
        assert "its certificate is not trusted: " in message
        assert message.endswith(": see --ca")
        assert line["error"]["type"] == "upstream_unreachable"
        assert stranger.calls == []


def test_connections_are_used_again_after_an_error(stage: Stage, protocol: str) -> None:
    """An error status keeps the connection; one that was closed while idle is replaced."""
    statuses = [500, 200, 429, 200]
    upstream = stage.upstream(lambda call: call.answer(int(call.target[1:]), b"{}"), protocol)
    with stage.recorder(upstream) as recorder, httpx2.Client(base_url=recorder.url) as client:
        for status in statuses:
            assert client.post(f"/{status}", content=BODY).status_code == status
        assert upstream.connection_count == 1
        upstream.drop_connections()
        for status in statuses:
            assert client.post(f"/{status}", content=BODY).status_code == status
        recorder.lines(2 * len(statuses))
    assert upstream.connection_count == 2


def test_a_call_that_the_upstream_has_not_processed_is_sent_on_another_connection(stage: Stage) -> None:
    """A server may close a connection while the next call is on its way, and says then that it ignores the call."""
    bodies: list[bytes] = []

    def reply(call: Http2Call) -> None:
        body = call.read_all()
        if not call.is_first:
            call.disown()
        bodies.append(body)
        call.answer(200, b"{}")

    upstream = stage.upstream(reply, "h2")
    sent = [b'{"number": 1}', b'{"number": 2}']
    with stage.recorder(upstream) as recorder, httpx2.Client() as client:
        for body in sent:
            assert client.post(recorder.url, content=body).status_code == HTTPStatus.OK
        logged = recorder.lines(2)
    assert bodies == sent
    assert upstream.connection_count == 2
    assert [line["request"]["body"] for line in logged] == [{"number": 1}, {"number": 2}]
    assert not any("error" in line for line in logged)


def test_a_long_call_that_the_upstream_has_not_processed_is_not_held_in_memory(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_relay, "_LARGE_BYTES", 10)

    def reply(call: Http2Call) -> None:
        call.read_all()
        if not call.is_first:
            call.disown()
        call.answer(200, b"{}")

    with stage.recorder(stage.upstream(reply, "h2")) as recorder, httpx2.Client() as client:
        for number, status in enumerate((HTTPStatus.OK, HTTPStatus.BAD_GATEWAY), 1):
            assert client.post(recorder.url, content=BODY).status_code == status
            recorder.events.wait_until_ended(number)
        assert recorder.lines(2)[1]["error"]["type"] == "upstream_aborted"


def test_a_connection_that_was_idle_for_long_is_not_used_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upstream may be about to close it, and what is sent then is lost."""
    monkeypatch.setattr(connections, "_MAX_IDLE_S", -1.0)
    upstream = stage.upstream(lambda call: call.answer(200, b"{}"))
    with stage.recorder(upstream) as recorder, httpx2.Client() as client:
        for _ in range(2):
            assert client.post(recorder.url, content=BODY).status_code == HTTPStatus.OK
        recorder.lines(2)
    assert upstream.connection_count == 2


def test_an_answer_before_the_end_of_the_request_reaches_the_client(stage: Stage) -> None:
    def refuse(call: Http1Call) -> None:
        call.read()
        call.respond(413, ("content-length", "2"), ("connection", "close"))
        call.send(b"{}")
        call.wait_until_gone()

    answered = Gate()
    with stage.recorder(stage.upstream(refuse)) as recorder, Wire(recorder.address) as client:
        client.ask(b"x" * 100_000, length=10_000_000)
        threading.Thread(target=client.send, args=(b"x" * 9_900_000,), daemon=True).start()
        received = client.read_until(b"{}")
        answered.open()
        (line,) = recorder.lines()
    assert received.startswith(b"HTTP/1.1 413 ")
    assert line["response"]["status_code"] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def test_exchanges_that_run_when_the_recorder_stops_are_logged(stage: Stage, protocol: str) -> None:
    unfinished = Unfinished()
    with stage.recorder(stage.upstream(unfinished, protocol)) as recorder, Wire(recorder.address) as client:
        client.ask(BODY)
        client.read_until(FIRST)
        recorder.server.stop(0)
        assert not client.read_to_end().endswith(b"0\r\n\r\n")
        unfinished.noticed.wait()
        (line,) = recorder.lines()
    assert line["error"]["type"] == "recorder_stopped"
    assert line["response"]["body_raw"].encode() == FIRST


def test_exchanges_get_a_grace_when_the_recorder_stops(stage: Stage) -> None:
    go_on = Gate()

    def reply(call: Call) -> None:
        call.read_all()
        call.respond(200, STREAM)
        call.send(FIRST)
        go_on.wait()
        call.end()

    with stage.recorder(stage.upstream(reply)) as recorder, Wire(recorder.address) as client:
        client.ask(BODY)
        client.read_until(FIRST)
        stopping = threading.Thread(target=recorder.server.stop, args=(DEADLINE_S,))
        stopping.start()
        go_on.open()
        assert client.read_to_end().endswith(b"0\r\n\r\n")
        stopping.join(DEADLINE_S)
        assert not stopping.is_alive()
        assert "error" not in recorder.lines()[0]


@pytest.mark.parametrize("manner", ["ended", "reset", "broken"])
def test_an_answer_that_does_not_wait_for_the_whole_request_passes_at_once(stage: Stage, manner: str) -> None:
    """The upstream takes what fits its window, and no more."""
    refusal = b'{"type": "error", "error": {"type": "request_too_large", "message": "too large"}}'
    done = Gate()

    def refuse(call: Http2Call) -> None:
        call.respond(413, ("content-type", "application/json"))
        call.send(refusal)
        if manner == "broken":
            call.reset()
        else:
            call.end()
        if manner == "reset":
            call.refuse_rest()
        done.wait()

    with stage.recorder(stage.upstream(refuse, "h2")) as recorder, httpx2.Client(base_url=recorder.url) as client:
        for _ in range(2):
            with client.stream("POST", "/v1/messages", content=bytes(1_000_000)) as answer:
                assert answer.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
                if manner == "broken":
                    with pytest.raises(httpx2.TransportError):
                        answer.read()
                else:
                    assert answer.read() == refusal
        done.open()
        found = recorder.lines(2)
    errors = [line.get("error", {}).get("type") for line in found]
    assert errors == (["upstream_aborted"] * 2 if manner == "broken" else [None] * 2)
    assert [line["response"]["status_code"] for line in found] == [413, 413]
