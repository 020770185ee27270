"""The first event with content: not the head of the answer, whatever the API."""

import json
from typing import Any

import pytest

from palaver.streams._contract import Event
from palaver.streams.first_content import has_content, is_content_event
from palaver.streams.recorder import StreamRecorder

HEADS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ""}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
    {"choices": []},
    {"type": "response.created", "response": {"output": []}},
    {"type": "response.output_item.added", "item": {"type": "message", "content": []}},
    {"type": "response.output_text.delta", "delta": ""},
    {"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}}]},
    {"candidates": [{"finishReason": "STOP"}]},
    {"error": {"message": "Overloaded"}},
]
CONTENTS: list[dict[str, Any]] = [
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "G"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "W"}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "Read", "input": {}}},
    {"choices": [{"index": 0, "delta": {"content": "G"}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"name": "look"}}]}}]},
    {"choices": [{"index": 0, "delta": {"reasoning_content": "W"}}]},
    {"type": "response.output_text.delta", "delta": "G"},
    {"type": "response.output_item.added", "item": {"type": "function_call", "name": "look"}},
    {"candidates": [{"content": {"parts": [{"text": "G"}]}}]},
    {"candidates": [{"content": {"parts": [{"functionCall": {"name": "look"}}]}}]},
]


@pytest.mark.parametrize("data", HEADS)
def test_a_head_is_no_content(data):
    assert not has_content("message", data)


@pytest.mark.parametrize("data", CONTENTS)
def test_content_is_recognized(data):
    assert has_content("message", data)
    assert is_content_event(Event("message", json.dumps(data).encode()))


@pytest.mark.parametrize(
    "raw", [b"[DONE]", b"{", b"[1]", b"7", b'{"choices": 7}', b'{"choices": [7]}', b'{"delta": 7}']
)
def test_odd_data_is_no_content(raw):
    assert not is_content_event(Event("message", raw))


def test_a_recording_knows_when_the_first_content_came():
    recorder = StreamRecorder()
    for number, data in enumerate([*HEADS[:3], CONTENTS[0], CONTENTS[0]]):
        recorder.feed(f"data: {json.dumps(data)}\n\n".encode(), 100.0 + number)
    with recorder.finish() as recording:
        assert recording.first_content == 103.0
    with StreamRecorder().finish() as recording:
        assert recording.first_content is None
