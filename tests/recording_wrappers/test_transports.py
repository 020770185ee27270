"""`ExchangeLog.transport`: clients of httpx and httpx2 get what they would get without it, and the log has it all."""

import asyncio
import gzip
import subprocess
import sys
import threading

import anthropic
import httpx
import httpx2
import openai
import pytest

import palaver
from loopback import ABORT, DEADLINE_S, EVENTS, JSON, Answer, Loopback, closed_port, entries, event_types, streamed

BODY = b'{"model": "claude-sonnet-4-5", "stream": true}'
KEY = {"x-api-key": "no-key-at-all", "content-type": "application/json"}
every_client = pytest.mark.parametrize(
    ("library", "is_async"),
    [(httpx, False), (httpx, True), (httpx2, False), (httpx2, True)],
    ids=["httpx-sync", "httpx-async", "httpx2-sync", "httpx2-async"],
)


@pytest.fixture
def log(tmp_path):
    with palaver.ExchangeLog(tmp_path / "recordings") as log:
        yield log


@pytest.fixture
def upstream():
    with Loopback(lambda _: streamed()) as upstream:
        yield upstream


def call(
    log, library, url, *, is_async, content=BODY, on_chunk=None, stop_after=None, inner=None, timeout=DEADLINE_S, **more
):
    """Send a request through a recording transport; return the status and the raw body, as far as it is read."""
    pieces = []

    def keep(chunk):
        pieces.append(chunk)
        if on_chunk is not None:
            on_chunk(len(pieces))
        return len(pieces) == stop_after

    def sync_call():
        transport = log.transport(inner or library.HTTPTransport())
        with (
            library.Client(transport=transport, timeout=timeout, **more) as client,
            client.stream("POST", url, content=content, headers=KEY) as response,
        ):
            for chunk in response.iter_raw():
                if keep(chunk):
                    break
            return response.status_code

    async def async_call():
        transport = log.transport(inner or library.AsyncHTTPTransport())
        async with (
            library.AsyncClient(transport=transport, timeout=timeout, **more) as client,
            client.stream("POST", url, content=content, headers=KEY) as response,
        ):
            async for chunk in response.aiter_raw():
                if keep(chunk):
                    break
            return response.status_code

    return (asyncio.run(async_call()) if is_async else sync_call()), b"".join(pieces)


@every_client
def test_a_stream_passes_and_is_logged(log, upstream, library, is_async):
    url = f"{upstream.url}/v1/messages?key=hidden"
    assert call(log, library, url, is_async=is_async) == (200, b"".join(EVENTS))
    [asked] = upstream.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/v1/messages?key=hidden", BODY)
    assert asked.headers["x-api-key"] == "no-key-at-all"
    [entry] = entries(log.folder)
    assert entry["request"]["url"] == f"{upstream.url}/v1/messages?key=[masked]"
    assert entry["request"]["headers"]["x-api-key"] == "[masked]"
    assert entry["request"]["body"] == {"model": "claude-sonnet-4-5", "stream": True}
    assert entry["response"]["http_version"] == "HTTP/1.1"
    assert entry["response"]["body_raw"].encode() == b"".join(EVENTS)
    assert "error" not in entry
    assert len(event_types(entry)) == len(EVENTS)
    assert "issues" not in entry["response"]["streaming_details"]


@every_client
def test_every_chunk_is_recorded_and_passed_on_before_the_next_is_sent(log, library, is_async):
    gates = [threading.Event() for _ in EVENTS]
    pieces = [piece for event, gate in zip(EVENTS, gates, strict=True) for piece in (event, gate)]

    def release(number):
        [journal] = (log.folder / "journal").rglob("*.part")
        assert EVENTS[number - 1] in journal.read_bytes()
        gates[number - 1].set()

    with Loopback(lambda _: streamed(*pieces)) as upstream:
        status, body = call(log, library, upstream.url, is_async=is_async, on_chunk=release)
    assert (status, body) == (200, b"".join(EVENTS))


