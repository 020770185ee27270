"""Who may send requests through a recorder, which of them are logged, and what its token is kept from."""

import json
from http import HTTPStatus
from typing import Any

import httpx2
import pytest

from palaver.errors import OptionError
from palaver.recorder.addresses import (
    TOKEN_VARIABLE,
    Address,
    is_loopback,
    local_url,
    parse_address,
    required_token,
)
from palaver.recorder.proxy import Proxy
from palaver.recorder.server import ProxyServer
from palaver.recorder.settings import ProxySettings
from palaver.recorder.upstreams import Upstream as Target
from palaver.recorder.upstreams import choose_upstreams, refuse_loop
from recorder.conftest import Stage
from recorder.running import Events, Recorder, files_under
from recorder.wire import Wire

TOKEN = "a-token-of-this-test"  # noqa: S105 - an invented one
SPELLED_TOKEN = f"%61{TOKEN[1:]}"
HEADER = {"x-palaver-token": TOKEN}


def test_nothing_passes_without_the_token(stage: Stage) -> None:
    refused: list[tuple[str, dict[str, Any]]] = [
        ("/v1/messages", {}),
        ("/", {}),
        (f"/{TOKEN}x/v1/messages", {}),
        (f"/v1/{TOKEN}", {}),
        (f"/v1?{TOKEN}", {}),
        ("/v1/messages", {"x-palaver-token": f"{TOKEN}x"}),
        ("/v1/messages", {"x-palaver-token": ""}),
        ("/v1/messages", {"authorization": f"Bearer {TOKEN}"}),
        ("/caf%C3%A9/v1", {"x-palaver-token": b"caf\xe9"}),
    ]
    upstream = stage.upstream(lambda call: call.answer(200, b"{}"))
    with stage.recorder(upstream, token=TOKEN) as recorder, httpx2.Client(base_url=recorder.url) as client:
        for target, headers in refused:
            answer = client.post(target, headers=headers, content=b"{}")
            assert answer.status_code == HTTPStatus.UNAUTHORIZED, (target, headers)
            assert answer.json()["error"]["type"] == "palaver_record"
        assert client.post(f"/{TOKEN}/last", content=b"{}").status_code == HTTPStatus.OK
        recorder.lines()
    assert [call.target for call in upstream.calls] == [b"/last"]


def test_the_token_goes_no_further(stage: Stage) -> None:
    admitted: list[tuple[str, dict[str, str], str]] = [
        (f"/{TOKEN}/v1/messages?a=b", {}, "/v1/messages?a=b"),
        ("/v1/messages?a=b", HEADER, "/v1/messages?a=b"),
        (f"/{TOKEN}/v1/messages", HEADER, "/v1/messages"),
        (f"/{TOKEN}/v1", {"x-palaver-token": "wrong"}, "/v1"),
        (f"/{TOKEN}", {}, "/"),
        (f"/{TOKEN}/v1", {"referer": f"http://localhost/{TOKEN}/v1"}, "/v1"),
        (f"/{SPELLED_TOKEN}/v1", {"x-forwarded-uri": f"/{SPELLED_TOKEN}/v1"}, "/v1"),
    ]
    upstream = stage.upstream(lambda call: call.answer(200, b"{}"))
    with stage.recorder(upstream, token=TOKEN) as recorder, httpx2.Client(base_url=recorder.url) as client:
        for target, headers, _ in admitted:
            # With a token, the recorder may have any name.
            answer = client.post(target, headers={"host": "box.example:8788", **headers}, content=b"{}")
            assert answer.status_code == HTTPStatus.OK, (target, headers)
        logged = recorder.lines(len(admitted))
    assert [call.target.decode() for call in upstream.calls] == [forwarded for _, _, forwarded in admitted]
    urls = [f"{upstream.url}{forwarded.replace('a=b', 'a=[masked]')}" for _, _, forwarded in admitted]
    assert [line["request"]["url"] for line in logged] == urls
    assert TOKEN not in str([call.headers for call in upstream.calls])
    assert TOKEN.encode() not in files_under(stage.folder)
    assert TOKEN not in str(recorder.events.paths)


@pytest.mark.parametrize("token", [TOKEN, SPELLED_TOKEN])
def test_the_token_is_refused_where_it_would_go_on(stage: Stage, token: str) -> None:
    upstream = stage.upstream(lambda call: call.answer(200, b"{}"))
    with stage.recorder(upstream, token=TOKEN) as recorder, httpx2.Client(base_url=recorder.url) as client:
        for target in (f"/{TOKEN}/{token}/v1", f"/v1/{token}/messages", f"/v1?beta={token}"):
            answer = client.post(target, headers=HEADER, content=b"{}")
            assert answer.status_code == HTTPStatus.BAD_REQUEST, target
            assert token not in answer.text
        assert client.post("/last", headers=HEADER, content=b"{}").status_code == HTTPStatus.OK
        recorder.lines()
    assert [call.target for call in upstream.calls] == [b"/last"]


