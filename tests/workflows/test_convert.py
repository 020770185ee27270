"""Conversions of whole payloads and of bare messages, for every pair of formats and for values of any kind."""

import copy
import json
from itertools import product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassettes import needs_samples, recorded
from exchanging import requests, responses
from merging import message as message_events
from palaver.errors import ContentError, OptionError, VersionError
from palaver.validation.schema import is_valid
from palaver.wire import formats, wire_format
from palaver.workflows.convert import convert, format_names

TIME = "2025-01-01T00:00:00.000Z"
PAIRS = list(product(format_names(), repeat=2))
ARROWS = [f"{source}->{target}" for source, target in PAIRS]
BIG = 123456789012345678901234567890
odd_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(
        ["\ud800", "user", "assistant", "text", "system", "tool_use", "function_call", '{"a": NaN}', BIG]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.just("\udfff"), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value, way=()):
    """Every place in a JSON value, as a path."""
    yield way
    match value:
        case dict():
            for key, inner in value.items():
                yield from places(inner, (*way, key))
        case list():
            for number, inner in enumerate(value):
                yield from places(inner, (*way, number))
        case _:
            pass


def replaced(value, way, other):
    if not way:
        return other
    value = copy.copy(value)
    value[way[0]] = replaced(value[way[0]], way[1:], other)
    return value


def sound_value(data, source):
    """A value that a program would write: a request, a response, a pair, a message or an array of messages."""
    request = data.draw(requests(["claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro"]))
    response = data.draw(responses)
    if source == "ucs":
        pair = {"schema_version": "1.1.0", "exchange_id": "e", "request": request, "response": response}
        return convert(pair, "exchange", "ucs", time=TIME).payload
    if source == "exchange":
        whole = {"schema_version": "1.1.0", "exchange_id": "e", "request": request, "response": response}
        return data.draw(st.sampled_from([whole, request, response, request["messages"], request["messages"][0]]))
    wire = wire_format(source)
    sent, answer = wire.request_to_wire(request).payload, wire.response_to_wire(response).payload
    messages = sent.get({"gemini": "contents", "openai-responses": "input"}.get(source, "messages"))
    shapes = [sent, answer, {"request": sent, "response": answer}]
    if isinstance(messages, list) and messages:
        shapes += [messages, messages[0]]
    return data.draw(st.sampled_from(shapes))


def checked(value, source, target):
    before = copy.deepcopy(value)
    try:
        payload, losses = convert(value, source, target, time=TIME)
    except (ContentError, VersionError) as error:
        message = str(error)
        payload, losses = None, []
    else:
        message = ""
    finally:
        assert repr(value) == repr(before), "the value was changed"
    assert "\n" not in message
    encoded = msgspec.json.encode(payload)
    json.loads(encoded, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert all(isinstance(loss.pointer, str) and loss.reason for loss in losses)
    if target == "ucs" and payload is not None:
        assert is_valid(payload)
    return payload


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ARROWS)
@given(data=st.data())
@settings(max_examples=25)
def test_law_a_value_with_an_odd_part_is_converted_or_refused_in_one_line(source, target, data):
    value = sound_value(data, source)
    for _ in range(data.draw(st.integers(0, 2))):
        way = data.draw(st.sampled_from(list(places(value))))
        value = replaced(value, way, data.draw(odd_values))
    checked(value, source, target)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ARROWS)
@given(value=odd_values)
@settings(max_examples=25)
def test_law_any_json_value_is_converted_or_refused_in_one_line(source, target, value):
    checked(value, source, target)


@pytest.mark.parametrize("name", [*formats(), "exchange"])
@given(data=st.data())
@settings(max_examples=50)
def test_law_the_exchange_gives_every_value_back(name, data):
    value = sound_value(data, name)
    between = convert(value, name, "exchange")
    back = convert(between.payload, "exchange", name)
    if not between.losses:
        assert back == (convert(value, name, name).payload, [])


@pytest.mark.parametrize("name", formats())
@given(data=st.data())
@settings(max_examples=50)
def test_law_values_are_equal_after_conversion_to_their_own_format(name, data):
    value = sound_value(data, name)
    assert convert(value, name, name) == (value, [])


