"""The specification of the conversion between Chat and Responses: every example, table row, special case and rule."""

import copy

import pytest

from palaver.wire.openai import chat, responses
from palaver.wire.openai.responses import chat_to_responses, responses_output_to_chat

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


def items(*messages, losses=()):
    """What messages become, with the places of what was lost."""
    given = copy.deepcopy(messages)
    payload, found = chat_to_responses(list(messages))
    assert messages == given
    assert [loss.pointer for loss in found] == list(losses)
    return payload["input"]


def message_again(item):
    """The Chat message that an item alone becomes."""
    request = responses.request_from_wire({"model": "m", "input": [item]})
    (message,) = chat.request_to_wire(request).payload["messages"]
    return message


EXAMPLES = {
    "1. simple text message": (
        {"role": "user", "content": "What is 2+2?"},
        {"role": "user", "content": [{"type": "input_text", "text": "What is 2+2?"}]},
    ),
    "2. assistant response": (
        {"role": "assistant", "content": "2+2 equals 4."},
        {"role": "assistant", "content": [{"type": "output_text", "text": "2+2 equals 4."}]},
    ),
    "4. tool result message": (
        RESULT,
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_123", "content": WEATHER}]},
    ),
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
}


@pytest.mark.parametrize(("message", "item"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_of_a_message(message, item):
    assert items(message) == [item]
    assert message_again(item) == message


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_written_again_as_it_was_read(example):
    payload = {"model": "m", "input": [EXAMPLES[example][1]]}
    written = responses.request_to_wire(responses.request_from_wire(payload), "seed")
    assert written == (payload, [])


def test_example_3_a_call_becomes_an_item_apart_from_the_message():
    (item,) = items(CALL)
    assert item == {**CALL_ITEM, "id": "fc_123"}


def test_example_3_the_item_becomes_the_message_again():
    assert responses_output_to_chat([CALL_ITEM]) == CALL
    assert message_again(CALL_ITEM) == CALL


def test_example_3_a_response_keeps_the_item_as_it_was():
    response = responses.response_from_wire({"output": [CALL_ITEM]})
    assert responses.response_to_wire(response, "seed").payload["output"] == [CALL_ITEM]


@pytest.mark.parametrize(
    ("role", "content", "part"),
    [
        ("user", "U", {"type": "input_text", "text": "U"}),
        ("user", [{"type": "text", "text": "U"}], {"type": "input_text", "text": "U"}),
        ("system", "S", {"type": "input_text", "text": "S"}),
        ("assistant", "A", {"type": "output_text", "text": "A"}),
        ("assistant", [{"type": "text", "text": "A"}], {"type": "output_text", "text": "A"}),
        ("tool", "T", {"type": "tool_result", "tool_use_id": "call_1", "content": "T"}),
    ],
)
def test_the_role_decides_the_type_of_content(role, content, part):
    message = {"role": role, "content": content} | ({"tool_call_id": "call_1"} if role == "tool" else {})
    # After a first one: a system message that leads is the prompt.
    first, second = chat_to_responses([{"role": "user", "content": "first"}, message]).payload["input"]
    assert first["content"] == [{"type": "input_text", "text": "first"}]
    assert second == {"role": "user" if role == "tool" else role, "content": [part]}


def test_an_image_of_the_assistant_is_an_output_image():
    message = {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": PICTURE}}]}
    item = {"role": "assistant", "content": [{"type": "output_image", "image_url": PICTURE}]}
    assert items(message) == [item]


def test_calls_and_results_among_the_parts_stay_there():
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "sky"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "blue"}
    messages = [
        {"role": "assistant", "content": [{"type": "text", "text": "Looking."}, call]},
        {"role": "user", "content": [result, {"type": "text", "text": "And now?"}]},
    ]
    expected = [
        {"role": "assistant", "content": [{"type": "output_text", "text": "Looking."}, call]},
        {"role": "user", "content": [result, {"type": "input_text", "text": "And now?"}]},
    ]
    assert items(*messages) == expected
    payload = {"model": "m", "input": expected}
    assert responses.request_to_wire(responses.request_from_wire(payload), "seed") == (payload, [])


def test_other_parts_are_passed_on_as_they_are():
    other = {"type": "hologram", "data": "y"}
    message = {"role": "user", "content": [{"type": "text", "text": "x"}, other]}
    assert items(message) == [{"role": "user", "content": [{"type": "input_text", "text": "x"}, other]}]


def test_other_parts_are_told_as_lost_where_the_api_would_refuse_them():
    message = {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "hologram", "data": "y"}]}
    payload, losses = chat_to_responses([message], dialect="api")
    assert payload == {"input": [{"role": "user", "content": "x"}]}
    assert [loss.pointer for loss in losses] == ["/messages/0/content/1"]