@every_client
def test_the_body_of_a_request_may_come_in_pieces(log, upstream, library, is_async):
    async def pieces():
        yield BODY[:10]
        yield BODY[10:]

    content = pieces() if is_async else iter([BODY[:10], BODY[10:]])
    call(log, library, upstream.url, is_async=is_async, content=content)
    assert upstream.asked[0].body == BODY
    assert entries(log.folder)[0]["request"]["body"] == {"model": "claude-sonnet-4-5", "stream": True}


@every_client
def test_a_client_that_fails_to_give_the_whole_request_has_aborted(log, upstream, library, is_async):
    def failing_pieces():
        yield BODY[:10]
        raise ValueError("no more")

    async def later():
        for piece in failing_pieces():
            yield piece

    with pytest.raises(ValueError, match="no more"):
        call(log, library, upstream.url, is_async=is_async, content=later() if is_async else failing_pieces())
    [entry] = entries(log.folder)
    assert (entry["error"]["type"], entry["response"]) == ("client_aborted", None)
    assert entry["request"]["body_raw"].encode() == BODY[:10]


@every_client
def test_an_encoded_body_passes_encoded_and_is_logged_decoded(log, library, is_async):
    whole = gzip.compress(b'{"id": "msg_1", "type": "message"}')
    answer = Answer(200, {**JSON, "content-encoding": "gzip"}, [whole[:7], whole[7:]])
    with Loopback(lambda _: answer) as upstream:
        assert call(log, library, upstream.url, is_async=is_async) == (200, whole)
    [entry] = entries(log.folder)
    assert entry["response"]["body"] == {"id": "msg_1", "type": "message"}


@every_client
def test_every_redirect_is_an_exchange(log, library, is_async):
    def answer(asked):
        return Answer(307, {"location": "/b?token=hidden"}) if asked.path == "/a" else Answer(200, JSON, [b"{}"])

    with Loopback(answer) as upstream:
        status, body = call(log, library, f"{upstream.url}/a", is_async=is_async, follow_redirects=True)
    assert (status, body) == (200, b"{}")
    first, second = entries(log.folder)
    assert [entry["response"]["status_code"] for entry in (first, second)] == [307, 200]
    assert first["request"]["body"] == second["request"]["body"]
    assert [asked.body for asked in upstream.asked] == [BODY, BODY]
    assert "hidden" not in str((first, second))


@every_client
def test_a_client_that_closes_early_has_aborted(log, library, is_async):
    gate = threading.Event()
    with Loopback(lambda _: streamed(*EVENTS[:2], gate, *EVENTS[2:])) as upstream:
        try:
            _, body = call(log, library, upstream.url, is_async=is_async, on_chunk=lambda _: None, stop_after=1)
        finally:
            gate.set()
    [entry] = entries(log.folder)
    assert entry["error"]["type"] == "client_aborted"
    assert entry["response"]["body_raw"].encode() == body


@every_client
def test_an_upstream_that_breaks_off_is_flagged(log, library, is_async):
    with (
        Loopback(lambda _: streamed(*EVENTS[:2], ABORT)) as upstream,
        pytest.raises((library.ReadError, library.RemoteProtocolError)),
    ):
        call(log, library, upstream.url, is_async=is_async)
    [entry] = entries(log.folder)
    assert entry["error"]["type"] == "upstream_aborted"
    assert "incomplete_stream_end" in {issue["type"] for issue in entry["response"]["streaming_details"]["issues"]}


@every_client
def test_a_timeout_is_flagged(log, library, is_async):
    gate = threading.Event()
    timeout = library.Timeout(DEADLINE_S, read=0.05)
    with Loopback(lambda _: streamed(EVENTS[0], gate)) as upstream:
        try:
            with pytest.raises(library.ReadTimeout):
                call(log, library, upstream.url, is_async=is_async, timeout=timeout)
        finally:
            gate.set()
    [entry] = entries(log.folder)
    assert entry["error"]["type"] == "timeout"


