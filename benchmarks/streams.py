"""Measures how many events a second are read and assembled, and what one active stream takes; prints two tables.

    python benchmarks/streams.py [--events 60000] [--megabytes 8] [--runs 7]

Streams are made here, the same in every run, in the shape of recorded ones: text, thinking and tool input in pieces of
a few characters, with padding, pings and obfuscation. Chunks are cut beforehand; the collector stays on, as it is for
whoever uses this. Stages take turns, and the best run counts. Memory is what one stream holds at most while it is fed,
beside its chunks. A stream that is one huge event cannot hold the limits: whoever parses it has the bytes and the text,
all in one chunk's time. Time for a chunk is the processor's, so that whatever else runs here does not count.
"""

import argparse
import base64
import json
import random
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from palaver.streams import assembler
from palaver.streams.sse import SseParser

CHUNK_BYTES = (64, 512, 4_096)
LIMIT, STRETCH, LIMIT_FROM_BYTES = 300_000, 450_000, 512
PEAK_LIMIT_MB, CHUNK_LIMIT_MS = 10, 5
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


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure streams.")
    parser.add_argument("--events", type=int, default=60_000)
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--runs", type=int, default=7)
    asked = parser.parse_args()
    console = Console(width=110)
    speed = _table("events a second", "stream", "bytes an event", "chunk bytes", "cut", "cut, read, assembled", "holds")
    for name, make in STREAMS.items():
        for row in _speeds(name, make(asked.events), asked.runs):
            speed.add_row(*row)
    least = f"{LIMIT:,} ({STRETCH:,})"
    speed.add_row("limit (stretch)", "", f"from {LIMIT_FROM_BYTES}", "", least, "")
    active = _table("one active stream", "stream", "MB", "chunk bytes", "peak MB", "longest chunk ms", "holds")
    for name, make in STREAMS.items():
        body = make(20_000)
        body = make(int(asked.megabytes * 1e6 / (len(body) / 20_000)))
        for size in CHUNK_BYTES[1:]:
            active.add_row(*_active(name, name, body, size))
    alone = _in_one_event(int(asked.megabytes * 1e6))
    for size in CHUNK_BYTES[1:]:
        active.add_row(*_active("anthropic, all in one event", "anthropic", alone, size))
    active.add_row("limit", "", "", f"{PEAK_LIMIT_MB}", f"{CHUNK_LIMIT_MS}", "")
    console.print(speed, active)
    return 0


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="left" if column == "stream" else "right")
    return table


def _chunks(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def _speeds(name: str, body: bytes, runs: int) -> list[list[str]]:
    count = body.count(b"data: ")
    stages: tuple[Callable[[str, list[bytes]], None], ...] = (_cut, _assembled)
    best = {(size, stage): float("inf") for size in CHUNK_BYTES for stage in stages}
    for _ in range(runs):
        for (size, stage), before in best.items():
            chunks = _chunks(body, size)
            began = time.perf_counter()
            stage(name, chunks)
            best[size, stage] = min(before, time.perf_counter() - began)
    rows: list[list[str]] = []
    for size in CHUNK_BYTES:
        rates = [count / best[size, stage] for stage in stages]
        holds = _word(rates[-1] >= LIMIT) if size >= LIMIT_FROM_BYTES else ""
        rows.append([name, f"{len(body) / count:.0f}", f"{size:,}", *(f"{rate:,.0f}" for rate in rates), holds])
    return rows


def _cut(_: str, chunks: list[bytes]) -> None:
    feed = SseParser().feed
    for chunk in chunks:
        feed(chunk)


def _assembled(name: str, chunks: list[bytes]) -> None:
    cut = SseParser().feed
    made = assembler(name)
    take = made.feed
    for chunk in chunks:
        for event in cut(chunk):
            take(event)
    result = made.result()
    if not result.is_complete or result.issues:
        raise SystemExit(f"{name}: {result.issues}")


def _active(label: str, name: str, body: bytes, size: int) -> list[str]:
    chunks = _chunks(body, size)
    longest_ms = min(_longest_ms(name, chunks) for _ in range(3))
    tracemalloc.start()
    cut = SseParser()
    made = assembler(name)
    for chunk in chunks:
        for event in cut.feed(chunk):
            made.feed(event)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    holds = peak_bytes <= PEAK_LIMIT_MB * 1e6 and longest_ms <= CHUNK_LIMIT_MS
    figures = f"{len(body) / 1e6:.1f}", f"{size:,}", f"{peak_bytes / 1e6:.2f}", f"{longest_ms:.2f}"
    return [label, *figures, _word(holds)]


def _longest_ms(name: str, chunks: list[bytes]) -> float:
    cut = SseParser()
    made = assembler(name)
    longest_ns = 0
    for chunk in chunks:
        began = time.thread_time_ns()
        for event in cut.feed(chunk):
            made.feed(event)
        longest_ns = max(longest_ns, time.thread_time_ns() - began)
    return longest_ns / 1e6


def _in_one_event(size: int) -> bytes:
    """A result of a server tool, which comes whole."""
    block = {"type": "web_fetch_tool_result", "content": {"data": "A" * size}}
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    return f"event: content_block_start\ndata: {json.dumps(start)}\n\n".encode()


def _word(holds: bool) -> str:  # noqa: FBT001 - a verdict
    return "yes" if holds else "no"


if __name__ == "__main__":
    sys.exit(main())
