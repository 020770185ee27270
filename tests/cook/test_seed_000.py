"""The specification of cooking, example by example and row by row."""

import json

import pytest

from cooking import call_of, sent
from cooking import cook as cooked
from cooking import received as got
from palaver.wire._detection import WIRE_FORMAT_NAMES

WEATHER = {
    "name": "get_weather",
    "description": "Get current weather for a location",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}


def message(number, role, content="", *, tool_calls=None, tool_use_id=None, is_error=None):
    return {
        "id": f"m{number}",
        "role": role,
        "content": content,
        "tool_calls": tool_calls,
        "tool_use_id": tool_use_id,
        "is_error": is_error,
    }


def openai(messages, response=None, **request):
    return {"request": {"model": "gpt-4", "messages": messages, **request}, "response": response}


def claude(messages, response=None, **request):
    request = {"model": "claude-sonnet-4-20250514", "system": [], "messages": messages, **request}
    return {"request": request, "response": response}


def test_openai_request_to_cooked():
    made = cooked(
        {
            "request": {
                "messages": [
                    {"role": "system", "content": "Be helpful"},
                    {"role": "user", "content": "What's 2+2?"},
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [
                            {"type": "function", "function": {"name": "calc", "arguments": '{"expr":"2+2"}'}}
                        ],
                    },
                    {"role": "tool", "content": "4"},
                ]
            }
        }
    )
    # The input has no ids: the specification's `call_abc` stands for one that is made up.
    call = {"name": "calc", "arguments": {"expr": "2+2"}, "id": "call_0"}
    assert sent(made) == [
        message(0, "system", "Be helpful"),
        message(1, "user", "What's 2+2?"),
        message(2, "tool_use", "", tool_calls=[call]),
        message(3, "tool_result", "4", tool_use_id="call_0", is_error=False),
    ]


def test_claude_request_to_cooked():
    made = cooked(
        {
            "request": {
                "system": [{"type": "text", "text": "Be helpful"}],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "What's 2+2?"}]},
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "thinking", "thinking": "Simple math question"},
                            {"type": "tool_use", "id": "call_1", "name": "calc", "input": {"expr": "2+2"}},
                        ],
                    },
                    {
                        "role": "user",
                        "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "4"}],
                    },
                ],
            }
        }
    )
    call = {"name": "calc", "arguments": {"expr": "2+2"}, "id": "call_1"}
    assert sent(made) == [
        message(0, "system", "Be helpful"),
        message(1, "user", "What's 2+2?"),
        message(2, "thinking", "Simple math question"),
        message(3, "tool_use", "", tool_calls=[call]),
        message(4, "tool_result", "4", tool_use_id="call_1", is_error=False),
    ]


CALL = {"id": "call_abc123", "type": "function"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,..."}}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"role": "system", "content": "You are a helpful assistant."}, [("system", "You are a helpful assistant.")]),
        ({"role": "user", "content": "Hello, how are you?"}, [("user", "Hello, how are you?")]),
        (
            {"role": "user", "content": [{"type": "text", "text": "What's in this image?"}, PICTURE]},
            [("user", "What's in this image?"), ("user", "[image]")],
        ),
        ({"role": "assistant", "content": "I'm doing well, thank you!"}, [("assistant", "I'm doing well, thank you!")]),
        ({"role": "developer", "content": "Be brief."}, [("system", "Be brief.")]),
        ({"role": "assistant", "content": None}, [("assistant", "")]),
    ],
)
def test_messages_of_openai(stated, expected):
    assert [(one["role"], one["content"]) for one in sent(cooked(openai([stated])))] == expected