@needs_samples
@pytest.mark.parametrize("name", formats())
def test_recorded_calls_come_back_from_the_exchange(name):
    pairs = [
        {"request": call.request, "response": call.answer}
        for call in recorded(name.replace("-", "_"))
        if isinstance(call.request, dict) and call.request and isinstance(call.answer, dict)
    ]
    assert pairs
    for pair in pairs:
        between = convert(pair, name, "exchange")
        assert is_valid(between.payload, "exchange")
        if not between.losses:
            assert convert(between.payload, "exchange", name) == (pair, [])


QUESTION = {
    "openai-chat": {"role": "user", "content": "Hello"},
    "openai-responses": {"role": "user", "content": "Hello"},
    "anthropic": {"role": "user", "content": "Hello"},
    "gemini": {"role": "user", "parts": [{"text": "Hello"}]},
    "exchange": {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
}
SHORT_PAIRS = list(product(QUESTION, repeat=2))


@pytest.mark.parametrize(("source", "target"), SHORT_PAIRS)
def test_a_message_becomes_a_message_and_an_array_an_array(source, target):
    assert convert(QUESTION[source], source, target) == (QUESTION[target], [])
    assert convert([QUESTION[source]] * 2, source, target) == ([QUESTION[target]] * 2, [])
    assert convert([QUESTION[source]], source, target) == ([QUESTION[target]], [])


CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in "fg"
    ],
}


def test_a_message_that_another_format_splits_becomes_an_array_and_says_so():
    items, losses = convert(CALLS, "openai-chat", "openai-responses")
    assert [(item["type"], item["name"]) for item in items] == [("function_call", "f"), ("function_call", "g")]
    assert [(loss.pointer, loss.change) for loss in losses] == [("", "changed")]
    assert "became an array of 2" in losses[0].reason
    assert convert(items, "openai-responses", "openai-chat").payload == [CALLS]


def test_an_array_of_output_items_becomes_the_message_of_the_assistant():
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I need the weather."}]},
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_f",
            "name": "f",
            "arguments": "{}",
            "status": "completed",
        },
    ]
    [message] = convert(output, "openai-responses", "anthropic").payload
    assert [block["type"] for block in message["content"]] == ["text", "text", "tool_use"]
    [message] = convert(output, "openai-responses", "openai-chat").payload
    assert (message["content"], [call["id"] for call in message["tool_calls"]]) == ("Let me look.", ["call_f"])


@pytest.mark.parametrize(
    "item",
    [
        {"type": "custom_tool_call", "name": "f", "input": "x", "call_id": "call_1"},
        {"type": "function_call_output", "call_id": "call_1", "output": "r"},
    ],
)
def test_an_item_is_no_request_though_it_has_a_key_of_one(item):
    assert convert(item, "openai-responses", "openai-responses") == (item, [])


SYSTEM = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "Be kind."},
    QUESTION["openai-chat"],
]


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses"])
def test_system_messages_stay_among_the_messages(target):
    source = "openai-responses" if target == "openai-chat" else "openai-chat"
    assert convert(SYSTEM, source, target) == (SYSTEM, [])
    assert convert(SYSTEM, target, target) == (SYSTEM, [])


@pytest.mark.parametrize("target", ["anthropic", "gemini"])
@pytest.mark.parametrize("source", ["openai-chat", "openai-responses"])
def test_a_format_without_system_messages_gives_them_to_the_user_and_says_so(source, target):
    messages, losses = convert(SYSTEM, source, target)
    assert [message["role"] for message in messages] == ["user"] * 3
    assert [
        json.dumps(message).count(text) for message, text in zip(messages, ("brief", "kind", "Hello"), strict=True)
    ] == [1] * 3
    assert [(loss.pointer, loss.change) for loss in losses] == [
        ("/0/role", "changed"),
        ("/1/role", "changed"),
    ]


def test_system_messages_come_back_from_bare_messages_of_an_exchange():
    between = convert(SYSTEM, "openai-chat", "exchange").payload
    assert convert(between, "exchange", "openai-chat") == (SYSTEM, [])
    assert convert(between, "exchange", "openai-responses") == (SYSTEM, [])
    assert len(convert(between, "exchange", "gemini").losses) == 2


