"""The specification of the conversion between Chat and Responses: its messages, through `palaver convert`."""

import json

import pytest

PICTURE = "data:image/jpeg;base64,..."
WEATHER = '{"temperature": 72, "condition": "sunny"}'
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {
            "id": "call_123",
            "type": "function",
            "function": {"name": "get_weather", "arguments": '{"location":"NYC"}'},
        }
    ],
}
CALL_ITEM = {
    "id": "fc_456",
    "type": "function_call",
    "name": "get_weather",
    "arguments": '{"location":"NYC"}',
    "call_id": "call_123",
    "status": "completed",
}
RESULT = {"role": "tool", "content": WEATHER, "tool_call_id": "call_123"}
RESULT_ITEM = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_123", "content": WEATHER}]}
EXAMPLES = {
    "1. simple text message": (
        {"role": "user", "content": "What is 2+2?"},
        {"role": "user", "content": [{"type": "input_text", "text": "What is 2+2?"}]},
    ),
    "2. assistant response": (
        {"role": "assistant", "content": "2+2 equals 4."},
        {"role": "assistant", "content": [{"type": "output_text", "text": "2+2 equals 4."}]},
    ),
    "3. tool call message": (CALL, {**CALL_ITEM, "id": "fc_123"}),
    "4. tool result message": (RESULT, RESULT_ITEM),
    "5. multimodal message": (
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What's in this image?"},
                {"type": "image_url", "image_url": {"url": PICTURE}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What's in this image?"},
                {"type": "input_image", "image_url": PICTURE},
            ],
        },
    ),
    "special case 3: a system message in the input": (
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
    ),
}


@pytest.fixture
def transform(run, tmp_path):
    def convert(value, source, target):
        file = tmp_path / "value.json"
        file.write_text(json.dumps(value), "utf-8")
        result = run("convert", file, "--from", source, "--to", target, "--dialect", "seed")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return convert


@pytest.mark.parametrize(("message", "item"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_of_a_message_there_and_back(transform, message, item):
    assert transform(message, "openai-chat", "openai-responses") == item
    assert transform(item, "openai-responses", "openai-chat") == message


def test_1_simple_conversation(transform):
    given = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi there!"}]
    expected = [
        {"role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hi there!"}]},
    ]
    assert transform(given, "openai-chat", "openai-responses") == expected
    assert transform(expected, "openai-responses", "openai-chat") == given


def test_2_tool_use_flow(transform):
    flow = [
        {"role": "user", "content": "Weather in NYC?"},
        CALL,
        RESULT,
        {"role": "tool", "content": "and windy", "tool_call_id": "call_456"},
        {"role": "assistant", "content": "72 and sunny."},
    ]
    items = transform(flow, "openai-chat", "openai-responses")
    assert items == [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather in NYC?"}]},
        {**CALL_ITEM, "id": "fc_123"},
        {
            "role": "user",
            "content": [
                *RESULT_ITEM["content"],
                {"type": "tool_result", "tool_use_id": "call_456", "content": "and windy"},
            ],
        },
        {"role": "assistant", "content": [{"type": "output_text", "text": "72 and sunny."}]},
    ]
    assert transform(items, "openai-responses", "openai-chat") == flow


def test_the_output_of_a_response_becomes_one_message(transform):
    spoken = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]}
    assert transform([spoken, CALL_ITEM], "openai-responses", "openai-chat") == [{**CALL, "content": "Let me look."}]


def test_an_output_without_an_answer_says_so_in_words(transform):
    [message] = transform([{"type": "reasoning", "id": "rs_1", "summary": []}], "openai-responses", "openai-chat")
    assert (message["role"], message["content"]) == ("assistant", "[No response generated]")


def test_cache_control_is_stripped_and_named(run, tmp_path):
    part = {"type": "text", "text": "U", "cache_control": {"type": "ephemeral"}}
    file = tmp_path / "value.json"
    file.write_text(json.dumps([{"role": "user", "content": [part]}]))
    result = run("convert", file, "--from", "openai-chat", "--to", "openai-responses", "--dialect", "seed", "--strict")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == [{"role": "user", "content": [{"type": "input_text", "text": "U"}]}]
    assert "/0/content/0/cache_control" in result.stderr
