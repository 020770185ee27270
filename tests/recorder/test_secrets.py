"""No secret of a header, a cookie or a URL is ever in the log, the journal, or anything that a recorder prints."""

import json
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx2
import pytest

from palaver.recorder.http_relay import failure_of
from recorder.conftest import Stage
from recorder.running import files_under, lines
from recorder.standalone import Standalone
from recorder.upstream import Call, Gate, Http1Call, refusing_url
from recorder.wire import Wire

TOKEN = "recorder-token-s3cret00"  # noqa: S105 - an invented one
STREAM = ("content-type", "text/event-stream")
REQUEST_HEADERS = {
    "authorization": "Bearer s3cret01",
    "x-api-key": "s3cret02",
    "api-key": "s3cret03",
    "x-goog-api-key": "s3cret04",
    "cookie": "session=s3cret05; other=s3cret06",
    "proxy-authorization": "Basic czNjcmV0MDc=",
    "x-amz-security-token": "s3cret08",
    "x-custom-token": "s3cret09",
    "x-my-secret": "s3cret10",
    "x-harmless": "sk-s3cret11-and-more",
    "x-plain": "Bearer s3cret12",
    "x-note": "AIzas3cret13-and-more",
    "x-jwt": "s3cret14",
    "user-agent": "tool/1 sk-s3cret15-and-more",
    "referer": "http://someone:s3cret16@page.example/?key=s3cret17",
    "x-forwarded-uri": "/v1?sig=s3cret18",
    "x-session-id": "s3cret19",
    "openai-account": "s3cret20",
}
RESPONSE_HEADERS = {
    "set-cookie": "session=s3cret21; Path=/",
    "www-authenticate": 'Digest nonce="s3cret22"',
    "location": "https://someone:s3cret23@b.example/?sig=s3cret24",
    "link": "<https://b.example/?token=s3cret25>; rel=next",
    "x-new-token": "s3cret26",
    "x-request-id": "sk-s3cret27-and-more",
    "authentication-info": "s3cret28",
}
PATH = "/v1/files/sk-s3cret29-and-more/content"
QUERY = (
    "key=s3cret30&sig=s3cret31&sv=2024&se=2026&api_key=s3cret32&s3cret33&beta=true&alt=sk-s3cret34-and-more&x=s3cret35"
)
USER, PASSWORD = "s3cret36", "s3cret37"
BROKEN_HEADER = "x-broken s3cret38"
HIDDEN = [TOKEN, "czNjcmV0MDc=", *(f"s3cret{number:02}" for number in range(39))]


def found_in(text: bytes) -> list[str]:
    return [secret for secret in HIDDEN if secret.encode() in text]


def test_the_secrets_of_this_test_are_all_different() -> None:
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
