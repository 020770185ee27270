"""`Exchange.record` and `record_async`: chunks pass unchanged, and the log has them however their iterator ends."""

import asyncio
import shutil

import pytest

import palaver
from loopback import EVENTS, SSE, entries, event_types

URL = "https://api.anthropic.com/v1/messages"


@pytest.fixture
def log(tmp_path):
    with palaver.ExchangeLog(tmp_path, clock=Clock()) as log:
        yield log


class Clock:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self):
        self.now = 1_751_914_728.0

    def __call__(self):
        self.now += 1
        return self.now


def answered(log, headers=SSE):
    exchange = log.start("POST", URL, [("content-type", "application/json"), ("x-api-key", "no-key-at-all")])
    exchange.send(b'{"model": "claude-sonnet-4-5"}')
    exchange.respond(200, headers.items())
    return exchange


async def later(chunks, error=None):
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk
    if error is not None:
        raise error


def failing(chunks, error):
    yield from chunks
    raise error


def passed(exchange, chunks, error=None, stop_after=None, *, is_async):
    """What the caller of `record` or `record_async` gets; it stops after some chunks, if a number is given."""
    got = []
    if is_async:

        async def read():
            recorded = exchange.record_async(later(chunks, error))
            async for chunk in recorded:
                got.append(chunk)
                if len(got) == stop_after:
                    break
            await recorded.aclose()

        asyncio.run(read())
    else:
        for chunk in exchange.record(failing(chunks, error) if error else chunks):
            got.append(chunk)
            if len(got) == stop_after:
                break
    return got


both = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@both
def test_chunks_pass_unchanged_and_are_logged_with_their_times(log, is_async):
    chunks = [EVENTS[0][:20], EVENTS[0][20:], *EVENTS[1:]]
    assert passed(answered(log), chunks, is_async=is_async) == chunks
    [entry] = entries(log.folder)
    assert entry["response"]["body_raw"].encode() == b"".join(chunks)
    assert "error" not in entry
    details = entry["response"]["streaming_details"]
    assert (details["network_chunks"], details["chunk_count"], details.get("issues")) == (7, 6, None)
    assert [chunk["chunk_timing_ms"] for chunk in details["chunks"]] == [0, 1000, 2000, 3000, 4000, 5000]
    assert entry["request"]["headers"]["x-api-key"] == "[masked]"


def test_a_chunk_is_recorded_before_it_is_passed_on(log):
    exchange = answered(log)
    for number, _ in enumerate(exchange.record(EVENTS), 1):
        assert exchange.size_bytes == len(b'{"model": "claude-sonnet-4-5"}') + len(b"".join(EVENTS[:number]))


@pytest.mark.parametrize("quoted", ["bytearray(b'set-cookie s3cret')", 'b"it\'s \\xffs3cret"'])
def test_an_error_that_quotes_bytes_of_the_upstream_is_logged_without_them(log, quoted):
    with pytest.raises(ValueError, match="s3cret"):
        passed(answered(log), EVENTS[:1], ValueError(f"illegal header line: {quoted}"), is_async=False)
    [entry] = entries(log.folder)
    assert entry["error"]["message"] == "ValueError: illegal header line"


@both
@pytest.mark.parametrize(
    ("error", "kind"),
    [(ConnectionResetError("peer at https://u:hunter2@host/?key=s3"), "upstream_aborted"), (TimeoutError(), "timeout")],
    ids=["reset", "timeout"],
)
def test_an_error_of_the_source_is_logged_and_raised(log, error, kind, is_async):
    with pytest.raises(type(error)):
        passed(answered(log), EVENTS[:3], error, is_async=is_async)
    [entry] = entries(log.folder)
    assert entry["error"]["type"] == kind
    assert entry["error"]["message"].startswith(type(error).__name__)
    assert "hunter2" not in str(entry)
    assert "s3" not in entry["error"]["message"]
    assert event_types(entry) == ["message_start", "content_block_start", "content_block_delta"]
    assert "aborted" in {issue["type"] for issue in entry["response"]["streaming_details"]["issues"]}


@both
def test_an_exchange_that_cannot_be_logged_passes_with_a_warning(log, is_async, caplog):
    exchange = answered(log)
    shutil.rmtree(log.folder)
    assert passed(exchange, EVENTS, is_async=is_async) == EVENTS
    [warning] = caplog.records
    assert (warning.name, warning.levelname) == ("palaver.api.exchange", "WARNING")
    assert "could not be logged: No such file or directory" in warning.getMessage()


@both
def test_a_caller_that_stops_early_has_aborted(log, is_async):
    assert len(passed(answered(log), EVENTS, stop_after=2, is_async=is_async)) == 2
    [entry] = entries(log.folder)
    assert entry["error"]["type"] == "client_aborted"
    assert event_types(entry) == ["message_start", "content_block_start"]