def test_calls_and_results_of_openai():
    function = {"name": "get_weather", "arguments": '{"location": "Tokyo"}'}
    made = cooked(
        openai(
            [
                {"role": "assistant", "content": None, "tool_calls": [{**CALL, "function": function}]},
                {"role": "tool", "tool_call_id": "call_abc123", "content": "Sunny, 22°C"},
                {"role": "assistant", "content": "Let me look.", "tool_calls": [{**CALL, "function": function}]},
            ]
        )
    )
    call = {"name": "get_weather", "arguments": {"location": "Tokyo"}, "id": "call_abc123"}
    assert sent(made) == [
        message(0, "tool_use", "", tool_calls=[call]),
        message(1, "tool_result", "Sunny, 22°C", tool_use_id="call_abc123", is_error=False),
        message(2, "tool_use", "Let me look.", tool_calls=[call]),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([{"type": "text", "text": "Hello, how are you?"}], [("user", "Hello, how are you?")]),
        ("Hello, how are you?", [("user", "Hello, how are you?")]),
        (
            [
                {"type": "text", "text": "What's in this image?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "..."}},
            ],
            [("user", "What's in this image?"), ("user", "[image]")],
        ),
    ],
)
def test_user_messages_of_claude(content, expected):
    made = cooked(claude([{"role": "user", "content": content}]))
    assert [(one["role"], one["content"]) for one in sent(made)] == expected


def test_messages_of_claude():
    weather = {"type": "tool_use", "id": "call_abc123", "name": "get_weather", "input": {"location": "Tokyo"}}
    made = cooked(
        claude(
            [
                {"role": "assistant", "content": [{"type": "text", "text": "I'm doing well, thank you!"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "The user is asking…", "signature": ""},
                        {"type": "text", "text": "I'm doing well, thank you!"},
                    ],
                },
                {
                    "role": "assistant",
                    "content": [{"type": "thinking", "thinking": "I need to check…", "signature": ""}, weather],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "call_abc123",
                            "content": "Sunny, 22°C",
                            "is_error": False,
                        },
                        {"type": "tool_result", "tool_use_id": "other", "content": "no", "is_error": True},
                    ],
                },
            ],
            system=[
                {"type": "text", "text": "You are a helpful assistant."},
                {"type": "text", "text": "Always be concise."},
            ],
        )
    )
    call = {"name": "get_weather", "arguments": {"location": "Tokyo"}, "id": "call_abc123"}
    assert sent(made) == [
        message(0, "system", "You are a helpful assistant."),
        message(1, "system", "Always be concise."),
        message(2, "assistant", "I'm doing well, thank you!"),
        message(3, "thinking", "The user is asking…"),
        message(2, "assistant", "I'm doing well, thank you!"),
        message(4, "thinking", "I need to check…"),
        message(5, "tool_use", "", tool_calls=[call]),
        message(6, "tool_result", "Sunny, 22°C", tool_use_id="call_abc123", is_error=False),
        message(7, "tool_result", "no", tool_use_id="other", is_error=True),
    ]


def test_tools_of_both_are_the_same_tool():
    function = {"type": "function", "function": WEATHER}
    schema = {"name": WEATHER["name"], "description": WEATHER["description"], "input_schema": WEATHER["parameters"]}
    made = cooked(openai([], tools=[function]), claude([], tools=[schema]))
    assert made["tools"] == [{"id": "t0", **WEATHER}]
    assert [request["tools"] for request in made["requests"]] == [["t0"], ["t0"]]


OPENAI_STREAM = [
    'data: {"id":"chatcmpl-xxx","model":"gpt-4","choices":[{"delta":{"role":"assistant"}}]}',
    'data: {"choices":[{"delta":{"content":"Hello"}}]}',
    'data: {"choices":[{"delta":{"content":"!"}}]}',
    "data: [DONE]",
]
CLAUDE_STREAM = [
    "event: message_start",
    'data: {"type":"message_start","message":{"id":"msg_xxx","model":"claude-sonnet-4-20250514"}}',
    "event: content_block_start",
    'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    "event: content_block_delta",
    'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello!"}}',
    "event: content_block_stop",
    'data: {"type":"content_block_stop","index":0}',
    "event: message_delta",
    'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
    "event: message_stop",
    'data: {"type":"message_stop"}',
]


@pytest.mark.parametrize(
    "record",
    [
        openai([], {"choices": [{"message": {"role": "assistant", "content": "Hello!", "tool_calls": None}}]}),
        openai([], {"stream": True, "sse_lines": OPENAI_STREAM}),
        claude([], {"content": [{"type": "text", "text": "Hello!"}]}),
        claude([], {"stream": True, "sse_lines": CLAUDE_STREAM}),
    ],
    ids=["openai", "openai stream", "claude", "claude stream"],
)
def test_responses(record):
    assert got(cooked(record)) == [message(0, "assistant", "Hello!")]