def test_pages_of_the_web_cannot_use_a_recorder_on_loopback(stage: Stage) -> None:
    local = ["localhost", "LOCALHOST:1", "127.0.0.1:8788", "127.8.9.1", "[::1]:8788"]
    foreign = ["attacker.example", "attacker.example:8788", "localhost.attacker.example", "127.0.0.1.attacker.example"]
    foreign += ["192.168.1.7:8788", "[::2]:8788"]
    upstream = stage.upstream(lambda call: call.answer(200, b"{}"))
    with stage.recorder(upstream) as recorder, httpx2.Client() as client:
        for host in local + foreign:
            answer = client.post(recorder.url, headers={"host": host}, content=b"{}")
            assert (answer.status_code == HTTPStatus.OK) == (host in local), host
            assert answer.status_code in {HTTPStatus.OK, HTTPStatus.MISDIRECTED_REQUEST}
        recorder.lines(len(local))
    assert len(upstream.calls) == len(local)


def test_a_request_without_a_host_is_local(stage: Stage) -> None:
    upstream = stage.upstream(lambda call: call.answer(200, b"{}"))
    with stage.recorder(upstream) as recorder, Wire(recorder.address) as client:
        client.send(b"GET /v1 HTTP/1.0\r\n\r\n")
        assert client.read_to_end().startswith(b"HTTP/1.1 200 ")


def test_paths_choose_among_several_upstreams(stage: Stage) -> None:
    first = stage.upstream(lambda call: call.answer(200, b'"first"'))
    second = stage.upstream(lambda call: call.answer(200, b'"second"'))
    targets = [Target("a", first.url, "/a", {}), Target("a-b", f"{second.url}/base", "/a-b", {})]
    with Recorder(stage.folder, targets) as recorder, httpx2.Client(base_url=recorder.url) as client:
        assert client.get("/a/v1").json() == "first"
        assert client.get("/a").json() == "first"
        assert client.get("/a-b/v1").json() == "second"
        for path in ("/", "/v1", "/ab", "/b/a"):
            refused = client.get(path)
            assert refused.status_code == HTTPStatus.NOT_FOUND
            assert "paths begin with /a, /a-b" in refused.json()["error"]["message"]
        logged = recorder.lines(3)
    assert [line["upstream"] for line in logged] == ["a", "a", "a-b"]
    assert [call.target for call in (*first.calls, *second.calls)] == [b"/v1", b"/", b"/base/v1"]


@pytest.mark.parametrize(
    ("settings", "logged"),
    [
        ({"sample": 0.0}, []),
        ({"sample": 1.0}, ["/v1/messages", "/v1/models", "/v1/messages/count_tokens"]),
        ({"include": ("/v1/messages*",)}, ["/v1/messages", "/v1/messages/count_tokens"]),
        ({"exclude": ("*count_tokens", "/v1/models")}, ["/v1/messages"]),
        ({"include": ("/v1/m*",), "exclude": ("*/messages",)}, ["/v1/models", "/v1/messages/count_tokens"]),
        ({"include": ("/V1/*",)}, []),
    ],
)
def test_what_is_not_logged_passes_all_the_same(stage: Stage, settings: dict[str, object], logged: list[str]) -> None:
    paths = ["/v1/messages", "/v1/models", "/v1/messages/count_tokens"]
    upstream = stage.upstream(lambda call: call.stream([b"data: 1\n\n", b"data: 2\n\n"]))
    with stage.recorder(upstream, **settings) as recorder, httpx2.Client(base_url=recorder.url) as client:
        for path in paths:
            assert client.post(path, content=b'{"a": 1}').content == b"data: 1\n\ndata: 2\n\n"
        assert client.post("/v1/unknown", headers={"host": "x.example"}).status_code == HTTPStatus.MISDIRECTED_REQUEST
        found = recorder.lines(len(logged)) if logged else []
    assert [line["request"]["url"].removeprefix(upstream.url) for line in found] == logged
    assert recorder.events.paths == logged
    assert [call.body for call in upstream.calls] == [b'{"a": 1}'] * len(paths)
    if not logged:
        assert not list(stage.folder.glob("*.jsonl"))


