"""Another archive's file: every conversation in it is a record, and so is every usage record."""

import shutil
import sqlite3
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from palaver.archive.elsewhere import LOG, SIDE_FILES, is_archive, reading_elsewhere
from palaver.archive.reading import conversation_keys, document
from palaver.archive.states import states
from palaver.archive.usage_records import usage_records
from palaver.importers._shared.contract import Match
from palaver.importers._shared.findings import UNFORESEEN
from palaver.model.build import JsonObject
from palaver.sources.run import Run
from palaver.sources.source import Source


def recognized(source: Source) -> Match:
    """Whether a file of SQLite is an archive: that stands in its first bytes."""
    if not is_archive(source.head()):
        return Match.no()
    name = source.name.rpartition("/")[2]
    members = tuple(name + suffix for suffix in SIDE_FILES if source.beside(name + suffix).exists())
    return Match.yes("an archive of palaver", members, "archive")


def read_archive(source: Source, run: Run) -> Iterator[JsonObject]:
    """The conversations of an archive; all that is known of each where it is joined with what another one knows."""
    with _on_disk(source) as path, reading_elsewhere(path) as connection:
        keys = list(conversation_keys(connection))
        step_bytes = path.stat().st_size // max(1, len(keys))
        told = states if run.is_joined else document
        for number, key in enumerate(keys, 1):
            run.read()
            try:
                yield from told(connection, key)
            except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
                # Somebody changed the file by other means: it costs this conversation only.
                message = f"{type(error).__name__}: {error}"
                run.quarantined(UNFORESEEN, _header(connection, key), f"conversation {number}", message)
            else:
                run.mapped()
            run.advance(step_bytes)
        for record in usage_records(connection):
            run.read()
            run.used(record)
            run.mapped()


def _header(connection: sqlite3.Connection, key: int) -> bytes:
    query = "select cast(header as blob) from conversation where conversation_key = ?"
    return connection.execute(query, (key,)).fetchone()[0] or b""


@contextmanager
def _on_disk(source: Source) -> Generator[Path]:
    """Where SQLite can open it: itself, or a copy of what is compressed, in a ZIP, or on standard input."""
    path = source.folder.path_of(source.name)
    if path is not None and source.is_plain_file():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="palaver-") as folder:
        path = Path(folder) / "archive.db"
        _copy(source, path)
        if (log := source.beside(source.name.rpartition("/")[2] + LOG)).exists():
            _copy(log, path.with_name(path.name + LOG))
        yield path


def _copy(source: Source, path: Path) -> None:
    with source.open() as stream, path.open("wb") as file:
        shutil.copyfileobj(stream, file)
