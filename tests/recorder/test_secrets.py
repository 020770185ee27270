"""No secret of a header, a cookie or a URL is ever in the log, the journal, or anything that a recorder prints."""

import json
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx2
import pytest

from palaver.recorder.http_relay import failure_of
from planted_credentials import (
    BROKEN_HEADER,
    HIDDEN,
    PASSWORD,
    PATH,
    QUERY,
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
    TOKEN,
    USER,
    found_in,
)
from recorder.conftest import Stage
from recorder.running import files_under, lines
from recorder.standalone import Standalone
from recorder.upstream import Call, Gate, Http1Call, refusing_url
from recorder.wire import Wire

STREAM = ("content-type", "text/event-stream")


def test_the_planted_credentials_are_all_different() -> None:
    planted = str([TOKEN, REQUEST_HEADERS, RESPONSE_HEADERS, PATH, QUERY, USER, PASSWORD, BROKEN_HEADER])
    assert [each for each in HIDDEN if planted.count(each) != 1] == ["s3cret07"], "which is planted in base64"


@pytest.mark.parametrize("place", ["path", "header"])
def test_no_secret_is_written_or_printed(stage: Stage, protocol: str, ca_file: Path, place: str) -> None:
    go_on = Gate()

    def play(call: Call) -> None:
        call.read_all()
        call.respond(200, STREAM, *RESPONSE_HEADERS.items())
        call.send(b"data: 1\n\n")
        go_on.wait()
        call.end()

    upstream = stage.upstream(play, protocol)
    url = upstream.url.replace("://", f"://{USER}:{PASSWORD}@")
    prefix = f"/{TOKEN}" if place == "path" else ""
    headers = REQUEST_HEADERS if place == "path" else {**REQUEST_HEADERS, "x-palaver-token": TOKEN}
    with Standalone(stage.folder, url, ca=str(ca_file), token=TOKEN) as recorder, httpx2.Client() as client:
        target = f"{recorder.url}{prefix}{PATH}?{QUERY}"
        with client.stream("POST", target, headers=headers, content=b"{}") as answer:
            assert next(answer.iter_raw()) == b"data: 1\n\n"
            in_flight = files_under(stage.folder)
            go_on.open()
        recorder.next("finished")
    (call,) = upstream.calls
    got = str([call.target, call.headers])
    forwarded = [secret for secret in HIDDEN[3:36] if secret in str([REQUEST_HEADERS, PATH, QUERY])]
    assert [secret for secret in forwarded if secret not in got] == ["s3cret01"], "the upstream's own user replaces it"
    assert call.values("authorization") == [httpx2.BasicAuth(USER, PASSWORD)._auth_header]
    assert TOKEN not in got
    assert answer.headers["set-cookie"] == RESPONSE_HEADERS["set-cookie"]
    assert found_in(in_flight) == [], "the journal while the exchange goes on"
    assert b"[masked]" in in_flight
    assert found_in(files_under(stage.folder)) == []
    assert b"DEBUG:asyncio" in recorder.errors, "its messages are seen"
    assert found_in(recorder.errors + json.dumps(recorder.said).encode()) == []
    (line,) = lines(stage.folder)
    assert line["request"]["url"].startswith(upstream.url)
    assert line["request"]["url"].endswith("&beta=true&alt=[masked]&x=[masked]")
    assert line["response"]["headers"]["content-type"] == "text/event-stream"


def break_head(call: Http1Call) -> None:
    call.read_all()
    call.connection.sendall(f"HTTP/1.1 200 OK\r\nx-fine: 1\r\n{BROKEN_HEADER}\r\n\r\n".encode())
    call.wait_until_gone()


def break_status(call: Http1Call) -> None:
    call.read_all()
    call.connection.sendall(f"HTTP/1.1 {BROKEN_HEADER}\r\n\r\n".encode())
    call.wait_until_gone()


def redirect_nowhere(call: Http1Call) -> None:
    call.answer(302, b"{}", ("location", f"https://{USER}:{PASSWORD}@b.example:s3cret38/?key=s3cret30"))


@pytest.mark.parametrize("failure", [break_head, break_status, redirect_nowhere, "refused", "no TLS", "unknown host"])
def test_no_secret_is_in_the_message_of_a_failure(stage: Stage, failure: Any) -> None:
    upstream = stage.upstream(failure if callable(failure) else break_head)
    with ExitStack() as stack:
        urls = {
            "refused": stack.enter_context(refusing_url()),
            "no TLS": upstream.url.replace("http://", "https://"),
            "unknown host": "https://no-such-host.invalid",
        }
        url = urls.get(failure, upstream.url).replace("://", f"://{USER}:{PASSWORD}@")
        recorder = stack.enter_context(Standalone(stage.folder, url, token=TOKEN, timeout_s=2.0))
        client = stack.enter_context(httpx2.Client(base_url=recorder.url))
        answer = client.post(f"/{TOKEN}{PATH}?{QUERY}", headers=REQUEST_HEADERS, content=b"{}")
        *_, error, place, unwritten = recorder.next("finished")
    assert answer.status_code == HTTPStatus.BAD_GATEWAY
    assert found_in(answer.content) == [], "the answer to the client"
    assert error["type"] in {"upstream_unreachable", "upstream_aborted"}
    assert (bool(place), unwritten) == (True, "")
    assert found_in(files_under(stage.folder)) == []
    assert found_in(recorder.errors + json.dumps(recorder.said).encode()) == []


def test_a_failure_of_any_kind_is_reported_without_what_it_quotes() -> None:
    # As httpx2 says it of the address of a proxy in the environment.
    failure = failure_of(ValueError("Invalid port: 's3cret00'"))
    assert failure.message == "ValueError: Invalid port"


def test_no_secret_is_left_by_a_recorder_that_is_killed(stage: Stage) -> None:
    asked = Gate()

    def think(call: Call) -> None:
        call.read_all()
        asked.open()
        call.wait_until_gone()

    with Standalone(stage.folder, stage.upstream(think).url, token=TOKEN) as recorder, Wire(recorder.address) as client:
        named = [f"{name}: {value}" for name, value in REQUEST_HEADERS.items()]
        client.ask(b"{}", *named, target=f"/{TOKEN}{PATH}?{QUERY}")
        asked.wait()
        recorder.kill()
    left = files_under(stage.folder)
    assert b"[masked]" in left
    assert found_in(left) == []
