"""OpenAI's Responses API: the forms of the specifications, the traps, the laws, and every recorded call."""

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings

import exchanging
from cassettes import SAMPLES, needs_samples, recorded
from exchanging import agrees, lost_words
from openai_payloads import PICTURE, RESPONSES_REQUEST, RESPONSES_RESPONSE, bare, damaged
from palaver.model import build, compose
from palaver.streams import assemble
from palaver.validation.schema import schema_errors
from palaver.wire import formats, wire_format
from palaver.wire.openai import chat, responses
from sdk_judges import accept, is_accepted

OTHERS = [name for name in formats() if name != "openai-responses"]
DIALECTS = ("api", "seed")
law = settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def same(one, other):
    """Equal as JSON: true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def read(*items, dialect="api", **fields):
    """The request of an exchange; writing it again gives the payload."""
    payload = {"model": "gpt-5.4", "input": list(items), **fields}
    before = copy.deepcopy(payload)
    request = responses.request_from_wire(payload)
    assert same(payload, before)
    written = responses.request_to_wire(request, dialect)
    assert same(written.payload, payload)
    assert written.losses == []
    return request


def read_answer(*output, **fields):
    """The response of an exchange; writing it again gives the payload."""
    payload = {"id": "r", "object": "response", "status": "completed", "output": list(output), **fields}
    response = responses.response_from_wire(payload)
    written = responses.response_to_wire(response)
    assert same(written.payload, payload)
    assert written.losses == []
    return response


def wrote(*messages, dialect="api", **fields):
    """The items of a payload, and its losses."""
    request = {"model": "gpt-5.4", "messages": list(messages), **fields}
    before = copy.deepcopy(request)
    written = responses.request_to_wire(request, dialect)
    assert same(request, before)
    if dialect == "api":
        accept("openai-responses request", written.payload)
        assert agrees(request, written.losses, responses.request_from_wire(written.payload))
    return written.payload["input"], [(loss.pointer, loss.change) for loss in written.losses]


def turn(role, *content, **fields):
    return {"role": role, "content": list(content), **fields}


def kinds(blocks):
    return [block["type"] for block in blocks]


def call(call_id="call_1", **fields):
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **fields}


def output(call_id="call_1", result="r", **fields):
    return {"type": "function_call_output", "call_id": call_id, "output": result, **fields}


USER = {"role": "user", "content": "Hello"}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}],
}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "t"}]}


def test_the_request_of_the_specification():
    request = compose.request("o3")
    compose.set_system(request, "You are helpful")
    compose.add_message(request, "user", "Hello")
    compose.set_thinking(request, "med", include_summary=True)
    request["max_output_tokens"] = 4096
    payload = {
        "model": "o3",
        "instructions": "You are helpful",
        "input": "Hello",
        "reasoning": {"effort": "medium", "summary": "auto"},
        "max_output_tokens": 4096,
    }
    assert responses.request_to_wire(request) == (payload, [])
    assert responses.request_from_wire(payload) == request


def test_the_usual_request_needs_no_notes():
    tool = {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True}
    request = read(
        USER,
        {"role": "assistant", "content": "Let me see."},
        call(arguments='{"a":1}'),
        output(),
        {"role": "assistant", "content": "done"},
        instructions="S",
        tools=[{"type": "function", **tool}],
        tool_choice={"type": "function", "name": "f"},
        temperature=0.5,
        top_p=1,
    )
    assert request == {
        "model": "gpt-5.4",
        "system": [build.text("S")],
        "messages": [
            turn("user", build.text("Hello")),
            turn("assistant", build.text("Let me see."), build.tool_use(id="call_1", name="f", input={"a": 1})),
            turn("tool", build.tool_result(tool_use_id="call_1", content="r")),
            turn("assistant", build.text("done")),
        ],
        "tools": [tool],
        "tool_choice": {"type": "specific", "name": "f"},
        "sampling": {"temperature": 0.5, "top_p": 1},
    }


@pytest.mark.parametrize("given", ["Hello", "", [], [USER], None, 7])
def test_the_input_is_a_text_or_items(given):
    for payload in ({"model": "m", "input": given}, {"model": "m"}):
        written = responses.request_to_wire(responses.request_from_wire(payload))
        assert same(written.payload, payload)


def test_the_input_is_items_again_when_there_is_more_to_say():
    request = responses.request_from_wire({"model": "m", "input": "Hello"})
    compose.add_message(request, "assistant", "Hi")
    items = responses.request_to_wire(request).payload["input"]
    assert items == [USER, {"role": "assistant", "content": "Hi"}]


def test_trap_3_the_id_of_an_item_is_not_the_id_of_the_call():
    request = read(call(id="fc_9", status="completed"), output(id="fco_9"))
    (called,), (result,) = (message["content"] for message in request["messages"])
    assert (called["id"], result["tool_use_id"]) == ("call_1", "call_1")
    assert called["provider_data"] == {"openai_responses": {"id": "fc_9", "status": "completed"}}
    message = chat.request_to_wire(request).payload["messages"][0]
    assert message["tool_calls"][0]["id"] == "call_1"


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": "q"},
        {"type": "message", "role": "user", "content": "q"},
        {"role": "user", "content": [{"type": "input_text", "text": "q"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
        {"type": "message", "role": "user", "status": "completed", "content": [{"type": "input_text", "text": "q"}]},
    ],
)
def test_trap_4_a_message_may_have_no_type_and_plain_content(item):
    assert read(item)["messages"][0]["content"] == [build.text("q")]
    assert read(item, USER)["messages"][0]["role"] == "user"


def test_trap_7_items_of_the_assistant_in_a_row_are_one_turn():
    request = read(USER, THOUGHT, MESSAGE, {**MESSAGE, "id": "msg_2"}, call(), call("call_2"), output(), USER)
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "tool", "user"]
    assert kinds(request["messages"][1]["content"]) == ["thinking", "text", "text", "tool_use", "tool_use"]
    roles = [message["role"] for message in chat.request_to_wire(request).payload["messages"]]
    assert roles == ["user", "assistant", "tool", "user"]


def test_trap_7_messages_in_a_row_keep_their_bounds():
    easy = {"role": "assistant", "content": "a"}
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in "bc"]
    several = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": parts}
    assert len(read(easy, easy, several, easy)["messages"][0]["content"]) == 5
    texts = [block["text"] for block in read_answer(several, several)["content"]]
    assert texts == ["b", "c", "b", "c"]


def test_trap_6_several_texts_are_blocks_and_one_text_in_chat():
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in ("one ", "two")]
    response = read_answer({**MESSAGE, "content": parts})
    assert [block["text"] for block in response["content"]] == ["one ", "two"]
    assert chat.response_to_wire(response).payload["choices"][0]["message"]["content"] == "one two"


def test_trap_8_the_forms_of_the_seed_are_read_and_written_as_items():
    called = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"r{n}"} for n in (1, 2)]
    payload = {
        "model": "m",
        "system": "S",
        "input": [
            {"role": "assistant", "content": [{"type": "output_text", "text": "x"}, called]},
            {"role": "user", "content": results},
        ],
    }
    request = responses.request_from_wire(payload)
    assert [message["role"] for message in request["messages"]] == ["assistant", "tool"]
    assert responses.request_to_wire(request, "seed") == (payload, [])
    written = responses.request_to_wire(request)
    accept("openai-responses request", written.payload)
    assert written.payload["instructions"] == "S"
    assert [item.get("type") for item in written.payload["input"]] == [
        None,
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert not is_accepted("openai-responses request", payload)


def test_trap_8_an_image_of_the_assistant_has_a_place_in_the_seed_only():
    item = {"role": "assistant", "content": [{"type": "output_image", "image_url": PICTURE}]}
    request = read(item, dialect="seed")
    assert kinds(request["messages"][0]["content"]) == ["image"]
    payload, losses = responses.request_to_wire(request)
    assert payload["input"] == []
    assert {loss.pointer for loss in losses} == {"/messages/0/content/0", "/messages/0"}


CALLED = {"type": "output_text", "text": '[Tool: look (t1)]\nInput: {"at": "sky"}'}
ANSWERED = {"type": "input_text", "text": "[Tool Result t1]\nblue\nand wide"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_trap_8_calls_told_in_brackets_are_calls(dialect):
    request = read(
        {"role": "assistant", "content": [{"type": "output_text", "text": "Looking."}, CALLED]},
        {"role": "user", "content": [ANSWERED]},
        dialect=dialect,
    )
    first, second = request["messages"]
    assert bare(first["content"][1]) == build.tool_use(id="t1", name="look", input={"at": "sky"})
    assert bare(second) == turn("tool", build.tool_result(tool_use_id="t1", content="blue\nand wide"))


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        ([CALLED], []),
        ([], [ANSWERED]),
        ([CALLED, CALLED], [ANSWERED]),
        ([CALLED], [ANSWERED, ANSWERED]),
        ([CALLED], [{"type": "input_text", "text": "[Tool Result t2]\nblue"}]),
        ([CALLED], [{"type": "input_text", "text": "He said: [Tool Result t1]\nblue"}]),
        ([{"type": "output_text", "text": "[Tool: look (t1)]\nInput: the sky"}], [ANSWERED]),
    ],
)
def test_trap_8_brackets_that_could_be_anything_stay_text(said, answered):
    items = [{"role": "assistant", "content": said}, {"role": "user", "content": answered}]
    request = read(*[item for item in items if item["content"]], USER)
    assert {block["type"] for message in request["messages"] for block in message["content"]} == {"text"}


def test_trap_8_a_result_before_its_call_stays_text():
    request = read({"role": "user", "content": [ANSWERED]}, {"role": "assistant", "content": [CALLED]})
    assert [kinds(message["content"]) for message in request["messages"]] == [["text"], ["text"]]


def test_trap_9_strict_stands_beside_the_parameters():
    inside = {"type": "function", "name": "f", "parameters": {"type": "object", "strict": True}}
    both = {**inside, "name": "g", "strict": False}
    beside = {"type": "function", "name": "h", "parameters": {"type": "object"}, "strict": True}
    payload = {"model": "m", "input": "x", "tools": [inside, both, beside]}
    request = responses.request_from_wire(payload)
    assert [tool["strict"] for tool in request["tools"]] == [True, False, True]
    assert all(tool["parameters"] == {"type": "object"} for tool in request["tools"])
    written = responses.request_to_wire(request).payload["tools"]
    assert [tool["strict"] for tool in written] == [True, False, True]
    assert all(tool["parameters"] == {"type": "object"} for tool in written)
    assert responses.request_to_wire(request, "seed").payload["tools"] == payload["tools"]


def test_tools_that_the_provider_runs_keep_their_places():
    tools = [
        {"type": "web_search"},
        {"type": "function", "name": "f", "parameters": {}, "strict": False},
        {"type": "mcp"},
    ]
    request = read(USER, tools=tools)
    assert [tool["name"] for tool in request["tools"]] == ["f"]
    _, losses = chat.request_to_wire(request)
    pointers = [loss.pointer for loss in losses]
    assert pointers == ["/provider_data/openai_responses/tools/0", "/provider_data/openai_responses/tools/1"]


@pytest.mark.parametrize(
    ("choice", "chosen"),
    [
        ("auto", {"type": "auto"}),
        ("required", {"type": "required"}),
        ({"type": "function", "name": "f"}, {"type": "specific", "name": "f"}),
        ({"type": "custom", "name": "f"}, {"type": "specific", "name": "f"}),
        ({"type": "allowed_tools", "mode": "required", "tools": []}, {"type": "required"}),
        ({"type": "file_search"}, None),
        ({"type": "mcp", "server_label": "s"}, None),
        (None, None),
        ("of tomorrow", None),
    ],
)
def test_choices_of_tools(choice, chosen):
    assert read(USER, tool_choice=choice).get("tool_choice") == chosen


@pytest.mark.parametrize(
    ("reasoning", "thinking"),
    [
        ({"effort": "low"}, {"level": "low", "include_summary": False}),
        ({"effort": "xhigh", "summary": "detailed"}, {"level": "high", "include_summary": True}),
        ({"effort": "none", "summary": None}, {"level": "none", "include_summary": False}),
        ({"effort": "high", "generate_summary": "concise"}, {"level": "high", "include_summary": True}),
        ({"effort": "low", "context": "auto", "mode": "pro"}, {"level": "low", "include_summary": False}),
        ({"effort": None}, None),
        ({"summary": "auto"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_reasoning_is_thinking(reasoning, thinking):
    assert read(USER, reasoning=reasoning).get("thinking") == thinking


def test_settings_that_were_changed_are_written_not_the_old_words():
    request = read(USER, reasoning={"effort": "minimal", "summary": "detailed"}, tool_choice="auto")
    request["thinking"] = {"level": "high", "include_summary": False}
    request["tool_choice"] = {"type": "none"}
    payload = responses.request_to_wire(request).payload
    assert (payload["reasoning"], payload["tool_choice"]) == ({"effort": "high"}, "none")


def test_settings_that_were_taken_out_do_not_return():
    reasoning = {"effort": "minimal", "summary": "detailed", "context": "auto"}
    request = read(USER, reasoning=reasoning, tool_choice={"type": "allowed_tools", "mode": "auto", "tools": []})
    del request["thinking"], request["tool_choice"]
    payload = responses.request_to_wire(request).payload
    assert payload == {"model": "gpt-5.4", "input": [USER], "reasoning": {"context": "auto"}}


def test_state_that_is_not_in_the_body_is_kept():
    request = read(
        {"type": "item_reference", "id": "msg_1"}, previous_response_id="resp_1", conversation={"id": "conv_1"}
    )
    assert request["provider_data"]["openai_responses"]["previous_response_id"] == "resp_1"
    assert bare(request["messages"][0]["content"]) == [
        build.opaque(kind="item_reference", raw={"type": "item_reference", "id": "msg_1"})
    ]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_messages_of_the_system_lead_or_keep_their_place(role):
    request = read({"role": role, "content": "first"}, USER, {"role": role, "content": "then"}, instructions="S")
    assert [block["text"] for block in request["system"]] == ["S", "first"]
    later = turn("user", build.text("then"), provider_data={"openai_responses": {"role": role}})
    assert request["messages"][1] == later
    assert chat.request_to_wire(request).payload["messages"][-1] == {"role": role, "content": "then"}


def test_a_system_message_of_several_parts_stays_one():
    parts = [{"type": "input_text", "text": text} for text in "ab"]
    for items in ([{"type": "message", "role": "system", "content": parts}, {"role": "developer", "content": "c"}],):
        assert [block["text"] for block in read(*items, USER)["system"]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("item", "thought"),
    [
        ({"summary": []}, ""),
        ({"summary": [], "encrypted_content": "x"}, ""),
        ({"summary": [{"type": "summary_text", "text": ""}]}, ""),
        ({"summary": [{"type": "summary_text", "text": text} for text in ("a", "b\n\nc", "")]}, "a\n\nb\n\nc\n\n"),
        ({"summary": [], "content": [{"type": "reasoning_text", "text": "full"}]}, "full"),
        (
            {
                "summary": [{"type": "summary_text", "text": "short"}],
                "content": [{"type": "reasoning_text", "text": "full"}],
                "status": "completed",
            },
            "full",
        ),
        ({"summary": [{"type": "summary_text", "text": "s"}], "content": []}, "s"),
        ({"summary": [{"type": "summary_text", "text": "s"}], "content": None}, "s"),
    ],
)
def test_reasoning_items_are_thinking_blocks(item, thought):
    item = {"type": "reasoning", "id": "rs_1", **item}
    for (block,) in (read(item)["messages"][0]["content"], read_answer(item)["content"]):
        assert (block["type"], block["thinking"]) == ("thinking", thought)
        assert "redacted_data" not in block


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("web_search_call", "assistant"),
        ("file_search_call", "assistant"),
        ("computer_call", "assistant"),
        ("computer_call_output", "tool"),
        ("code_interpreter_call", "assistant"),
        ("image_generation_call", "assistant"),
        ("local_shell_call", "assistant"),
        ("local_shell_call_output", "tool"),
        ("shell_call", "assistant"),
        ("shell_call_output", "tool"),
        ("apply_patch_call", "assistant"),
        ("apply_patch_call_output", "tool"),
        ("mcp_call", "assistant"),
        ("mcp_list_tools", "assistant"),
        ("mcp_approval_request", "assistant"),
        ("mcp_approval_response", "tool"),
        ("program", "assistant"),
        ("program_output", "assistant"),
        ("tool_search_call", "assistant"),
        ("tool_search_output", "tool"),
        ("compaction", "assistant"),
        ("additional_tools", "user"),
        ("configuration_update", "user"),
        ("compaction_trigger", "user"),
        ("item_reference", "assistant"),
        ("of_tomorrow", "assistant"),
    ],
)
def test_every_other_item_is_kept_in_its_place(kind, role):
    item = {"type": kind, "id": "x", "some": ["thing"]}
    request = read(USER, item, USER)
    kept = {**build.opaque(kind=kind, raw=item), "provider_data": {"openai_responses": {}}}
    assert request["messages"][1] == turn(role, kept)
    assert read_answer(item)["content"] == [kept]


def test_a_search_of_tools_that_the_provider_runs_does_not_break_the_turn():
    found = {"type": "tool_search_output", "execution": "server", "call_id": None, "tools": []}
    assert len(read({"type": "tool_search_call", "arguments": {}}, found, call())["messages"]) == 1


def test_results_may_be_parts():
    parts = [
        {"type": "input_text", "text": "o"},
        {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
        {"type": "input_file", "file_id": "f", "filename": "a.txt"},
    ]
    (block,) = read(output(result=parts))["messages"][0]["content"]
    assert kinds(block["content"]) == ["text", "image", "file"]
    assert "provider_data" not in repr(block)
    read(output(result=[]), output(result=""), output(result=None), output(result=7))


def test_calls_without_ids_are_paired_by_order():
    request = read(
        {"type": "function_call", "name": "a", "arguments": "{}"},
        {"type": "function_call", "name": "b", "arguments": "{}"},
        {"type": "function_call_output", "output": "of a"},
        {"type": "function_call_output", "output": "of b"},
    )
    calls, *results = request["messages"]
    ids = [block["id"] for block in calls["content"]]
    assert [result["content"][0]["tool_use_id"] for result in results] == ids == ["call_0", "call_1"]


def test_custom_calls_take_free_text():
    request = read(
        {"type": "custom_tool_call", "call_id": "c", "name": "g", "input": "x", "id": "ctc_1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "r"},
        output("unknown"),
        {"type": "custom_tool_call_output", "call_id": "unknown", "output": "r"},
    )
    assert request["messages"][0]["content"][0]["input"] == {"input": "x"}
    message = chat.request_to_wire(request).payload["messages"][0]
    assert message["tool_calls"] == [{"id": "c", "type": "custom", "custom": {"name": "g", "input": "x"}}]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": "completed"}, "stop"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, "unknown"),
        ({"status": "incomplete", "incomplete_details": None}, "unknown"),
        ({"status": "failed", "error": {"code": "server_error", "message": "m"}}, "error"),
        ({"status": "in_progress"}, "unknown"),
        ({"status": "queued"}, "unknown"),
        ({"status": "cancelled"}, "unknown"),
        ({"status": None}, "unknown"),
        ({"status": {}}, "unknown"),
    ],
)
def test_finish_reasons_keep_the_status(fields, reason):
    assert read_answer(MESSAGE, **fields)["finish_reason"] == reason
    assert read_answer(**fields)["finish_reason"] == reason


def test_calls_decide_whether_a_response_ended_for_them():
    assert read_answer(MESSAGE, call())["finish_reason"] == "tool_use"
    called = build.tool_use(id="c", name="f", input={})
    payload, losses = responses.response_to_wire({"content": [called], "finish_reason": "stop"})
    assert payload["status"] == "completed"
    assert [loss.pointer for loss in losses] == ["/finish_reason"]


def test_a_status_that_no_longer_holds_is_not_written():
    response = read_answer(MESSAGE, status="in_progress")
    response["finish_reason"] = "length"
    payload, losses = responses.response_to_wire(response)
    assert (payload["status"], payload["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert losses == []


def test_usage_takes_reasoning_out_of_the_output():
    response = responses.response_from_wire(RESPONSES_RESPONSE)
    assert bare(response["usage"]) == {
        "input_tokens": 1,
        "output_tokens": 6,
        "thinking_tokens": 3,
        "cached_tokens": 1,
        "total_tokens": 10,
    }


def test_refusals_and_citations():
    cited = {"type": "file_citation", "file_id": "f", "filename": "n", "index": 1}
    odd = {"type": "of tomorrow"}
    parts = [
        {"type": "output_text", "text": "a", "annotations": [cited]},
        {"type": "output_text", "text": "b", "annotations": [odd]},
        {"type": "refusal", "refusal": "c"},
    ]
    content = read_answer({**MESSAGE, "content": parts})["content"]
    assert [block["text"] for block in content] == ["a", "b", "c"]
    assert [block.get("citations") for block in content] == [[cited], None, None]


def test_a_written_response_is_what_the_sdk_reads():
    content = [build.thinking("t"), build.text("x"), build.tool_use(id="call_7", name="f", input={"a": 1})]
    response = {"content": content, "finish_reason": "tool_use", "model": "m"}
    payload, losses = responses.response_to_wire(response)
    assert payload["output"] == [
        {"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": "t"}]},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "x", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_7",
            "call_id": "call_7",
            "name": "f",
            "arguments": '{"a":1}',
            "status": "completed",
        },
    ]
    assert losses == []
    accept("openai-responses response", payload)
    assert responses.response_from_wire(payload) == response


def test_errors():
    error = responses.error_from_wire
    assert error({"object": "response", "error": None, "output": []}) is None
    failed = {"object": "response", "status": "failed", "error": {"code": "rate_limit_exceeded", "message": "m"}}
    assert error(failed)["category"] == "rate_limit"
    event = {"type": "error", "code": "server_error", "message": "m", "sequence_number": 3}
    assert (error(event)["category"], error(event)["message"]) == ("server", "m")


def test_what_the_api_has_no_place_for_is_told():
    _, losses = wrote(
        turn("user", build.text("x"), build.tool_result(tool_use_id="c", content="r", is_error=True)),
        turn("assistant", build.text("a"), model="m"),
        turn("assistant", build.text("b"), build.image(build.source("url", "u"))),
        turn("user", build.tool_result(tool_use_id="d", content="r")),
        turn("user", build.code("x = 1")),
        turn("user", {**build.opaque(kind="of others", raw={}), "provider_data": {"gemini": {"a": 1}}}),
        turn("assistant"),
        turn("user", build.file(name="without bytes.pdf"), build.text("y")),
        system=[build.text("S"), build.text("T"), build.image(build.source("url", "u"))],
        sampling={"top_p": 1, "seed": 1},
        provider_data={"anthropic": {"metadata": {}, "inference_geo": "eu"}},
    )
    assert sorted(losses) == sorted(
        [
            ("/provider_data/anthropic/inference_geo", "dropped"),
            ("/sampling/seed", "dropped"),
            ("/system", "changed"),
            ("/system/2", "dropped"),
            ("/messages/0", "changed"),
            ("/messages/0/content/1/is_error", "dropped"),
            ("/messages/1", "changed"),
            ("/messages/1/model", "dropped"),
            ("/messages/2", "changed"),
            ("/messages/2/content/1", "dropped"),
            ("/messages/4/content/0", "changed"),
            ("/messages/5/content/0", "dropped"),
            ("/messages/5", "dropped"),
            ("/messages/6/content", "changed"),
            ("/messages/7/content/0", "dropped"),
        ]
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_plain_conversation_loses_nothing(dialect):
    called = build.tool_use(id="c", name="f", input={"a": 1})
    _, losses = wrote(
        turn("user", build.text("x"), build.image(build.source("url", "https://x/y.png"))),
        turn("assistant", build.thinking("t"), build.text("a"), called, build.text("b")),
        turn("tool", build.tool_result(tool_use_id="c", content="r")),
        turn("assistant", build.text("c")),
        system=[build.text("S")],
        dialect=dialect,
    )
    assert losses == []


# -- laws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
@law
@given(request=exchanging.requests(["gpt-5.4", "o1"]))
def test_reading_what_was_written_gives_the_request_minus_the_losses(dialect, request):
    before = copy.deepcopy(request)
    payload, losses = responses.request_to_wire(request, dialect)
    assert same(request, before)
    read_again = responses.request_from_wire(payload)
    # Of what the seed writes, notes tell how it differs from the API.
    assert agrees(request, losses, read_again if dialect == "api" else bare(read_again))
    assert lost_words(request, losses, payload) == []
    assert same(responses.request_to_wire(read_again, dialect).payload, payload)
    if dialect == "api":
        accept("openai-responses request", payload)


@pytest.mark.parametrize("dialect", DIALECTS)
@law
@given(response=exchanging.responses)
def test_reading_what_was_written_gives_the_response_minus_the_losses(dialect, response):
    before = copy.deepcopy(response)
    payload, losses = responses.response_to_wire(response, dialect)
    assert same(response, before)
    read_again = responses.response_from_wire(payload)
    assert agrees(response, losses, read_again if dialect == "api" else bare(read_again))
    assert lost_words(response, losses, payload) == []
    assert same(responses.response_to_wire(read_again, dialect).payload, payload)
    if dialect == "api":
        accept("openai-responses response", payload)


@law
@given(exchanging.requests(["gpt-5.4"]))
def test_the_seed_becomes_what_the_api_accepts(request):
    # Its `system` field tells that it is the seed.
    seed = responses.request_to_wire({**request, "system": [build.text("S")]}, "seed").payload
    accept("openai-responses request", responses.request_to_wire(responses.request_from_wire(seed)).payload)


def is_document(request, response=None):
    document = {"schema_version": "1.0.0", "exchange_id": "x", "request": request, "response": response}
    return list(schema_errors(document, "exchange")) == []


@law
@given(damaged(RESPONSES_REQUEST))
def test_a_request_comes_back_however_odd_it_is(payload):
    before = copy.deepcopy(payload)
    request = responses.request_from_wire(payload)
    assert same(payload, before)
    assert is_document({"model": "m", **request})
    written = responses.request_to_wire(request)
    assert same(written.payload, payload)
    assert written.losses == []
    responses.request_to_wire(request, "seed")
    chat.request_to_wire(request)


@law
@given(damaged(RESPONSES_RESPONSE))
def test_a_response_comes_back_however_odd_it_is(payload):
    before = copy.deepcopy(payload)
    response = responses.response_from_wire(payload)
    assert same(payload, before)
    assert is_document({"model": "m", "messages": []}, response)
    written = responses.response_to_wire(response)
    assert same(written.payload, payload)
    assert written.losses == []
    responses.response_to_wire(response, "seed")
    chat.response_to_wire(response)
    responses.error_from_wire(payload)


# -- samples --------------------------------------------------------------------------------------------------------


@needs_samples
def test_every_recorded_payload_comes_back(record_property):
    calls = recorded("openai_responses")
    folder = SAMPLES / "sse" / "openai_responses" / "raw-streams"
    requests = [call.request for call in calls if isinstance(call.request, dict)]
    requests += [json.loads(file.read_bytes()) for file in sorted(folder.glob("*.request.json"))]
    answers = [call.answer for call in calls if isinstance(call.answer, dict)]
    answers += [assemble("openai_responses", call.stream).payload for call in calls if call.stream is not None]
    for payload in requests:
        request = responses.request_from_wire(payload)
        assert is_document(request)
        assert responses.request_to_wire(request) == (payload, [])
    for payload in answers:
        response = responses.response_from_wire(payload)
        assert is_document({"model": "m", "messages": []}, response)
        assert responses.response_to_wire(response) == (payload, [])
    assert (len(requests), len(answers)) == (74, 62)
    record_property("summary", f"openai_responses: {len(requests)} requests and {len(answers)} responses come back")


@needs_samples
@pytest.mark.parametrize("name", OTHERS)
def test_what_others_recorded_is_accepted_by_the_sdk(name):
    other = wire_format(name)
    for call in recorded(name.replace("-", "_")):
        if isinstance(call.request, dict):
            request = {"model": "m", **other.request_from_wire(call.request)}
            written = responses.request_to_wire(request)
            accept("openai-responses request", written.payload)
            assert lost_words(request, written.losses, written.payload) == []
            assert agrees(request, written.losses, responses.request_from_wire(written.payload))
        if isinstance(call.answer, dict) and call.status == 200:
            response = other.response_from_wire(call.answer)
            written = responses.response_to_wire(response)
            accept("openai-responses response", written.payload)
            assert lost_words(response, written.losses, written.payload) == []
            assert agrees(response, written.losses, responses.response_from_wire(written.payload))
