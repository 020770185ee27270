"""Archives of other machines; each conversation and each usage record counts as a record."""

import shutil
import sqlite3
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from palaver.archive.documents import conversation_documents, conversation_keys
from palaver.archive.foreign_archive import (
    LOG_SUFFIX,
    SIDE_FILE_SUFFIXES,
    is_archive,
    open_foreign_archive,
    snapshot_documents,
)
from palaver.archive.usage_records import usage_records
from palaver.importers._shared.contract import Match
from palaver.importers._shared.findings import UNFORESEEN
from palaver.model.build import JsonObject
from palaver.sources.run import Run
from palaver.sources.source import Source


def recognize_archive(source: Source) -> Match:
    """Recognize an archive among SQLite files by its first bytes."""
    if not is_archive(source.head()):
        return Match.no()
    name = source.name.rpartition("/")[2]
    members = tuple(name + suffix for suffix in SIDE_FILE_SUFFIXES if source.sibling(name + suffix).exists())
    return Match.yes("an archive of palaver", members, "archive")


def read_archive(source: Source, run: Run) -> Iterator[JsonObject]:
    """Yield the conversations of an archive, with all older versions of messages if the run joins them."""
    with _on_disk(source) as path, open_foreign_archive(path) as connection:
        keys = list(conversation_keys(connection))
        step_bytes = path.stat().st_size // max(1, len(keys))
        documents = snapshot_documents if run.joins_earlier_results else conversation_documents
        for number, key in enumerate(keys, 1):
            run.read()
            try:
                yield from documents(connection, key)
            except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
                # Another program changed the file: lose this conversation only.
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
    """Yield a path that SQLite can open; compressed files, ZIP members and standard input are copied."""
    path = source.folder.path_of(source.name)
    if path is not None and source.is_plain_file():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="palaver-") as folder:
        path = Path(folder) / "archive.db"
        _copy(source, path)
        if (log := source.sibling(source.name.rpartition("/")[2] + LOG_SUFFIX)).exists():
            _copy(log, path.with_name(path.name + LOG_SUFFIX))
        yield path


def _copy(source: Source, path: Path) -> None:
    with source.open() as stream, path.open("wb") as file:
        shutil.copyfileobj(stream, file)
