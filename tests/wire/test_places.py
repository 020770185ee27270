"""Losses point into the payload that was converted, at what it said."""

import pytest

from cassettes import needs_samples, sampled
from palaver.wire import formats
from palaver.wire._places import Places
from palaver.workflows.convert import convert, format_names

CHAT = {
    "model": "gpt",
    "messages": [
        {"role": "system", "content": "Speak like a gardener."},
        {
            "role": "developer",
            "content": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            ],
        },
        {
            "role": "assistant",
            "content": "A beetle.",
            "reasoning_content": "Six legs.",
            "refusal": "I name no species.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}, "extra_content": 1}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "brown", "name": "look"},
    ],
    "tools": [{"type": "browser"}, {"type": "function", "function": {"name": "look", "strict": True}}],
    "n": 2,
    "stop": "END",
    "seed": 4,
    "logit_bias": {"50256": -100},
    "response_format": {"type": "json_schema", "json_schema": {"name": "bug", "schema": {"type": "object"}}},
}
CHOICES = {
    "id": "chatcmpl-9",
    "created": 1700000000,
    "model": "gpt",
    "choices": [
        {"index": 1, "message": {"role": "assistant", "content": "B"}, "finish_reason": "stop"},
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "A",
                "annotations": [
                    {
                        "type": "url_citation",
                        "url_citation": {"url": "u", "title": "t", "start_index": 0, "end_index": 1},
                    }
                ],
            },
            "finish_reason": "stop",
            "content_filter_results": {"hate": {"filtered": False}},
        },
    ],
    "usage": {
        "prompt_tokens": 5,
        "completion_tokens": 3,
        "total_tokens": 8,
        "prompt_tokens_details": {"audio_tokens": 1},
    },
}
ANTHROPIC = {
    "model": "claude",
    "max_tokens": 4000,
    "system": [{"type": "text", "text": "Speak.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "So.", "signature": "sealed"},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {}, "caller": {"type": "direct"}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "broken", "is_error": True}],
        },
    ],
    "tools": [
        {"type": "web_search_20250305", "name": "web_search"},
        {"name": "look", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
    ],
    "top_k": 4,
    "metadata": {"user_id": "u"},
    "container": "box",
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [{"type": "text", "text": "A"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 4, "cache_creation_input_tokens": 6},
}
RESPONSES = {
    "model": "gpt",
    "instructions": "Speak.",
    "input": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Look."}, {"type": "input_hologram", "data": "x"}]},
        {
            "type": "reasoning",
            "id": "r1",
            "summary": [{"type": "summary_text", "text": "So."}],
            "encrypted_content": "e",
        },
        {"role": "assistant", "content": "I look.", "phase": "commentary"},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}", "id": "fc_1"},
        {"type": "function_call_output", "call_id": "c1", "output": "brown", "id": "fco_1"},
        {"type": "web_search_call", "id": "w1", "status": "completed"},
    ],
    "truncation": "auto",
}
GEMINI = {
    "model": "gemini",
    "system_instruction": {"parts": [{"text": "Speak."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Look."}, {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "sealed"}]},
    ],
    "generation_config": {"topK": 4, "speech_config": {"language_code": "en"}},
    "tools": [{"googleSearch": {}}, {"function_declarations": [{"name": "look", "behavior": "BLOCKING"}]}],
}
CANDIDATES = {
    "candidates": [
        {"index": 1, "content": {"role": "model", "parts": [{"text": "B"}]}, "finishReason": "STOP"},
        {
            "index": 0,
            "content": {"role": "model", "parts": [{"text": "A", "thoughtSignature": "sealed"}]},
            "finishReason": "STOP",
            "avgLogprobs": -0.5,
        },
    ],
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 1, "promptTokensDetails": [{"modality": "TEXT"}]},
}
POINTERS = {
    "chat": (
        "openai-chat",
        "anthropic",
        CHAT,
        {
            *("/n", "/tools/0", "/logit_bias", "/seed", "/response_format/json_schema/name"),
            *("/messages/1/role", "/messages/1/content/0/cache_control", "/messages/2/content/1"),
            *("/messages/3/reasoning_content", "/messages/3/refusal", "/messages/3/tool_calls/0/extra_content"),
            "/messages/4/name",
        },
    ),
    "strict": ("openai-chat", "gemini", CHAT, {"/tools/1/function/strict", "/messages/3/refusal"}),
    "choices": (
        "openai-chat",
        "anthropic",
        CHOICES,
        {
            *("/created", "/choices/0", "/choices/1/content_filter_results"),
            *("/choices/1/message/annotations", "/usage/prompt_tokens_details/audio_tokens"),
        },
    ),
    "anthropic": (
        "anthropic",
        "openai-chat",
        ANTHROPIC,
        {
            *("/container", "/tools/0", "/tools/1/cache_control", "/top_k", "/system/0/cache_control"),
            *("/messages/1/content/0", "/messages/1/content/1/caller", "/messages/2/content/0/is_error"),
        },
    ),
    "user": ("anthropic", "gemini", ANTHROPIC, {"/metadata/user_id", "/messages/1/content/0/signature"}),
    "cache": ("anthropic", "gemini", MESSAGE, {"/usage/cache_creation_input_tokens"}),
    "responses": (
        "openai-responses",
        "anthropic",
        RESPONSES,
        {
            *("/truncation", "/input/0/role", "/input/1/content/1", "/input/2", "/input/2/encrypted_content"),
            *("/input/3/phase", "/input/4/id", "/input/5/id", "/input/6"),
        },
    ),
    "gemini": (
        "gemini",
        "openai-responses",
        GEMINI,
        {
            *("/tools/0", "/tools/1/function_declarations/0/behavior", "/generation_config/topK"),
            *("/generation_config/speech_config", "/contents/1/parts/0/thoughtSignature"),
        },
    ),
    "candidates": (
        "gemini",
        "anthropic",
        CANDIDATES,
        {
            *("/candidates/0", "/candidates/1/avgLogprobs", "/candidates/1/content/parts/0/thoughtSignature"),
            "/usageMetadata/promptTokensDetails",
        },
    ),
}


@pytest.mark.parametrize(("source", "target", "payload", "expected"), POINTERS.values(), ids=POINTERS)
def test_a_loss_points_at_what_the_payload_said(source, target, payload, expected):
    found = {loss.pointer for loss in convert(payload, source, target).losses}
    assert expected <= found
    assert {pointer for pointer in found if value_at(payload, pointer) is MISSING} == set()


def test_a_pair_a_message_and_a_list_of_messages_have_their_own_beginnings():
    pair = {"request": CHAT, "response": CHOICES, "id": "r1"}
    found = {loss.pointer for loss in convert(pair, "openai-chat", "anthropic").losses}
    assert {"/request/logit_bias", "/response/choices/0", "/id"} <= found
    message = {**CHAT["messages"][2]}
    assert [loss.pointer for loss in convert(message, "openai-chat", "anthropic").losses] == ["/content/1"]
    messages = convert(CHAT["messages"][2:], "openai-chat", "anthropic").losses
    assert "/0/content/1" in {loss.pointer for loss in messages}


def test_a_conversation_document_is_pointed_into_past_its_prompt_and_other_branches():
    document = convert({**ANTHROPIC, "tools": []}, "anthropic", "ucs", time="2025-01-01T00:00:00.000Z").payload
    document["messages"].insert(
        1, {**document["messages"][1], "message_id": "x", "metadata": {"on_active_path": False}}
    )
    found = {loss.pointer for loss in convert(document, "ucs", "openai-chat").losses}
    assert {"/messages/1", "/messages/3/content/0", "/messages/4/content/0/is_error"} <= found


def test_what_the_payload_does_not_say_points_at_the_nearest_object_around_it():
    places = Places({"a": {"b~/c": [1]}}, "toy", {"field": ("a",)}, {})
    assert places.find("/a/b~0~1c/0") == "/a/b~0~1c/0"
    assert places.find("/field/b~0~1c/1") == "/a/b~0~1c"
    assert places.find("/provider_data/toy/a/x") == "/a"
    assert places.find("/nowhere") == ""


@needs_samples
@pytest.mark.parametrize("source", formats())
def test_law_a_loss_points_at_something_in_the_payload(source):
    """What is dropped is never nowhere: the payload said it."""
    wrong = []
    count = 0
    for where, _, payload in sampled(source):
        for target in format_names():
            if target == source:
                continue
            for loss in convert(payload, source, target, time="2025-01-01T00:00:00.000Z").losses:
                count += 1
                if value_at(payload, loss.pointer) is MISSING or (loss.pointer == "" and loss.change == "dropped"):
                    wrong.append((where, target, loss))
    assert wrong == []
    assert count > 0


MISSING = object()


def value_at(payload, pointer):
    value = payload
    for segment in pointer.split("/")[1:]:
        key = segment.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return MISSING
    return value