def output(*parts):
    return {"type": "message", "role": "assistant", "content": list(parts)}


def text(words):
    return {"type": "output_text", "text": words}


def test_back_text_and_calls_make_one_message():
    assert responses_output_to_chat([output(text("Let me look.")), CALL_ITEM]) == {**CALL, "content": "Let me look."}


def test_back_a_call_among_the_parts_is_a_call():
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "sky"}}
    assert responses_output_to_chat([output(call)]) == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "toolu_1", "type": "function", "function": {"name": "look", "arguments": '{"at":"sky"}'}}
        ],
    }


def test_back_several_texts_are_joined_never_overwritten():
    parts = [output(text("one "), text("two ")), output(text("three"))]
    assert responses_output_to_chat(parts) == {"role": "assistant", "content": "one two three"}


def test_back_reasoning_is_kept_apart_from_the_content():
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "2 and 2"}]}
    assert responses_output_to_chat([thought, output(text("4"))]) == {
        "role": "assistant",
        "content": "4",
        "reasoning_content": "2 and 2",
    }


@pytest.mark.parametrize("nothing", [[], [{"type": "reasoning", "id": "rs_1", "summary": []}], [output()], [None]])
def test_back_nothing_at_all_is_said_in_words(nothing):
    assert responses_output_to_chat(nothing) == {"role": "assistant", "content": "[No response generated]"}


def test_an_empty_answer_is_said_in_words():
    payload, losses = responses.response_to_wire({"content": [], "finish_reason": "stop"}, "seed")
    assert payload["output"] == [output(text("[No response generated]"))]
    assert [(loss.pointer, loss.change) for loss in losses] == [("/content", "changed")]


def test_back_arguments_stay_the_string_they_were():
    for arguments in ('{"b": 1,  "a": 2}', "not json", '{"n": 12345678901234567890123}', ""):
        message = responses_output_to_chat([{**CALL_ITEM, "arguments": arguments}])
        assert message["tool_calls"][0]["function"]["arguments"] == arguments


def test_case_1_a_message_of_calls_only_has_no_content():
    assert [item["type"] for item in items(CALL)] == ["function_call"]
    assert responses_output_to_chat([CALL_ITEM])["content"] is None


def test_case_1_a_message_of_the_user_always_has_content():
    for content in (None, []):
        payload, losses = chat_to_responses([{"role": "user", "content": content}])
        assert payload["input"] == [{"role": "user", "content": [{"type": "input_text", "text": ""}]}]
        assert "/messages/0/content" in [loss.pointer for loss in losses]


def test_case_2_cache_control_is_stripped_and_told():
    cached = {"cache_control": {"type": "ephemeral"}}
    messages = [
        {"role": "system", "content": [{"type": "text", "text": "S", **cached}]},
        {"role": "user", "content": [{"type": "text", "text": "U", **cached}]},
        {"role": "user", "content": "V", **cached},
    ]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}, "strict": False}, **cached}]
    payload, losses = chat_to_responses(messages, tools)
    assert "cache_control" not in repr(payload)
    assert payload["system"] == "S"
    assert [item["content"][0]["text"] for item in payload["input"]] == ["U", "V"]
    assert {loss.pointer for loss in losses} == {
        "/system/0/provider_data/openai_chat/cache_control",
        "/messages/0/content/0/provider_data/openai_chat/cache_control",
        "/messages/1/provider_data/openai_chat/cache_control",
        "/tools/0/provider_data/openai_chat/cache_control",
    }


def test_case_3_the_system_message_has_a_field_of_its_own():
    messages = [{"role": "system", "content": "You are helpful"}, {"role": "user", "content": "Hello"}]
    payload, losses = chat_to_responses(messages)
    assert payload == {
        "system": "You are helpful",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hello"}]}],
    }
    assert losses == []


def test_case_3_the_system_message_is_read_from_either_place():
    apart = {"model": "m", "system": "S", "input": [{"role": "user", "content": "U"}]}
    inside = {"model": "m", "input": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]}
    expected = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    for payload in (apart, inside):
        request = responses.request_from_wire(payload)
        assert chat.request_to_wire(request).payload["messages"] == expected
        assert responses.request_to_wire(request, "seed").payload.keys() == payload.keys()


