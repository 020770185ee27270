"""Recording: what `palaver record` adds to a stream that passes, beside mitmproxy with palaver's addon.

The upstream (`streaming_upstream.py`) writes into each event when it was sent, and the client here looks at the clock
when it arrives. The same calls go straight to the upstream, through palaver and through mitmproxy, in turns, in one
run; what they take directly is taken off the other two. The best turn counts, for memory the worst. Every process of it
shares the machine, the client and the upstream too. A call is logged when its client sees the end of it.
"""

import asyncio
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from datasets import Asked
from invented_streams import anthropic
from mitmproxy_environment import UnavailableError, mitmdump
from processes import HERE, environment, palaver, python
from rows import Row

CHUNK_LIMIT_MS, END_LIMIT_MS, STREAM_LIMIT_MB = 5, 10, 10
EVERY_MS = 20
_SENT = re.compile(rb'"sent":([0-9]+)\}')
_ADDRESS = re.compile(rb"http://127\.0\.0\.1:([0-9]+)  to ")
_LAST_EVENT = b'"message_stop"'
_END = b"0\r\n\r\n"
_MAX_EVENT_BYTES = 2_000
_EVENT_BYTES = len(anthropic(1_000)) / 1_000
SCRIPT = "import palaver\n\naddons = [palaver.ExchangeLog({folder!r}).mitmproxy_addon()]\n"


@dataclass(frozen=True)
class Target:
    """Where calls are sent, and the process that records them; None for the upstream itself."""

    port: int
    pid: int | None = None


@dataclass(frozen=True)
class Figures:
    """What calls to one target took: chunks and ends in milliseconds from the moment they were sent."""

    chunk_p50_ms: float
    chunk_p99_ms: float
    end_p50_ms: float
    end_p99_ms: float
    mb_per_s: float
    stream_mb: float | None


def measure(name: str, asked: Asked) -> list[Row]:
    """Rows for the latency of chunks, the end, memory and throughput."""
    with tempfile.TemporaryDirectory(dir=asked.data) as folder, ExitStack() as running:
        upstream = running.enter_context(_upstream())
        targets = {"direct": Target(upstream), "palaver": running.enter_context(_palaver(upstream, Path(folder)))}
        note = "without mitmproxy: it is left out of --tiny" if asked.tiny else ""
        if not asked.tiny:
            try:
                targets["mitmproxy"] = running.enter_context(_mitmproxy(upstream, Path(folder)))
            except UnavailableError as error:
                note = f"without mitmproxy: {error}"
        turns: dict[str, list[Figures]] = {target: [] for target in targets}
        for turn in range(asked.runs):
            for name_of_target, figures in turns.items():
                target = targets[name_of_target]
                figures.append(asyncio.run(_figures(target, upstream, asked, is_first=turn == 0)))
        problem = "; ".join(
            filter(None, (_incomplete(Path(folder) / each, asked) for each in turns if each != "direct"))
        )
    return _rows(name, turns, note, problem, asked)


def _rows(name: str, turns: dict[str, list[Figures]], note: str, problem: str, asked: Asked) -> list[Row]:
    details = {target: [vars(figures) for figures in measured] for target, measured in turns.items()}

    def row(kind: str, work: str, unit: str, figure: Callable[[str], float | None], limit: float | None = None) -> Row:
        theirs = figure("mitmproxy") if "mitmproxy" in turns else None
        made = Row(name=f"{name}-{kind}", work=work, ours=figure("palaver"), yardstick=theirs, unit=unit, limit=limit)
        made.size, made.note, made.problem, made.details = f"{asked.paced_streams} streams", note, problem, details
        return made

    def added(field: str) -> Callable[[str], float]:
        return lambda target: _best(turns[target], field) - _best(turns["direct"], field)

    def stream_mb(target: str) -> float | None:
        return max((each.stream_mb for each in turns[target] if each.stream_mb is not None), default=None)

    def rate(target: str) -> float:
        return max(each.mb_per_s for each in turns[target])

    throughput = row("throughput", f"streams at full speed, {rate('direct'):.0f} MB/s directly", "MB/s", rate)
    memory = row(
        "memory", f"an active stream of {asked.active_megabytes:g} MB: memory", "MB", stream_mb, STREAM_LIMIT_MB
    )
    memory.size = f"{asked.streams} streams"
    throughput.is_floor, throughput.size = True, f"4 x {asked.fast_megabytes:g} MB"
    return [
        row("chunk-p50", "added to a chunk, in the middle", "ms", added("chunk_p50_ms")),
        row("chunk-p99", "added to a chunk, at the 99th percentile", "ms", added("chunk_p99_ms"), CHUNK_LIMIT_MS),
        row("end-p50", "added to the end, logged, in the middle", "ms", added("end_p50_ms")),
        row("end-p99", "added to the end, logged, at the 99th percentile", "ms", added("end_p99_ms"), END_LIMIT_MS),
        memory,
        throughput,
    ]


def _best(turns: list[Figures], field: str) -> float:
    return min(getattr(figures, field) for figures in turns)


