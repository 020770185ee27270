"""Worker processes that read several units at once, and deliver in the order of the units or as results come."""

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from multiprocessing import connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from palaver.errors import SourceError
from palaver.model.report import SourceReport
from palaver.sources.discovery import Unit
from palaver.sources.run import Quarantined

Work = Callable[[Unit, dict[str, str], Path, Callable[[int], None]], tuple[SourceReport, list[Quarantined]]]
Advance = Callable[[int], None]
T = TypeVar("T")
F = TypeVar("F")
Numbered = Iterator[tuple[int, T]]

# A fresh interpreter for each worker works on every system, and is safe beside the threads of a progress bar.
_CONTEXT = multiprocessing.get_context("spawn")
_POLL_SECONDS = 0.1


def collect_rarely() -> None:
    """Let the garbage collector run rarely: documents are trees, and its runs cost 2 to 5 % of an import."""
    gc.set_threshold(200_000, 50, 50)


def available_cores() -> int:
    """Return the number of cores that this process may use; only Linux knows of a limit below all of them."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_in_order(
    work: Work, units: list[Unit], options: dict[str, str], *, jobs: int, advance: Advance
) -> Generator[tuple[Unit, Path, SourceReport, list[Quarantined]]]:
    """Yield each unit with the file of its documents, in the order of the units.

    At most a few finished files wait for their turn. The list of units is empty from the first one on.
    """
    turns: Any = _CONTEXT.Semaphore(2 * jobs + 2)
    with tempfile.TemporaryDirectory(prefix="palaver-") as folder:
        write_parts = _PartWriter(work, options, Path(folder), turns)
        finished: dict[int, tuple[SourceReport, list[Quarantined]]] = {}
        number = 0
        waiting = deque(units)
        with closing(run_as_completed(write_parts, units, jobs=jobs, advance=advance)) as parts:
            for done, report, quarantined in parts:
                finished[done] = report, quarantined
                while number in finished:
                    yield waiting.popleft(), _part_path(Path(folder), number), *finished.pop(number)
                    number += 1
                    turns.release()


class _PartWriter(NamedTuple):
    """What a worker runs: it writes the documents of each unit to a file, never too far ahead of the delivery."""

    work: Work
    options: dict[str, str]
    folder: Path
    turns: Any

    def __call__(
        self, units: Numbered[Unit], advance: Advance
    ) -> Iterator[tuple[int, SourceReport, list[Quarantined]]]:
        while True:
            while not self.turns.acquire(timeout=_POLL_SECONDS):
                advance(0)
            if (task := next(units, None)) is None:
                return
            number, unit = task
            yield number, *self.work(unit, self.options, _part_path(self.folder, number), advance)


def _part_path(folder: Path, number: int) -> Path:
    return folder / f"{number}.jsonl"


def run_as_completed(
    work: Callable[[Numbered[T], Advance], Iterator[F]], tasks: list[T], *, jobs: int, advance: Advance
) -> Generator[F]:
    """Yield what worker processes make of the tasks as soon as it is made; each worker takes the next free task.

    The workers get a copy of the tasks; the list is empty from then on.
    """
    counter: Any = _CONTEXT.Value("q", 0)
    following: Any = _CONTEXT.Value("q", 0)
    is_stopping: Any = _CONTEXT.RawValue("b", 0)
    # Bounds the frames that wait: a reader that is faster than the writer of the archive has to wait.
    free_frames: Any = _CONTEXT.Semaphore(_FRAMES_WAITING * jobs)
    reported_bytes = 0
    with tempfile.TemporaryDirectory(prefix="palaver-", ignore_cleanup_errors=True) as folder:
        processes: dict[Any, Any] = {}
        try:
            for number in range(jobs):
                receiver, sender = _CONTEXT.Pipe(duplex=False)
                shared = following, free_frames, counter, is_stopping
                prefix = str(Path(folder) / str(number))
                process = _CONTEXT.Process(target=_stream, args=(work, tasks, sender, prefix, shared), daemon=True)
                processes[receiver] = process
                with _interrupts_held():
                    process.start()
                sender.close()  # so that the end of the process closes the pipe
            tasks.clear()
            running = dict(processes)
            while running:
                for receiver in cast("list[Any]", connection.wait(running, _POLL_SECONDS)):
                    try:
                        message = receiver.recv_bytes()
                    except (EOFError, OSError):  # OSError if it was killed within a message
                        process = running.pop(receiver)
                        process.join()
                        if process.exitcode:
                            raise SourceError(_ENDED_FROM_OUTSIDE) from None
                    else:
                        free_frames.release()
                        yield _unpack(message)
                now = counter.value
                advance(now - reported_bytes)
                reported_bytes = now
        finally:
            is_stopping.value = 1
            _end(processes)


_FRAMES_WAITING = 24
"""For each process: what is written in one transaction, and as much again."""


def _pack(frame: Any, path: str) -> bytes:
    """Return the message for a frame: the path of a file that holds it, since a pipe takes it in small steps."""
    try:
        with Path(path).open("wb") as file:
            pickle.dump(frame, file, pickle.HIGHEST_PROTOCOL)
    except OSError:  # the disk is full: through the pipe, then
        return pickle.dumps(frame, pickle.HIGHEST_PROTOCOL)
    return _IN_FILE + os.fsencode(path)


def _unpack(message: bytes) -> Any:
    if not message.startswith(_IN_FILE):
        return pickle.loads(message)  # noqa: S301 - a process of our own wrote it
    path = Path(os.fsdecode(message.removeprefix(_IN_FILE)))
    with path.open("rb") as file:
        frame = pickle.load(file)  # noqa: S301 - a process of our own wrote it
    path.unlink()
    return frame


_IN_FILE = b"file "  # no pickle begins so
_ENDED_FROM_OUTSIDE = "a worker process was killed, perhaps for lack of memory: try again with --jobs 1"
_PATIENCE_SECONDS = 10.0


def _end(processes: dict[Any, Any]) -> None:
    """Wait for processes that were asked to stop, and drop what they still send."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for receiver, process in processes.items():
        receiver.close()
        if process.pid is not None:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join()


def _stream(
    work: Callable[[Numbered[T], Advance], Iterator[F]],
    tasks: list[T],
    sender: Any,
    prefix: str,
    shared: tuple[Any, Any, Any, Any],
) -> None:
    following, free_frames, counter, is_stopping = shared
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
            while not free_frames.acquire(timeout=_POLL_SECONDS):
                _advance(0)
            sender.send_bytes(_pack(frame, f"{prefix}-{made}"))


@contextmanager
def _interrupts_held() -> Generator[None]:
    """Hold Ctrl-C back while a process starts: it must not get the signal; this process ends it in order."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _StoppedError(BaseException):
    """Raised in a worker that is to stop; not an `Exception`, so that nothing that guards a source catches it."""


_counter: Any = None
_is_stopping: Any = None


def _prepare(counter: Any, is_stopping: Any) -> None:
    global _counter, _is_stopping
    _counter, _is_stopping = counter, is_stopping
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_rarely()


def _advance(size_bytes: int) -> None:
    if _is_stopping.value:
        raise _StoppedError
    with _counter.get_lock():
        _counter.value += size_bytes