@both
def test_a_caller_that_stops_after_the_last_event_has_read_all(log, is_async):
    """Clients of OpenAI stop at `[DONE]`, before the connection says that nothing follows."""
    passed(answered(log), EVENTS, stop_after=len(EVENTS), is_async=is_async)
    [entry] = entries(log.folder)
    assert "error" not in entry
    assert "issues" not in entry["response"]["streaming_details"]


def test_a_caller_that_stops_after_the_last_event_has_read_all_with_masks_too(tmp_path):
    """The beginning of a key may be held back until the end."""
    chunk = b'data: {"id":"c1","object":"chat.completion.chunk","model":"gpt-5","choices":[{"index":0,%b}]}\n\n'
    chunks = [
        chunk % b'"delta":{"role":"assistant","content":"Use sk-abc"}',
        chunk % b'"delta":{"content":"defghijklmnop123456 or sk-"},"finish_reason":"stop"',
        b"data: [DONE]\n\n",
    ]
    with palaver.ExchangeLog(tmp_path, redact=True) as log:
        assert passed(answered(log), chunks, stop_after=3, is_async=False) == chunks
    [entry] = entries(tmp_path)
    assert "error" not in entry
    assert "issues" not in entry["response"]["streaming_details"]
    assert "defghijklmnop" not in str(entry)
    assert "[masked]" in entry["response"]["body_raw"]


def test_a_cancelled_task_has_aborted(log):
    exchange = answered(log)

    async def read():
        waiting = asyncio.Event()

        async def chunks():
            yield EVENTS[0]
            waiting.set()
            await asyncio.Event().wait()

        async def consume():
            async for _ in exchange.record_async(chunks()):
                pass

        task = asyncio.create_task(consume())
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(read())
    [entry] = entries(log.folder)
    assert (entry["error"]["type"], event_types(entry)) == ("client_aborted", ["message_start"])


def test_chunks_of_a_response_that_has_not_begun_are_refused_at_once(log):
    exchange = log.start("POST", URL, [])
    with pytest.raises(ValueError, match="call `respond`"):
        exchange.record(EVENTS)
    with pytest.raises(ValueError, match="call `respond`"):
        exchange.record_async(later(EVENTS))


def test_a_block_ends_an_exchange_as_complete(log):
    with log.start("GET", URL, []) as exchange:
        exchange.respond(204, [])
    with answered(log) as exchange:
        list(exchange.record(EVENTS))
    first, second = entries(log.folder)
    assert (first["response"]["status_code"], second["response"]["status_code"]) == (204, 200)
    assert "error" not in first
    assert "error" not in second


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "upstream_unreachable"),
        (ConnectionResetError(104, "Connection reset"), "upstream_aborted"),
        (TimeoutError("timed out"), "timeout"),
        (KeyboardInterrupt(), "client_aborted"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_block_that_fails_without_a_response_says_why(log, error, kind):
    with pytest.raises(type(error)), log.start("GET", URL, []):
        raise error
    [entry] = entries(log.folder)
    assert (entry["error"]["type"], entry["response"]) == (kind, None)


def test_a_block_that_fails_or_ends_while_it_reads_has_aborted(log):
    def read():
        with answered(log) as exchange:
            next(exchange.record(EVENTS))
            raise KeyError

    with pytest.raises(KeyError):
        read()
    with answered(log) as exchange:
        kept = exchange.record(EVENTS)
        next(kept)
    kept.close()
    assert [entry["error"]["type"] for entry in entries(log.folder)] == ["client_aborted"] * 2


def test_what_is_cut_off_stays_in_the_journal_until_it_ends(log):
    exchange = answered(log)
    recorded = exchange.record(EVENTS)
    next(recorded)
    [journal] = (log.folder / "journal").rglob("*.part")
    assert EVENTS[0] in journal.read_bytes()
    recorded.close()
    assert not list((log.folder / "journal").rglob("*.part"))


def test_an_exchange_that_outlives_its_log_is_written_once(log):
    """Another recorder takes an exchange in the journal for one that was killed, unless the journal is locked."""
    recorded = answered(log).record(EVENTS)
    next(recorded)
    log.close()
    with palaver.ExchangeLog(log.folder) as other:
        assert other.recovered == 0
    assert list(recorded) == EVENTS[1:]
    assert ["error" in entry for entry in entries(log.folder)] == [False]
    assert not list((log.folder / "journal").iterdir())


@both
def test_a_recorder_alone_records_what_passes(is_async):
    recorder = palaver.StreamRecorder()
    assert not recorder.has_last_event
    if is_async:

        async def read():
            return [chunk async for chunk in recorder.record_async(later(EVENTS))]

        assert asyncio.run(read()) == EVENTS
    else:
        assert list(recorder.record(EVENTS)) == EVENTS
    assert recorder.has_last_event
    with recorder.finish() as recording:
        assert recording.payload()["content"] == [{"type": "text", "text": "Good morning."}]
        assert recording.issues == []
