"""Several units at once, in processes: their documents as files in the order of the units, or as frames at once."""

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import count
from multiprocessing import connection
from pathlib import Path
from typing import Any, TypeVar, cast

from palaver.errors import SourceError
from palaver.model.report import SourceReport
from palaver.sources.discovery import Unit
from palaver.sources.run import Quarantined

Work = Callable[[Unit, dict[str, str], Path, Callable[[int], None]], tuple[SourceReport, list[Quarantined]]]
Advance = Callable[[int], None]
T = TypeVar("T")
F = TypeVar("F")

_POLL_SECONDS = 0.1


def collect_rarely() -> None:
    """Look for garbage in cycles seldom: documents are trees, and every look at them costs 2 to 5 % in all."""
    gc.set_threshold(200_000, 50, 50)


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_in_order(
    work: Work, units: list[Unit], options: dict[str, str], *, jobs: int, advance: Advance
) -> Iterator[tuple[Unit, Path, SourceReport, list[Quarantined]]]:
    """Yield each unit with the file of its documents, in order; at most a few finished files wait for their turn.

    Units are taken out of the list, which is empty in the end.
    """
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
            numbers = count()
            units.reverse()
            while True:
                while len(waiting) < 2 * jobs + 2 and units:
                    unit = units.pop()
                    part = Path(parts) / f"{next(numbers)}.jsonl"
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
            raise SourceError(_ENDED_FROM_OUTSIDE) from error
        finally:
            is_stopping.value = 1
            pool.shutdown(cancel_futures=True)


Numbered = Iterator[tuple[int, T]]


def run_as_completed(
    work: Callable[[Numbered[T], Advance], Iterator[F]], tasks: list[T], *, jobs: int, advance: Advance
) -> Generator[F]:
    """Yield what processes make of the tasks, as soon as it is made; each takes the next task that nobody has.

    Once the processes have the tasks, they are not kept here: the list is empty.
    """
    context = multiprocessing.get_context("spawn")
    counter: Any = context.Value("q", 0)
    following: Any = context.Value("q", 0)
    is_stopping: Any = context.RawValue("b", 0)
    # What waits is bounded: whoever reads faster than the archive is written to has to wait.
    room: Any = context.Semaphore(_FRAMES_WAITING * jobs)
    told = 0
    with tempfile.TemporaryDirectory(prefix="palaver-", ignore_cleanup_errors=True) as folder:
        processes: dict[Any, Any] = {}
        try:
            for number in range(jobs):
                taken, given = context.Pipe(duplex=False)
                shared = following, room, counter, is_stopping
                place = str(Path(folder) / str(number))
                process = context.Process(target=_stream, args=(work, tasks, given, place, shared), daemon=True)
                processes[taken] = process
                with _interrupts_held():
                    process.start()
                given.close()  # so that its end is seen here
            tasks.clear()
            running = dict(processes)
            while running:
                for taken in cast("list[Any]", connection.wait(running, _POLL_SECONDS)):
                    try:
                        message = taken.recv_bytes()
                    except (EOFError, OSError):  # the latter where it was stopped within a message
                        process = running.pop(taken)
                        process.join()
                        if process.exitcode:
                            raise SourceError(_ENDED_FROM_OUTSIDE) from None
                    else:
                        room.release()
                        yield _unpacked(message)
                now = counter.value
                advance(now - told)
                told = now
        finally:
            is_stopping.value = 1
            _end(processes)


_FRAMES_WAITING = 24
"""For each process: what is written at once, and as much again."""


def _packed(frame: Any, path: str) -> bytes:
    """What a process has made, as a message: it lies in a file, since a pipe takes it in small sips."""
    try:
        with Path(path).open("wb") as file:
            pickle.dump(frame, file, pickle.HIGHEST_PROTOCOL)
    except OSError:  # no room there: sips, then
        return pickle.dumps(frame, pickle.HIGHEST_PROTOCOL)
    return _IN_FILE + os.fsencode(path)


def _unpacked(message: bytes) -> Any:
    if not message.startswith(_IN_FILE):
        return pickle.loads(message)  # noqa: S301 - a process of our own wrote it
    path = Path(os.fsdecode(message.removeprefix(_IN_FILE)))
    with path.open("rb") as file:
        frame = pickle.load(file)  # noqa: S301 - the same
    path.unlink()
    return frame


_IN_FILE = b"file "  # no pickle begins so
_ENDED_FROM_OUTSIDE = "a worker process was ended from outside, perhaps for lack of memory: try again with --jobs 1"
_PATIENCE_SECONDS = 10.0


def _end(processes: dict[Any, Any]) -> None:
    """Wait for processes that were told to stop; what they still have to say is thrown away."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for taken, process in processes.items():
        taken.close()
        if process.pid is not None:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join()


def _stream(
    work: Callable[[Numbered[T], Advance], Iterator[F]],
    tasks: list[T],
    given: Any,
    place: str,
    shared: tuple[Any, Any, Any, Any],
) -> None:
    following, room, counter, is_stopping = shared
    _prepare(counter, is_stopping)

    def remaining() -> Numbered[T]:
        while True:
            with following.get_lock():
                number = following.value
                following.value += 1
            if number >= len(tasks):
                return
            yield number, tasks[number]

    with contextlib.suppress(_StoppedError, BrokenPipeError):
        for made, frame in enumerate(work(remaining(), _advance)):
            while not room.acquire(timeout=_POLL_SECONDS):
                _advance(0)
            given.send_bytes(_packed(frame, f"{place}-{made}"))


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
    return work(unit, options, part, _advance)


def _advance(size_bytes: int) -> None:
    if _is_stopping.value:
        raise _StoppedError
    with _counter.get_lock():
        _counter.value += size_bytes
