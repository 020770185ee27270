"""Several units at once, each in a process of its own; what they write is taken over in the order of the units."""

import gc
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from palaver.errors import SourceError
from palaver.model.report import SourceReport
from palaver.sources.discovery import Unit
from palaver.sources.run import Quarantined

Work = Callable[[Unit, dict[str, str], Path, Callable[[int], None]], tuple[SourceReport, list[Quarantined]]]
Advance = Callable[[int], None]

_POLL_SECONDS = 0.1


def collect_rarely() -> None:
    """Look for garbage in cycles seldom: documents are trees, and every look at them costs 2 to 5 % in all."""
    gc.set_threshold(200_000, 50, 50)


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(
    work: Work, units: list[Unit], options: dict[str, str], *, jobs: int, advance: Advance
) -> Iterator[tuple[Unit, Path, SourceReport, list[Quarantined]]]:
    """Yield each unit with the file of its documents, in order; at most a few finished files wait for their turn."""
    # A fresh interpreter for each worker: the same on every system, and safe beside the threads of a progress bar.
    context = multiprocessing.get_context("spawn")
    counter: Any = context.Value("q", 0)
    is_stopping: Any = context.RawValue("b", 0)
    told = 0

    def tell() -> None:
        nonlocal told
        now = counter.value
        advance(now - told)
        told = now

    with tempfile.TemporaryDirectory(prefix="palaver-") as parts:
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare, initargs=(counter, is_stopping))
        try:
            waiting: list[tuple[Unit, Path, Future[tuple[SourceReport, list[Quarantined]]]]] = []
            remaining = enumerate(units)
            while True:
                while len(waiting) < 2 * jobs + 2 and (following := next(remaining, None)):
                    number, unit = following
                    part = Path(parts) / f"{number}.jsonl"
                    with _interrupts_held():
                        waiting.append((unit, part, pool.submit(_in_worker, work, unit, options, part)))
                if not waiting:
                    return
                unit, part, future = waiting[0]
                while not wait([future], timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED).done:
                    tell()
                tell()
                report, set_aside = future.result()
                yield unit, part, report, set_aside
                waiting.pop(0)
        except BrokenProcessPool as error:
            raise SourceError(
                "a worker process was ended from outside, perhaps for lack of memory: try again with --jobs 1"
            ) from error
        finally:
            is_stopping.value = 1
            pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_held() -> Generator[None]:
    """Ctrl-C waits a moment: a process that starts in here never hears it, this one ends it in order."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _StoppedError(BaseException):
    """Not an `Exception`: nothing that guards a source may catch it."""


_counter: Any = None
_is_stopping: Any = None


def _prepare(counter: Any, is_stopping: Any) -> None:
    global _counter, _is_stopping
    _counter, _is_stopping = counter, is_stopping
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_rarely()


def _in_worker(work: Work, unit: Unit, options: dict[str, str], part: Path) -> tuple[SourceReport, list[Quarantined]]:
    def advance(size_bytes: int) -> None:
        if _is_stopping.value:
            raise _StoppedError
        with _counter.get_lock():
            _counter.value += size_bytes

    return work(unit, options, part, advance)