def test_bare_system_messages_are_system_messages_of_a_conversation():
    document = convert(SYSTEM, "openai-chat", "ucs", time=TIME).payload
    assert [message["role"] for message in document["messages"]] == ["system", "system", "user"]
    assert "model" not in document["platform"]


def test_a_message_of_which_nothing_has_a_place_is_refused():
    message = {"role": "user", "content": [{"type": "hologram", "data": "x"}]}
    with pytest.raises(ContentError, match="anthropic cannot express any part of this message"):
        convert(message, "openai-chat", "anthropic")
    messages, losses = convert([message, QUESTION["openai-chat"]], "openai-chat", "anthropic")
    assert messages == [QUESTION["anthropic"]]
    assert {loss.pointer for loss in losses} == {"/0", "/0/content/0"}


def test_an_array_of_messages_and_something_else_is_refused_with_the_place():
    with pytest.raises(ContentError, match="element 1 of the array is not a message in the format openai-chat"):
        convert([QUESTION["openai-chat"], {"model": "m", "messages": []}], "openai-chat", "anthropic")


REQUEST = {"model": "gpt-5", "messages": [{"role": "system", "content": "Be brief."}, QUESTION["openai-chat"]]}
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "gpt-5-2025",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi there!"}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
}


def test_a_pair_becomes_a_whole_exchange_with_the_same_id_each_time():
    pair = {"request": REQUEST, "response": ANSWER}
    exchange, losses = convert(pair, "openai-chat", "exchange")
    assert is_valid(exchange, "exchange")
    assert losses == []
    assert (exchange["schema_version"], exchange["provider"]) == ("1.1.0", "openai")
    assert exchange["response"]["content"] == [{"type": "text", "text": "Hi there!"}]
    assert exchange["exchange_id"] == convert(copy.deepcopy(pair), "openai-chat", "exchange").payload["exchange_id"]
    assert convert(exchange, "exchange", "openai-chat") == (pair, [])
    assert convert(exchange, "exchange", "exchange") == (exchange, [])


def test_a_request_becomes_an_exchange_without_response_and_a_response_the_part_of_one():
    exchange = convert(REQUEST, "openai-chat", "exchange").payload
    assert is_valid(exchange, "exchange")
    assert exchange["response"] is None
    assert convert(exchange, "exchange", "openai-chat").payload == REQUEST
    response = convert(ANSWER, "openai-chat", "exchange").payload
    assert {"content", "finish_reason", "usage", "model"} <= response.keys()
    assert convert(response, "exchange", "openai-chat").payload == ANSWER


def test_a_request_that_names_no_model_gets_an_exchange_that_says_so():
    exchange, losses = convert({"messages": [QUESTION["openai-chat"]]}, "openai-chat", "exchange")
    assert exchange["request"]["model"] == "unknown"
    assert [(loss.pointer, loss.change) for loss in losses] == [("", "changed")]
    payload, losses = convert({"messages": [QUESTION["openai-chat"]]}, "openai-chat", "gemini")
    assert payload["model"] == "unknown"
    assert ("", "changed") in [(loss.pointer, loss.change) for loss in losses]


def test_the_facts_around_an_exchange_are_named_where_a_payload_has_no_place_for_them():
    exchange = {
        "schema_version": "1.0.0",
        "exchange_id": "req_1",
        "provider": "openai",
        "started_at": TIME,
        "duration_ms": 12,
        "request": {"model": "m", "messages": [QUESTION["exchange"]], "max_output_tokens": -1},
        "response": None,
        "error": {"category": "server", "message": "no"},
    }
    payload, losses = convert(exchange, "exchange", "anthropic")
    assert payload["messages"] == [QUESTION["anthropic"]]
    assert {loss.pointer for loss in losses} >= {"/exchange_id", "/started_at", "/duration_ms", "/error"}
    document, losses = convert({**exchange, "response": {"content": [], "finish_reason": "error"}}, "exchange", "ucs")
    assert document["created_at"] == TIME
    assert {"request_id": "req_1", "duration_ms": 12}.items() <= document["messages"][-1]["metadata"].items()
    assert [loss.pointer for loss in losses] == ["/error"]
    losses = convert(exchange, "exchange", "ucs").losses
    assert [loss.pointer for loss in losses] == ["/exchange_id", "/duration_ms", "/error"]


