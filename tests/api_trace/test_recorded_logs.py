"""Lines of `palaver record` that are no ordinary answers, read as the recorder writes them."""

import gzip
import json
import re

import pytest

import palaver
from api_trace.tracing import URL, asked, call, message
from importing import FIXTURES
from palaver.importers import importer
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.streams.exchange import Exchange
from palaver.threads.call import Call

JSON = [("content-type", "application/json")]


@pytest.fixture
def log(tmp_path):
    with palaver.ExchangeLog(tmp_path / "recordings") as log:
        yield log


def begin(log: palaver.ExchangeLog, body: bytes | None = None, *, method: str = "POST", url: str = URL) -> Exchange:
    exchange = log.start(method, url, JSON, upstream="anthropic")
    exchange.send(json.dumps(asked()).encode() if body is None else body)
    return exchange


def read(log: palaver.ExchangeLog) -> tuple[list[Call], Run]:
    (path,) = log.files
    run = Run(path.name)
    return list(importer("api_trace").calls(Source.at(path), run)), run


@pytest.mark.parametrize(
    ("kind", "category"),
    [
        ("client_aborted", "aborted"),
        ("recorder_stopped", "aborted"),
        ("recovered", "aborted"),
        ("timeout", "timeout"),
        ("upstream_aborted", "network"),
        ("upstream_unreachable", "network"),
    ],
)
def test_a_call_without_an_answer_has_the_recorders_reason(log, kind, category):
    begin(log).abort(kind, "in words")
    (made,), _ = read(log)
    assert (made.response, made.error) == (None, {"category": category, "message": "in words"})
    assert made.platform == {"log": "palaver", "upstream": "anthropic"}


def test_an_error_of_the_provider_keeps_its_own_category(log):
    exchange = begin(log)
    exchange.respond(429, JSON)
    exchange.receive(json.dumps({"type": "error", "error": {"type": "rate_limit_error", "message": "wait"}}).encode())
    exchange.finish()
    (made,), _ = read(log)
    assert made.error is not None
    assert (made.error["category"], made.error["status"]) == ("rate_limit", 429)


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("GET", "https://api.anthropic.com/v1/models", b""),
        ("HEAD", "https://api.anthropic.com/", b""),
        ("GET", URL, b""),
        ("DELETE", "https://api.openai.com/v1/responses/resp_1", b""),
        ("POST", "https://api.anthropic.com/api/event_logging/batch", b'{"events": []}'),
    ],
)
def test_requests_that_ask_no_model_are_skipped(log, method, url, body):
    exchange = begin(log, body, method=method, url=url)
    exchange.respond(200, JSON)
    exchange.receive(b"{}")
    exchange.finish()
    made, run = read(log)
    assert (made, dict(run.ledger.skipped)) == ([], {"other-traffic": 1})


def test_a_request_that_was_given_up_before_its_body_is_skipped(log):
    begin(log, b"").abort("client_aborted", "the client closed the connection")
    made, run = read(log)
    assert (made, dict(run.ledger.skipped), run.ledger.quarantined) == ([], {"other-traffic": 1}, {})


def test_a_websocket_is_skipped_under_a_rule_of_its_own(log):
    exchange = begin(log, b"", method="GET", url="https://api.openai.com/v1/responses")
    exchange.respond(101, [])
    exchange.note_websocket(3, 9)
    exchange.finish()
    made, run = read(log)
    assert (made, dict(run.ledger.skipped)) == ([], {"websocket": 1})


def test_an_answer_that_was_compressed_is_read(log):
    exchange = begin(log)
    exchange.respond(200, [*JSON, ("content-encoding", "gzip")])
    exchange.receive(gzip.compress(json.dumps(message()).encode()))
    exchange.finish()
    (made,), _ = read(log)
    assert made.response == message()


def test_a_request_that_is_no_json_is_kept_as_text(log):
    exchange = begin(log, b'{"model": "m", "messages": [{"role": "user", "content": "Is it rai')
    exchange.respond(400, JSON)
    exchange.receive(b'{"type": "error", "error": {"type": "invalid_request_error", "message": "no JSON"}}')
    exchange.finish()
    (made,), run = read(log)
    assert made.is_request_cut
    assert "Is it rai" in made.answer["request_body"]
    assert "unreadable-request" in run.findings.counts


def test_a_stream_of_bedrock_is_read_from_base64(log, tmp_path):
    """Its frames are no text, so that the recorder writes the body in base64."""
    (path,) = (FIXTURES / "api_trace" / "bedrock" / "source").glob("*.jsonl")
    first = json.loads(path.read_bytes().splitlines()[0])
    payloads = re.findall(r'\{"bytes":"[A-Za-z0-9+/=]+"[^}]*\}', first["response"]["body_raw"])
    exchange = log.start("POST", first["request"]["url"], JSON, upstream="bedrock")
    exchange.send(json.dumps(first["request"]["body"]).encode())
    exchange.respond(200, [("content-type", "application/vnd.amazon.eventstream")])
    for payload in payloads:
        exchange.receive(b"\0\0\1\xfe\xff\0\xc3\x28:event-type\x07" + payload.encode() + b"\xde\xad\xbe\xef")
    exchange.finish()
    (made,), _ = read(log)
    assert payloads
    assert made.response == call(tmp_path, first).response


def test_the_journal_of_a_recorder_is_no_log(log):
    exchange = begin(log)
    exchange.end_request()
    (part,) = (log.folder / "journal").rglob("*.part")
    match = importer("api_trace").recognizes(Source.at(part))
    assert (match.verdict, "have not ended" in match.reason) == ("no", True)
    exchange.discard()
