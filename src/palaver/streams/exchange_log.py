"""A log of exchanges: files `log-YYYY-MM-DD-HH-MM-SS.jsonl` with one line for each, and the journal of those in flight.

Every recorder writes files of its own, so that several may share a folder. A file is begun when there is something to
write, when the last one has reached its size, and when it has reached its age. Only the owner can read the files.
"""

import mmap
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Self

import orjson

from palaver.model.build import JsonObject
from palaver.streams.details import encode_json
from palaver.streams.exchange import Exchange, Masks
from palaver.streams.exchange_entry import headers_by_name
from palaver.streams.journal import (
    END,
    START,
    AbandonedJournal,
    Journal,
    JournalFile,
    journal_folders,
    lock_if_abandoned,
    read_frames,
    write_all,
)

MAX_BYTES = 256 << 20
MAX_AGE_S = 86_400.0
_BLOCK_BYTES = 1 << 20
_RECOVERED = {"type": "recovered", "message": "the recorder was killed before the response was complete"}
_BINARY: int = getattr(os, "O_BINARY", 0)


class ExchangeLog:
    """Writes exchanges to a folder, from any number of threads; first those that a killed recorder left unfinished."""

    def __init__(
        self,
        folder: Path,
        masks: Masks,
        *,
        max_bytes: int = MAX_BYTES,
        max_age_s: float = MAX_AGE_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self._masks = masks
        self._max_bytes = max_bytes
        self._max_age_s = max_age_s
        self._clock = clock
        self._lock = Lock()
        self._file: _LogFile | None = None
        self.files: list[Path] = []
        """The files written so far."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._journal = Journal(folder, f"{int(clock())}-{os.getpid()}-{secrets.token_hex(4)}")
        self.problems: list[str] = []
        """What could not be recovered, and why."""
        self.recovered = sum(map(self._recover, self._abandoned_journals()))
        """How many exchanges of killed recorders were written."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(
        self,
        method: str,
        url: str,
        headers: Iterable[tuple[str, str]],
        *,
        upstream: str = "",
        timestamp: float | None = None,
    ) -> Exchange:
        """Begin to record an exchange."""
        started = self._clock() if timestamp is None else timestamp
        request_id = f"req_{int(started)}_{secrets.token_hex(6)}"
        head: JsonObject = {
            "request_id": request_id,
            "upstream": upstream,
            "timestamp": started,
            "method": method,
            "url": self._masks.url(url),
            "headers": self._masks.headers(headers_by_name(headers)),
        }
        return self._exchange(head, self._open_journal(request_id))

    def close(self) -> None:
        """Close the files; exchanges that have not ended stay in the journal until they do."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
        self._journal.close()

    def _exchange(self, head: JsonObject, journal: JournalFile | None) -> Exchange:
        return Exchange(head, self._masks, journal, self._append, self._clock)

    def _open_journal(self, request_id: str) -> JournalFile | None:
        """Open a file of the journal, or return None: an exchange can be recorded without it."""
        try:
            return self._journal.open(request_id)
        except OSError:
            return None

    def _append(self, pieces: Iterator[bytes]) -> str:
        """Write a line to the log and return its place."""
        with self._lock:
            file = self._current_file()
            number = file.append(pieces)
            return f"{file.path.name}:{number}"

    def _current_file(self) -> "_LogFile":
        file, now = self._file, self._clock()
        if file is not None:
            is_deleted = file.is_deleted
            if not is_deleted and file.size_bytes < self._max_bytes and now - file.begun < self._max_age_s:
                return file
            if is_deleted:
                self.files.remove(file.path)
            self._file = None
            file.close()
        file = self._file = _LogFile.create(self.folder, now)
        self.files.append(file.path)
        # Without the note, a torn line stays in the log if the recorder is killed.
        with suppress(OSError):
            self._journal.note_log(file.path.name)
        return file

    def _abandoned_journals(self) -> list[AbandonedJournal]:
        """Lock the journals of killed recorders, and remove the lines that these could not finish from their logs."""
        found: list[AbandonedJournal] = []
        for folder in journal_folders(self.folder):
            try:
                journal = lock_if_abandoned(folder)
                if journal is not None:
                    found.append(journal)
                    # Before anything is recovered: a torn line may hold the id of an exchange in another journal.
                    for name in journal.log_names()[-1:]:
                        _cut_torn_line(self.folder / name)
            except OSError as error:
                self._note_problem(folder, error)
        return found

    def _recover(self, journal: AbandonedJournal) -> int:
        """Write what a killed recorder left and return how much that is; what cannot be written stays where it is."""
        recovered = 0
        is_settled = True
        for path in journal.files():
            try:
                recovered += self._recover_exchange(path, journal)
                path.unlink()
            except Exception as error:  # noqa: BLE001 - one broken file must not keep the others from being recovered
                self._note_problem(path, error)
                is_settled = False
        journal.release(is_settled=is_settled)
        return recovered

    def _recover_exchange(self, path: Path, journal: AbandonedJournal) -> int:
        """Write an exchange from its journal file, unless a log has it already; return how many were written."""
        frames = list(read_frames(path))
        if not frames or frames[0].kind != START:
            return 0
        head: JsonObject = orjson.loads(frames[0].payload)
        needle = b'"request_id":' + encode_json(head["request_id"])
        logs = [*journal.log_names()[-2:], *journal.recovery_names()]
        if any(_contains(self.folder / name, needle) for name in logs):
            return 0
        exchange = self._exchange(head, None)
        for frame in frames:
            exchange.replay(frame)
        journal.note_recovery(self._current_file().path.name)
        last = frames[-1]
        error: JsonObject | None = orjson.loads(last.payload) if last.kind == END else _RECOVERED
        if error is None:
            finished = exchange.finish(last.timestamp)
        else:
            finished = exchange.abort(error["type"], error["message"], last.timestamp)
        if finished.place is None:
            raise OSError(finished.unwritten)
        return 1

    def _note_problem(self, path: Path, error: Exception) -> None:
        reason = str(error) if isinstance(error, OSError) else f"its content is damaged ({type(error).__name__})"
        self.problems.append(f"{path} could not be recovered: {reason}")


class _LogFile:
    """A file of the log that is written to."""

    def __init__(self, path: Path, descriptor: int, begun: float) -> None:
        self.path = path
        self.begun = begun
        self.size_bytes = 0
        self._descriptor = descriptor
        self._lines = 0

    @property
    def is_deleted(self) -> bool:
        """Whether the file has been deleted, so that what is written to it would be lost."""
        return os.fstat(self._descriptor).st_nlink == 0

    @classmethod
    def create(cls, folder: Path, now: float) -> Self:
        """Create a file that is named by the time; where there is one already, by the next second that is free."""
        moment = datetime.fromtimestamp(now, UTC)
        while True:
            path = folder / f"log-{moment:%Y-%m-%d-%H-%M-%S}.jsonl"
            try:
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | _BINARY
                return cls(path, os.open(path, flags, 0o600), now)
            except FileExistsError:
                moment += timedelta(seconds=1)

    def append(self, pieces: Iterable[bytes]) -> int:
        """Write a line and return its number; if that fails, as on a full disk, none of it stays."""
        written = 0
        try:
            for block in _blocks(pieces):
                write_all(self._descriptor, block)
                written += len(block)
        except BaseException:
            os.ftruncate(self._descriptor, self.size_bytes)
            raise
        self.size_bytes += written
        self._lines += 1
        return self._lines

    def close(self) -> None:
        os.close(self._descriptor)


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join small pieces, so that most lines are written at once."""
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= _BLOCK_BYTES:
            yield bytes(block)
            block.clear()
    yield bytes(block)


def _cut_torn_line(path: Path) -> None:
    """Remove the beginning of a line that a killed recorder could not finish."""
    if not path.is_file() or not path.stat().st_size:
        return
    with path.open("r+b") as stream:
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            end = whole.rfind(b"\n") + 1
        stream.truncate(end)


def _contains(path: Path, needle: bytes) -> bool:
    if not path.is_file() or not path.stat().st_size:
        return False
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        return whole.find(needle) >= 0
