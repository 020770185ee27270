"""Settings that two formats share, under whatever name: they are carried; the others are lost one by one."""

import pytest

from palaver.wire import wire_format
from sdk_judges import accept

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASKED = {"model": "gpt-5", "messages": [{"role": "user", "content": "Where am I?"}]}
TOOL = {
    "type": "function",
    "function": {"name": "look_up", "description": "Looks it up.", "parameters": {"type": "object", "properties": {}}},
}


def convert(payload, source, target):
    written = wire_format(target).request_to_wire(wire_format(source).request_from_wire(payload))
    if source != target and written.payload.get("model"):
        accept(f"{target} request", written.payload)
    return written


def pointers(written):
    return [loss.pointer for loss in written.losses]


def chat(**fields):
    return {**ASKED, **fields}


NAMED_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "place", "description": "A place.", "schema": SCHEMA, "strict": True},
}


def test_settings_of_chat_stand_in_responses_under_their_names():
    settings = {
        "parallel_tool_calls": False,
        "user": "u1",
        "metadata": {"team": "maps"},
        "store": True,
        "service_tier": "flex",
        "stream": True,
        "top_logprobs": 3,
        "prompt_cache_key": "k",
        "safety_identifier": "s",
    }
    payload = chat(**settings, logprobs=True, response_format=NAMED_FORMAT, verbosity="low", reasoning_effort="minimal")
    written = convert(payload, "openai-chat", "openai-responses")
    assert written.losses == []
    assert {key: written.payload[key] for key in settings} == settings
    assert written.payload["include"] == ["message.output_text.logprobs"]
    assert written.payload["text"] == {
        "format": {"type": "json_schema", "name": "place", "description": "A place.", "schema": SCHEMA, "strict": True},
        "verbosity": "low",
    }
    assert written.payload["reasoning"] == {"effort": "minimal"}
    back = convert(written.payload, "openai-responses", "openai-chat")
    assert (back.payload, back.losses) == (payload, [])


@pytest.mark.parametrize(
    ("stated", "gemini"),
    [
        ({"type": "json_object"}, {"responseMimeType": "application/json"}),
        ({"type": "text"}, {"responseMimeType": "text/plain"}),
        (
            {"type": "json_schema", "json_schema": {"schema": SCHEMA}},
            {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
        ),
    ],
)
def test_the_output_format_of_chat_is_the_json_mode_of_gemini(stated, gemini):
    written = convert(chat(response_format=stated), "openai-chat", "gemini")
    assert (written.payload["generationConfig"], written.losses) == (gemini, [])
    assert convert(written.payload, "gemini", "openai-chat").payload["response_format"]["type"] == stated["type"]


def test_a_schema_in_geminis_own_spelling_becomes_json_schema():
    config = {
        "responseMimeType": "application/json",
        "responseSchema": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]},
    }
    payload = {"model": "g", "contents": [{"role": "user", "parts": [{"text": "x"}]}], "generationConfig": config}
    written = convert(payload, "gemini", "openai-responses")
    assert written.losses == []
    assert written.payload["text"]["format"]["schema"] == SCHEMA


