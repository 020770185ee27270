"""Measures how many events a second are read and assembled, what one active stream takes, and how logs are merged.

    python benchmarks/streams.py [--events 60000] [--megabytes 8] [--longest 100] [--chunks 100000] [--runs 7]

Streams are made here, the same in every run, in the shape of recorded ones: text, thinking and tool input in pieces of
a few characters, with padding, pings and obfuscation. Chunks are cut beforehand; the collector stays on, as it is for
whoever uses this. Stages take turns, and the best run counts. Memory is what one stream holds at most while it is fed,
beside its chunks. A stream that is one huge event cannot hold the limits: whoever parses it has the bytes and the text,
all in one chunk's time. Time for a chunk is the processor's, so that whatever else runs here does not count.

A recorder's end is when `finish` returns: whoever passes the stream on waits no longer than that. What follows, the
response written in pieces and the answer put together, is measured beside it. A merge is compared with merely parsing
the lines of both files with orjson, in the same run.
"""

import argparse
import base64
import itertools
import json
import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from palaver.merging import chunks_beside, merge
from palaver.sources.source import Source
from palaver.streams import assembler
from palaver.streams.recorder import StreamRecorder
from palaver.streams.sse import SseParser

CHUNK_BYTES = (64, 512, 4_096)
LIMIT, STRETCH, LIMIT_FROM_BYTES = 300_000, 450_000, 512
PEAK_LIMIT_MB, CHUNK_LIMIT_MS, END_LIMIT_MS = 10, 5, 10
ORDINARY_MB = 0.3
SEGMENT_BYTES = 1_500
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
    parser.add_argument("--longest", type=float, default=100)
    parser.add_argument("--chunks", type=int, default=100_000)
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
    console.print(speed, active, _recorders(asked.megabytes, asked.longest), _merges(asked.chunks, asked.runs))
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


def _recorders(*megabytes: float) -> Table:
    columns = ("events a second", "longest chunk ms", "finish ms", "written ms", "answer ms", "peak MB", "holds")
    table = _table("one recorder", "stream", "MB", *columns)
    for name, make in STREAMS.items():
        body = make(20_000)
        for size in (ORDINARY_MB, *megabytes):
            table.add_row(*_recorder(name, make(int(size * 1e6 / (len(body) / 20_000)))))
    table.add_row("limit", "", "", f"{CHUNK_LIMIT_MS}", f"{END_LIMIT_MS}", "", "", f"{PEAK_LIMIT_MB}", "")
    return table


def _recorder(name: str, body: bytes) -> list[str]:
    chunks = _chunks(body, SEGMENT_BYTES)
    runs = [_recorded(chunks) for _ in range(3)]
    feeding_s, longest_ms, finish_ms, written_ms, answer_ms = (min(figures) for figures in zip(*runs, strict=True))
    tracemalloc.start()
    recorder = StreamRecorder()
    for number, chunk in enumerate(chunks):
        recorder.feed(chunk, number / 100)
    with recorder.finish() as recording:
        for _ in recording.response():
            pass
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    holds = longest_ms <= CHUNK_LIMIT_MS and finish_ms <= END_LIMIT_MS and peak_bytes <= PEAK_LIMIT_MB * 1e6
    times = (f"{figure:.2f}" for figure in (longest_ms, finish_ms, written_ms, answer_ms))
    rate = f"{body.count(b'data: ') / feeding_s:,.0f}"
    return [name, f"{len(body) / 1e6:.1f}", rate, *times, f"{peak_bytes / 1e6:.2f}", _word(holds)]


def _recorded(chunks: list[bytes]) -> tuple[float, float, float, float, float]:
    """Seconds for all chunks; then milliseconds for the longest, to finish, to write the response, for the answer."""
    recorder = StreamRecorder()
    longest_ns = fed_ns = 0
    for number, chunk in enumerate(chunks):
        began = time.thread_time_ns()
        recorder.feed(chunk, number / 100)
        took = time.thread_time_ns() - began
        fed_ns += took
        longest_ns = max(longest_ns, took)
    marks = [time.thread_time_ns()]
    with recorder.finish() as recording:
        marks.append(time.thread_time_ns())
        for _ in recording.response():
            pass
        marks.append(time.thread_time_ns())
        recording.payload()
        marks.append(time.thread_time_ns())
        if recording.issues:
            raise SystemExit(f"{recording.issues}")
    finish_ms, written_ms, answer_ms = ((after - before) / 1e6 for before, after in itertools.pairwise(marks))
    return fed_ns / 1e9, longest_ns / 1e6, finish_ms, written_ms, answer_ms


def _merges(count: int, runs: int) -> Table:
    columns = "chunks", "MB", "chunks a second", "times parsing", "peak MB"
    table = _table("a log merged with its chunks", "stream", *columns)
    with tempfile.TemporaryDirectory() as folder:
        for name, make in STREAMS.items():
            log, chunk_file = _log(Path(folder) / f"{name}.jsonl", make(500), count)
            parsing_s = min(_timed(_parse, log, chunk_file) for _ in range(runs))
            merging_s = min(_timed(_merge, log) for _ in range(runs))
            tracemalloc.start()
            _merge(log)
            _, peak_bytes = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            size = log.stat().st_size + chunk_file.stat().st_size
            figures = f"{size / 1e6:.1f}", f"{count / merging_s:,.0f}", f"{merging_s / parsing_s:.1f}"
            table.add_row(name, f"{count:,}", *figures, f"{peak_bytes / 1e6:.1f}")
    return table


def _log(log: Path, body: bytes, count: int) -> tuple[Path, Path]:
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


def _merge(log: Path) -> None:
    source = Source.at(log)
    done = merge(source, chunks_beside(source), len)
    if not done.is_clean or done.merged != done.entries:
        raise SystemExit(f"{done}")


def _parse(*files: Path) -> None:
    for file in files:
        with file.open("rb") as lines:
            for line in lines:
                orjson.loads(line)


def _timed(work: Callable[..., None], *files: Path) -> float:
    began = time.process_time()
    work(*files)
    return time.process_time() - began


def _in_one_event(size: int) -> bytes:
    """A result of a server tool, which comes whole."""
    block = {"type": "web_fetch_tool_result", "content": {"data": "A" * size}}
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    return f"event: content_block_start\ndata: {json.dumps(start)}\n\n".encode()


def _word(holds: bool) -> str:  # noqa: FBT001 - a verdict
    return "yes" if holds else "no"


if __name__ == "__main__":
    sys.exit(main())
