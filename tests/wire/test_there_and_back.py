"""From any format to any other and back: each setting and each fact of a payload comes back, or a loss names it.

Payloads are compared here as they stand, by a table of our own that says where in an exchange each field is. So a
reader that hid a field among its notes on spelling would be found out, which a comparison of exchanges cannot do.
"""

import re
from itertools import permutations

import pytest

from cassettes import needs_samples, sampled
from palaver.wire import formats, wire_format

PAIRS = list(permutations(formats(), 2))
ARROWS = [f"{source}->{target}" for source, target in PAIRS]
NOTHING = (None, "", [], {})
CONTENT = {"messages", "input", "contents", "system", "instructions", "systemInstruction", "system_instruction"}
ANSWERS = {"choices", "output", "content", "candidates"}
"""Fields whose content the laws of `test_conversions` compare, as blocks."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
POINTERS = {
    "include": "/logprobs",
    "response_format": "/output_format",
    "n": "/answer_count",
    "stop": "/sampling/stop_sequences",
    "stop_sequences": "/sampling/stop_sequences",
    **{name: f"/sampling/{name}" for name in ("temperature", "top_p", "top_k", "seed")},
    **{name: f"/sampling/{name}" for name in ("presence_penalty", "frequency_penalty")},
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "/max_output_tokens"),
    "reasoning_effort": "/thinking",
    "id": "/response_id",
    "created": "/created_at",
    "stop_reason": "/finish_reason",
    **dict.fromkeys(("status", "incomplete_details"), "/finish_reason"),
    "modelVersion": "/model",
    "responseId": "/response_id",
    "createTime": "/created_at",
    "usageMetadata": "/usage",
    "serviceTier": "/service_tier",
}
"""Where an exchange has a field; under its own name unless it stands here."""
INNER = {
    "usageMetadata/promptTokenCount": "/usage/provider_data/gemini/toolUsePromptTokenCount",
    "usage/input_tokens": "/usage/cache_write_tokens",
    "usage/service_tier": "/service_tier",
    "usage/cache_creation_input_tokens": "/usage/cache_write_tokens",
    "usage/prompt_tokens_details": "/usage/cache_write_tokens",
    "usage/input_tokens_details": "/usage/cache_write_tokens",
    "metadata/user_id": "/user",
    "output_config/format": "/output_format",
    "text/format": "/output_format",
    "reasoning/effort": "/thinking",
    "reasoning/summary": "/thinking",
    "toolConfig/functionCallingConfig": "/tool_choice",
    "generationConfig/thinkingConfig": "/thinking",
    "generationConfig/maxOutputTokens": "/max_output_tokens",
    "generationConfig/responseMimeType": "/output_format",
    "generationConfig/candidateCount": "/answer_count",
}
"""Where an exchange has a field of an object, or the count whose loss changes another count."""
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


def places(path, name):
    """Pointers at which a loss may name a difference."""
    first, _, rest = path.partition("/")
    top = POINTERS.get(first, f"/{first}")
    if first == "tools":
        return [f"/provider_data/{name}/tools"]
    if first == "stop_reason":
        return [f"/provider_data/{name}/stop_reason", f"/provider_data/{name}/stop_sequence", top]
    if top == "/usage":
        return [f"/usage/provider_data/{name}/{rest}", INNER.get(path, f"/usage/{rest}")]
    return [f"/provider_data/{name}/{path}", INNER.get(path, f"{top}/{rest}" if rest else top)]


def unnamed(payload, back, losses, source, left_out):
    """Differences that no loss names, at, above or below one of their places."""
    return [
        path
        for path in differences(payload, back, source, left_out)
        if not any(is_at(loss.pointer, place) for place in places(path, wire_format(source).name) for loss in losses)
    ]


def is_at(pointer, place):
    return pointer == place or pointer.startswith(f"{place}/") or place.startswith(f"{pointer}/")


def there_and_back(payload, source, target, part):
    first, second = wire_format(source), wire_format(target)
    written = getattr(second, f"{part}_to_wire")(getattr(first, f"{part}_from_wire")(payload))
    back = getattr(first, f"{part}_to_wire")(getattr(second, f"{part}_from_wire")(written.payload))
    return back.payload, [*written.losses, *back.losses]


@needs_samples
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ARROWS)
def test_law_what_a_payload_says_comes_back_or_a_loss_names_it(source, target):
    found = {}
    for where, part, payload in sampled(source):
        back, losses = there_and_back(payload, source, target, part)
        if missing := unnamed(payload, back, losses, source, CONTENT if part == "request" else ANSWERS):
            found[where, part] = missing
    assert found == {}


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ARROWS)
def test_law_a_field_that_no_format_knows_is_named(source, target):
    """The comparison can fail: without the losses, a difference is found."""
    payload = {"model": "m", "messages": [], "contents": [], "input": [], "max_tokens": 1, "brand_new": {"a": 1}}
    back, losses = there_and_back(payload, source, target, "request")
    assert "brand_new/a" in unnamed(payload, back, [], source, CONTENT)
    assert "brand_new/a" not in unnamed(payload, back, losses, source, CONTENT)