@pytest.mark.parametrize("target", formats())
def test_the_default_limit_of_the_provider_is_left_out(target):
    request = {"model": "m", "messages": [QUESTION["exchange"]], "max_output_tokens": -1}
    assert "-1" not in json.dumps(convert(request, "exchange", target).payload)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"request": {"model": "m", "messages": []}}, "no schema_version"),
        ({"schema_version": "9.0.0", "exchange_id": "e", "request": {}, "response": None}, "9.0.0"),
        ({"schema_version": "1.1.0", "exchange_id": "e", "request": {"model": "m"}, "response": None}, "/request"),
        ({"model": "m", "messages": [{"role": "king", "content": []}]}, "/messages/0/role"),
        ({"content": "text", "finish_reason": "stop"}, "/content"),
        ({"something": "else"}, "not an exchange"),
        ([{"role": "user", "content": "a text"}], "/0/content"),
    ],
)
def test_what_is_no_exchange_is_refused_in_one_line(value, words):
    with pytest.raises((ContentError, VersionError)) as refusal:
        convert(value, "exchange", "openai-chat")
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_lines_of_a_stream_beside_a_request_are_its_response():
    events = [
        {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Good "}}]},
        {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "day"}, "finish_reason": "stop"}]},
    ]
    lines = [line for event in events for line in (f"data: {json.dumps(event)}", "")]
    pair = {"request": REQUEST, "response": {"sse_lines": [*lines, "data: [DONE]", ""]}}
    exchange, losses = convert(pair, "openai-chat", "exchange")
    assert exchange["response"]["content"] == [{"type": "text", "text": "Good day"}]
    assert losses == []
    without_blanks = [line for line in lines if line]
    pair["response"]["sse_lines"] = [*without_blanks, "data: [DONE]"]
    assert convert(pair, "openai-chat", "exchange") == (exchange, [])
    pair["response"]["sse_lines"] = [*events, "data: [DONE]"]
    assert convert(pair, "openai-chat", "exchange") == (exchange, []), "a line may be a parsed event"
    pair["response"]["sse_lines"] = lines[:1]
    losses = convert(pair, "openai-chat", "exchange").losses
    assert {loss.pointer for loss in losses} == {"/response"}


def test_further_messages_in_the_stream_beside_a_request_are_named_as_dropped():
    lines = [f"data: {json.dumps(event)}" for name in "abc" for event in message_events(name, "One.")]
    request = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Go."}]}
    pair = {"request": request, "response": {"sse_lines": lines}}
    exchange, losses = convert(pair, "anthropic", "exchange")
    assert exchange["response"]["response_id"] == "a"
    assert [(loss.pointer, loss.reason, loss.change) for loss in losses] == [
        ("/response", "b follows a in the same stream, but a request has only one response", "dropped"),
        ("/response", "c follows b in the same stream, but a request has only one response", "dropped"),
    ]


def test_facts_beside_a_request_go_to_the_exchange_and_are_named_elsewhere():
    record = {
        "id": "req_1",
        "timestamp": "2025-01-01T01:00:00+01:00",
        "duration_ms": 12.5,
        "request": REQUEST,
        "response": ANSWER,
        "proxy": "local",
    }
    exchange, losses = convert(record, "openai-chat", "exchange")
    assert {"exchange_id": "req_1", "started_at": TIME, "duration_ms": 12.5}.items() <= exchange.items()
    assert [loss.pointer for loss in losses] == ["/proxy"]
    payload, losses = convert(record, "openai-chat", "openai-chat")
    assert payload == {"request": REQUEST, "response": ANSWER}
    assert {loss.pointer for loss in losses} == {"/proxy", "/id", "/timestamp", "/duration_ms"}


