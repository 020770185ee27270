import json

import pytest

from importing import FIXTURES
from palaver.workflows.convert import convert as convert_payload

REQUEST = FIXTURES / "traces" / "request.json"
TRACE = FIXTURES / "traces" / "bakery.jsonl"
STREAM = (
    'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4",'
    '"choices":[{"index":0,"delta":{"role":"assistant","content":"Good "}}]}\n\n'
    'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4",'
    '"choices":[{"index":0,"delta":{"content":"morning."},"finish_reason":"stop"}]}\n\n'
    "data: [DONE]\n\n"
)


@pytest.fixture
def converted(run):
    def convert(file, source, target, *words):
        result = run("convert", file, "--from", source, "--to", target, *words)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return convert


@pytest.mark.parametrize("name", ["openai-responses", "anthropic", "gemini"])
def test_a_request_goes_there_and_back(converted, tmp_path, name):
    there = tmp_path / "there.json"
    there.write_text(json.dumps(converted(REQUEST, "openai-chat", name)))
    back = converted(there, name, "openai-chat")
    stated = json.loads(REQUEST.read_bytes())
    assert back["messages"][-1]["content"] == stated["messages"][-1]["content"]
    calls = [message["tool_calls"] for message in back["messages"] if message.get("tool_calls")]
    assert [call["id"] for [call] in calls] == ["call_flour"]
    assert json.loads(calls[0][0]["function"]["arguments"]) == {"item": "flour"}
    assert back["temperature"] == stated["temperature"]


def test_losses_are_told_on_standard_error_and_in_a_file(run, tmp_path):
    file, source = tmp_path / "losses.jsonl", tmp_path / "request.json"
    source.write_text(json.dumps({**json.loads(REQUEST.read_bytes()), "seed": 7}))
    result = run("convert", source, "--from", "openai-chat", "--to", "anthropic", "--losses", file)
    assert result.exit_code == 0
    losses = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    [loss] = losses
    assert (loss["record"], loss["pointer"], loss["change"]) == (0, "/seed", "dropped")
    assert all(loss["pointer"] in result.stderr for loss in losses)
    assert run("convert", source, "--from", "openai-chat", "--to", "anthropic", "--strict").exit_code == 1
    assert run("convert", REQUEST, "--from", "openai-chat", "--to", "anthropic", "--strict").exit_code == 0


def test_nothing_is_lost_in_the_same_format(run):
    result = run("convert", REQUEST, "--from", "openai-chat", "--to", "openai-chat", "--strict")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == json.loads(REQUEST.read_bytes())


def test_several_records_are_lines(run):
    result = run("convert", TRACE, "--from", "openai-chat", "--to", "anthropic")
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [sorted(record)[:1] for record in records[:2]] == [["request"], ["request"]]
    assert records[1]["response"]["content"] == [{"type": "text", "text": "There are 12 kg of flour left."}]


def test_every_message_of_a_recorded_stream_is_converted(run, tmp_path):
    file = tmp_path / "answers.sse"
    file.write_bytes(anthropic_stream("msg_a", "Twelve kilos.") + anthropic_stream("msg_b", "Order more."))
    result = run("convert", file, "--from", "anthropic", "--to", "openai-chat")
    assert result.exit_code == 0
    made = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(answer["id"], answer["choices"][0]["message"]["content"]) for answer in made] == [
        ("msg_a", "Twelve kilos."),
        ("msg_b", "Order more."),
    ]
    assert "another_message: msg_b follows msg_a in the same stream" in result.stderr


