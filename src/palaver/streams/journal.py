"""The journal of an exchange log: what is known of every exchange that is still in flight, in a file for each.

A recorder keeps its files in a folder of its own, `journal/<name>`, and locks `journal/<name>.lock` for as long as it
runs. When a recorder was killed, the lock is free, and the next one finds in the files all that had arrived. A file is
a series of frames, each with a kind, a time and a payload; a last frame that is torn is used as far as it goes if it is
a piece of a body, and otherwise ignored.
"""

import os
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from palaver.storage.file_locks import FileLock, try_to_lock

START, REQUEST_BODY, RESPONSE, CHUNK, END = range(1, 6)
"""Kinds of frames: head and body of the request, head and body of the response, and the end."""
FOLDER_NAME = "journal"
_HEAD = struct.Struct("<BdI")
_SUFFIX = ".part"
_LOCK_SUFFIX = ".lock"
_LOG_NAMES = "logs"
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

    def __init__(self, path: Path) -> None:
        self._path = path
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
        self.close()
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Journal:
    """The journal of a recorder that runs."""

    def __init__(self, log_folder: Path, name: str) -> None:
        self._folder = log_folder / FOLDER_NAME / name
        self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Lock it before it exists: another recorder takes an unlocked folder for an abandoned one.
        self._lock = try_to_lock(_lock_path(self._folder))
        self._folder.mkdir(mode=0o700)

    def open(self, request_id: str) -> JournalFile:
        return JournalFile(self._folder / f"{request_id}{_SUFFIX}")

    def note_log(self, file_name: str) -> None:
        """Note a log file as written by this recorder only, so that a torn line at its end can be removed."""
        with (self._folder / _LOG_NAMES).open("ab") as names:
            names.write(file_name.encode() + b"\n")

    def close(self) -> None:
        """Give the journal up; its folder goes, unless an exchange is left in it."""
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
        try:
            return (self.folder / _LOG_NAMES).read_bytes().decode().splitlines()
        except FileNotFoundError:
            return []

    def files(self) -> list[Path]:
        """Return the files of its exchanges, in the order in which they began."""
        return sorted(self.folder.glob(f"*{_SUFFIX}"), key=lambda path: (path.stat().st_mtime_ns, path.name))

    def release(self, *, is_settled: bool) -> None:
        """Unlock the journal, and remove it if all of its exchanges are in the log."""
        if is_settled:
            shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()
        if is_settled:
            _lock_path(self.folder).unlink(missing_ok=True)


def abandoned_journals(log_folder: Path) -> Iterator[AbandonedJournal]:
    """Yield the journals in a folder of logs whose recorders no longer run."""
    journals = log_folder / FOLDER_NAME
    for folder in sorted(journals.iterdir()) if journals.is_dir() else ():
        if folder.is_dir() and (lock := try_to_lock(_lock_path(folder))) is not None:
            yield AbandonedJournal(folder, lock)


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
