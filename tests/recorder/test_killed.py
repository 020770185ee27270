"""A recorder that is killed at any moment: the next one finds all that had arrived, once."""

import json
import sys
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

import palaver
from recorder.conftest import Stage
from recorder.running import lines
from recorder.standalone import Standalone
from recorder.upstream import Call, Gate
from recorder.wire import Wire
from streaming import sse

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")
BODY = b'{"model": "claude-x", "messages": []}'
CHUNKS = [sse({"type": "ping", "number": number}) for number in range(5)]
STREAM = ("content-type", "text/event-stream")


def recover(folder: Path) -> list[dict[str, Any]]:
    """Start again and return what is in the log then; a second start must find nothing more."""
    with palaver.ExchangeLog(folder) as log:
        assert (log.recovered, log.problems) == (1, [])
    recovered = lines(folder)
    with palaver.ExchangeLog(folder) as log:
        assert (log.recovered, log.problems) == (0, [])
    assert lines(folder) == recovered
    assert not list((folder / "journal").iterdir())
    return recovered


def test_a_recorder_that_is_killed_during_an_upload(stage: Stage) -> None:
    """Its request is known, but not the part of its body: what is not whole cannot be searched for secrets."""
    started = Gate()

    def read(call: Call) -> None:
        call.read()
        started.open()
        call.wait_until_gone()

    upstream = stage.upstream(read)
    with Standalone(stage.folder, upstream.url) as recorder, Wire(recorder.address) as client:
        client.ask(BODY, length=1_000)
        started.wait()
        recorder.kill()
    (line,) = recover(stage.folder)
    assert line["request"]["url"] == f"{upstream.url}/v1/messages"
    assert line["error"]["type"] == "recovered"
    assert line["response"] is None


def test_a_recorder_that_is_killed_before_the_response(stage: Stage) -> None:
    asked = Gate()

    def think(call: Call) -> None:
        call.read_all()
        asked.open()
        call.wait_until_gone()

    with Standalone(stage.folder, stage.upstream(think).url) as recorder, Wire(recorder.address) as client:
        client.ask(BODY)
        asked.wait()
        recorder.kill()
    (line,) = recover(stage.folder)
    assert line["request"]["body"] == json.loads(BODY)
    assert (line["error"]["type"], line["response"]) == ("recovered", None)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_recorder_that_is_killed_between_two_chunks(stage: Stage, count: int) -> None:
    def play(call: Call) -> None:
        call.read_all()
        call.respond(200, STREAM)
        for chunk in CHUNKS[:count]:
            call.send(chunk)
        call.wait_until_gone()

    with Standalone(stage.folder, stage.upstream(play).url) as recorder, Wire(recorder.address) as client:
        client.ask(BODY)
        client.read_until(CHUNKS[count - 1] if count else b"\r\n\r\n")
        recorder.kill()
    (line,) = recover(stage.folder)
    assert line["request"]["body"] == json.loads(BODY)
    assert line["response"]["status_code"] == HTTPStatus.OK
    assert line["response"]["body_raw"].encode() == b"".join(CHUNKS[:count])
    assert line["error"]["type"] == "recovered"
    assert "aborted" in {issue["type"] for issue in line["response"]["streaming_details"]["issues"]}


def test_a_recorder_that_is_killed_while_it_writes_the_line(stage: Stage) -> None:
    """The torn line goes, the whole one before it stays, and the exchange is complete: it had ended."""
    upstream = stage.upstream(lambda call: call.stream(CHUNKS))
    with Standalone(stage.folder, upstream.url, halts_in_line=True) as recorder, Wire(recorder.address) as client:
        client.ask(BODY)
        recorder.next("halted")
        (file,) = stage.folder.glob("log-*.jsonl")
        torn = file.read_bytes()
        assert torn
        assert b"\n" not in torn
        recorder.kill()
    (line,) = recover(stage.folder)
    assert line["response"]["body_raw"].encode() == b"".join(CHUNKS)
    assert "error" not in line
    assert file.read_bytes() == b"", "nothing of the torn line is left"


def test_a_recorder_that_is_killed_harms_no_other_one(stage: Stage) -> None:
    """Two recorders share a folder; a third one recovers from the killed one, and leaves the other one's alone."""
    go_on = Gate()

    def play(call: Call) -> None:
        call.read_all()
        call.respond(200, STREAM)
        call.send(CHUNKS[0])
        if call.target == b"/killed":
            call.wait_until_gone()
        else:
            go_on.wait()
            call.send(CHUNKS[1])
            call.end()

    upstream = stage.upstream(play)
    with (
        Standalone(stage.folder, upstream.url) as killed,
        Standalone(stage.folder, upstream.url) as other,
        Wire(killed.address) as first,
        Wire(other.address) as second,
    ):
        first.ask(BODY, target="/killed")
        second.ask(BODY, target="/other")
        first.read_until(CHUNKS[0])
        second.read_until(CHUNKS[0])
        killed.kill()
        with palaver.ExchangeLog(stage.folder) as third:
            assert (third.recovered, third.problems) == (1, [])
        go_on.open()
        second.read_until(b"0\r\n\r\n")
    found = {line["request"]["url"].removeprefix(upstream.url): line for line in lines(stage.folder)}
    assert len(lines(stage.folder)) == len(found) == 2
    assert found["/killed"]["response"]["body_raw"].encode() == CHUNKS[0]
    assert found["/other"]["response"]["body_raw"].encode() == CHUNKS[0] + CHUNKS[1]
    assert "error" not in found["/other"]