@pytest.mark.parametrize("response", ["<html>", ["a"], 5])
def test_a_response_that_is_no_object_is_named_as_lost(response):
    payload, losses = convert({"request": REQUEST, "response": response}, "openai-chat", "openai-chat")
    assert payload == REQUEST
    assert [loss.pointer for loss in losses] == ["/response"]


def test_an_error_beside_a_request_is_the_error_of_the_exchange():
    pair = {
        "request": REQUEST,
        "response": {"error": {"message": "Slow down", "type": "rate_limit_error", "code": None}},
    }
    exchange = convert(pair, "openai-chat", "exchange").payload
    assert (exchange["error"]["category"], exchange["error"]["message"]) == ("rate_limit", "Slow down")
    assert convert(exchange, "exchange", "openai-chat") == (pair, [])


def test_conversations_become_exchanges_and_exchanges_conversations():
    document = convert({"request": REQUEST, "response": ANSWER}, "openai-chat", "ucs", time=TIME).payload
    exchange = convert(document, "ucs", "exchange").payload
    assert is_valid(exchange, "exchange")
    assert exchange["request"]["system"] == [{"type": "text", "text": "Be brief."}]
    assert [message["role"] for message in exchange["request"]["messages"]] == ["user", "assistant"]
    again = convert(exchange, "exchange", "ucs", time=TIME).payload
    assert [message["content"] for message in again["messages"]] == [
        message["content"] for message in document["messages"]
    ]


def test_all_answers_become_messages_of_a_conversation():
    exchange = {
        "schema_version": "1.1.0",
        "exchange_id": "e",
        "request": {"model": "m", "messages": [QUESTION["exchange"]], "answer_count": 2},
        "response": {
            "content": [{"type": "text", "text": "A"}],
            "finish_reason": "stop",
            "response_id": "resp_1",
            "created_at": "2025-02-03T04:05:06.000Z",
            "service_tier": "flex",
            "usage": {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 3, "cache_write_tokens": 4},
            "alternatives": [{"index": 1, "content": [{"type": "text", "text": "B"}], "finish_reason": "length"}],
        },
    }
    document, losses = convert(exchange, "exchange", "ucs", time=TIME)
    first, second = document["messages"][1:]
    assert (first["content"][0]["text"], second["content"][0]["text"]) == ("A", "B")
    assert [message["metadata"]["completion_index"] for message in (first, second)] == [0, 1]
    assert second["metadata"]["stop_reason"] == "length"
    assert first["metadata"]["api_message_id"] == "resp_1"
    assert first["timestamp"] == "2025-02-03T04:05:06.000Z"
    assert "timestamp_inferred" not in first["metadata"]
    assert first["tokens"] == {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 4,
        "service_tier": "flex",
    }
    assert "tokens" not in second
    assert [loss.pointer for loss in losses] == ["/request/answer_count"]


def test_the_counts_of_anthropic_stay_its_own_in_a_conversation():
    usage = {
        "input_tokens": 3,
        "output_tokens": 4,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 6,
    }
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": [{"type": "text", "text": "A"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    document = convert(answer, "anthropic", "ucs", time=TIME).payload
    assert document["messages"][-1]["tokens"] == usage
    assert convert(answer, "anthropic", "exchange").payload["usage"]["input_tokens"] == 3 + 5 + 6


def test_the_counts_of_an_older_exchange_are_upgraded():
    """Version 1.0.0 had the cache of Anthropic apart from the input, and one count for reading and writing it."""
    exchange = {
        "schema_version": "1.0.0",
        "exchange_id": "e",
        "provider": "anthropic",
        "request": {"model": "m", "messages": [QUESTION["exchange"]]},
        "response": {
            "content": [{"type": "text", "text": "A"}],
            "finish_reason": "stop",
            "usage": {
                "input_tokens": 3,
                "output_tokens": 4,
                "cached_tokens": 11,
                "provider_data": {
                    "anthropic": {"cache_read_input_tokens": 5, "cache_creation_input_tokens": 6},
                },
            },
        },
    }
    usage = convert(exchange, "exchange", "anthropic").payload["response"]["usage"]
    assert {name: usage[name] for name in usage if name.endswith("input_tokens")} == {
        "input_tokens": 3,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 6,
    }
    usage = convert(exchange, "exchange", "openai-chat").payload["response"]["usage"]
    assert (usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]) == (14, 5)


