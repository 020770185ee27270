"""The addon in a real mitmdump, which runs in an environment of its own; `make test-large` builds it."""

import importlib
import subprocess
import threading

import httpx2
import pytest

from importing import CHECKOUT
from loopback import ABORT, DEADLINE_S, EVENTS, JSON, Answer, Loopback, closed_port, entries, event_types, streamed
from shown_commands import blocks

with pytest.MonkeyPatch.context() as patch:
    # Not for longer: the folders beside it have the names of folders of tests.
    patch.syspath_prepend(CHECKOUT / "benchmarks")
    mitmproxy_environment = importlib.import_module("mitmproxy_environment")

pytestmark = pytest.mark.large
PAGE = (CHECKOUT / "docs" / "record.md").read_text("utf-8")
BODY = b'{"model": "claude-sonnet-4-5", "stream": true}'
KEY = {"x-api-key": "no-key-at-all", "content-type": "application/json"}


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The script of the page, as a user saves it."""
    [script] = [block for block in blocks(PAGE, "python") if "mitmproxy_addon" in block]
    path = tmp_path_factory.mktemp("script") / "record.py"
    path.write_text(script, "utf-8")
    return path


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path))
    return tmp_path / "recordings"


def reverse(script, url):
    # Otherwise it hangs up on a client for whom it cannot reach the upstream, before there is a request.
    lazily = ("--set", "connection_strategy=lazy")
    return mitmproxy_environment.mitmdump(script, "--mode", f"reverse:{url}", *lazily)


def client(base_url, **more):
    return httpx2.Client(base_url=base_url, timeout=DEADLINE_S, headers=KEY, **more)


def test_a_stream_passes_as_it_comes_and_is_logged(script, folder):
    gates = [threading.Event() for _ in EVENTS]
    pieces = [piece for event, gate in zip(EVENTS, gates, strict=True) for piece in (event, gate)]
    with Loopback(lambda _: streamed(*pieces)) as upstream, reverse(script, upstream.url) as proxy:
        with client(proxy.url) as api, api.stream("POST", "/v1/messages?key=hidden", content=BODY) as response:
            got = b""
            for chunk in response.iter_raw():
                got += chunk
                gates[got.count(b"\n\n") - 1].set()
        [entry] = entries(folder)  # written before the client saw the end
    assert got == b"".join(EVENTS)
    assert (upstream.asked[0].path, upstream.asked[0].body) == ("/v1/messages?key=hidden", BODY)
    assert entry["request"]["body"] == {"model": "claude-sonnet-4-5", "stream": True}
    assert entry["request"]["url"].endswith("/v1/messages?key=[masked]")
    assert entry["request"]["headers"]["x-api-key"] == "[masked]"
    assert "error" not in entry
    assert len(event_types(entry)) == len(EVENTS)
    assert entry["response"]["streaming_details"]["network_chunks"] == len(EVENTS)
    assert "issues" not in entry["response"]["streaming_details"]


def test_only_requests_to_models_are_logged(script, folder):
    with (
        Loopback(lambda _: Answer(200, JSON, [b"{}"])) as upstream,
        reverse(script, upstream.url) as proxy,
        client(proxy.url) as api,
    ):
        assert [api.get("/index.html").json(), api.post("/v1/responses", content=BODY).json()] == [{}, {}]
    [entry] = entries(folder)
    assert entry["request"]["url"].endswith("/v1/responses")
    assert entry["response"]["body"] == {}


def test_an_upstream_that_breaks_off_is_flagged(script, folder):
    with (
        Loopback(lambda _: streamed(*EVENTS[:2], ABORT)) as upstream,
        reverse(script, upstream.url) as proxy,
        client(proxy.url) as api,
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        api.post("/v1/messages", content=BODY)
    [entry] = entries(folder)
    assert (entry["error"]["type"], len(event_types(entry))) == ("upstream_aborted", 2)


def test_a_client_that_goes_away_is_flagged(script, folder):
    gate = threading.Event()
    with Loopback(lambda _: streamed(*EVENTS[:2], gate)) as upstream, reverse(script, upstream.url) as proxy:
        with client(proxy.url) as api, api.stream("POST", "/v1/messages", content=BODY) as response:
            next(response.iter_raw())
        gate.set()
    [entry] = entries(folder)
    assert entry["error"]["type"] == "client_aborted"
    assert event_types(entry)[0] == "message_start"


def test_an_upstream_that_cannot_be_reached_is_flagged(script, folder):
    with reverse(script, f"http://127.0.0.1:{closed_port()}") as proxy, client(proxy.url) as api:
        assert api.post("/v1/messages", content=BODY).status_code == 502
    [entry] = entries(folder)
    assert (entry["error"]["type"], entry["response"]) == ("upstream_unreachable", None)


def test_what_is_in_flight_at_the_end_is_flagged(script, folder):
    gate = threading.Event()
    with Loopback(lambda _: streamed(EVENTS[0], gate)) as upstream:
        with client("") as api:
            with reverse(script, upstream.url) as proxy:
                response = api.send(api.build_request("POST", f"{proxy.url}/v1/messages", content=BODY), stream=True)
                next(response.iter_raw())
            response.close()
        gate.set()
    [entry] = entries(folder)
    assert entry["error"]["type"] in {"recorder_stopped", "client_aborted"}
    assert event_types(entry) == ["message_start"]


def test_the_page_names_the_packages_that_the_addon_needs():
    shown = f"pip install mitmproxy {' '.join(mitmproxy_environment.ADDON_NEEDS)}"
    assert shown in PAGE
    code = "import importlib.metadata as m; print(m.version('mitmproxy'))"
    command = [mitmproxy_environment.mitmproxy_python(), "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout
