"""What is carried over, and what is called a loss: everything that the source said, once, and nothing else."""

from itertools import permutations

import pytest

from palaver.workflows.convert import convert

SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"place":"Ulm"}'}}
ORDINARY = {
    "openai-chat": {
        "model": "gpt-5",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": "22 degrees"},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}],
        "tool_choice": "auto",
        "temperature": 0.7,
        "max_tokens": 100,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "n": 1,
        "stream": False,
        "logprobs": False,
        "top_logprobs": 0,
        "store": False,
        "service_tier": "auto",
        "parallel_tool_calls": True,
        "response_format": {"type": "text"},
    },
    "openai-responses": {
        "model": "gpt-5",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "Weather?"},
            {
                "type": "function_call",
                "call_id": "call_1",
                "name": "weather",
                "arguments": '{"place":"Ulm"}',
                "status": "completed",
            },
            {"type": "function_call_output", "call_id": "call_1", "output": "22 degrees"},
        ],
        "tools": [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}],
        "tool_choice": "auto",
        "max_output_tokens": 100,
        "truncation": "disabled",
        "background": False,
        "store": False,
        "stream": False,
        "service_tier": "auto",
        "parallel_tool_calls": True,
        "text": {"format": {"type": "text"}},
        "metadata": {},
    },
    "anthropic": {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"place": "Ulm"}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "22 degrees"}],
            },
        ],
        "tools": [{"name": "weather", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto"},
        "temperature": 0.7,
        "stream": False,
        "service_tier": "auto",
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather?"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "weather", "args": {"place": "Ulm"}}}]},
            {
                "role": "function",
                "parts": [{"functionResponse": {"id": "c", "name": "weather", "response": {"content": "22"}}}],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "weather", "parametersJsonSchema": SCHEMA}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {"temperature": 0.7, "maxOutputTokens": 100, "candidateCount": 1, "presencePenalty": 0},
    },
}
PAIRS = list(permutations(ORDINARY, 2))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_ordinary_request_with_calls_and_results_loses_nothing(source, target):
    written = convert(ORDINARY[source], source, target)
    assert written.losses == []
    assert convert(written.payload, target, source).losses == []


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_messages_of_an_ordinary_request_come_back(source, target):
    field = {"openai-responses": "input", "gemini": "contents"}.get(source, "messages")
    back = convert(convert(ORDINARY[source], source, target).payload, target, source).payload[field]
    stated = ORDINARY[source][field]
    assert [without_spelling(entry) for entry in back] == [without_spelling(entry) for entry in stated]


def without_spelling(entry):
    """A message or item without what may be said in two ways or not at all: Gemini's results come from two roles."""
    unsaid = {"status", "annotations", "id"} | ({"type"} if entry.get("type") == "message" else set())
    if any("functionResponse" in part for part in entry.get("parts", ())):
        unsaid.add("role")
    return {key: value for key, value in entry.items() if key not in unsaid}


USAGE = {
    "prompt_tokens": 3,
    "completion_tokens": 4,
    "total_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0, "rejected_prediction_tokens": 0},
}
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "gpt-5",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hi", "refusal": None, "annotations": []},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": USAGE,
    "service_tier": "default",
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "Hi", "citations": None}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 12,
        "output_tokens": 6,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "server_tool_use": {"web_search_requests": 0},
        "service_tier": "standard",
    },
}