def test_every_setting_of_a_request_is_named_where_a_conversation_has_no_place_for_it():
    settings = {
        "thinking": {"level": "low"},
        "tools": [{"name": "f", "parameters": {}}],
        "tool_choice": {"type": "auto"},
        "max_output_tokens": 5,
        "output_format": {"type": "json"},
        "parallel_tool_calls": False,
        "answer_count": 2,
        "logprobs": True,
        "top_logprobs": 2,
        "user": "u",
        "metadata": {"a": "b"},
        "store": True,
        "service_tier": "flex",
        "stream": True,
    }
    request = {
        "model": "m",
        "messages": [QUESTION["exchange"]],
        "sampling": {"temperature": 1, "seed": 2},
        **settings,
        "provider_data": {"openai_chat": {"prediction": 1, "shape": {"absent": ["x"]}}},
    }
    losses = convert(request, "exchange", "ucs", time=TIME).losses
    assert {loss.pointer for loss in losses} == {
        *(f"/{name}" for name in settings),
        "/sampling/temperature",
        "/sampling/seed",
        "/provider_data/openai_chat/prediction",
    }


def test_integers_of_any_size_stay_integers():
    message = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"n": BIG}}]}
    assert convert(message, "anthropic", "gemini").payload["parts"][0]["functionCall"]["args"] == {"n": BIG}
    document, losses = convert(message, "anthropic", "ucs", time=TIME)
    assert document["messages"][0]["content"][0]["input"] == {"n": str(BIG)}
    assert [loss.pointer for loss in losses] == [""]


def test_what_json_cannot_hold_is_replaced_and_named():
    given = {"a": float("nan"), "b": "\ud800", "\ud800": 1, chr(0xDFFF): -float("inf")}
    message = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": given}]}
    made, losses = convert(message, "anthropic", "gemini")
    expected = {"a": None, "b": "\ufffd", "\ufffd": 1, "\ufffd\ufffd": None}
    assert made["parts"][0]["functionCall"]["args"] == expected
    assert [(loss.pointer, loss.reason) for loss in losses] == [
        ("/content/0/input/a", "JSON has no number nan; it became null"),
        ("/content/0/input/b", "half of a surrogate pair became U+FFFD"),
        ("/content/0/input", "half of a surrogate pair became U+FFFD"),
        ("/content/0/input/\ufffd\ufffd", "JSON has no number -inf; it became null"),
    ]


@pytest.mark.parametrize("target", format_names())
@pytest.mark.parametrize("arguments", ['{"a": NaN}', '{"a": "\\ud800"}', '{"a": 1e999}', f'{{"a": {BIG}}}'])
def test_arguments_of_a_call_that_json_cannot_hold_are_converted(target, arguments):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    assert checked({"role": "assistant", "tool_calls": [call]}, "openai-chat", target) is not None


def test_a_value_nested_too_deeply_is_refused_in_one_line():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ContentError, match="nested too deeply"):
        convert({"model": "m", "messages": [], "x": deep}, "openai-chat", "anthropic")


@pytest.mark.parametrize(
    "words",
    [
        ("morse", "ucs", "api"),
        ("ucs", "morse", "api"),
        ("openai-chat", "ucs", "old"),
        ("openai-chat", "gemini", "seed"),
        ("openai-chat", "exchange", "seed"),
    ],
)
def test_unknown_formats_and_dialects_are_refused(words):
    source, target, dialect = words
    with pytest.raises(OptionError):
        convert(REQUEST, source, target, dialect=dialect)


def test_an_integer_that_a_document_cannot_hold_is_named_in_words():
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"id": 2**70}}
    written = convert([{"role": "assistant", "content": [call]}], "anthropic", "ucs")
    assert written.payload["messages"][0]["content"][0]["input"] == {"id": str(2**70)}
    [loss] = written.losses
    assert loss.reason == "An integer beyond 64 bits is kept as a string. (1 integers)"
