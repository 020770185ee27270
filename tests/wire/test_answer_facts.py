"""Facts about an answer that formats share: id, time, tier, probabilities, and usage by each provider's own formula."""

import pytest

from palaver.model.upgrade import upgrade_exchange
from palaver.wire import wire_format
from sdk_judges import accept


def convert(payload, source, target):
    written = wire_format(target).response_to_wire(wire_format(source).response_from_wire(payload))
    accept(f"{target} response", written.payload)
    return written


def pointers(written):
    return [loss.pointer for loss in written.losses]


def completion(**fields):
    message = {"role": "assistant", "content": "A", "refusal": None, "annotations": []}
    return {
        "id": "chatcmpl-9",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        **fields,
    }


def answered(**usage):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": [{"type": "text", "text": "A"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


CACHED = answered(input_tokens=3, output_tokens=4, cache_read_input_tokens=5, cache_creation_input_tokens=6)


def test_id_and_time_of_a_completion_stand_in_a_response():
    written = convert(completion(), "openai-chat", "openai-responses")
    assert (written.payload["id"], written.payload["created_at"], written.losses) == ("chatcmpl-9", 1700000000, [])
    assert convert(written.payload, "openai-responses", "openai-chat").payload == completion()


def test_id_and_time_of_a_completion_stand_in_geminis_answer():
    written = convert(completion(), "openai-chat", "gemini")
    assert (written.payload["responseId"], written.payload["createTime"]) == ("chatcmpl-9", "2023-11-14T22:13:20Z")
    assert written.losses == []
    assert convert(written.payload, "gemini", "openai-chat").payload == completion()


def test_anthropic_has_an_id_and_no_time():
    written = convert(completion(), "openai-chat", "anthropic")
    assert (written.payload["id"], pointers(written)) == ("chatcmpl-9", ["/created_at"])


@pytest.mark.parametrize(
    ("source", "payload"),
    [
        ("gemini", {"candidates": [{"content": {"parts": [{"text": "A"}], "role": "model"}, "finishReason": "STOP"}]}),
        ("anthropic", CACHED),
    ],
)
def test_a_time_that_was_never_stated_is_not_made_up_on_the_way_back(source, payload):
    written = convert(payload, source, "openai-chat")
    back = wire_format("openai-chat").response_from_wire(written.payload)
    assert "created_at" not in back


def test_the_cache_of_anthropic_is_part_of_the_prompt_of_openai():
    written = convert(CACHED, "anthropic", "openai-chat")
    assert written.losses == []
    assert written.payload["usage"] == {
        "prompt_tokens": 14,
        "completion_tokens": 4,
        "total_tokens": 18,
        "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 6},
    }
    written = convert(CACHED, "anthropic", "openai-responses")
    assert written.losses == []
    assert written.payload["usage"] == {
        "input_tokens": 14,
        "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 6},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 18,
    }
    for name in ("openai-chat", "openai-responses"):
        back = convert(convert(CACHED, "anthropic", name).payload, name, "anthropic")
        assert back.payload["usage"] == {**CACHED["usage"], **back.payload["usage"]}
        assert back.payload["usage"]["input_tokens"] == 3


def test_the_cache_of_anthropic_is_part_of_the_prompt_of_gemini():
    written = convert(CACHED, "anthropic", "gemini")
    assert written.payload["usageMetadata"] == {
        "promptTokenCount": 14,
        "candidatesTokenCount": 4,
        "cachedContentTokenCount": 5,
        "totalTokenCount": 18,
    }
    assert pointers(written) == ["/usage/cache_write_tokens"]
    back = convert(written.payload, "gemini", "anthropic").payload["usage"]
    assert back == {"input_tokens": 9, "output_tokens": 4, "cache_read_input_tokens": 5}


