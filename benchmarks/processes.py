"""Commands that are measured: each a process of its own, with the time it took and the memory of all it started.

On Linux a child's peak memory, as the system tells it at the end, starts at its parent's: whoever measures stays small.
Workers are told apart from the process that started them by looking at them while they run, on Linux only.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rows import Peak

HERE = Path(__file__).resolve().parent
LOOK_SECONDS = 0.02


@dataclass
class Measurement:
    cpu_s: float
    """User and system time of the process and its children; where the system does not tell, the wall time."""
    wall_s: float
    peak: Peak
    exit_code: int
    answer: bytes
    complaint: str


def python(*words: str | Path) -> list[str]:
    return [sys.executable, *map(str, words)]


def palaver(*words: str | Path) -> list[str]:
    return python("-m", "palaver", *words)


def environment(home: Path) -> dict[str, str]:
    """An archive or a configuration of the user's is neither touched nor measured.

    Nor is what this machine tells Python by variables: without compiled modules, for one, every start takes longer.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") or name == "PYTHONPATH"}
    return kept | {"PALAVER_HOME": str(home)}


def measured(command: list[str], home: Path, *, is_answer_wanted: bool = True, **settings: str) -> Measurement:
    with tempfile.TemporaryFile() as answers, tempfile.TemporaryFile() as complaints:
        stdout = answers if is_answer_wanted else subprocess.DEVNULL
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=stdout, stderr=complaints, env=environment(home) | settings)
        with Watch(process.pid) as watch:
            cpu_s, largest_mb = _waited(process)
        wall_s = time.perf_counter() - started
        # The system's figure is exact, and the process's own if it started no other.
        peak = watch.peak if watch.peak.worker_mb else Peak(own_mb=largest_mb, tree_mb=largest_mb)
        answer, complaint = (_content(file) for file in (answers, complaints))
    told = complaint.decode(errors="replace").strip()[-2_000:]
    return Measurement(wall_s if cpu_s is None else cpu_s, wall_s, peak, process.returncode, answer, told)


def _waited(process: "subprocess.Popen[bytes]") -> tuple[float | None, float | None]:
    """Its CPU time, and the largest memory of it or one of its children."""
    if not hasattr(os, "wait4"):
        process.wait()
        return None, None
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1_024
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1_000_000


def _content(file: "tempfile._TemporaryFileWrapper[bytes]") -> bytes:
    file.seek(0)
    return file.read()


def in_turns(runs: int, *commands: Callable[[], Measurement]) -> list[Measurement]:
    """The best of each, so that a slow moment of the machine meets all of them; of memory, the worst.

    What fails is not tried again.
    """
    done: list[list[Measurement]] = [[] for _ in commands]
    for _ in range(runs):
        for measurements, command in zip(done, commands, strict=True):
            measurements.append(command())
        if any(measurements[-1].exit_code for measurements in done):
            break
    return [_best(measurements) for measurements in done]


def _best(measurements: list[Measurement]) -> Measurement:
    last = measurements[-1]
    peaks = (
        max((value for one in measurements if (value := getattr(one.peak, name)) is not None), default=None)
        for name in ("own_mb", "worker_mb", "tree_mb")
    )
    cpu_s, wall_s = (min(getattr(one, clock) for one in measurements) for clock in ("cpu_s", "wall_s"))
    return Measurement(cpu_s, wall_s, Peak(*peaks), last.exit_code, last.answer, last.complaint)


class Watch:
    """Looks at a process and all that it starts, many times a second, until it is told to stop; on Linux only."""

    def __init__(self, pid: int) -> None:
        self.peak = Peak()
        self._pid = pid
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> Self:
        if sys.platform == "linux":
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _look_on(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            now_mb = 0.0
            for pid in _tree(self._pid):
                with suppress(OSError, KeyError):  # it ended meanwhile
                    fields = _status(pid)
                    now_mb += fields["VmRSS"]
                    name = "own_mb" if pid == self._pid else "worker_mb"
                    self._raise(name, fields["VmHWM"])
            self._raise("tree_mb", now_mb)

    def _raise(self, name: str, value: float) -> None:
        setattr(self.peak, name, max(getattr(self.peak, name) or 0.0, value))


def _tree(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _tree(int(child))


def _status(pid: int) -> dict[str, float]:
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {words[0][:-1]: int(words[1]) * 1_024 / 1_000_000 for words in lines if words[-1] == "kB"}
