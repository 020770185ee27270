"""Locks that a process holds on a file until it ends, so that others can see whether it is still running.

Linux and macOS lock the whole file with `flock`; Windows locks one byte far beyond its end.
"""

import os
import sys
from pathlib import Path
from typing import Self

_LOCKED_BYTE = 1 << 30

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FileLock:
    """A lock that is held until it is closed or the process ends, however it ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def try_to_lock(path: Path) -> FileLock | None:
    """Create the file if it does not exist, and lock it; return None if another process holds the lock.

    Raises:
        OSError: The file cannot be opened.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        _lock(descriptor)
    except OSError:
        os.close(descriptor)
        return None
    return FileLock(descriptor)
