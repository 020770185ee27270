"""What a recorder counts of the calls that it saw."""

import json
from decimal import Decimal

import pytest

import palaver
from palaver.prices import Prices
from palaver.recorder.tally import Tally, Tokens, Totals

CHAT = {"choices": [{"message": {"role": "assistant", "content": "Noon."}}], "model": "gpt-4o-2024-08-06"}
RESPONSES = {"output": [], "model": "gpt-4o-2024-08-06", "error": None}
ANTHROPIC = {"type": "message", "content": [], "model": "claude-sonnet-4-5-20250929"}
GEMINI = {"candidates": [], "modelVersion": "gemini-2.5-flash"}
DETAILS = {"prompt_tokens_details": {"cached_tokens": 600}, "completion_tokens_details": {"reasoning_tokens": 20}}


class Clock:
    """Gives the times 1, 2, 3, … seconds after 2026 began."""

    def __init__(self):
        self.now = 1_767_225_600.0

    def __call__(self):
        self.now += 1
        return self.now


@pytest.fixture
def tally():
    return Tally()


@pytest.fixture
def record(tmp_path, tally):
    """Record an exchange whose response has these pieces, and let the tally know of it."""

    def exchange(*pieces, status=200, requested=None, media_type="application/json", error=None):
        with palaver.ExchangeLog(tmp_path / "log", clock=Clock()) as log:
            begun = log.start("POST", "https://api.example/v1/messages?key=secret", [])
            tally.started(begun.request_id, "POST", "/v1/messages")
            begun.send(json.dumps({"model": requested}).encode())
            begun.end_request()
            if pieces:
                begun.respond(status, [("content-type", media_type)])
            for piece in pieces:
                begun.receive(piece if isinstance(piece, bytes) else json.dumps(piece).encode())
            tally.finished(begun.finish() if error is None else begun.abort(error, "it broke off"))
        [call] = tally.take_finished()
        return call

    return exchange


@pytest.mark.parametrize(
    ("payload", "tokens"),
    [
        (
            {**ANTHROPIC, "usage": {"input_tokens": 400, "cache_read_input_tokens": 600, "output_tokens": 50}},
            Tokens(400, 50, 600, 0),
        ),
        (
            {**ANTHROPIC, "usage": {"input_tokens": 1, "cache_creation_input_tokens": 70, "output_tokens": 5}},
            Tokens(1, 5, 0, 70),
        ),
        ({**CHAT, "usage": {"prompt_tokens": 1000, "completion_tokens": 50, **DETAILS}}, Tokens(400, 50, 600, 0)),
        (
            {
                **RESPONSES,
                "usage": {
                    "input_tokens": 1000,
                    "output_tokens": 50,
                    "input_tokens_details": {"cached_tokens": 600},
                    "output_tokens_details": {"reasoning_tokens": 20},
                },
            },
            Tokens(400, 50, 600, 0),
        ),
        (
            {
                **GEMINI,
                "usageMetadata": {
                    "promptTokenCount": 1000,
                    "cachedContentTokenCount": 600,
                    "candidatesTokenCount": 30,
                    "thoughtsTokenCount": 20,
                },
            },
            Tokens(400, 50, 600, 0),
        ),
    ],
)
def test_every_token_counts_once_whatever_the_provider_counts(record, payload, tokens):
    totals = Totals(Prices())
    priced = totals.add(record(payload))
    assert priced.tokens == totals.tokens == tokens
    assert priced.cost == totals.cost > 0
    assert (totals.priced, totals.unpriced) == (1, {})


