"""OpenAI's Chat Completions: older forms, other servers' forms, the traps, the laws, and every recorded call."""

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exchanging
from cassettes import SAMPLES, needs_samples, recorded
from exchanging import agrees, lost_words
from openai_payloads import CHAT_REQUEST, CHAT_REQUEST_IN_OLDER_FORM, CHAT_RESPONSE, PICTURE, damaged
from palaver.model import build
from palaver.streams import assemble
from palaver.validation.schema import schema_errors
from palaver.wire import formats, wire_format
from palaver.wire.openai import chat
from sdk_judges import accept

OTHERS = [name for name in formats() if name != "openai-chat"]
law = settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def same(one, other):
    """Equal as JSON: true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def read(*messages, **fields):
    """The request of an exchange; writing it again gives the payload."""
    payload = {"model": "gpt-5.4", "messages": list(messages), **fields}
    before = copy.deepcopy(payload)
    request = chat.request_from_wire(payload)
    assert same(payload, before)
    written = chat.request_to_wire(request)
    assert same(written.payload, payload)
    assert written.losses == []
    return request


def read_answer(message, **choice):
    """The response of an exchange; writing it again gives the payload."""
    given = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}, **choice}
    payload = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [given]}
    response = chat.response_from_wire(payload)
    written = chat.response_to_wire(response)
    assert same(written.payload, payload)
    assert written.losses == []
    return response


def wrote(*messages, **fields):
    """The messages of a payload, and its losses."""
    request = {"model": "gpt-5.4", "messages": list(messages), **fields}
    before = copy.deepcopy(request)
    written = chat.request_to_wire(request)
    assert same(request, before)
    accept("openai-chat request", written.payload)
    assert agrees(request, written.losses, chat.request_from_wire(written.payload))
    return written.payload["messages"], [(loss.pointer, loss.change) for loss in written.losses]


def turn(role, *content, **fields):
    return {"role": role, "content": list(content), **fields}


USER = {"role": "user", "content": "Hello"}


def test_the_usual_request_needs_no_notes():
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    tool = {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True}
    request = read(
        {"role": "system", "content": "S"},
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "r"},
        {"role": "assistant", "content": "done"},
        tools=[{"type": "function", "function": tool}],
        tool_choice={"type": "function", "function": {"name": "f"}},
        max_completion_tokens=10,
        reasoning_effort="medium",
        temperature=0.5,
        top_p=1,
        seed=7,
        stop=["a"],
    )
    assert request == {
        "model": "gpt-5.4",
        "system": [build.text("S")],
        "messages": [
            turn("user", build.text("Hello")),
            turn("assistant", build.tool_use(id="call_1", name="f", input={"a": 1})),
            turn("tool", build.tool_result(tool_use_id="call_1", content="r")),
            turn("assistant", build.text("done")),
        ],
        "tools": [tool],
        "tool_choice": {"type": "specific", "name": "f"},
        "max_output_tokens": 10,
        "thinking": {"level": "med", "include_summary": False},
        "sampling": {"temperature": 0.5, "top_p": 1, "seed": 7, "stop_sequences": ["a"]},
    }


@pytest.mark.parametrize("payload", [CHAT_REQUEST, CHAT_REQUEST_IN_OLDER_FORM])
def test_a_request_with_everything_comes_back(payload):
    assert same(chat.request_to_wire(chat.request_from_wire(payload)).payload, payload)


@pytest.mark.parametrize("content", [None, "", "text", [], [{"type": "text", "text": "a"}], 7, {"odd": True}])
@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_null_empty_and_absent_content_are_three_things(role, content):
    for message in ({"role": role, "content": content}, {"role": role}):
        read(message, USER)
        read(USER, message)


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_system_message_in_the_middle_keeps_its_place(role):
    request = read(USER, {"role": role, "content": "Now be brief."}, {"role": "user", "content": "Go on"})
    noted = {"openai_chat": {"role": role}}
    assert request["messages"][1] == turn("user", build.text("Now be brief."), provider_data=noted)
    responses = wire_format("openai-responses").request_to_wire(request)
    assert responses.payload["input"][1] == {"role": role, "content": "Now be brief."}
    assert responses.losses == []


def test_messages_that_lead_are_the_system_prompt():
    request = read({"role": "developer", "content": "D"}, {"role": "system", "content": "S", "name": "n"}, USER)
    assert [block["text"] for block in request["system"]] == ["D", "S"]
    assert len(request["messages"]) == 1


def test_older_functions_are_tools():
    request = read(
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "f", "content": "r"},
        functions=[{"name": "f", "parameters": {"type": "object"}}],
        function_call={"name": "f"},
        max_tokens=5,
        stop="END",
    )
    call, result = request["messages"][1]["content"][0], request["messages"][2]
    assert (call["name"], call["input"]) == ("f", {"a": 1})
    assert (result["role"], result["content"][0]["tool_use_id"]) == ("tool", call["id"])
    assert [tool["name"] for tool in request["tools"]] == ["f"]
    assert request["tool_choice"] == {"type": "specific", "name": "f"}
    assert request["max_output_tokens"] == 5
    assert request["sampling"] == {"stop_sequences": ["END"]}


def test_a_call_in_the_older_form_is_written_to_others_as_any_call():
    request = read(
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r"},
    )
    call, result = wire_format("openai-responses").request_to_wire(request).payload["input"]
    assert call["call_id"] == result["call_id"]


def test_calls_without_ids_are_paired_by_order():
    def call(name):
        return {"type": "function", "function": {"name": name, "arguments": "{}"}}

    request = read(
        {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "content": "of a"},
        {"role": "tool", "content": "of b"},
        {"role": "tool", "content": "of nobody"},
    )
    calls, *results = request["messages"]
    ids = [block["id"] for block in calls["content"]]
    assert [result["content"][0]["tool_use_id"] for result in results][:2] == ids == ["call_0", "call_1"]
    assert results[2]["content"][0]["tool_use_id"] not in ids


def test_made_up_ids_avoid_those_that_are_stated():
    calls = [
        {"type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{}"}},
    ]
    request = read({"role": "assistant", "content": None, "tool_calls": calls})
    assert len({block["id"] for block in request["messages"][0]["content"]}) == 2


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ('{"b":1,"a":2}', {"b": 1, "a": 2}),
        ('{ "a" : 1 }', {"a": 1}),
        ('{"a":1,"a":2}', {"a": 2}),
        ('{"a":1e2}', {"a": 100.0}),
        ("", {}),
        ("{}", {}),
        ("[1]", {"raw": "[1]"}),
        ("not json", {"raw": "not json"}),
        ('{"a": NaN}', {"raw": '{"a": NaN}'}),
        ('{"a": 1e999}', {"raw": '{"a": 1e999}'}),
        ('{"a": 99999999999999999999999}', {"a": 99999999999999999999999}),
        ('{"a":' * 100_000, {"raw": '{"a":' * 100_000}),
        ({"a": 1}, {"a": 1}),
        (None, {}),
    ],
)
def test_trap_15_arguments_keep_their_string(arguments, given):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    request = read({"role": "assistant", "content": None, "tool_calls": [call]})
    assert request["messages"][0]["content"][0]["input"] == given


def test_an_input_that_was_changed_is_written_not_the_old_string():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{ "a": 1 }'}}
    request = read({"role": "assistant", "content": None, "tool_calls": [call]})
    request["messages"][0]["content"][0]["input"] = {"a": 2}
    (message,) = chat.request_to_wire(request).payload["messages"]
    assert message["tool_calls"][0]["function"]["arguments"] == '{"a":2}'


def test_settings_that_were_changed_are_written_not_the_old_words():
    request = read(USER, reasoning_effort="minimal", stop="a", tool_choice="auto", max_tokens=5, temperature=None)
    assert request["thinking"]["level"] == "low"
    request["thinking"]["level"] = "high"
    request["sampling"] = {"stop_sequences": ["b"], "temperature": 1}
    request["tool_choice"] = {"type": "none"}
    request["max_output_tokens"] = 6
    payload = chat.request_to_wire(request).payload
    named = ("reasoning_effort", "stop", "tool_choice", "max_tokens", "temperature")
    assert [payload[name] for name in named] == ["high", ["b"], "none", 6, 1]


def test_settings_that_were_taken_out_do_not_return():
    asked = {
        "reasoning_effort": "minimal",
        "stop": "a",
        "max_tokens": 5,
        "tools": [{"type": "function", "function": {"name": "h"}}],
    }
    request = read(USER, tool_choice={"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}, **asked)
    for name in ("thinking", "sampling", "tool_choice", "max_output_tokens", "tools"):
        del request[name]
    assert chat.request_to_wire(request).payload == {"model": "gpt-5.4", "messages": [USER]}


def test_a_custom_tool_takes_free_text():
    call = {"id": "c", "type": "custom", "custom": {"name": "g", "input": "x"}}
    request = read(
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "r"},
        tools=[{"type": "custom", "custom": {"name": "g", "format": {"type": "text"}}}],
        tool_choice={"type": "custom", "custom": {"name": "g"}},
    )
    assert request["messages"][0]["content"][0]["input"] == {"input": "x"}
    assert request["tools"][0]["parameters"]["required"] == ["input"]
    payload = wire_format("openai-responses").request_to_wire(request).payload
    assert [item["type"] for item in payload["input"]] == ["custom_tool_call", "custom_tool_call_output"]
    assert payload["tool_choice"] == {"type": "custom", "name": "g"}
    assert payload["tools"] == [{"type": "custom", "name": "g"}]


def test_a_refusal_is_text_that_says_so():
    content = read(USER, {"role": "assistant", "content": None, "refusal": "No."})["messages"][1]["content"]
    assert content == [{**build.text("No."), "provider_data": {"openai_chat": {"type": "refusal"}}}]
    parts = [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}]
    content = read(USER, {"role": "assistant", "content": parts})["messages"][1]["content"]
    assert [block["text"] for block in content] == ["a", "b"]


def test_a_refusal_stays_one_in_responses():
    response = read_answer({"content": None, "refusal": "No."})
    (item,) = wire_format("openai-responses").response_to_wire(response).payload["output"]
    assert item["content"] == [{"type": "refusal", "refusal": "No."}]
    back = wire_format("openai-responses").response_from_wire({"output": [item]})
    message = chat.response_to_wire(back).payload["choices"][0]["message"]
    assert (message["content"], message["refusal"]) == (None, "No.")


def test_images_audio_and_files_are_blocks():
    parts = [
        {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "mp3"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,QUJD", "filename": "a.pdf"}},
        {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "flac"}},
    ]
    content = read({"role": "user", "content": parts})["messages"][0]["content"]
    assert [(block["type"], block.get("source")) for block in content] == [
        ("image", build.source("base64", "AAAA", media_type="image/png")),
        ("image", build.source("url", "https://x/y.png")),
        ("file", build.source("base64", "QQ==", media_type="audio/mpeg")),
        ("file", build.source("file", "file-1")),
        ("file", build.source("base64", "QUJD", media_type="application/pdf")),
        ("opaque", None),
    ]


def test_audio_of_the_assistant_has_its_words():
    audio = {"id": "a", "data": "QQ==", "expires_at": 1, "transcript": "hey"}
    (block,) = read_answer({"content": None, "audio": audio})["content"]
    assert (block["type"], block["source"]["data"], block["text"]) == ("file", "QQ==", "hey")
    assert read({"role": "assistant", "audio": {"id": "a"}})["messages"][0]["content"][0]["type"] == "file"


@pytest.mark.parametrize(
    ("fields", "thought"),
    [
        ({"reasoning_content": "t"}, "t"),
        ({"reasoning": "t", "reasoning_details": [{"type": "reasoning.text", "text": "t", "signature": "s"}]}, "t"),
        ({"reasoning_details": [{"type": "reasoning.summary", "summary": "t"}]}, "t"),
        ({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}], "reasoning": None}, ""),
        ({"reasoning_text": "t", "reasoning_opaque": "x"}, "t"),
        ({"reasoning_opaque": "x"}, ""),
        ({"reasoning_content": "t", "reasoning": "t"}, "t"),
    ],
)
def test_trap_14_reasoning_of_other_servers_is_thinking(fields, thought):
    answer = read_answer({"content": "x", **fields})["content"]
    history = read(USER, {"role": "assistant", "content": "x", **fields})["messages"][1]["content"]
    for content in (answer, history):
        assert [block["type"] for block in content] == ["thinking", "text"]
        assert content[0]["thinking"] == thought


@pytest.mark.parametrize("value", [None, "", {"effort": 1}])
def test_trap_14_reasoning_without_words_is_no_thinking(value):
    assert [block["type"] for block in read_answer({"content": "x", "reasoning": value})["content"]] == ["text"]


def test_citations_are_on_the_text():
    cited = {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 1, "title": "t", "url": "u"}}
    (block,) = read_answer({"content": "x", "annotations": [cited]})["content"]
    assert block["citations"] == [cited]
    read_answer({"content": "x", "annotations": [{"type": "of tomorrow"}]})


def test_citations_move_with_texts_that_are_joined():
    def cited(start):
        return {"type": "url_citation", "start_index": start, "end_index": start + 1, "title": "t", "url": "u"}

    content = [build.text("one ", citations=[cited(0)]), build.text("two", citations=[cited(1)])]
    payload, losses = chat.response_to_wire({"content": content, "finish_reason": "stop"})
    message = payload["choices"][0]["message"]
    places = [one["url_citation"]["start_index"] for one in message["annotations"]]
    assert (message["content"], places) == ("one two", [0, 5])
    assert {loss.change for loss in losses} == {"changed"}


def test_trap_17_the_choice_with_the_least_index_is_the_answer():
    response = chat.response_from_wire(CHAT_RESPONSE)
    assert [block.get("text") for block in response["content"] if block["type"] == "text"] == ["see"]
    assert [answer["index"] for answer in response["alternatives"]] == [1]
    assert same(chat.response_to_wire(response).payload, CHAT_RESPONSE)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool_use"),
        ("function_call", "tool_use"),
        ("content_filter", "content_filter"),
        ("error", "error"),
        ("eos", "unknown"),
        (None, "unknown"),
        (7, "unknown"),
    ],
)
def test_finish_reasons_keep_the_providers_word(word, reason):
    assert read_answer({"content": "x"}, finish_reason=word)["finish_reason"] == reason


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"choices": []},
        {"choices": None},
        {"choices": [7]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": 7}]},
        {"choices": [{"message": {}}]},
        {"choices": [{"text": "an older kind of completion"}]},
        {"error": {"message": "no"}},
        {"choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "a"}] * 2}}]},
    ],
)
def test_a_response_without_an_answer_comes_back(payload):
    response = chat.response_from_wire(payload)
    assert same(chat.response_to_wire(response).payload, payload)
    assert response["finish_reason"] == ("error" if "error" in payload else "unknown")


def usage_of(usage):
    payload = {"choices": [], "usage": usage}
    response = chat.response_from_wire(payload)
    assert same(chat.response_to_wire(response).payload, payload)
    found = dict(response.get("usage") or {})
    found.pop("provider_data", None)
    return found


def test_usage_takes_reasoning_out_of_the_output():
    assert usage_of(CHAT_RESPONSE["usage"]) == {
        "input_tokens": 10,
        "output_tokens": 15,
        "thinking_tokens": 5,
        "cached_tokens": 4,
        "total_tokens": 30,
    }


@pytest.mark.parametrize(
    ("completion", "reasoning", "total", "output"),
    [(20, 5, 30, 15), (20, 5, 35, 20), (3, 5, 18, 3), (3, 5, 13, 3), (5, 5, 15, 0), (20, 0, 30, 20)],
)
def test_usage_of_servers_that_count_reasoning_apart(completion, reasoning, total, output):
    details = {"completion_tokens_details": {"reasoning_tokens": reasoning}}
    counts = {"prompt_tokens": 10, "completion_tokens": completion, "total_tokens": total, **details}
    assert usage_of(counts)["output_tokens"] == output


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        "much",
        {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None},
        {"prompt_tokens": "7", "completion_tokens": -1, "total_tokens": True},
        {"prompt_tokens": 7, "prompt_tokens_details": None, "completion_tokens_details": {"reasoning_tokens": None}},
        {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8, "cost": 0.1, "prompt_tokens_details": {}},
    ],
)
def test_trap_13_counts_may_be_null_or_missing(usage):
    usage_of(usage)


def test_errors():
    error = chat.error_from_wire
    assert error({"choices": []}) is None
    assert error({"error": None}) is None
    told = error({"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}, 429)
    assert told == {
        "category": "rate_limit",
        "message": "slow down",
        "status": 429,
        "provider_data": {"openai_chat": {"type": "requests", "code": "rate_limit_exceeded"}},
    }
    filtered = {"code": "content_filter", "message": "m", "innererror": {"code": "ResponsibleAIPolicyViolation"}}
    assert error({"error": filtered}, 400)["category"] == "content_filter"
    assert error({"error": {"message": "m", "code": "context_length_exceeded"}}, 400)["category"] == "context_length"
    assert error({"error": {"code": "401", "message": "key"}}, 401)["category"] == "auth"
    assert error({"error": "model not loaded"}, 500) == {
        "category": "server",
        "message": "model not loaded",
        "status": 500,
    }
    assert error({"object": "error", "message": "m", "type": "invalid_request_error"})["category"] == "invalid_arg"
    assert error({"statusCode": 429, "message": "Rate limit is exceeded."})["category"] == "rate_limit"


def test_results_are_messages_of_their_own():
    results = [build.tool_result(tool_use_id=f"c{n}", content=f"r{n}") for n in (1, 2)]
    messages, losses = wrote(turn("user", build.text("before"), *results, build.text("after")))
    assert [message["role"] for message in messages] == ["user", "tool", "tool", "user"]
    assert [message["content"] for message in messages] == ["before", "r1", "r2", "after"]
    assert losses == [("/messages/0", "changed")]
    assert wrote(turn("user", results[0]))[1] == []
    assert wrote(turn("tool", results[0]))[1] == []
    assert wrote(turn("tool", build.text("x")))[1] == [("/messages/0/role", "changed")]


def test_what_a_request_has_no_place_for_is_told():
    failed = build.tool_result(tool_use_id="c", content=[build.text("x"), build.image(build.source("url", "u"))])
    messages, losses = wrote(
        turn("assistant", build.thinking("t", signature="s"), build.text("x"), model="m", provider="anthropic"),
        turn("assistant", build.thinking("only")),
        turn("assistant", build.tool_use(id="c", name="f", input={}), build.text("after")),
        turn("tool", {**failed, "is_error": True}),
        turn("user", build.code("x = 1", language="python")),
        turn("user", {**build.opaque(kind="of others", raw={"text": "x"}), "provider_data": {"gemini": {}}}),
        turn("user", build.file(source=build.source("url", "https://x/a.pdf")), build.file(text="its words")),
        turn("assistant", build.text("pictured"), build.image(build.source("url", "u"))),
        system=[build.text("S"), build.image(build.source("url", "u"))],
        sampling={"top_k": 3},
        thinking={"level": "high", "include_summary": True},
        provider_data={"anthropic": {"metadata": {}, "inference_geo": "eu"}},
    )
    assert sorted(losses) == sorted(
        [
            ("/provider_data/anthropic/inference_geo", "dropped"),
            ("/thinking/include_summary", "dropped"),
            ("/sampling/top_k", "dropped"),
            ("/system/1", "dropped"),
            ("/messages/0/model", "dropped"),
            ("/messages/0/provider", "dropped"),
            ("/messages/0/content/0", "dropped"),
            ("/messages/1/content/0", "dropped"),
            ("/messages/1", "dropped"),
            ("/messages/2/content", "changed"),
            ("/messages/3/content/0/content/1", "dropped"),
            ("/messages/3/content/0/is_error", "dropped"),
            ("/messages/4/content/0", "changed"),
            ("/messages/5/content/0", "dropped"),
            ("/messages/5", "dropped"),
            ("/messages/6/content/0", "dropped"),
            ("/messages/6/content/1", "changed"),
            ("/messages/7/content/1", "dropped"),
        ]
    )
    assert messages[4]["content"] == "```python\nx = 1\n```"
    assert messages[5]["content"] == "its words"


def test_the_reason_tells_when_text_is_left_out():
    foreign = {**build.opaque(kind="mcp_call", raw={"output": "x"}), "provider_data": {"openai_responses": {}}}
    _, losses = chat.request_to_wire({"model": "m", "messages": [turn("assistant", foreign)]})
    assert "mcp_call" in losses[0].reason
    assert losses[0].reason.endswith("with its text")


def test_models_that_cannot_do_without_reasoning():
    thinking = {"level": "none", "include_summary": False}
    asked = {"messages": [turn("user", build.text("x"))], "thinking": thinking}
    assert chat.request_to_wire({**asked, "model": "gpt-5.4"}).payload["reasoning_effort"] == "none"
    payload, losses = chat.request_to_wire({**asked, "model": "o3-mini"})
    assert payload["reasoning_effort"] == "medium"
    assert [loss.pointer for loss in losses] == ["/thinking/level"]


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max", "beyond", None])
def test_efforts_come_back(effort):
    assert ("thinking" in read(USER, reasoning_effort=effort)) == (effort not in {"beyond", None})


# -- laws -----------------------------------------------------------------------------------------------------------


@law
@given(exchanging.requests(["gpt-5.4", "o1"]))
def test_reading_what_was_written_gives_the_request_minus_the_losses(request):
    before = copy.deepcopy(request)
    payload, losses = chat.request_to_wire(request)
    assert same(request, before)
    read_again = chat.request_from_wire(payload)
    assert agrees(request, losses, read_again)
    assert lost_words(request, losses, payload) == []
    assert same(chat.request_to_wire(read_again).payload, payload)
    accept("openai-chat request", payload)


@law
@given(exchanging.responses)
def test_reading_what_was_written_gives_the_response_minus_the_losses(response):
    before = copy.deepcopy(response)
    payload, losses = chat.response_to_wire(response)
    assert same(response, before)
    read_again = chat.response_from_wire(payload)
    assert agrees(response, losses, read_again)
    assert lost_words(response, losses, payload) == []
    assert same(chat.response_to_wire(read_again).payload, payload)
    answers = [response, *response.get("alternatives", ())]
    has_reasoning = any(block["type"] == "thinking" for answer in answers for block in answer["content"])
    accept("openai-chat response", payload, is_closed=not has_reasoning)


def is_document(request, response=None):
    document = {"schema_version": "1.0.0", "exchange_id": "x", "request": request, "response": response}
    return list(schema_errors(document, "exchange")) == []


@law
@given(st.sampled_from([CHAT_REQUEST, CHAT_REQUEST_IN_OLDER_FORM]).flatmap(damaged))
def test_a_request_comes_back_however_odd_it_is(payload):
    before = copy.deepcopy(payload)
    request = chat.request_from_wire(payload)
    assert same(payload, before)
    assert is_document({"model": "m", **request})
    written = chat.request_to_wire(request)
    assert same(written.payload, payload)
    assert written.losses == []


@law
@given(damaged(CHAT_RESPONSE))
def test_a_response_comes_back_however_odd_it_is(payload):
    before = copy.deepcopy(payload)
    response = chat.response_from_wire(payload)
    assert same(payload, before)
    assert is_document({"model": "m", "messages": []}, response)
    written = chat.response_to_wire(response)
    assert same(written.payload, payload)
    assert written.losses == []
    chat.error_from_wire(payload)


# -- samples --------------------------------------------------------------------------------------------------------


def sampled():
    requests = [call.request for call in recorded("openai_chat")]
    folder = SAMPLES / "sse" / "openai_chat" / "raw-streams"
    requests += [json.loads(file.read_bytes()) for file in sorted(folder.glob("*.request.json"))]
    calls = recorded("openai_chat")
    answers = [call.answer for call in calls if call.answer is not None]
    answers += [assemble("openai_chat", call.stream).payload for call in calls if call.stream is not None]
    return requests, answers


@needs_samples
def test_every_recorded_payload_comes_back(record_property):
    requests, answers = sampled()
    for payload in requests:
        request = chat.request_from_wire(payload)
        assert is_document(request)
        assert chat.request_to_wire(request) == (payload, [])
    for payload in answers:
        response = chat.response_from_wire(payload)
        assert is_document({"model": "m", "messages": []}, response)
        assert chat.response_to_wire(response) == (payload, [])
    assert (len(requests), len(answers)) == (16, 14)
    record_property("summary", f"openai_chat: {len(requests)} requests and {len(answers)} responses come back")


@needs_samples
@pytest.mark.parametrize("name", OTHERS)
def test_what_others_recorded_is_accepted_by_the_sdk(name):
    other = wire_format(name)
    for call in recorded(name.replace("-", "_")):
        if isinstance(call.request, dict):
            request = {"model": "m", **other.request_from_wire(call.request)}
            written = chat.request_to_wire(request)
            accept("openai-chat request", written.payload)
            assert lost_words(request, written.losses, written.payload) == []
            assert agrees(request, written.losses, chat.request_from_wire(written.payload))
        if isinstance(call.answer, dict) and call.status == 200:
            response = other.response_from_wire(call.answer)
            written = chat.response_to_wire(response)
            accept("openai-chat response", written.payload, is_closed=False)
            assert lost_words(response, written.losses, written.payload) == []
            assert agrees(response, written.losses, chat.response_from_wire(written.payload))


@pytest.mark.parametrize("text", [None, 5, ["x"]])
@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_a_part_whose_text_is_no_text_comes_back(role, text):
    payload = {"model": "m", "messages": [{"role": role, "content": [{"type": "text", "text": text}]}]}
    assert chat.request_to_wire(chat.request_from_wire(payload)).payload == payload
