"""What is written goes into a log first, and from there into the archive's own file: here, while writing goes on."""

import sqlite3
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from palaver.archive.connection import LOG_BYTES, PAGE_BYTES


class Checkpoints:
    """A thread with a connection of its own, which the one who writes asks after a transaction, and leaves it to."""

    def __init__(self, path: Path, writer: sqlite3.Connection) -> None:
        writer.execute("pragma wal_autocheckpoint = 0")
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("pragma synchronous = normal")
        self._thread = ThreadPoolExecutor(1)
        self._asked: Future[int] | None = None

    def ask(self) -> None:
        """Have what was committed taken over.

        Nobody waits for that unless the time before is not done yet, or the log has become long: a log begins anew only
        where nothing is written before all of it was taken over.
        """
        log_bytes = self._asked.result() if self._asked else 0
        self._asked = self._thread.submit(self._take_over)
        if log_bytes > 2 * LOG_BYTES:
            self._asked.result()

    def close(self) -> None:
        """What is still in the log is taken over when the last connection closes."""
        self._thread.shutdown()
        self._connection.close()

    def _take_over(self) -> int:
        """Copy the log's pages to their places; how long the log is."""
        _, pages, _ = self._connection.execute("pragma wal_checkpoint(passive)").fetchone()
        return pages * PAGE_BYTES