@every_client
def test_an_upstream_that_cannot_be_reached_is_flagged(log, library, is_async):
    with pytest.raises(library.ConnectError):
        call(log, library, f"http://127.0.0.1:{closed_port()}", is_async=is_async)
    [entry] = entries(log.folder)
    assert (entry["error"]["type"], entry["response"]) == ("upstream_unreachable", None)


@every_client
def test_a_transport_that_answers_by_itself_is_recorded(log, library, is_async):
    inner = library.MockTransport(lambda request: library.Response(201, content=request.content, headers=JSON))
    assert call(log, library, "https://api.test/v1", is_async=is_async, inner=inner) == (201, BODY)
    [entry] = entries(log.folder)
    assert (entry["response"]["status_code"], entry["response"]["body"]["stream"]) == (201, True)


def test_an_answer_that_is_read_in_another_task_than_the_request(log, upstream):
    async def read():
        async with httpx2.AsyncClient(transport=log.transport(httpx2.AsyncHTTPTransport())) as client:
            answers = await asyncio.gather(*(client.post(upstream.url, content=BODY) for _ in range(20)))
        assert {answer.content for answer in answers} == {b"".join(EVENTS)}

    asyncio.run(read())
    assert len(entries(log.folder)) == 20


@pytest.mark.parametrize(
    "inner", [None, "https://api.test", httpx2.Client, object()], ids=["none", "url", "client", "object"]
)
def test_what_is_no_transport_of_httpx_is_refused(log, inner):
    with pytest.raises(TypeError, match=r"such as httpx2\.HTTPTransport"):
        log.transport(inner)


def ask_anthropic(log, url, max_retries):
    http_client = httpx2.Client(transport=log.transport(httpx2.HTTPTransport()))
    question = {"model": "claude-next", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    with (
        anthropic.Anthropic(api_key="no-key", base_url=url, http_client=http_client, max_retries=max_retries) as client,
        client.messages.stream(**question) as stream,
    ):
        return stream.get_final_text()


def test_the_client_of_anthropic_works_through_it(log, upstream):
    assert ask_anthropic(log, upstream.url, max_retries=0) == "Good morning."
    [entry] = entries(log.folder)
    assert "error" not in entry
    assert entry["request"]["body"]["messages"] == [{"role": "user", "content": "Hi"}]


def test_the_client_of_openai_works_through_it_and_has_not_aborted(log):
    """It closes the connection at `[DONE]`, before the end of the body."""
    start = b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":'
    chunks = [
        start + b'[{"index":0,"delta":{"role":"assistant","content":"Good morning."}}]}\n\n',
        start + b'[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
        b"data: [DONE]\n\n",
    ]
    gate = threading.Event()
    asked = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    with Loopback(lambda _: streamed(*chunks, gate)) as upstream:
        http_client = httpx2.Client(transport=log.transport(httpx2.HTTPTransport()))
        with openai.OpenAI(api_key="no-key", base_url=upstream.url, http_client=http_client, max_retries=0) as client:
            try:
                texts = [chunk.choices[0].delta.content for chunk in client.chat.completions.create(**asked)]
            finally:
                gate.set()
    assert texts == ["Good morning.", None]
    [entry] = entries(log.folder)
    assert "error" not in entry
    assert "issues" not in entry["response"]["streaming_details"]


def test_every_retry_is_an_exchange(log):
    answers = iter([Answer(529, {**JSON, "retry-after-ms": "1"}, [b'{"type": "error"}']), streamed()])
    with Loopback(lambda _: next(answers)) as upstream:
        assert ask_anthropic(log, upstream.url, max_retries=1) == "Good morning."
    assert [entry["response"]["status_code"] for entry in entries(log.folder)] == [529, 200]


def test_neither_library_is_imported_before_it_is_used():
    code = "import sys, palaver; palaver.ExchangeLog; print([name for name in sys.modules if name.startswith('httpx')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
