"""From any format to any other and back: equal, minus what is named as lost."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassettes import needs_samples, recorded
from exchanging import agrees, lost_words, requests, responses
from palaver.streams import assemble
from palaver.validation.schema import is_valid
from palaver.wire import formats, wire_format

FORMATS = formats()
PAIRS = list(permutations(FORMATS, 2))
ARROWS = [f"{source}->{target}" for source, target in PAIRS]


def wire(name):
    return wire_format(name)


def answers(name):
    """Every recorded response of a format, streams put together."""
    for call in recorded(name.replace("-", "_")):
        payload = call.answer
        if call.stream is not None:
            payload = assemble(name, call.stream).payload
        if isinstance(payload, dict) and wire(name).error_from_wire(payload) is None:
            yield call.name, payload


def test_there_are_four_formats():
    assert FORMATS == ["anthropic", "gemini", "openai-chat", "openai-responses"]


@needs_samples
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_read_and_written_in_the_same_format_is_equal(name):
    seen = 0
    for call in recorded(name.replace("-", "_")):
        if isinstance(call.request, dict) and call.request:
            written = wire(name).request_to_wire(wire(name).request_from_wire(call.request))
            assert (written.payload, written.losses) == (call.request, []), call.name
            seen += 1
    for where, payload in answers(name):
        written = wire(name).response_to_wire(wire(name).response_from_wire(payload))
        assert (written.payload, written.losses) == (payload, []), where
        seen += 1
    assert seen


@needs_samples
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ARROWS)
def test_another_format_gives_it_back_minus_the_losses(source, target):
    for call in recorded(source.replace("-", "_")):
        if isinstance(call.request, dict) and call.request:
            request = wire(source).request_from_wire(call.request)
            written = wire(target).request_to_wire(request)
            read = wire(target).request_from_wire(written.payload)
            assert agrees(request, written.losses, read), call.name
            assert lost_words(request, written.losses, written.payload) == [], call.name
    for where, payload in answers(source):
        response = wire(source).response_from_wire(payload)
        written = wire(target).response_to_wire(response)
        assert agrees(response, written.losses, wire(target).response_from_wire(written.payload)), where
        assert lost_words(response, written.losses, written.payload) == [], where


MODELS = ["claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro", "other"]


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=ARROWS)
@given(data=st.data())
@settings(max_examples=25)
def test_law_a_chain_of_formats_loses_only_what_is_named(first, second, data):
    """What came through one format goes through the next in the same way."""
    request = data.draw(requests(MODELS))
    carried = wire(first).request_from_wire(wire(first).request_to_wire(request).payload)
    written = wire(second).request_to_wire(carried)
    read = wire(second).request_from_wire(written.payload)
    assert agrees(carried, written.losses, read)
    assert lost_words(carried, written.losses, written.payload) == []
    response = data.draw(responses)
    carried = wire(first).response_from_wire(wire(first).response_to_wire(response).payload)
    written = wire(second).response_to_wire(carried)
    assert agrees(carried, written.losses, wire(second).response_from_wire(written.payload))


@needs_samples
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_read_is_an_exchange(name):
    exchange = {"schema_version": "1.0.0", "exchange_id": "e"}
    minimal = {"model": "m", "messages": []}
    for call in recorded(name.replace("-", "_")):
        if isinstance(call.request, dict) and call.request:
            request = wire(name).request_from_wire(call.request)
            assert is_valid({**exchange, "request": request, "response": None}, "exchange"), call.name
    for where, payload in answers(name):
        response = wire(name).response_from_wire(payload)
        assert is_valid({**exchange, "request": minimal, "response": response}, "exchange"), where


ODD = [2**70, -(2**70), float("nan"), float("inf"), "\ud800", True, -1, 1e300, [], {}, None]


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ARROWS)
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_no_value_of_any_field_makes_a_conversion_raise(source, target, odd):
    settings_names = {
        *("max_tokens", "max_output_tokens", "temperature", "seed", "n", "top_logprobs", "logprobs", "user", "store"),
        *("metadata", "service_tier", "stream", "stop", "response_format", "text", "include", "reasoning", "thinking"),
        *("tools", "tool_choice", "output_config", "generationConfig", "serviceTier", "reasoning_effort"),
    }
    call = {"type": "tool_use", "id": "c", "name": "f", "input": {"a": odd, "b": 2**70}}
    turns = {
        "openai-chat": {"messages": [{"role": "user", "content": odd}]},
        "openai-responses": {"input": [{"type": "function_call", "name": "f", "call_id": "c", "arguments": odd}]},
        "anthropic": {"messages": [{"role": "assistant", "content": [call]}]},
        "gemini": {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": odd}}}]}]},
    }
    config = {"generationConfig": {"thinkingConfig": {"thinkingBudget": odd}, "maxOutputTokens": odd, "seed": odd}}
    for payload in (
        {**dict.fromkeys(settings_names, odd), **turns[source]},
        {
            **turns[source],
            **config,
            "text": {"format": odd},
            "output_config": {"format": odd},
            "metadata": {"user_id": odd},
        },
    ):
        written = wire(target).request_to_wire(wire(source).request_from_wire(payload))
        wire(source).request_to_wire(wire(target).request_from_wire(written.payload))
    facts = {"id": odd, "created": odd, "created_at": odd, "createTime": odd, "usage": {"input_tokens": odd}}
    answer = {**facts, "choices": [{"index": odd, "message": odd}], "output": [odd], "candidates": [{"index": odd}]}
    answer |= {"content": [call], "stop_reason": odd, "usageMetadata": {"promptTokenCount": odd}, "service_tier": odd}
    written = wire(target).response_to_wire(wire(source).response_from_wire(answer))
    wire(source).response_to_wire(wire(target).response_from_wire(written.payload))