async def _figures(target: Target, upstream: int, asked: Asked, *, is_first: bool) -> Figures:
    await _call(target.port, "events=10")
    paced = f"events={asked.stream_events}&every_ms={EVERY_MS}"
    calls = await asyncio.gather(*(_call(target.port, paced) for _ in range(asked.paced_streams)))
    chunks = _percentiles([latency for call in calls for latency in call.chunk_ms])
    ends = _percentiles([call.end_ms for call in calls])
    # Later on, a process has memory left from earlier streams, so that it would seem to take none.
    stream_mb = await _memory(target, upstream, asked) if is_first else None
    events = int(asked.fast_megabytes * 1e6 / _EVENT_BYTES)
    began = time.perf_counter()
    fast = await asyncio.gather(*(_call(target.port, f"events={events}", is_timed=False) for _ in range(4)))
    mb_per_s = sum(call.size_bytes for call in fast) / 1e6 / (time.perf_counter() - began)
    return Figures(*chunks, *ends, mb_per_s, stream_mb)


async def _memory(target: Target, upstream: int, asked: Asked) -> float | None:
    """Return what each of many streams takes that have come to their last event and are still open; on Linux only."""
    if target.pid is None or sys.platform != "linux":
        return None
    before_mb = _resident_mb(target.pid)
    arrived = asyncio.Semaphore(0)
    query = f"events={int(asked.active_megabytes * 1e6 / _EVENT_BYTES)}&held=1"
    calls = [asyncio.create_task(_call(target.port, query, arrived=arrived)) for _ in range(asked.streams)]
    for _ in calls:
        await arrived.acquire()
    now_mb = _resident_mb(target.pid)
    _, writer = await _sent(upstream, "/release")
    await asyncio.gather(*calls)
    writer.close()
    return (now_mb - before_mb) / asked.streams


@dataclass
class _Call:
    chunk_ms: list[float]
    end_ms: float
    size_bytes: int


async def _call(port: int, query: str, *, is_timed: bool = True, arrived: asyncio.Semaphore | None = None) -> _Call:
    """Ask for a stream and read it to its end."""
    reader, writer = await _sent(port, f"/v1/messages?{query}")
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head:
        raise RuntimeError(f"{head!r}")
    call = _Call([], 0.0, 0)
    tail, last_sent = b"", 0
    while not tail.endswith(_END):
        chunk = await reader.read(1 << 17)
        now = time.monotonic_ns()
        if not chunk:
            raise RuntimeError("a stream broke off")
        call.size_bytes += len(chunk)
        tail += chunk
        at = 0
        for found in _SENT.finditer(tail) if is_timed else ():
            last_sent, at = int(found[1]), found.end()
            call.chunk_ms.append((now - last_sent) / 1e6)
        if arrived is not None and _LAST_EVENT in tail[:at]:
            arrived.release()
        tail = tail[max(at, len(tail) - _MAX_EVENT_BYTES) :]
    call.end_ms = (time.monotonic_ns() - last_sent) / 1e6
    writer.close()
    return call


async def _sent(port: int, target: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    body = b'{"model": "claude-sonnet-4-5", "stream": true, "messages": []}'
    head = f"POST {target} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    return reader, writer


def _percentiles(figures: list[float]) -> tuple[float, float]:
    if len(figures) < 2:
        return figures[0], figures[0]
    cuts = statistics.quantiles(figures, n=100, method="inclusive")
    return cuts[49], cuts[98]


def _resident_mb(pid: int) -> float:
    fields = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return next(int(words[1]) * 1_024 / 1e6 for words in fields if words[0] == "VmRSS:")


@contextmanager
def _upstream() -> Iterator[int]:
    command = python(HERE / "streaming_upstream.py")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()


@contextmanager
def _palaver(upstream: int, folder: Path) -> Iterator[Target]:
    log = folder / "palaver"
    command = palaver("record", "--upstream", f"http://127.0.0.1:{upstream}", "--listen", "127.0.0.1:0", "--log", log)
    with subprocess.Popen([*command, "--quiet"], stderr=subprocess.PIPE, env=environment(folder)) as process:
        try:
            assert process.stderr is not None
            found = next(filter(None, map(_ADDRESS.search, process.stderr)), None)
            if found is None:
                raise RuntimeError("palaver record did not start")
            yield Target(int(found[1]), process.pid)
        finally:
            process.terminate()


@contextmanager
def _mitmproxy(upstream: int, folder: Path) -> Iterator[Target]:
    script = folder / "script.py"
    script.write_text(SCRIPT.format(folder=str(folder / "mitmproxy")))
    quiet = ("--set", "flow_detail=0", "--set", "termlog_verbosity=info")
    with mitmdump(script, "--mode", f"reverse:http://127.0.0.1:{upstream}", *quiet) as running:
        yield Target(int(running.url.rpartition(":")[2]), running.pid)


def _incomplete(log: Path, asked: Asked) -> str:
    """Return what is wrong with a log: every call must be in it, without an error."""
    calls = asked.runs * (1 + asked.paced_streams + 4) + (asked.streams if sys.platform == "linux" else 0)
    lines = [line for file in log.glob("log-*.jsonl") for line in file.read_bytes().splitlines()]
    faulty = sum(b'"error":{"type"' in line[-500:] for line in lines)
    is_complete = len(lines) == calls and not faulty
    return "" if is_complete else f"{log.name} logged {len(lines)} of {calls} calls, {faulty} of them with an error"
