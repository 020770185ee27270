"""The types of the official SDKs take what any format's payload becomes in another format, down to the last field."""

from itertools import permutations

import pytest
from hypothesis import given, settings

from cassettes import needs_samples, sampled
from exchanging import requests, responses
from palaver.wire import formats, wire_format
from sdk_judges import accept, is_accepted

PAIRS = list(permutations(formats(), 2))
ARROWS = [f"{source}->{target}" for source, target in PAIRS]
MODELS = ["claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro", "gemini-3-pro", "other"]


def judged(target, part, payload):
    """Let the SDK judge a payload; Chat's reasoning is a field of many servers, but not of the types."""
    if (target, part) == ("openai-chat", "response"):
        choices = [{**choice, "message": typed(choice["message"])} for choice in payload["choices"]]
        payload = {**payload, "choices": choices}
    accept(f"{target} {part}", payload)


def typed(message):
    return {key: value for key, value in message.items() if key != "reasoning_content"}


@needs_samples
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ARROWS)
def test_law_the_sdk_takes_every_recorded_payload_from_another_format(source, target):
    seen = set()
    for _, part, payload in sampled(source):
        read = getattr(wire_format(source), f"{part}_from_wire")(payload)
        judged(target, part, getattr(wire_format(target), f"{part}_to_wire")(read).payload)
        seen.add(part)
    assert seen == {"request", "response"}


@pytest.mark.parametrize("target", formats())
@given(request=requests(MODELS))
@settings(max_examples=50)
def test_law_the_sdk_takes_any_request(target, request):
    judged(target, "request", wire_format(target).request_to_wire(request).payload)


@pytest.mark.parametrize("target", formats())
@given(response=responses)
@settings(max_examples=50)
def test_law_the_sdk_takes_any_response(target, response):
    judged(target, "response", wire_format(target).response_to_wire(response).payload)


ASKED = {
    "openai-chat": {"model": "m", "messages": [{"role": "user", "content": "x"}]},
    "openai-responses": {"model": "m", "input": [{"role": "user", "content": "x"}]},
    "anthropic": {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]},
    "gemini": {"model": "m", "contents": [{"role": "user", "parts": [{"text": "x"}]}]},
}


@pytest.mark.parametrize("name", formats())
def test_a_judge_looks_into_lists_and_knows_every_field(name):
    """The judges can refuse: a field that no type has, at the top or deep within a list, and a wrong type."""
    asked = ASKED[name]
    field = next(key for key, value in asked.items() if isinstance(value, list))
    assert is_accepted(f"{name} request", asked)
    assert not is_accepted(f"{name} request", {**asked, "brand_new": 1})
    assert not is_accepted(f"{name} request", {**asked, field: [{**asked[field][0], "brand_new": 1}]})
    assert not is_accepted(f"{name} request", {**asked, field: [{**asked[field][0], "role": 5}]})