def test_a_share_of_the_exchanges_is_logged(stage: Stage) -> None:
    upstream = stage.upstream(lambda call: call.answer(200, b"{}"))
    with stage.recorder(upstream, sample=0.5) as recorder, httpx2.Client(base_url=recorder.url) as client:
        for _ in range(100):
            client.get("/")
        assert 10 < len(recorder.events.paths) < 90


def test_an_address_beyond_loopback_needs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    for host in ("127.0.0.1", "localhost", "::1", "127.1.2.3"):
        assert required_token(Address(host, 1)) == ("", False)
    for host in ("0.0.0.0", "::", "192.168.1.7", "box.example"):  # noqa: S104 - not listened on
        token, is_new = required_token(Address(host, 1))
        assert is_new
        assert len(token) == 32
        assert required_token(Address(host, 1)) != (token, True)
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    assert required_token(Address("0.0.0.0", 1)) == required_token(Address("::1", 1)) == (TOKEN, False)  # noqa: S104
    for bad in ("short", "has/slash/in/the/middle", "has space in the middle", "x" * 201):
        monkeypatch.setenv(TOKEN_VARIABLE, bad)
        with pytest.raises(OptionError, match=TOKEN_VARIABLE) as refused:
            required_token(Address("::", 1))
        assert bad not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "address", "url"),
    [
        ("127.0.0.1:8788", Address("127.0.0.1", 8788), "http://127.0.0.1:8788"),
        ("localhost:0", Address("localhost", 0), "http://localhost:0"),
        ("[::1]:80", Address("::1", 80), "http://[::1]:80"),
        ("[::]:80", Address("::", 80), "http://[::1]:80"),
        ("0.0.0.0:80", Address("0.0.0.0", 80), "http://127.0.0.1:80"),  # noqa: S104 - not listened on
    ],
)
def test_addresses_are_a_host_and_a_port(text: str, address: Address, url: str) -> None:
    assert parse_address(text) == address
    assert str(address) == text
    assert local_url(address) == url


@pytest.mark.parametrize("text", ["", "8788", ":8788", "localhost", "localhost:", "a:b", "::1:80", "h:70000", "u@h:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="write HOST:PORT"):
        parse_address(text)


def test_loopback_is_known_by_its_addresses_only() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.9.9.9", "::1", "Localhost"]))
    assert not any(map(is_loopback, ["", "0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example", "localhost.example"]))  # noqa: S104


@pytest.mark.parametrize(
    ("url", "host", "is_loop"),
    [
        ("http://localhost:8788", "127.0.0.1", True),
        ("http://127.0.0.1:8788/v1", "localhost", True),
        ("http://[::1]:8788", "127.0.0.1", True),
        ("http://0.0.0.0:8788", "127.0.0.1", True),
        ("http://127.0.0.1:8788", "0.0.0.0", True),  # noqa: S104 - not listened on
        ("http://127.0.0.1:8789", "127.0.0.1", False),
        ("http://10.0.0.1:8788", "127.0.0.1", False),
        ("https://api.example:8788", "127.0.0.1", False),
    ],
)
def test_a_recorder_is_not_its_own_upstream(url: str, host: str, is_loop: bool) -> None:
    upstreams = choose_upstreams([url.replace("://", "://someone:secret@")], {})
    if not is_loop:
        refuse_loop(upstreams, host, 8788)
        return
    with pytest.raises(OptionError, match="is this recorder itself") as refused:
        refuse_loop(upstreams, host, 8788)
    assert "secret" not in str(refused.value)


def test_an_address_in_use_is_reported(stage: Stage) -> None:
    upstream = stage.upstream(lambda call: call.answer(200, b"{}"))
    with stage.recorder(upstream) as recorder:
        host, port = recorder.address
        proxy = Proxy([Target("x", upstream.url, "", {})], recorder.log, ProxySettings(), Events())
        with pytest.raises(OptionError, match=f"cannot listen on {host}:{port}"):
            ProxyServer(proxy, host, port).start()


def test_certificates_that_cannot_be_read_are_reported(stage: Stage) -> None:
    stage.folder.mkdir()
    missing, empty = stage.folder / "missing.pem", stage.folder / "empty.pem"
    empty.write_bytes(json.dumps("no certificate").encode())
    reasons = {missing: "No such file or directory", empty: "it holds no certificate as PEM"}
    for path, reason in reasons.items():
        with pytest.raises(OptionError, match=f"--ca: cannot read certificates from .*{path.name}: {reason}$"):
            Recorder(stage.folder, "https://api.example", ca=path)
