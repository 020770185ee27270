"""The official clients work through a recorder with nothing but the variable that it names set, and get the same."""

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import orjson
import pytest
from google import genai

from cassettes import SAMPLES, Recorded, needs_samples, recorded
from palaver.recorder.upstreams import choose_upstreams, variables_for
from recorder.conftest import Stage
from recorder.running import Recorder
from recorder.upstream import Call
from streaming import streams

Ask = Callable[[bool], Any]
"""Asks with a client as a program would: `True` for a stream, of which all events are returned."""


def ask_anthropic(is_stream: bool) -> Any:
    with anthropic.Anthropic(api_key="sk-ant-invented-1", max_retries=0) as client:
        messages: Any = [{"role": "user", "content": "Grüße"}]
        if not is_stream:
            return client.messages.create(model="claude-x", max_tokens=9, messages=messages).to_dict(warnings=False)
        with client.messages.stream(model="claude-x", max_tokens=9, messages=messages) as stream:
            return [event.to_dict(warnings=False) for event in stream], stream.get_final_message().to_dict()


def ask_chat(is_stream: bool) -> Any:
    with openai.OpenAI(api_key="sk-invented-1", max_retries=0) as client:
        return _chat(client, is_stream)


def ask_azure(is_stream: bool) -> Any:
    with openai.AzureOpenAI(api_key="invented-1", api_version="2024-10-21", max_retries=0) as client:
        return _chat(client, is_stream)


def _chat(client: openai.OpenAI, is_stream: bool) -> Any:
    messages: Any = [{"role": "user", "content": "Grüße"}]
    if not is_stream:
        return client.chat.completions.create(model="gpt-x", messages=messages).to_dict(warnings=False)
    with client.chat.completions.create(model="gpt-x", messages=messages, stream=True) as stream:
        return [chunk.to_dict(warnings=False) for chunk in stream]


def ask_responses(is_stream: bool) -> Any:
    with openai.OpenAI(api_key="sk-invented-1", max_retries=0) as client:
        if not is_stream:
            return client.responses.create(model="gpt-x", input="Grüße").to_dict(warnings=False)
        with client.responses.create(model="gpt-x", input="Grüße", stream=True) as stream:
            return [event.to_dict(warnings=False) for event in stream]


def ask_gemini(is_stream: bool) -> Any:
    with genai.Client(api_key="AIzaInvented1") as client:
        if is_stream:
            chunks = client.models.generate_content_stream(model="gemini-x", contents="Grüße")
            return [_without_headers(chunk) for chunk in chunks]
        return _without_headers(client.models.generate_content(model="gemini-x", contents="Grüße"))


def _without_headers(answer: Any) -> Any:
    return answer.model_dump(exclude={"sdk_http_response"})


CLIENTS: dict[str, tuple[Ask, str, str, str, str]] = {
    "anthropic": (ask_anthropic, "anthropic", "ANTHROPIC_BASE_URL", "", "anthropic"),
    "chat": (ask_chat, "openai", "OPENAI_BASE_URL", "/v1", "openai_chat"),
    "responses": (ask_responses, "openai", "OPENAI_BASE_URL", "/v1", "openai_responses"),
    "azure": (ask_azure, "azure-openai", "AZURE_OPENAI_ENDPOINT", "", "openai_chat"),
    "gemini": (ask_gemini, "gemini", "GOOGLE_GEMINI_BASE_URL", "", "gemini"),
}
"""How each client asks, its preset, its variable, the end of its base URL, and the format of its answers."""


def answers(wire_format: str) -> Iterator[Recorded]:
    """Yield a few recorded answers of a format: plain ones and streams."""
    if SAMPLES.is_dir():
        plain = [call for call in recorded(wire_format) if isinstance(call.answer, dict)]
        yield from plain[:4]
        yield from streams(wire_format)[:4]


class Player:
    """Plays one recorded answer after the other."""

    def __init__(self) -> None:
        self.playing: Recorded | None = None

    def __call__(self, call: Call) -> None:
        assert self.playing is not None
        if self.playing.stream is None:
            call.answer(200, orjson.dumps(self.playing.answer), ("request-id", "req_1"))
        else:
            body = self.playing.stream
            call.stream([body[start : start + 1_000] for start in range(0, len(body), 1_000)])


@needs_samples
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_gets_the_same_as_from_the_upstream(
    stage: Stage, protocol: str, name: str, monkeypatch: pytest.MonkeyPatch, ca_file: Any
) -> None:
    ask, preset, variable, suffix, wire_format = CLIENTS[name]
    player = Player()
    upstream = stage.upstream(player, protocol)
    direct = stage.upstream(player)
    for each in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(each, raising=False)
    chosen = choose_upstreams([f"{preset}={upstream.url}{suffix}", "other=https://other.invalid"], {})
    with Recorder(stage.folder, chosen, ca=ca_file) as recorder:
        variables = variables_for(chosen, recorder.url)
        assert variables[variable] == f"{recorder.url}/{preset}"
        count = 0
        for count, player.playing in enumerate(answers(wire_format), 1):  # noqa: B007 - the handler reads it
            is_stream = player.playing.stream is not None
            monkeypatch.setenv(variable, f"{direct.url}{suffix}")
            expected = ask(is_stream)
            monkeypatch.setenv(variable, variables[variable])
            assert ask(is_stream) == expected, player.playing.name
        ended = recorder.events.wait_until_ended(count)
        logged = recorder.lines(count)
    assert count >= 5, "both kinds of answers were compared"
    assert [call.target for call in upstream.calls] == [call.target for call in direct.calls]
    assert [call.body for call in upstream.calls] == [call.body for call in direct.calls]
    assert not any("error" in line for line in logged)
    assert {each.upstream for each in ended} == {preset}
    assert {each.wire_format for each in ended if each.is_stream} == {wire_format}