def test_a_response_with_thinking_and_calls():
    blocks = [
        {"type": "thinking", "thinking": "...", "signature": ""},
        {"type": "tool_use", "id": "call_xyz", "name": "Bash", "input": {"command": "ls"}},
    ]
    assert got(cooked(claude([], {"content": blocks}))) == [
        message(0, "thinking", "..."),
        message(1, "tool_use", "", tool_calls=[{"name": "Bash", "arguments": {"command": "ls"}, "id": "call_xyz"}]),
    ]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"request": {"messages": []}, "response": {"stream": True, "sse_lines": CLAUDE_STREAM}}, "claude"),
        ({"request": {"messages": [], "system": []}}, "claude"),
        ({"request": {"messages": [], "tools": [{"name": "x", "input_schema": {}}]}}, "claude"),
        *(
            ({"request": {"messages": [{"role": "user", "content": [{"type": kind}]}]}}, "claude")
            for kind in ("tool_use", "tool_result", "thinking")
        ),
        ({"request": {"messages": [], "system": "a string"}}, "claude"),
        ({"request": {"messages": [{"role": "user", "content": "hi"}]}}, "openai"),
        ({"request": {"messages": []}, "response": {"stream": True, "sse_lines": OPENAI_STREAM}}, "openai"),
        ({"request": {"contents": []}}, "gemini"),
        ({"request": {"input": "hi"}}, "responses"),
    ],
)
def test_formats_are_detected(record, expected):
    assert call_of(record).wire == WIRE_FORMAT_NAMES[expected]


def test_a_request_says_when_how_long_and_of_which_model():
    made = cooked(
        {
            "id": "uuid",
            "timestamp": "2026-02-20T10:00:00Z",
            "duration_ms": 1200,
            "request": {"model": "gpt-4", "messages": [{"role": "user", "content": "Hi"}], "tools": []},
            "response": {"choices": []},
            "error": None,
        }
    )
    assert made["requests"] == [
        {
            "id": "uuid",
            "parent_id": None,
            "timestamp": 1771581600000,
            "request_messages": ["m0"],
            "response_messages": ["m1"],
            "model": "gpt-4",
            "tools": [],
            "duration_ms": 1200,
        }
    ]


def test_the_answer_is_what_the_next_request_sends():
    """Response text is kept as it is, so that it is one message with the history of the next request."""
    question = {"role": "user", "content": "Tell me two things."}
    blocks = [{"type": "text", "text": " First. "}, {"type": "text", "text": "Second."}]
    made = cooked(
        {**claude([question], {"content": blocks}), "id": "one", "timestamp": 1},
        {**claude([question, {"role": "assistant", "content": blocks}, question]), "id": "two", "timestamp": 2},
    )
    first, second = made["requests"]
    assert first["response_messages"] == ["m1", "m2"]
    assert second["request_messages"] == ["m0", "m1", "m2", "m0"]
    assert second["parent_id"] == "one"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"error": "timeout"}, "Error: timeout"),
        ({"response": None}, ""),
        ({"response": {"choices": []}}, ""),
        ({"response": {"error": {"message": "overloaded"}}}, "Error: overloaded"),
    ],
)
def test_there_is_always_an_answer(fields, text):
    assert got(cooked({**openai([]), **fields})) == [message(0, "assistant", text)]


def test_what_cannot_be_read_is_kept():
    function = {"name": "calc", "arguments": '{"expr": '}
    odd = [
        {"role": "assistant", "tool_calls": [{"id": "a", "function": function}]},
        {"role": "user", "content": [{"type": "hologram", "light": 1}]},
    ]
    made = cooked({**openai(odd), "timestamp": "no time"})
    assert sent(made)[0]["tool_calls"] == [{"name": "calc", "arguments": {"raw": '{"expr": '}, "id": "a"}]
    assert json.loads(sent(made)[1]["content"]) == odd[1]["content"][0]
    assert made["requests"][0]["timestamp"] == 0