def anthropic_stream(message_id, text):
    message = {"id": message_id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []}
    events = [
        {"type": "message_start", "message": {**message, "usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def test_a_recorded_stream_is_its_response(converted, tmp_path):
    file = tmp_path / "answer.sse"
    file.write_text(STREAM)
    made = converted(file, "openai-chat", "gemini")
    assert made["candidates"][0]["content"]["parts"] == [{"text": "Good morning."}]


def test_standard_input_and_the_seed_dialect(finish):
    words = ("convert", "-", "--from", "openai-chat", "--to", "openai-responses", "--dialect", "seed")
    result = finish(*words, stdin=REQUEST.read_bytes())
    assert result.returncode == 0
    made = json.loads(result.stdout)
    results = [item for item in made["input"] if isinstance(item.get("content"), list)][-1]
    assert results["role"] == "user"
    assert results["content"][0]["type"] == "tool_result"
    assert results["content"][0]["tool_use_id"] == "call_flour"


def test_conversations_become_requests_and_requests_conversations(run, converted, case, tmp_path):
    document = tmp_path / "document.jsonl"
    run("import", case("plain_session"), "--output", document)
    made = converted(document, "ucs", "anthropic")
    stated = json.loads(document.read_bytes())
    assert len(made["messages"]) == len(stated["messages"])
    request = tmp_path / "request.json"
    request.write_text(json.dumps(made))
    back = tmp_path / "back.jsonl"
    assert run("convert", request, "--from", "anthropic", "--to", "ucs", "--output", back).exit_code == 0
    assert run("validate", back, "--level", "lenient").exit_code == 0
    assert len(json.loads(back.read_bytes())["messages"]) == len(stated["messages"])


def test_what_is_no_payload_is_told_with_its_place(run, tmp_path):
    file = tmp_path / "mixed.jsonl"
    file.write_text('{"messages": [], "model": "m"}\n{"something": "else"}\n[1]\n{"cut": \n')
    result = run("convert", file, "--from", "openai-chat", "--to", "anthropic")
    assert result.exit_code == 1
    assert "line 2, byte 31: not a request, response or message in the format openai-chat" in result.stderr
    assert "line 3" in result.stderr
    assert "line 4" in result.stderr
    assert json.loads(result.stdout)["messages"] == []


BIG = 123456789012345678901234567890
QUESTION = {"role": "user", "content": "Hello"}


def call_with(value):
    """A request of Anthropic whose call has a value in its input."""
    block = f'{{"type": "tool_use", "id": "t", "name": "f", "input": {{"n": {value}}}}}'
    return f'{{"model": "c", "max_tokens": 5, "messages": [{{"role": "assistant", "content": [{block}]}}]}}'


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openai-chat", "openai-responses", "exchange", "ucs"])
def test_an_integer_past_64_bits_is_written_with_all_its_digits(run, tmp_path, name):
    file = tmp_path / "calls.jsonl"
    file.write_text("\n".join([call_with(1), call_with(BIG), call_with(3), ""]))
    result = run("convert", file, "--from", "anthropic", "--to", name)
    assert result.exit_code == 0, result.stderr
    records = result.stdout.splitlines()
    assert len(records) == 3
    assert str(BIG) in records[1]


def test_numbers_that_json_does_not_have_become_null_and_are_named(run, tmp_path):
    file, losses = tmp_path / "calls.jsonl", tmp_path / "losses.jsonl"
    file.write_text("\n".join([call_with(1), call_with("NaN"), call_with("-1e999"), ""]))
    result = run("convert", file, "--from", "anthropic", "--to", "gemini", "--losses", losses, "--strict")
    assert result.exit_code == 1
    values = [json.loads(line, parse_constant=pytest.fail) for line in result.stdout.splitlines()]
    assert [value["contents"][0]["parts"][0]["functionCall"]["args"] for value in values] == [
        {"n": 1},
        {"n": None},
        {"n": None},
    ]
    named = [json.loads(line) for line in losses.read_text("utf-8").splitlines()]
    assert [loss["record"] for loss in named if "NaN or an infinite number became null" in loss["reason"]] == [1, 2]


def test_half_a_surrogate_pair_is_replaced_and_named(run, tmp_path):
    file = tmp_path / "request.json"
    file.write_text('{"model": "g", "messages": [{"role": "user", "content": "x\\ud800y"}]}')
    result = run("convert", file, "--from", "openai-chat", "--to", "openai-responses")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["input"] == "x\ufffdy"
    assert "surrogate" in result.stderr


@pytest.mark.parametrize("bad", ['{"something": "else"}', '{"cut": ', '"a text"', "[" * 100_000 + "]" * 100_000])
def test_a_bad_record_does_not_cost_the_others(run, tmp_path, bad):
    file, out = tmp_path / "requests.jsonl", tmp_path / "out.jsonl"
    good = '{"model": "m", "messages": [{"role": "user", "content": "%s"}]}'
    file.write_text("\n".join([good % "first", bad, good % "third", ""]))
    result = run("convert", file, "--from", "openai-chat", "--to", "gemini", "--output", out)
    assert result.exit_code == 1
    records = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [record["contents"][0]["parts"][0]["text"] for record in records] == ["first", "third"]
    errors = [line for line in result.stderr.splitlines() if line.startswith("palaver:")]
    assert len(errors) == 1
    assert "line 2, byte" in errors[0]


def test_every_bad_record_has_a_line(run, tmp_path):
    file = tmp_path / "requests.jsonl"
    file.write_text("not json\n" * 50 + '{"cut": ')
    result = run("convert", file, "--from", "openai-chat", "--to", "gemini")
    assert (result.exit_code, result.stdout) == (1, "")
    assert [f"line {number}," in result.stderr for number in range(1, 52)] == [True] * 51


def test_a_mistake_of_ours_costs_one_record(run, tmp_path, monkeypatch):
    def fail_once(value, **settings):
        if value["model"] == "bad":
            raise KeyError("oops")
        return convert_payload(value, **settings)

    monkeypatch.setattr("palaver.cli.convert.convert_payload", fail_once)
    file = tmp_path / "requests.jsonl"
    file.write_text('{"model": "bad", "messages": []}\n{"model": "good", "messages": []}\n')
    result = run("convert", file, "--from", "openai-chat", "--to", "openai-chat")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["model"] == "good"
    assert "line 1, byte 0: KeyError: 'oops' (this is a bug in palaver)" in result.stderr


def test_an_array_of_messages_is_one_value(converted, tmp_path):
    file = tmp_path / "messages.json"
    file.write_text(json.dumps([QUESTION, {"role": "assistant", "content": "Hi there!"}], indent=1))
    assert converted(file, "openai-chat", "anthropic") == [QUESTION, {"role": "assistant", "content": "Hi there!"}]


def test_an_array_of_anything_else_is_several_values(run, tmp_path):
    request = {"model": "m", "messages": [QUESTION]}
    file = tmp_path / "requests.json"
    file.write_text(json.dumps([request, {"request": request, "response": None}, [QUESTION]]))
    result = run("convert", file, "--from", "openai-chat", "--to", "openai-chat")
    assert result.exit_code == 0, result.stderr
    assert [json.loads(line) for line in result.stdout.splitlines()] == [request, request, [QUESTION]]


@pytest.mark.parametrize("count", [1, 5_000])
def test_arrays_of_messages_on_a_line_each_are_several_values(run, tmp_path, count):
    values = [[QUESTION] * count, [QUESTION, QUESTION], QUESTION]
    file = tmp_path / "chats.jsonl"
    file.write_text("".join(f"{json.dumps(value)}\n" for value in values))
    result = run("convert", file, "--from", "openai-chat", "--to", "anthropic")
    assert result.exit_code == 0, result.stderr
    assert [json.loads(line) for line in result.stdout.splitlines()] == values


def test_a_long_array_with_an_element_on_each_line_is_one_array(converted, tmp_path):
    values = [{"role": "user", "content": f"{number:070000}"} for number in range(3)]
    file = tmp_path / "messages.json"
    file.write_text("[" + ",\n".join(map(json.dumps, values)) + "]")
    assert converted(file, "openai-chat", "anthropic") == values


def test_a_cut_array_of_messages_is_converted_as_far_as_it_goes_and_named(run, tmp_path):
    file = tmp_path / "messages.json"
    file.write_text(json.dumps([QUESTION, QUESTION])[:-12])
    result = run("convert", file, "--from", "openai-chat", "--to", "anthropic", "--strict")
    assert result.exit_code == 1
    assert json.loads(result.stdout)[0] == QUESTION
    assert "The file ends within its last record" in result.stderr


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", "anthropic", "gemini", "ucs"])
def test_a_trace_becomes_exchanges_and_exchanges_the_trace(run, tmp_path, name):
    source = "openai-chat"
    start, between = tmp_path / "start.jsonl", tmp_path / "exchanges.jsonl"
    assert run("convert", TRACE, "--from", source, "--to", name, "--output", start).exit_code == 0
    assert run("convert", start, "--from", name, "--to", "exchange", "--output", between).exit_code == 0
    assert run("validate", between, "--level", "lenient").exit_code == 0
    if name != "ucs":  # which has no response
        result = run("convert", between, "--from", "exchange", "--to", name)
        assert [json.loads(line) for line in result.stdout.splitlines()] == [
            json.loads(line) for line in start.read_text("utf-8").splitlines()
        ]


def test_a_recorded_stream_becomes_the_response_of_an_exchange(run, converted, tmp_path):
    file = tmp_path / "answer.sse"
    file.write_text(STREAM)
    made = converted(file, "openai-chat", "exchange")
    assert made["content"] == [{"type": "text", "text": "Good morning."}]
    assert made["finish_reason"] == "stop"
    result = run("convert", file, "--from", "exchange", "--to", "gemini")
    assert result.exit_code == 1
    assert "the stream: a stream of events requires a provider's format, not exchange" in result.stderr


def test_a_document_that_is_no_exchange_is_refused_with_its_place(run, tmp_path):
    file = tmp_path / "exchanges.jsonl"
    good = {"schema_version": "1.1.0", "exchange_id": "e", "request": {"model": "m", "messages": []}, "response": None}
    newer = {**good, "schema_version": "9.0.0"}
    file.write_text("\n".join(map(json.dumps, [{**good, "exchange_id": ""}, newer, good])))
    result = run("convert", file, "--from", "exchange", "--to", "anthropic")
    assert result.exit_code == 1
    assert "line 1, byte 0: not an exchange of version 1.1.0: /exchange_id: " in result.stderr
    assert "line 2, byte" in result.stderr
    assert "'9.0.0'" in result.stderr
    assert json.loads(result.stdout)["model"] == "m"
