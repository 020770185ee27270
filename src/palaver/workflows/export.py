"""Out of the archive: conversations into one file, into a folder with a file for each, or piece by piece."""

import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from palaver.archive.reading import document, documents
from palaver.config import Config
from palaver.errors import SourceError
from palaver.exporters import exporter
from palaver.exporters._contract import MessageCost
from palaver.exporters._facts import author_kind, is_last, model
from palaver.model.build import JsonObject
from palaver.prices import Prices
from palaver.workflows.outputs import AtomicFile


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
        """The bytes of all conversations together."""
        return self._written(documents(self._connection, keys))

    def into_file(self, keys: Iterable[int], path: Path) -> None:
        self._write(path, self.pieces(keys))

    def into_folder(self, keys: Iterable[int], folder: Path) -> None:
        """A file for each; what has the same name there is replaced, everything else stays."""
        names = FileNames(self._exporter.suffix)
        for key in keys:
            name, whole = _with_name(document(self._connection, key), names)
            self._write(folder / name, self._written(whole))

    def _written(self, counted: Iterable[JsonObject]) -> Iterator[bytes]:
        # By `map`, since a name for the document would hold it while the next one is made.
        for piece in self._exporter.write(map(self._count, counted), cost=self._cost):
            self.size_bytes += len(piece)
            self._advance(len(piece))
            yield piece

    def _count(self, written: JsonObject) -> JsonObject:
        self.messages += len(written["messages"])
        self.conversations += is_last(written)
        return written

    def _write(self, path: Path, pieces: Iterator[bytes]) -> None:
        before = self.size_bytes, self.conversations
        file = AtomicFile(path)
        stream = file.open()
        try:
            stream.writelines(pieces)
            file.close(keep=True)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise SourceError(f"cannot write {path}: {error.strerror or error}") from error
        finally:
            file.close(keep=False)
        self.files.append(WrittenFile(path, self.size_bytes - before[0], self.conversations - before[1]))


def message_cost(config: Config) -> MessageCost:
    """What a message costs by the public prices of its time, or by the user's own."""
    prices = Prices(config)

    def cost(message: JsonObject, of: JsonObject) -> Any:
        tokens = message.get("tokens")
        found = prices.cost(model(message, of), tokens, message["timestamp"], of["platform"]["name"])
        return found.amount if found else None

    return cost


def _with_name(whole: Iterator[JsonObject], names: "FileNames") -> tuple[str, Iterator[JsonObject]]:
    first = next(whole)
    return names.name_of(first), chain([first], whole)


_TITLE_LETTERS = 60
_TITLE_BYTES = 120
"""Names of files may have 255 bytes, on some systems less."""
_APOSTROPHES = dict.fromkeys(map(ord, "'\u2019"))
_KEPT = {"L", "M", "N"}
"""Letters, the marks that belong to them, and digits."""
_SHORT_ID = re.compile(r"(?:agent-)?[0-9A-Za-z_-]{1,8}")


class FileNames:
    """Names of files for conversations: date, title and the beginning of the id, in what every system allows."""

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix
        self._taken: set[str] = set()

    def name_of(self, made: JsonObject) -> str:
        """The same for the same conversation, unless another one has that name already."""
        platform, name = made["platform"]["name"], made["conversation_id"]
        parts = [made["created_at"][:10], slug(made.get("title") or "") or slug(_first_words(made)), _short_id(name)]
        stem = "-".join(part for part in parts if part)
        if stem.casefold() in self._taken:
            stem += "-" + blake2b(f"{platform}\n{name}".encode(errors="surrogatepass"), digest_size=6).hexdigest()
        self._taken.add(stem.casefold())
        return stem + self._suffix


def slug(text: str) -> str:
    """The first words of a text, letters and digits only."""
    letters = unicodedata.normalize("NFC", text[: 8 * _TITLE_LETTERS]).translate(_APOSTROPHES)
    spaced = "".join(
        letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else " " for letter in letters
    )
    made = ""
    for word in spaced.split():
        longer = f"{made}-{word}" if made else word
        if len(longer) > _TITLE_LETTERS or len(longer.encode()) > _TITLE_BYTES:
            return made or word[: _TITLE_BYTES // 4]
        made = longer
    return made


def _short_id(conversation_id: str) -> str:
    """The beginning of an id, or of what follows the colon in that of an agent: `palaver show` knows it by that."""
    found = _SHORT_ID.match(conversation_id.rpartition(":")[2])
    return found[0].strip("-_") if found else ""


def _first_words(made: JsonObject) -> str:
    """What a person said first."""
    for message in made["messages"]:
        if message["role"] == "user" and author_kind(message) in {"human", ""}:
            for block in message["content"]:
                if block["type"] == "text" and block["text"].strip():
                    return block["text"]
    return ""