def test_anthropic_counts_what_openai_cached_apart_from_the_input():
    usage = {
        "prompt_tokens": 14,
        "completion_tokens": 10,
        "total_tokens": 24,
        "prompt_tokens_details": {"cached_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 6},
    }
    written = convert(completion(usage=usage), "openai-chat", "anthropic")
    assert written.payload["usage"] == {
        "input_tokens": 9,
        "output_tokens": 10,
        "cache_read_input_tokens": 5,
        "output_tokens_details": {"thinking_tokens": 6},
    }
    assert pointers(written) == ["/created_at"]
    assert convert(written.payload, "anthropic", "openai-chat").payload["usage"] == usage


def test_gemini_counts_thoughts_apart_and_openai_with_the_output():
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 4, "thoughtsTokenCount": 6, "totalTokenCount": 20}
    payload = {"candidates": [{"content": {"parts": [{"text": "A"}], "role": "model"}, "index": 0}]}
    payload |= {"usageMetadata": usage, "modelVersion": "g"}
    written = convert(payload, "gemini", "openai-chat")
    assert written.payload["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": 10,
        "total_tokens": 20,
        "completion_tokens_details": {"reasoning_tokens": 6},
    }
    assert convert(written.payload, "openai-chat", "gemini").payload["usageMetadata"] == usage


def test_the_tier_that_answered_is_carried_where_the_other_format_knows_it():
    written = convert(completion(service_tier="priority"), "openai-chat", "anthropic")
    assert written.payload["usage"]["service_tier"] == "priority"
    written = convert(completion(service_tier="flex"), "openai-chat", "anthropic")
    assert "service_tier" not in written.payload["usage"]
    assert "/service_tier" in pointers(written)
    written = convert(completion(service_tier="flex"), "openai-chat", "openai-responses")
    assert (written.payload["service_tier"], written.losses) == ("flex", [])


PROBABILITIES = [{"token": "A", "bytes": [65], "logprob": -0.5, "top_logprobs": []}]


def test_probabilities_of_tokens_are_carried_between_the_formats_of_openai():
    payload = completion()
    payload["choices"][0]["logprobs"] = {"content": PROBABILITIES, "refusal": None}
    written = convert(payload, "openai-chat", "openai-responses")
    assert written.losses == []
    assert written.payload["output"][0]["content"][0]["logprobs"] == PROBABILITIES
    assert convert(written.payload, "openai-responses", "openai-chat").payload == payload


@pytest.mark.parametrize("target", ["anthropic", "gemini"])
def test_probabilities_of_tokens_are_one_loss_elsewhere(target):
    payload = completion()
    payload["choices"][0]["logprobs"] = {"content": PROBABILITIES, "refusal": None}
    lost = [pointer for pointer in pointers(convert(payload, "openai-chat", target)) if "logprobs" in pointer]
    assert lost == ["/provider_data/openai_chat/choices/0/logprobs"]


def test_an_exchange_of_version_1_0_0_counts_the_cache_of_anthropic_as_input_once_upgraded():
    usage = {
        "input_tokens": 3,
        "output_tokens": 4,
        "cached_tokens": 11,
        "provider_data": {"anthropic": {"cache_creation_input_tokens": 6, "cache_read_input_tokens": 5}},
    }
    response = {"content": [{"type": "text", "text": "A"}], "finish_reason": "stop", "usage": usage}
    exchange = {"schema_version": "1.0.0", "exchange_id": "e", "provider": "anthropic", "response": response}
    exchange["request"] = {"model": "c", "messages": []}
    upgraded = upgrade_exchange(exchange)
    assert upgraded["schema_version"] == "1.1.0"
    assert upgraded["response"]["usage"]["input_tokens"] == 14
    written = wire_format("anthropic").response_to_wire(upgraded["response"])
    assert written.payload["usage"] == CACHED["usage"]
    assert upgrade_exchange(upgraded) is upgraded
    others = {**exchange, "provider": "openai"}
    assert upgrade_exchange(others) == {**others, "schema_version": "1.1.0"}


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses"])
def test_a_count_that_is_null_is_no_count_of_openai(target):
    counts = {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": None}
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "c",
        "stop_reason": "end_turn",
    }
    written = convert({**message, "stop_sequence": None, "usage": counts}, "anthropic", target)
    assert written.losses == []
    assert None not in written.payload["usage"].get("input_tokens_details", {}).values()
    assert "prompt_tokens_details" not in written.payload["usage"]
