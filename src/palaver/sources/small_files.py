"""Small files, each one record: JSON documents read at once, and files that are only counted."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from palaver.errors import SourceError
from palaver.model.finding import finding_kind
from palaver.sources.damage import BAD_JSON, repair
from palaver.sources.run import Run
from palaver.sources.source import Source

UNREADABLE_SIDE_FILE = finding_kind("unreadable-side-file", "error", "A file next to the source could not be read.")
UNREADABLE_SETTINGS = finding_kind(
    "unreadable-settings",
    "warning",
    "A settings file next to the source could not be read; its names and titles are missing.",
)

LARGEST_BYTES = 1 << 28
_PIECE_BYTES = 1 << 20


def json_document(source: Source, run: Run) -> Iterator[Any]:
    """Yield the one JSON value of a file, or quarantine the file and yield nothing."""
    raw = _read_bytes(source, run)
    if raw is None:
        return
    repaired = repair(raw)
    if len(repaired.values) == 1:
        for kind, message in repaired.remarks:
            run.note(kind, source.name, message)
        for start, _, kind, message in repaired.torn:
            run.note(kind, f"{source.name}: byte {start}", message, kept=False)
        yield repaired.values[0]
    elif repaired.values:
        run.quarantined(BAD_JSON, raw, source.name, "several values where there should be one")
    elif repaired.torn:
        _, _, kind, message = repaired.torn[0]
        run.quarantined(kind, raw, source.name, message)
    else:
        run.quarantined(BAD_JSON, raw, source.name, "there is nothing in it")


def read_at_most(stream: BinaryIO, size_bytes: int) -> bytes:
    """Read up to `size_bytes`; `stream.read(size_bytes)` would allocate all of that memory first."""
    pieces: list[bytes] = []
    while size_bytes and (piece := stream.read(min(size_bytes, _PIECE_BYTES))):
        pieces.append(piece)
        size_bytes -= len(piece)
    return b"".join(pieces)


def count_file(source: Source, run: Run) -> Source:
    """Count a file as a record, because it is not opened or was read as part of another record; return it."""
    run.read()
    return source


def _read_bytes(source: Source, run: Run) -> bytes | None:
    run.read()
    try:
        with source.open() as stream:
            raw = read_at_most(stream, LARGEST_BYTES)
            # The next read raises if the stream is damaged after these bytes.
            problem = f"{source.label} is too large for a file beside a source" if stream.read(1) else ""
    except (SourceError, OSError) as error:
        raw, problem = b"", str(error)
    if problem:
        run.note(UNREADABLE_SIDE_FILE, source.name, problem, kept=False)
        run.skipped("unreadable-side-file")
        return None
    return raw
