"""Streams: events read and assembled in a second, what an active stream and a recorder take, and logs merged.

Chunks are cut beforehand; the collector stays on, as it is for whoever uses this. Stages take turns, and the best run
counts. Memory is what one stream holds at most while it is fed, beside its chunks. A stream that is one huge event
cannot hold the limits: whoever parses it has the bytes and the text, all in one chunk's time. Time is the processor's,
so that whatever else runs here does not count.

A recorder's end is when `finish` returns: whoever passes the stream on waits no longer than that. What follows, the
response written in pieces and the answer put together, is told beside it.
"""

import itertools
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from datasets import Asked
from invented_streams import STREAMS, in_one_event, log_with_chunks, of_size
from palaver.sources.source import Source
from palaver.streams import assembler
from palaver.streams.event_parsers import SseParser
from palaver.streams.recorder import StreamRecorder
from palaver.workflows.merge_streams import chunks_beside, merge
from rows import Peak, Row

CHUNK_BYTES = (64, 512, 4_096)
LIMIT, STRETCH, LIMIT_FROM_BYTES = 300_000, 450_000, 512
PEAK_LIMIT_MB, CHUNK_LIMIT_MS, END_LIMIT_MS = 10, 5, 10
ORDINARY_MB = 0.3
SEGMENT_BYTES = 1_500


def assembly(name: str, asked: Asked) -> list[Row]:
    """Events a second: cut, read and put together; the smallest chunks have no limit."""
    rows: list[Row] = []
    for stream, make in STREAMS.items():
        body = make(asked.events)
        count = body.count(b"data: ")
        best = dict.fromkeys(CHUNK_BYTES, float("inf"))
        for _ in range(asked.runs):
            for size, before in best.items():
                best[size] = min(before, _cpu_s(_assembled, stream, _chunks(body, size)))
        for size, seconds in best.items():
            row = Row(name=f"{name}-{stream}-{size}", work=f"SSE assembly, {stream}, chunks of {size:,} bytes")
            row.ours, row.unit, row.is_floor, row.size = count / seconds, "/s", True, f"{count:,} events"
            if size >= LIMIT_FROM_BYTES:
                row.limit, row.stretch = LIMIT, STRETCH
            rows.append(row)
    return rows


def active(name: str, asked: Asked) -> list[Row]:
    """What a stream takes while it is open: the longest chunk's time, and memory."""
    rows = [
        _active(f"{name}-{stream}-{size}", stream, of_size(stream, asked.stream_megabytes), size)
        for stream in STREAMS
        for size in CHUNK_BYTES[1:]
    ]
    alone = in_one_event(int(asked.stream_megabytes * 1e6))
    row = _active(f"{name}-one-event", "anthropic", alone, CHUNK_BYTES[1])
    row.work = "an active stream, all in one event: no limits"
    row.limit, row.peak_limit = None, Peak()
    return [*rows, row]


def _active(name: str, stream: str, body: bytes, size: int) -> Row:
    chunks = _chunks(body, size)
    longest_ms = min(_longest_ms(stream, chunks) for _ in range(3))
    cut, made = SseParser(), assembler(stream)
    tracemalloc.start()
    for chunk in chunks:
        for event in cut.feed(chunk):
            made.feed(event)
    peak = _traced()
    work = f"an active stream, {stream}, chunks of {size:,} bytes: the longest chunk"
    row = Row(name=name, work=work, size=f"{len(body) / 1e6:.1f} MB", ours=longest_ms, unit="ms CPU")
    row.limit, row.peak, row.peak_limit = CHUNK_LIMIT_MS, peak, Peak(PEAK_LIMIT_MB)
    return row


def _longest_ms(stream: str, chunks: list[bytes]) -> float:
    cut, made = SseParser(), assembler(stream)
    longest_ns = 0
    for chunk in chunks:
        began = time.thread_time_ns()
        for event in cut.feed(chunk):
            made.feed(event)
        longest_ns = max(longest_ns, time.thread_time_ns() - began)
    return longest_ns / 1e6


def recorders(name: str, asked: Asked) -> list[Row]:
    sizes = (ORDINARY_MB, asked.stream_megabytes, asked.longest_megabytes)
    return [row for stream in STREAMS for size in sizes for row in _recorder(name, stream, of_size(stream, size))]


def _recorder(name: str, stream: str, body: bytes) -> list[Row]:
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
    peak = _traced()
    name, size, unit = f"{name}-{stream}-{len(body) / 1e6:.1f}", f"{len(body) / 1e6:.1f} MB", "ms CPU"
    details = {"events_a_second": body.count(b"data: ") / feeding_s, "written_ms": written_ms, "answer_ms": answer_ms}
    chunk = Row(name=f"{name}-chunk", work=f"a recorder, {stream}: the longest chunk", size=size, ours=longest_ms)
    chunk.unit, chunk.limit, chunk.peak, chunk.peak_limit = unit, CHUNK_LIMIT_MS, peak, Peak(PEAK_LIMIT_MB)
    end = Row(name=f"{name}-end", work=f"a recorder, {stream}: its end", size=size, ours=finish_ms, unit=unit)
    end.limit, end.details = END_LIMIT_MS, details
    return [chunk, end]


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
            raise RuntimeError(f"{recording.issues}")
    finish_ms, written_ms, answer_ms = ((after - before) / 1e6 for before, after in itertools.pairwise(marks))
    return fed_ns / 1e9, longest_ns / 1e6, finish_ms, written_ms, answer_ms


def merging(name: str, asked: Asked) -> list[Row]:
    """A log merged with its chunks, against merely parsing the lines of both files."""
    rows: list[Row] = []
    for stream, make in STREAMS.items():
        with tempfile.TemporaryDirectory(dir=asked.data) as folder:
            log, chunks = log_with_chunks(Path(folder) / f"{stream}.jsonl", make(500), asked.chunks)
            parsing_s = merging_s = float("inf")
            for _ in range(asked.runs):
                parsing_s = min(parsing_s, _cpu_s(_parse, log, chunks))
                merging_s = min(merging_s, _cpu_s(_merge, log))
            tracemalloc.start()
            _merge(log)
            peak = _traced()
            size_mb = (log.stat().st_size + chunks.stat().st_size) / 1e6
        row = Row(name=f"{name}-{stream}", work=f"a log merged with its chunks, {stream}", size=f"{size_mb:.0f} MB")
        row.ours, row.yardstick, row.ratio, row.unit = merging_s, parsing_s, merging_s / parsing_s, "s CPU"
        row.peak = peak
        rows.append(row)
    return rows


def _merge(log: Path) -> None:
    source = Source.at(log)
    done = merge(source, chunks_beside(source), len)
    if not done.is_clean or done.merged != done.entries:
        raise RuntimeError(f"{done}")


def _parse(*files: Path) -> None:
    for file in files:
        with file.open("rb") as lines:
            for line in lines:
                orjson.loads(line)


def _chunks(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def _assembled(stream: str, chunks: list[bytes]) -> None:
    cut, made = SseParser().feed, assembler(stream)
    take = made.feed
    for chunk in chunks:
        for event in cut(chunk):
            take(event)
    result = made.result()
    if not result.is_complete or result.issues:
        raise RuntimeError(f"{stream}: {result.issues}")


def _cpu_s(work: Callable[..., None], *arguments: Any) -> float:
    began = time.process_time()
    work(*arguments)
    return time.process_time() - began


def _traced() -> Peak:
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Peak(peak_bytes / 1e6)
