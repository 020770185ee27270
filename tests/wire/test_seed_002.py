"""The specification of the exchange, example by example: composed in its manner, written for each provider."""

import pytest

from palaver.model import build, compose
from palaver.validation.schema import is_valid
from palaver.wire import anthropic, gemini
from palaver.wire.openai import chat, responses


@pytest.fixture
def request_of():
    def composed(model):
        request = compose.request(model)
        compose.set_system(request, "You are helpful")
        compose.add_message(request, "user", "Hello")
        compose.set_thinking(request, "med", include_summary=True)
        request["max_output_tokens"] = 4096
        return request

    return composed


def test_the_anthropic_request(request_of):
    written = anthropic.request_to_wire(request_of("claude-sonnet-4-5-20250929"))
    assert written.payload == {
        "model": "claude-sonnet-4-5-20250929",
        "system": "You are helpful",
        "messages": [{"role": "user", "content": "Hello"}],
        "thinking": {"type": "enabled", "budget_tokens": 43000},
        "max_tokens": 47096,  # the API takes no budget that is not below it; the specification has 4096
    }
    assert [(loss.pointer, loss.change) for loss in written.losses] == [("/max_output_tokens", "changed")]


def test_the_openai_request(request_of):
    written = responses.request_to_wire(request_of("o3"))
    assert written.payload == {
        "model": "o3",
        "instructions": "You are helpful",
        "input": "Hello",
        "reasoning": {"effort": "medium", "summary": "auto"},
        "max_output_tokens": 4096,
    }
    assert written.losses == []


def test_the_google_request(request_of):
    written = gemini.request_to_wire(request_of("gemini-2.5-pro"))
    assert written.payload == {
        "model": "gemini-2.5-pro",
        "systemInstruction": {"parts": [{"text": "You are helpful"}]},
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "generationConfig": {
            "thinkingConfig": {"thinkingBudget": 21760, "includeThoughts": True},
            "maxOutputTokens": 4096,
        },
    }
    assert written.losses == []


CALL = build.tool_use(id="toolu_01A09", name="read_file", input={"path": "/etc/hosts"})
RESULT = build.tool_result(tool_use_id="toolu_01A09", content="127.0.0.1 localhost\n...", is_error=False)


@pytest.fixture
def flow():
    request = compose.request("m")
    compose.add_message_blocks(request, "assistant", [CALL])
    compose.add_message_blocks(request, "user", [RESULT])
    return request


def test_calls_and_results_of_anthropic(flow):
    called, answered = anthropic.request_to_wire(flow).payload["messages"]
    assert called["content"] == [
        {"type": "tool_use", "id": "toolu_01A09", "name": "read_file", "input": {"path": "/etc/hosts"}}
    ]
    assert answered == {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_01A09", "content": "127.0.0.1 localhost\n..."}],
    }


def test_calls_and_results_of_openai(flow):
    called, answered = chat.request_to_wire(flow).payload["messages"]
    assert called["tool_calls"] == [
        {
            "id": "toolu_01A09",
            "type": "function",
            "function": {"name": "read_file", "arguments": '{"path":"/etc/hosts"}'},
        }
    ]
    assert answered == {"role": "tool", "tool_call_id": "toolu_01A09", "content": "127.0.0.1 localhost\n..."}


def test_calls_and_results_of_google(flow):
    called, answered = gemini.request_to_wire(flow).payload["contents"]
    [call], [result] = called["parts"], answered["parts"]
    assert call["functionCall"]["name"] == "read_file"
    assert call["functionCall"]["args"] == {"path": "/etc/hosts"}
    assert result["functionResponse"] == {
        "id": "toolu_01A09",
        "name": "read_file",
        "response": {"content": "127.0.0.1 localhost\n..."},
    }


def test_a_thought_signature_comes_back():
    part = {"text": "Hm.", "thought": True, "thoughtSignature": "ZW5jcnlwdGVk"}
    payload = {"contents": [{"role": "model", "parts": [part]}]}
    assert gemini.request_to_wire(gemini.request_from_wire(payload)).payload == payload


def test_sealed_thinking_comes_back():
    block = {"type": "thinking", "thinking": "Let me analyze this step by step...", "signature": "c2VhbA=="}
    payload = {"model": "claude", "max_tokens": 9, "messages": [{"role": "assistant", "content": [block]}]}
    read = anthropic.request_from_wire(payload)
    assert read["messages"][0]["content"][0]["thinking"] == "Let me analyze this step by step..."
    assert anthropic.request_to_wire(read).payload == payload


def test_a_request_is_composed_as_in_the_specification():
    request = compose.request("m")
    compose.set_system(request, "You are helpful")
    compose.add_message(request, "user", "Hello")
    compose.add_message_blocks(request, "assistant", [build.thinking("Let me think..."), build.text("Hello!")])
    compose.set_thinking(request, "high", include_summary=True)
    compose.add_tool(request, "read_file", "Read file contents", {"type": "object"})
    assert request == {
        "model": "m",
        "system": [{"type": "text", "text": "You are helpful"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Let me think..."},
                    {"type": "text", "text": "Hello!"},
                ],
            },
        ],
        "thinking": {"level": "high", "include_summary": True},
        "tools": [
            {
                "name": "read_file",
                "description": "Read file contents",
                "parameters": {"type": "object"},
                "strict": True,
            }
        ],
    }
    assert is_valid(compose.exchange("e1", request, provider="openai"), "exchange")


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        (anthropic, {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_use", "refusal": "content_filter"}),
        (
            chat,
            {"stop": "stop", "length": "length", "tool_calls": "tool_use", "content_filter": "content_filter"},
        ),
        (gemini, {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}),
    ],
    ids=["anthropic", "openai_chat", "gemini"],
)
def test_finish_reasons(wire, words):
    shapes = {
        "anthropic": lambda word: {"type": "message", "role": "assistant", "content": [], "stop_reason": word},
        "openai_chat": lambda word: {"choices": [{"index": 0, "message": {"content": ""}, "finish_reason": word}]},
        "gemini": lambda word: {"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": word}]},
    }
    for word, reason in words.items():
        payload = shapes[wire.name](word)
        read = wire.response_from_wire(payload)
        assert read["finish_reason"] == reason
        assert wire.response_to_wire(read).payload == payload
    unheard = shapes[wire.name]("never_heard_of")
    assert wire.response_from_wire(unheard)["finish_reason"] in {"unknown", "error"}
    assert wire.response_to_wire(wire.response_from_wire(unheard)).payload == unheard
