"""Find the line of a log that a recorded call was imported from, as far as the log still exists."""

import mmap
import sqlite3
from pathlib import Path

from palaver.archive.recorded_calls import RecordedCall

_BLOCK_BYTES = 1 << 20


def find_logged_line(connection: sqlite3.Connection, call: RecordedCall) -> tuple[Path, int] | None:
    """Return the log and the number of the line, counted from 1; None if it is not found."""
    needles = [f'"{name}"'.encode() for name in (call.request_id, call.api_message_id) if name]
    labels = connection.execute(
        "select label from origin join source on source_key = source where conversation = ? order by label",
        (call.conversation,),
    )
    for (label,) in labels:
        path = Path(label)
        if path.suffix == ".jsonl" and (number := _line_with(path, needles)):
            return path, number
    return None


def _line_with(path: Path, needles: list[bytes]) -> int | None:
    """Return the number of the first line that holds one of the words, or None; a file that is gone has none."""
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            place = next((found for needle in needles if (found := whole.find(needle)) >= 0), None)
            if place is None:
                return None
            return 1 + sum(
                whole[start : min(start + _BLOCK_BYTES, place)].count(b"\n") for start in range(0, place, _BLOCK_BYTES)
            )
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None