@pytest.mark.parametrize(("payload", "tokens"), [(CHAT, Tokens(4, 5, 6, 0)), (ANTHROPIC, Tokens(10, 5, 6, 0))])
def test_a_model_without_a_price_has_tokens_and_no_cost(record, payload, tokens):
    anthropic = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 6}
    chat = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 6}}
    usage = anthropic if payload is ANTHROPIC else chat
    totals = Totals(Prices())
    priced = totals.add(record({**payload, "model": "made-up-model", "usage": usage}))
    assert (priced.tokens, priced.cost) == (tokens, None)
    assert (totals.cost, totals.priced, totals.unpriced) == (Decimal(0), 0, {"made-up-model": 1})


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "made-up-model"])
def test_a_count_that_is_no_number_is_left_out(record, model):
    usage = {"promptTokenCount": 10, "output_tokens": "5", "thinking_tokens": [2], "cache_read_input_tokens": 0.5}
    priced = Totals(Prices()).add(record({**GEMINI, "modelVersion": model, "usageMetadata": usage}))
    assert priced.tokens == Tokens(10, 0, 0, 0)


def test_the_time_to_the_first_token_ends_with_the_first_content(record):
    def event(data):
        return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()

    call = record(
        event({"type": "message_start", "message": {**ANTHROPIC, "usage": {"input_tokens": 9, "output_tokens": 1}}}),
        event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Noon."}}),
        event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}),
        event({"type": "message_stop"}),
        media_type="text/event-stream",
    )
    plain = record({**ANTHROPIC, "usage": {"input_tokens": 1, "output_tokens": 1}})
    assert call.is_stream
    first_piece_s = call.first_token_s - 2
    assert 0 < first_piece_s < call.first_token_s < call.duration_s
    assert (plain.is_stream, plain.first_token_s) == (False, None)
    totals = Totals(Prices())
    for each in (call, plain, call._replace(first_token_s=call.first_token_s + 4)):
        totals.add(each)
    assert (totals.calls, totals.streams) == (3, 2)
    assert totals.median_first_token_s == call.first_token_s + 2
    assert totals.slowest_first_token_s == call.first_token_s + 4
    assert totals.tokens.output == 7 + 1 + 7


@pytest.mark.parametrize(
    ("status", "payload", "name"),
    [
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, "529 overloaded_error"),
        (401, {"error": {"type": "invalid_request_error", "code": "invalid_api_key"}}, "401 invalid_api_key"),
        (429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}, "429 RESOURCE_EXHAUSTED"),
        (500, b"<html>no</html>", "500"),
        (403, {"error": {"type": "sk-made up\x1b[2J"}}, "403"),
        (200, {**ANTHROPIC, "error": {"type": "overloaded_error"}}, "overloaded_error"),
        (200, {**CHAT, "error": "out of ink"}, "error"),
        (200, RESPONSES, ""),
    ],
)
def test_an_error_has_the_name_that_the_api_gives_it(record, status, payload, name):
    assert record(payload, status=status).error == name


def test_an_interruption_has_its_own_name(record):
    call = record(requested="claude-sonnet-4-5", error="upstream_unreachable")
    assert (call.error, call.status, call.model) == ("upstream_unreachable", None, "claude-sonnet-4-5")


def test_no_content_and_no_key_is_kept(record):
    call = record({**ANTHROPIC, "content": [{"type": "text", "text": "The answer itself"}], "usage": {}})
    assert call.path == "/v1/messages"
    assert "secret" not in repr(call)
    assert "The answer itself" not in repr(call)


def test_running_and_streaming_exchanges_are_counted_until_they_end(tally, tmp_path):
    with palaver.ExchangeLog(tmp_path) as log:
        exchanges = [log.start("POST", "https://api.example/v1", []) for _ in range(3)]
        for exchange in exchanges:
            tally.started(exchange.request_id, "POST", "/v1")
        tally.streaming(exchanges[0].request_id)
        assert (tally.running_count, tally.stream_count) == (3, 1)
        for exchange in exchanges:
            tally.finished(exchange.finish())
    assert (tally.running_count, tally.stream_count) == (0, 0)
    assert len(tally.take_finished()) == 3
    assert tally.take_finished() == []


def test_defects_are_counted_by_their_message(tally):
    for message in ("one", "two", "one"):
        tally.failed(message)
    assert tally.take_defects() == {"one": 2, "two": 1}
    assert not tally.take_defects()
