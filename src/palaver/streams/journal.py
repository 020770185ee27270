"""The journal of an exchange log: what is known of every exchange that is still in flight, in a file for each.

A recorder keeps its files in a folder of its own, `journal/<name>`, and locks `journal/<name>.lock` for as long as it
runs. When a recorder was killed, the lock is free, and the next one finds in the files all that had arrived. A file is
a series of frames, each with a kind, a time and a payload; a last frame that is torn is used as far as it goes if it is
a piece of a body, and otherwise ignored.
"""

import os
import re
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from palaver.storage.file_locks import FileLock, try_to_lock

START, REQUEST_BODY, RESPONSE, CHUNK, END = range(1, 6)
"""Kinds of frames: head and body of the request, head and body of the response, and the end."""
FOLDER_NAME = "journal"
_HEAD = struct.Struct("<BdI")
_SUFFIX = ".part"
_LOCK_SUFFIX = ".lock"
_LOG_NAMES = "logs"
_RECOVERY_NAMES = "recovered"
_LOG_NAME = re.compile(r"log-[0-9-]+\.jsonl")
_MAX_FRAME_BYTES = 1 << 24
_BINARY: int = getattr(os, "O_BINARY", 0)
"""Windows would change the line ends of any other file."""


class Frame(NamedTuple):
    kind: int
    timestamp: float
    payload: bytes
    is_torn: bool = False


class JournalFile:
    """The frames of one exchange; every frame is handed to the system before `write` returns."""

    def __init__(self, path: Path, note_end: Callable[[], None] = lambda: None) -> None:
        self._path = path
        self._note_end = note_end
        self._descriptor: int | None = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, 0o600)

    def write(self, kind: int, timestamp: float, payload: bytes) -> None:
        """Write a payload as one frame, or a long one as several."""
        if self._descriptor is None:
            return
        for start in range(0, len(payload) or 1, _MAX_FRAME_BYTES):
            piece = payload[start : start + _MAX_FRAME_BYTES]
            write_all(self._descriptor, _HEAD.pack(kind, timestamp, len(piece)) + piece)

    def remove(self) -> None:
        """Close and delete the file: its exchange is in the log, or is not to be logged."""
        self._close(is_settled=True)

    def close(self) -> None:
        """Close the file, and leave its exchange to the next start."""
        self._close(is_settled=False)

    def _close(self, *, is_settled: bool) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        os.close(descriptor)
        if is_settled:
            # Where it cannot be deleted, the next start finds its exchange in the log.
            with suppress(OSError):
                self._path.unlink()
        self._note_end()


class Journal:
    """The journal of a recorder that runs."""

    def __init__(self, log_folder: Path, name: str) -> None:
        self._folder = log_folder / FOLDER_NAME / name
        self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Lock it before it exists: another recorder takes an unlocked folder for an abandoned one.
        self._lock = try_to_lock(_lock_path(self._folder))
        self._folder.mkdir(mode=0o700)
        self._counting = Lock()
        self._in_flight = 0
        self._is_closed = False

    def open(self, request_id: str) -> JournalFile:
        file = JournalFile(self._folder / f"{request_id}{_SUFFIX}", self._note_end)
        with self._counting:
            self._in_flight += 1
        return file

    def note_log(self, file_name: str) -> None:
        """Note a log file as written by this recorder only, so that a torn line at its end can be removed."""
        _add_name(self._folder / _LOG_NAMES, file_name)

    def close(self) -> None:
        """Give the journal up, or let the last exchange in flight do so: until then, no other recorder may take it."""
        with self._counting:
            self._is_closed = True
            if not self._in_flight:
                self._give_up()

    def _note_end(self) -> None:
        with self._counting:
            self._in_flight -= 1
            if self._is_closed and not self._in_flight:
                self._give_up()

    def _give_up(self) -> None:
        """Unlock the journal; its folder goes, unless an exchange is left in it."""
        if not any(self._folder.glob(f"*{_SUFFIX}")):
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()
        if not self._folder.exists():
            _lock_path(self._folder).unlink(missing_ok=True)


class AbandonedJournal:
    """The journal of a recorder that was killed; it is locked while it is read."""

    def __init__(self, folder: Path, lock: FileLock) -> None:
        self.folder = folder
        self._lock = lock

    def log_names(self) -> list[str]:
        """Return the names of the log files that the recorder wrote."""
        return _names(self.folder / _LOG_NAMES)

    def note_recovery(self, log_name: str) -> None:
        """Note a log file as one that gets exchanges of this journal, in case this recovery is killed as well."""
        if log_name not in self.recovery_names():
            _add_name(self.folder / _RECOVERY_NAMES, log_name)

    def recovery_names(self) -> list[str]:
        """Return the names of the log files that earlier recoveries wrote."""
        return _names(self.folder / _RECOVERY_NAMES)

    def files(self) -> list[Path]:
        """Return the files of its exchanges, in the order in which they began."""
        files = (path for path in self.folder.glob(f"*{_SUFFIX}") if path.is_file())
        return sorted(files, key=lambda path: (path.stat().st_mtime_ns, path.name))

    def release(self, *, is_settled: bool) -> None:
        """Unlock the journal, and remove it if all of its exchanges are in the log."""
        if is_settled:
            shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()
        if is_settled:
            _lock_path(self.folder).unlink(missing_ok=True)


def journal_folders(log_folder: Path) -> list[Path]:
    """Return the folders of the journals in a folder of logs, those included whose recorders run."""
    journals = log_folder / FOLDER_NAME
    return sorted(path for path in journals.iterdir() if path.is_dir()) if journals.is_dir() else []


def lock_if_abandoned(folder: Path) -> AbandonedJournal | None:
    """Lock the journal in a folder; return None if its recorder still runs.

    Raises:
        OSError: The lock cannot be opened.
    """
    lock = try_to_lock(_lock_path(folder))
    return None if lock is None else AbandonedJournal(folder, lock)


def read_frames(path: Path) -> Iterator[Frame]:
    """Yield the frames of a file, with the rest of one that was cut off."""
    with path.open("rb") as stream:
        while len(head := stream.read(_HEAD.size)) == _HEAD.size:
            kind, timestamp, size_bytes = _HEAD.unpack(head)
            if not START <= kind <= END or size_bytes > _MAX_FRAME_BYTES:
                return
            payload = stream.read(size_bytes)
            is_torn = len(payload) < size_bytes
            if not is_torn or kind in {REQUEST_BODY, CHUNK}:
                yield Frame(kind, timestamp, payload, is_torn)


def write_all(descriptor: int, whole: bytes) -> None:
    """Write all bytes to a file, however many calls that takes."""
    written = os.write(descriptor, whole)
    while written < len(whole):
        written += os.write(descriptor, memoryview(whole)[written:])


def _lock_path(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{_LOCK_SUFFIX}")


def _add_name(path: Path, name: str) -> None:
    with path.open("ab") as names:
        names.write(name.encode() + b"\n")


def _names(path: Path) -> list[str]:
    """Return the names of log files in a list; other entries are ignored."""
    try:
        lines = path.read_bytes().decode("ascii", "replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if _LOG_NAME.fullmatch(line)]
