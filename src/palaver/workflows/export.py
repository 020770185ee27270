"""Export conversations from the archive: to one file, to a folder with a file for each, or as a stream of bytes."""

import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from palaver.archive.documents import conversation_documents, documents
from palaver.config import Config
from palaver.errors import SourceError
from palaver.exporters import exporter
from palaver.exporters._contract import MessageCost
from palaver.exporters._message_fields import author_kind, is_last, message_model
from palaver.model.build import JsonObject
from palaver.prices import Prices
from palaver.workflows.outputs import open_atomically


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

    def pieces(self, keys: Iterable[int]) -> Iterator[bytes]:
        """Yield the bytes of all conversations."""
        return self._encode(documents(self._connection, keys))

    def into_file(self, keys: Iterable[int], path: Path) -> None:
        self._write(path, self.pieces(keys))

    def into_folder(self, keys: Iterable[int], folder: Path) -> None:
        """Write a file for each conversation; existing files of the same name are replaced, all others stay."""
        names = FileNames(self._exporter.suffix)
        for key in keys:
            name, fragments = _name_and_documents(conversation_documents(self._connection, key), names)
            self._write(folder / name, self._encode(fragments))

    def _encode(self, fragments: Iterable[JsonObject]) -> Iterator[bytes]:
        # `map`, since a loop variable would hold each document while the next one is read.
        for piece in self._exporter.write(map(self._count, fragments), cost=self._cost):
            self.size_bytes += len(piece)
            self._advance(len(piece))
            yield piece

    def _count(self, document: JsonObject) -> JsonObject:
        self.messages += len(document["messages"])
        self.conversations += is_last(document)
        return document

    def _write(self, path: Path, pieces: Iterator[bytes]) -> None:
        before = self.size_bytes, self.conversations
        try:
            with open_atomically(path) as stream:
                stream.writelines(pieces)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise SourceError(f"cannot write {path}: {error.strerror or error}") from error
        self.files.append(WrittenFile(path, self.size_bytes - before[0], self.conversations - before[1]))


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


def _name_and_documents(fragments: Iterator[JsonObject], names: "FileNames") -> tuple[str, Iterator[JsonObject]]:
    first = next(fragments)
    return names.name_of(first), chain([first], fragments)


_TITLE_LETTERS = 60
_TITLE_BYTES = 120
"""A file name may have 255 bytes, on some systems fewer."""
_APOSTROPHES = dict.fromkeys(map(ord, "'\u2019"))
_SHORT_ID = re.compile(r"(?:agent-)?[0-9A-Za-z_-]{1,8}")


class FileNames:
    """File names of conversations: date, title and the beginning of the id, in characters that every system allows."""

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix
        self._taken: set[str] = set()

    def name_of(self, document: JsonObject) -> str:
        """Return a name that depends on the conversation alone, unless another conversation has it already."""
        platform, name = document["platform"]["name"], document["conversation_id"]
        title = slug(document.get("title") or "") or slug(_first_prompt(document))
        parts = [document["created_at"][:10], title, _short_id(name)]
        stem = "-".join(part for part in parts if part)
        if stem.casefold() in self._taken:
            stem += "-" + blake2b(f"{platform}\n{name}".encode(errors="surrogatepass"), digest_size=6).hexdigest()
        self._taken.add(stem.casefold())
        return stem + self._suffix


def slug(text: str) -> str:
    """Join the first words of a text with hyphens; only letters and digits remain."""
    letters = unicodedata.normalize("NFC", text[: 8 * _TITLE_LETTERS]).translate(_APOSTROPHES)
    spaced = "".join(
        letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else " " for letter in letters
    )
    joined = ""
    for word in spaced.split():
        longer = f"{joined}-{word}" if joined else word
        if len(longer) > _TITLE_LETTERS or len(longer.encode()) > _TITLE_BYTES:
            return joined or word[: _TITLE_BYTES // 4]
        joined = longer
    return joined


def _short_id(conversation_id: str) -> str:
    """Return the beginning of an id, of an agent's id the part after the colon, as `palaver show` accepts it."""
    found = _SHORT_ID.match(conversation_id.rpartition(":")[2])
    return found[0].strip("-_") if found else ""


def _first_prompt(document: JsonObject) -> str:
    for message in document["messages"]:
        if message["role"] == "user" and author_kind(message) in {"human", ""}:
            for block in message["content"]:
                if block["type"] == "text" and block["text"].strip():
                    return block["text"]
    return ""
