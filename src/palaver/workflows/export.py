"""Export conversations from the archive: to one file, to a folder with a file for each, or as a stream of bytes."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from palaver.archive.documents import conversation_documents, documents
from palaver.config import Config
from palaver.errors import SourceError
from palaver.exporters import exporter
from palaver.exporters._contract import IndexedExporter, IndexEntry, MessageCost
from palaver.exporters._message_fields import is_last, message_model
from palaver.importers._shared.platform_names import platform_title
from palaver.model.build import JsonObject
from palaver.prices import Prices
from palaver.workflows.export_file_names import FileNames, first_prompt
from palaver.workflows.export_target import Target, compressed
from palaver.workflows.outputs import open_atomically

_MAX_TITLE_CHARACTERS = 100


class WrittenFile(NamedTuple):
    path: Path
    size_bytes: int
    conversations: int


class Export:
    """Writes conversations in one format, one document at a time, and counts what it wrote."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        name: str,
        *,
        cost: MessageCost | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._connection = connection
        self._exporter = exporter(name)
        self._cost = cost
        self._advance = advance
        self.conversations = 0
        self.messages = 0
        self.size_bytes = 0
        self.files: list[WrittenFile] = []
        self.foreign_index: Path | None = None
        """An index page that was left unchanged, since palaver did not write it."""

    def pieces(self, keys: Iterable[int]) -> Iterator[bytes]:
        """Yield the bytes of all conversations."""
        return self._encode(documents(self._connection, keys))

    def write(self, keys: Iterable[int], target: Target) -> None:
        """Write to a file or a folder."""
        if target.is_folder:
            self.into_folder(keys, target.path)
        else:
            self._write(target.path, self.pieces(keys), target.compression)

    def into_folder(self, keys: Iterable[int], folder: Path) -> None:
        """Write a file for each conversation, and an index page if the format has one.

        Existing files of the same name are replaced, all others stay.
        """
        names = FileNames(self._exporter.suffix)
        entries: list[IndexEntry] = []
        for key in keys:
            fragments = conversation_documents(self._connection, key)
            first = next(fragments)
            entry = _index_entry(names.name_of(first), first)
            written = self.messages
            remaining = chain([first], fragments)
            del first  # a document may be large
            self._write(folder / entry.file_name, self._encode(remaining))
            entries.append(entry._replace(messages=self.messages - written))
        if isinstance(self._exporter, IndexedExporter):
            self._write_index(self._exporter, folder, entries)

    def _write_index(self, exporter: IndexedExporter, folder: Path, entries: list[IndexEntry]) -> None:
        path = folder / exporter.index_name
        previous: dict[str, str] | None = {}
        if path.exists():
            try:
                previous = exporter.previous_entries(path.read_text("utf-8", errors="replace"))
            except OSError as error:
                raise SourceError(f"cannot read {path}: {error.strerror or error}") from error
        if previous is None:
            self.foreign_index = path
            return
        page = exporter.index(entries, {name: line for name, line in previous.items() if (folder / name).exists()})
        self._write(path, self._counted([page]))

    def _encode(self, fragments: Iterable[JsonObject]) -> Iterator[bytes]:
        # `map`, since a loop variable would hold each document while the next one is read.
        documents_counted = map(self._count, fragments)
        return self._counted(self._exporter.write(documents_counted, cost=self._cost, platform_title=platform_title))

    def _counted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self.size_bytes += len(piece)
            self._advance(len(piece))
            yield piece

    def _count(self, document: JsonObject) -> JsonObject:
        self.messages += len(document["messages"])
        self.conversations += is_last(document)
        return document

    def _write(self, path: Path, pieces: Iterator[bytes], compression: str = "") -> None:
        size_before, conversations_before = self.size_bytes, self.conversations
        try:
            with open_atomically(path) as stream, compressed(stream, compression) as compressing:
                for piece in pieces:
                    compressing.write(piece)
            if compression and path.is_file():
                self.size_bytes = size_before + path.stat().st_size
        except BrokenPipeError:
            raise
        except OSError as error:
            raise SourceError(f"cannot write {path}: {error.strerror or error}") from error
        self.files.append(WrittenFile(path, self.size_bytes - size_before, self.conversations - conversations_before))


def _index_entry(file_name: str, first: JsonObject) -> IndexEntry:
    """Return the entry of a conversation in the index, by its first fragment."""
    return IndexEntry(
        file_name,
        title=(first.get("title") or "").strip() or first_prompt(first)[:_MAX_TITLE_CHARACTERS],
        platform_title=platform_title(first["platform"]["name"]),
        created_at=first["created_at"],
        messages=0,
        is_agent=bool((first.get("session") or {}).get("is_sidechain")),
    )


def message_cost(config: Config) -> MessageCost:
    """Return a function that computes a message's cost from the user's prices, or the public prices of its time.

    It can be pickled, for use in other processes.
    """
    return partial(_message_cost, Prices(config))


def _message_cost(prices: Prices, message: JsonObject, document: JsonObject) -> Decimal | None:
    tokens = message.get("tokens")
    model, platform = message_model(message, document), document["platform"]["name"]
    found = prices.cost(model, tokens, message["timestamp"], platform)
    return found.amount if found else None
