"""Streams of events, made the same in every run, in the shape of recorded ones.

Text, thinking and tool input come in pieces of a few characters, with padding, pings and obfuscation.
"""

import base64
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

SYLLABLES = ("ta", "ri", "no", "ve", "lu", "sken", "mor", "dia", "pel", "os", "an", "thi", "ger", "fa", "qui", "ble")


class Pieces:
    """Text as models give it: a token or two at a time, now and then with a quote, a line end or another script."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def text(self) -> str:
        shape = self._rng.random()
        if shape < 0.03:
            return self._rng.choice(("\n\n", ' "', "```\n", "\u2014", "\u7d50\u679c", "\U0001f680"))
        return " " + "".join(self._rng.choices(SYLLABLES, k=self._rng.randint(1, 4)))

    def noise(self, most: int) -> str:
        return base64.b64encode(self._rng.randbytes(24)).decode()[: self._rng.randint(1, most)]

    def pad(self) -> str:
        return " " * self._rng.randint(0, 15)


def anthropic(events: int) -> bytes:
    pieces = Pieces(1)
    told: list[str] = []

    def tell(data: dict[str, Any]) -> None:
        raw = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        told.append(f"event: {data['type']}\ndata: {raw[:-1]}{pieces.pad()}}}\n\n")

    usage = {"input_tokens": 2_095, "cache_read_input_tokens": 0, "output_tokens": 3, "service_tier": "standard"}
    message = {"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []}
    tell({"type": "message_start", "message": message | {"stop_reason": None, "usage": usage}})
    blocks = (
        ({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", 0.2),
        ({"type": "text", "text": ""}, "text_delta", "text", 0.6),
        ({"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}}, "input_json_delta", "partial_json", 0.2),
    )
    for index, (start, kind, field, share) in enumerate(blocks):
        tell({"type": "content_block_start", "index": index, "content_block": start})
        count = int(events * share)
        for number in range(count):
            piece = pieces.text()
            if field == "partial_json":
                piece = json.dumps(piece)[1:-1]
                piece = '{"text":"' + piece if number == 0 else piece + '"}' if number == count - 1 else piece
            tell({"type": "content_block_delta", "index": index, "delta": {"type": kind, field: piece}})
            if number % 500 == 0:
                told.append('event: ping\ndata: {"type": "ping"}\n\n')
        tell({"type": "content_block_stop", "index": index})
    tell({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": events}})
    tell({"type": "message_stop"})
    return "".join(told).encode()


def openai_chat(events: int) -> bytes:
    pieces = Pieces(2)
    told: list[str] = []
    head = {"id": "chatcmpl-Dx0XpqH8w09uBXwq1zFGYdETjtnEl", "object": "chat.completion.chunk", "created": 1_782_955_817}
    head |= {"model": "gpt-4o-mini-2024-07-18", "service_tier": "default", "system_fingerprint": "fp_d0469e1700"}

    def tell(delta: dict[str, Any] | None, reason: str | None = None, usage: Any = None) -> None:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        data = head | {"choices": [choice] if delta is not None else [], "usage": usage}
        raw = json.dumps(data | {"obfuscation": pieces.noise(16)}, ensure_ascii=False, separators=(",", ":"))
        told.append(f"data: {raw}\n\n")

    tell({"role": "assistant", "content": "", "refusal": None})
    for _ in range(int(events * 0.8)):
        tell({"content": pieces.text()})
    function = {"name": "write", "arguments": ""}
    tell({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
    for _ in range(int(events * 0.2)):
        tell({"tool_calls": [{"index": 0, "function": {"arguments": pieces.text()}}]})
    tell({}, "tool_calls")
    tell(None, usage={"prompt_tokens": 53, "completion_tokens": events, "total_tokens": events + 53})
    return ("".join(told) + "data: [DONE]\n\n").encode()


STREAMS: dict[str, Callable[[int], bytes]] = {"anthropic": anthropic, "openai_chat": openai_chat}


def of_size(name: str, megabytes: float) -> bytes:
    make = STREAMS[name]
    return make(int(megabytes * 1e6 / (len(make(20_000)) / 20_000)))


def in_one_event(size: int) -> bytes:
    """A result of a server tool, which comes whole."""
    block = {"type": "web_fetch_tool_result", "content": {"data": "A" * size}}
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    return f"event: content_block_start\ndata: {json.dumps(start)}\n\n".encode()


def log_with_chunks(log: Path, body: bytes, count: int) -> tuple[Path, Path]:
    """As many entries as have that many chunks, each an event, with the lines of eight streams among each other."""
    events = [f"{event}\n\n" for event in body.decode().split("\n\n")[:-1]]
    entries = max(8, count // len(events)) // 8 * 8
    chunk_file = log.with_suffix(".stream.jsonl")
    with log.open("wb") as lines:
        for number in range(entries):
            request = {
                "timestamp": number,
                "method": "POST",
                "url": "https://example.com/v1",
                "headers": {},
                "body": {},
            }
            entry = {"request_id": f"req_{number}", "request": request, "response": {"timestamp": number + 1}}
            lines.write(orjson.dumps(entry) + b"\n")
    with chunk_file.open("wb") as lines:
        for first in range(0, entries, 8):
            for at, event in enumerate(events):
                for number in range(first, first + 8):
                    chunk = {"timestamp": number + at / 1_000, "request_id": f"req_{number}", "chunk_data": event}
                    lines.write(orjson.dumps(chunk) + b"\n")
    return log, chunk_file
