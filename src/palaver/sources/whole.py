"""Small files read whole, each one record: a JSON document, a text, a file that is only counted."""

from typing import Any

from palaver.errors import SourceError
from palaver.model.finding import finding_kind
from palaver.sources.damage import BAD_JSON, repair
from palaver.sources.run import Run
from palaver.sources.source import Source

UNREADABLE_SIDE_FILE = finding_kind("unreadable-side-file", "warning", "A file beside the source could not be read.")

LARGEST_BYTES = 1 << 28


def json_document(source: Source, run: Run) -> Any:
    """The one JSON value of a file, or None; what cannot be read is quarantined."""
    raw = _bytes(source, run)
    if raw is None:
        return None
    repaired = repair(raw)
    for kind, message in repaired.remarks:
        run.note(kind, source.name, message)
    if repaired.values:
        return repaired.values[0]
    run.quarantined(BAD_JSON, raw, source.name)
    return None


def text_document(source: Source, run: Run) -> str | None:
    raw = _bytes(source, run)
    return None if raw is None else raw.decode(errors="replace")


def counted(source: Source, run: Run) -> Source:
    """Count a file that is not opened here, or was read elsewhere as part of another record."""
    run.read()
    return source


def _bytes(source: Source, run: Run) -> bytes | None:
    run.read()
    try:
        with source.open() as stream:
            return stream.read(LARGEST_BYTES)
    except (SourceError, OSError) as error:
        run.note(UNREADABLE_SIDE_FILE, source.name, str(error), kept=False)
        run.skipped("unreadable-side-file")
        return None
