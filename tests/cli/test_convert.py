import json

import pytest

from importing import FIXTURES

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
    file = tmp_path / "losses.jsonl"
    result = run("convert", REQUEST, "--from", "openai-chat", "--to", "anthropic", "--losses", file)
    assert result.exit_code == 0
    losses = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert {"record": 0, "pointer": "/messages/2/role", "change": "changed"}.items() <= next(
        loss for loss in losses if loss["pointer"] == "/messages/2/role"
    ).items()
    assert all(loss["pointer"] in result.stderr for loss in losses)
    assert run("convert", REQUEST, "--from", "openai-chat", "--to", "anthropic", "--strict").exit_code == 1


def test_nothing_is_lost_in_the_same_format(run):
    result = run("convert", REQUEST, "--from", "openai-chat", "--to", "openai-chat", "--strict")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == json.loads(REQUEST.read_bytes())


def test_several_records_are_lines(run):
    result = run("convert", TRACE, "--from", "openai-chat", "--to", "anthropic")
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [sorted(record)[:1] for record in records[:2]] == [["request"], ["request"]]
    assert records[1]["response"]["content"] == [{"type": "text", "text": "There are 12 kg of flour left."}]


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
    assert "line 2, byte 31: this is neither a request nor a response of openai-chat" in result.stderr
    assert "line 3" in result.stderr
    assert "line 4" in result.stderr
    assert json.loads(result.stdout)["messages"] == []