def test_counts_of_zero_are_no_loss():
    assert convert(COMPLETION, "openai-chat", "openai-responses").losses == []
    for target in ("openai-chat", "openai-responses"):
        assert convert(MESSAGE, "anthropic", target).losses == []
    counted = {**USAGE, "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 2}}
    [loss] = convert({**COMPLETION, "usage": counted}, "openai-chat", "openai-responses").losses
    assert loss.pointer == "/usage/prompt_tokens_details/audio_tokens"


def test_a_count_that_another_format_requires_is_no_loss_on_the_way_back():
    answer = {"candidates": [{"content": {"parts": [{"text": "Hi"}], "role": "model"}, "finishReason": "STOP"}]}
    counts = {"usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3}}
    written = convert({**answer, **counts}, "gemini", "openai-responses")
    assert convert(written.payload, "openai-responses", "gemini").losses == []


def asked(source, **settings):
    plain = {
        "openai-chat": {"model": "gpt-5", "messages": [{"role": "user", "content": "x"}]},
        "openai-responses": {"model": "gpt-5", "input": "x"},
        "anthropic": {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]},
        "gemini": {"model": "gemini-2.5-flash", "contents": [{"role": "user", "parts": [{"text": "x"}]}]},
    }
    return {**plain[source], **settings}


STANDARD = {
    "openai-chat": ("service_tier", "default"),
    "openai-responses": ("service_tier", "default"),
    "anthropic": ("service_tier", "standard_only"),
    "gemini": ("serviceTier", "standard"),
}


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_provider_has_a_word_of_its_own_for_the_standard_tier(source, target):
    payload = asked(source, **dict([STANDARD[source]]))
    written = convert(payload, source, target)
    field, word = STANDARD[target]
    assert (written.payload[field], written.losses) == (word, [])
    field, word = STANDARD[source]
    assert convert(written.payload, target, source).payload[field] == word


def test_the_standard_tier_that_answered_is_carried():
    assert convert(COMPLETION, "openai-chat", "anthropic").payload["usage"]["service_tier"] == "standard"
    assert convert(MESSAGE, "anthropic", "openai-chat").payload["service_tier"] == "default"


@pytest.mark.parametrize(("source", "target"), list(permutations(["openai-chat", "openai-responses"], 2)))
def test_both_formats_of_openai_can_leave_out_the_padding_of_a_stream(source, target):
    payload = asked(source, stream=True, stream_options={"include_obfuscation": False})
    written = convert(payload, source, target)
    assert (written.payload["stream_options"], written.losses) == ({"include_obfuscation": False}, [])


def test_a_choice_of_a_tool_that_only_one_format_has_is_a_loss():
    payload = asked("openai-responses", tools=[{"type": "web_search"}], tool_choice={"type": "web_search"})
    losses = convert(payload, "openai-responses", "openai-chat").losses
    assert sorted(loss.pointer for loss in losses) == ["/tool_choice", "/tools/0"]


@pytest.mark.parametrize("target", ["openai-responses", "anthropic", "gemini"])
def test_an_empty_object_that_asks_for_a_search_is_a_loss(target):
    [loss] = convert(asked("openai-chat", web_search_options={}), "openai-chat", target).losses
    assert loss.pointer == "/web_search_options"


def test_an_effort_that_nobody_knows_is_a_loss():
    [loss] = convert(asked("openai-chat", reasoning_effort="heroic"), "openai-chat", "openai-responses").losses
    assert loss.pointer == "/reasoning_effort"


def test_a_summary_that_cannot_be_asked_for_is_one_loss():
    payload = asked("openai-responses", reasoning={"effort": "high", "summary": "detailed"})
    [loss] = convert(payload, "openai-responses", "openai-chat").losses
    assert "summary" in loss.reason


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini"])
def test_the_sequence_at_which_an_answer_stopped_is_one_loss(target):
    stopped = {**MESSAGE, "stop_reason": "stop_sequence", "stop_sequence": "END", "usage": {"input_tokens": 1}}
    losses = convert(stopped, "anthropic", target).losses
    assert [loss.pointer for loss in losses if "stop" in loss.pointer] == ["/stop_sequence"]


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini"])
def test_a_budget_for_thinking_becomes_a_level(target):
    payload = asked("anthropic", max_tokens=16_000, thinking={"type": "enabled", "budget_tokens": 10_000})
    losses = convert(payload, "anthropic", target).losses
    assert next(loss for loss in losses if loss.change == "changed").reason == "written as the level `low`"
    assert not any("`thinking`" in loss.reason for loss in losses)


@pytest.mark.parametrize(("budget", "effort"), [(0, "none"), (1, "low"), (1024, "low"), (24_576, "high")])
def test_thinking_that_is_on_in_gemini_is_never_turned_off(budget, effort):
    payload = asked("gemini", generationConfig={"thinkingConfig": {"thinkingBudget": budget}})
    assert convert(payload, "gemini", "openai-chat").payload["reasoning_effort"] == effort


def test_tools_that_an_answer_repeats_are_not_said_to_be_run():
    tool = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": True}
    answer = {"id": "resp_1", "object": "response", "output": [], "model": "m", "tools": [tool], "status": "completed"}
    for target, name in (("openai-chat", "Chat"), ("anthropic", "Anthropic"), ("gemini", "Gemini")):
        reasons = [loss.reason for loss in convert(answer, "openai-responses", target).losses]
        assert f"{name} does not repeat the tools of the request" in reasons


def test_labels_of_the_caller_are_lost_whatever_their_names():
    answer = {"id": "r", "object": "response", "output": [], "model": "m", "status": "completed"}
    labelled = {**answer, "metadata": {"status": "completed", "spent_tokens": "0"}}
    losses = convert(labelled, "openai-responses", "gemini").losses
    assert [loss.pointer.rpartition("/")[2] for loss in losses] == ["status", "spent_tokens"]


PARALLEL = {
    "openai-chat": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "call_2"}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "one"},
        {"role": "tool", "tool_call_id": "call_2", "content": "two"},
    ],
    "anthropic": [
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"place": "Ulm"}},
                {"type": "tool_use", "id": "call_2", "name": "weather", "input": {"place": "Ulm"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "call_2", "content": "two"},
            ],
        },
    ],
}


@pytest.mark.parametrize(("source", "target"), list(permutations(PARALLEL, 2)))
def test_results_of_parallel_calls_are_one_message_or_several_as_the_format_has_them(source, target):
    written = convert(PARALLEL[source], source, target)
    assert (written.payload, written.losses) == (PARALLEL[target], [])


def test_gemini_gets_the_results_of_parallel_calls_in_one_content():
    for source, messages in PARALLEL.items():
        written = convert(messages, source, "gemini")
        assert [len(content["parts"]) for content in written.payload] == [1, 2, 2]
        assert convert(written.payload, "gemini", source) == (messages, [])


def test_results_that_gemini_has_apart_stay_apart_there():
    results = [
        {"role": "function", "parts": [{"functionResponse": {"id": name, "name": "f", "response": {"content": "r"}}}]}
        for name in ("a", "b")
    ]
    assert convert(results, "gemini", "gemini") == (results, [])


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses"])
def test_a_message_that_is_split_is_one_loss(target):
    mixed = {"role": "user", "content": [*PARALLEL["anthropic"][2]["content"], {"type": "text", "text": "and?"}]}
    [loss] = convert(mixed, "anthropic", target).losses
    assert "became an array of 3" in loss.reason


def test_a_choice_among_some_tools_loses_the_list_alone():
    tools = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
    chosen = {"mode": "required", "tools": [{"type": "function", "function": {"name": "weather"}}]}
    payload = asked("openai-chat", tools=tools, tool_choice={"type": "allowed_tools", "allowed_tools": chosen})
    written = convert(payload, "openai-chat", "anthropic")
    assert written.payload["tool_choice"] == {"type": "any"}
    [loss] = written.losses
    assert loss.reason == "Anthropic cannot limit the choice to some of the tools"
