"""From any format to any other and back: each setting and each fact of a payload comes back, or a loss names it.

Payloads are compared here as they stand, and losses point into them. So a reader that hid a field among its notes on
spelling would be found out, which a comparison of exchanges cannot do.
"""

import re
from itertools import permutations

import pytest

from cassettes import needs_samples, sampled
from palaver.wire import formats, wire_format
from palaver.workflows.convert import convert

PAIRS = list(permutations(formats(), 2))
ARROWS = [f"{source}->{target}" for source, target in PAIRS]
NOTHING = (None, "", [], {})
CONTENT = {"messages", "input", "contents", "system", "instructions", "systemInstruction", "system_instruction"}
ANSWERS = {"choices", "output", "content", "candidates"}
"""Fields whose content the laws of `test_conversions` compare, as blocks."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
DERIVED = {
    "stop_reason": "/stop_sequence",
    "usageMetadata/promptTokenCount": "/usageMetadata/toolUsePromptTokenCount",
    "usage/input_tokens": "/usage/cache_creation_input_tokens",
    "usage/prompt_tokens": "/usage/prompt_tokens_details/cache_write_tokens",
    "max_tokens": "/thinking",
}
"""A count that another one is part of, as the budget for thinking: with the loss of one, the other differs as well."""
DEFAULTS = {
    "stream": False,
    "tool_choice": ("auto", {"type": "auto"}),
    "parallel_tool_calls": True,
    "n": 1,
    "logprobs": False,
    "text": {"format": {"type": "text"}},
    "format": {"type": "text"},
    "object": ("response", "chat.completion"),
    "top_logprobs": 0,
    "store": False,
    "service_tier": "auto",
    "background": False,
    "truncation": "disabled",
    **dict.fromkeys(("presence_penalty", "frequency_penalty", "presencePenalty", "frequencyPenalty"), 0),
}
"""What a provider does anyway, so that it may be said or not."""


def is_default(name, value):
    usual = DEFAULTS.get(name, NOTHING)
    is_zero_count = value == 0 and name.endswith(("_tokens", "_requests", "TokenCount"))
    return value in NOTHING or is_zero_count or (value in usual if isinstance(usual, tuple) else value == usual)


def repeats(value, other):
    """Whether another value says all that a value says; it may say more, and times are exact to the millisecond."""
    if isinstance(value, str) and isinstance(other, str) and TIME.fullmatch(value):
        return value[:23] == other[:23].rstrip("Z")
    if isinstance(value, dict) and isinstance(other, dict):
        return all(is_default(key, said) or repeats(said, other.get(key)) for key, said in value.items())
    if isinstance(value, dict) and other is None:
        return repeats(value, {})
    return value == other


def differences(payload, back, source, left_out):
    """Paths of what a payload says and another does not; settings one level deep, tools of the provider one by one."""
    for name, value in payload.items():
        other = back.get(name)
        if name in left_out or is_default(name, value) or repeats(value, other):
            continue
        if name == "tools" and isinstance(value, list):
            yield from (
                f"tools/{index}"
                for index, tool in enumerate(value)
                if tool not in (other or ()) and not is_function(tool, source)
            )
        elif isinstance(value, dict):
            inner = other if isinstance(other, dict) else {}
            yield from (
                f"{name}/{key}"
                for key, said in value.items()
                if not is_default(key, said) and not repeats(said, inner.get(key))
            )
        else:
            yield name


def is_function(tool, source):
    """Whether an exchange has this tool; then the laws of `test_conversions` compare it."""
    read = wire_format(source).request_from_wire({"tools": [tool]})
    return bool(read.get("tools")) and "tools" not in read.get("provider_data", {}).get(wire_format(source).name, {})


def unnamed(payload, back, losses, source, left_out):
    """Differences that no loss names, at, above or below their places."""
    return [
        path
        for path in differences(payload, back, source, left_out)
        if not any(is_at(loss.pointer, place) for place in (f"/{path}", DERIVED.get(path)) for loss in losses)
    ]


def is_at(pointer, place):
    return place is not None and pointer != "" and is_around(pointer, place)


def is_around(pointer, place):
    return pointer == place or pointer.startswith(f"{place}/") or place.startswith(f"{pointer}/")


def there_and_back(payload, source, target):
    written = convert(payload, source, target)
    back = convert(written.payload, target, source)
    return back.payload, written.losses


@needs_samples
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ARROWS)
def test_law_what_a_payload_says_comes_back_or_a_loss_names_it(source, target):
    found = {}
    for where, part, payload in sampled(source):
        back, losses = there_and_back(payload, source, target)
        if missing := unnamed(payload, back, losses, source, CONTENT if part == "request" else ANSWERS):
            found[where, part] = missing
    assert found == {}


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ARROWS)
def test_law_a_field_that_no_format_knows_is_named(source, target):
    """The comparison can fail: without the losses, a difference is found."""
    payload = {"model": "m", "messages": [], "contents": [], "input": [], "max_tokens": 1, "brand_new": {"a": 1}}
    back, losses = there_and_back(payload, source, target)
    assert "brand_new/a" in unnamed(payload, back, [], source, CONTENT)
    assert "brand_new/a" not in unnamed(payload, back, losses, source, CONTENT)