def test_anthropic_takes_a_schema_and_nothing_else_about_the_format():
    written = convert(chat(response_format=NAMED_FORMAT, max_tokens=9), "openai-chat", "anthropic")
    assert written.payload["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert pointers(written) == ["/output_format/name", "/output_format/description", "/output_format/strict"]
    written = convert(chat(response_format={"type": "json_object"}, max_tokens=9), "openai-chat", "anthropic")
    assert ("output_config" in written.payload, pointers(written)) == (False, ["/output_format"])
    written = convert(chat(response_format={"type": "text"}, max_tokens=9), "openai-chat", "anthropic")
    assert pointers(written) == []


@pytest.mark.parametrize("choice", [None, "auto", "required"])
def test_parallel_calls_are_turned_off_with_the_choice_of_anthropic(choice):
    payload = chat(tools=[TOOL], parallel_tool_calls=False, max_completion_tokens=9)
    payload |= {"tool_choice": choice} if choice else {}
    written = convert(payload, "openai-chat", "anthropic")
    kind = {"required": "any"}.get(choice, "auto")
    assert written.payload["tool_choice"] == {"type": kind, "disable_parallel_tool_use": True}
    assert written.losses == []
    back = convert(written.payload, "anthropic", "openai-chat").payload
    assert back["parallel_tool_calls"] is False


def test_the_user_of_openai_is_the_user_id_of_anthropic():
    payload = chat(user="u1", stream=True, max_completion_tokens=9)
    written = convert(payload, "openai-chat", "anthropic")
    assert (written.payload["metadata"], written.payload["stream"], written.losses) == ({"user_id": "u1"}, True, [])
    assert convert(written.payload, "anthropic", "openai-chat").payload == payload


def test_chat_and_gemini_share_seed_penalties_answers_and_probabilities():
    settings = {"seed": 7, "presence_penalty": -0.5, "frequency_penalty": 1.5, "n": 2, "logprobs": True}
    payload = chat(**settings, top_logprobs=3, stop=["END"])
    written = convert(payload, "openai-chat", "gemini")
    assert written.losses == []
    assert written.payload["generationConfig"] == {
        "stopSequences": ["END"],
        "seed": 7,
        "presencePenalty": -0.5,
        "frequencyPenalty": 1.5,
        "candidateCount": 2,
        "responseLogprobs": True,
        "logprobs": 3,
    }
    back = convert(written.payload, "gemini", "openai-chat")
    assert (back.payload, back.losses) == (payload, [])


def test_each_setting_that_the_other_format_lacks_is_one_loss():
    payload = chat(seed=7, n=2, logit_bias={"5": 1}, modalities=["text"], presence_penalty=1, service_tier="flex")
    written = convert({**payload, "max_tokens": 9}, "openai-chat", "anthropic")
    assert sorted(pointers(written)) == [
        "/answer_count",
        "/provider_data/openai_chat/logit_bias",
        "/provider_data/openai_chat/modalities",
        "/sampling/presence_penalty",
        "/sampling/seed",
        "/service_tier",
    ]
    assert "service_tier" not in written.payload
    assert all("Anthropic" in loss.reason for loss in written.losses)


def test_a_stream_is_asked_for_by_the_address_of_gemini():
    written = convert(chat(stream=True), "openai-chat", "gemini")
    assert pointers(written) == ["/stream"]
    assert convert(chat(stream=False), "openai-chat", "gemini").losses == []


ORDINARY = {
    "openai-chat": chat(tools=[TOOL]),
    "openai-responses": {
        "model": "gpt-5",
        "input": [{"role": "user", "content": "Where am I?"}],
        "tools": [{"type": "function", "name": "look_up", "parameters": {"type": "object", "properties": {}}}],
    },
    "anthropic": {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Where am I?"}]}],
        "tools": [{"name": "look_up", "input_schema": {"type": "object", "properties": {}}}],
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "Where am I?"}]}],
        "tools": [{"functionDeclarations": [{"name": "look_up", "parameters": {"type": "OBJECT", "properties": {}}}]}],
    },
}


@pytest.mark.parametrize("target", ORDINARY)
@pytest.mark.parametrize("source", ORDINARY)
def test_an_ordinary_tool_is_no_loss_anywhere_and_never_becomes_strict(source, target):
    written = convert(ORDINARY[source], source, target)
    assert written.losses == []
    back = convert(written.payload, target, source)
    assert back.losses == []
    assert '"strict": true' not in str(back.payload).replace("'", '"').replace("True", "true")


def test_a_tool_of_chat_without_strict_comes_back_without_it():
    for target in ("anthropic", "gemini", "openai-responses"):
        written = convert(ORDINARY["openai-chat"], "openai-chat", target)
        assert convert(written.payload, target, "openai-chat").payload["tools"] == [TOOL], target


@pytest.mark.parametrize("target", ORDINARY)
def test_a_limit_of_minus_one_is_the_default_of_the_provider(target):
    request = {"model": "m", "messages": [{"role": "user", "content": []}], "max_output_tokens": -1}
    without = {key: value for key, value in request.items() if key != "max_output_tokens"}
    assert wire_format(target).request_to_wire(request) == wire_format(target).request_to_wire(without)


def test_a_tool_that_the_provider_runs_is_a_loss_of_its_own():
    payload = {"model": "m", "input": "x", "tools": [{"type": "web_search"}, {"type": "code_interpreter"}]}
    written = convert(payload, "openai-responses", "gemini")
    assert pointers(written) == [
        "/provider_data/openai_responses/tools/0",
        "/provider_data/openai_responses/tools/1",
    ]


@pytest.mark.parametrize("target", ["gemini", "anthropic", "openai-responses"])
def test_fields_that_hold_nothing_are_no_loss(target):
    history = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "y", "tool_calls": [], "refusal": None},
        {"role": "user", "content": "z"},
    ]
    payload = {"model": "m", "messages": history, "metadata": {}, "logit_bias": None, "user": None, "max_tokens": 9}
    assert convert(payload, "openai-chat", target).losses == []