def test_case_4_all_results_of_a_turn_are_one_message():
    results = [{"role": "tool", "tool_call_id": f"call_{n}", "content": f"r{n}"} for n in (3, 1, 2)]
    after = {"role": "user", "content": "Thanks"}
    grouped, last = items(*results, after)
    assert grouped == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "call_3", "content": "r3"},
            {"type": "tool_result", "tool_use_id": "call_1", "content": "r1"},
            {"type": "tool_result", "tool_use_id": "call_2", "content": "r2"},
        ],
    }
    assert last == {"role": "user", "content": [{"type": "input_text", "text": "Thanks"}]}
    request = responses.request_from_wire({"model": "m", "input": [grouped, last]})
    assert chat.request_to_wire(request).payload["messages"] == [*results, after]


def test_case_4_results_of_different_turns_stay_apart():
    first, second = ({"role": "tool", "tool_call_id": f"call_{n}", "content": "r"} for n in (1, 2))
    between = {"role": "assistant", "content": "more"}
    assert [item["role"] for item in items(first, between, second)] == ["user", "assistant", "user"]


def test_case_4_messages_of_results_that_stood_apart_are_not_joined():
    one, other = (
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "r"}]} for name in "ab"
    )
    payload = {"model": "m", "input": [one, other]}
    assert responses.request_to_wire(responses.request_from_wire(payload), "seed") == (payload, [])


def test_1_simple_conversation():
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi there!"}]
    assert items(*messages) == [
        {"role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hi there!"}]},
    ]


FLOW = [
    {"role": "system", "content": "You know the weather."},
    {"role": "user", "content": "Weather in NYC and LA?"},
    {
        "role": "assistant",
        "content": "Let me check both.",
        "tool_calls": [
            {
                "id": f"call_{city}",
                "type": "function",
                "function": {"name": "get_weather", "arguments": f'{{"location":"{city}"}}'},
            }
            for city in ("NYC", "LA")
        ],
    },
    {"role": "tool", "tool_call_id": "call_NYC", "content": "72"},
    {"role": "tool", "tool_call_id": "call_LA", "content": '{"error": true, "message": "no sensor"}'},
    {"role": "assistant", "content": "NYC has 72; LA is unknown."},
    {"role": "user", "content": "Thanks"},
]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather",
            "parameters": {"type": "object", "properties": {"location": {"type": "string"}}},
        },
    }
]


def test_2_tool_use_flow():
    payload, losses = chat_to_responses(FLOW, TOOLS)
    calls = [
        {
            "id": f"fc_{city}",
            "type": "function_call",
            "name": "get_weather",
            "arguments": f'{{"location":"{city}"}}',
            "call_id": f"call_{city}",
            "status": "completed",
        }
        for city in ("NYC", "LA")
    ]
    assert payload == {
        "system": "You know the weather.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Weather in NYC and LA?"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Let me check both."}]},
            *calls,
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "call_NYC", "content": "72"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "call_LA",
                        "content": '{"error": true, "message": "no sensor"}',
                    },
                ],
            },
            {"role": "assistant", "content": [{"type": "output_text", "text": "NYC has 72; LA is unknown."}]},
            {"role": "user", "content": [{"type": "input_text", "text": "Thanks"}]},
        ],
        "tools": [{"type": "function", **TOOLS[0]["function"], "strict": False}],
    }
    assert losses == []


@pytest.mark.parametrize("dialect", ["seed", "api"])
def test_2_tool_use_flow_there_and_back(dialect):
    payload = chat_to_responses(FLOW, TOOLS, dialect).payload
    request = responses.request_from_wire(payload)
    back = chat.request_to_wire(request).payload
    assert back == {"messages": FLOW, "tools": TOOLS}
    assert responses.request_to_wire(request, dialect) == (payload, [])


def test_2_tool_use_flow_in_the_form_of_the_api():
    payload, losses = chat_to_responses(FLOW, TOOLS, "api")
    assert payload["instructions"] == "You know the weather."
    assert [item.get("type", item.get("role")) for item in payload["input"]] == [
        "user",
        "assistant",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "assistant",
        "user",
    ]
    assert payload["input"][4] == {"type": "function_call_output", "call_id": "call_NYC", "output": "72"}
    assert losses == []
