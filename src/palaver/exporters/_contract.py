"""The contract of exporters: they take documents and yield bytes, one document at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple, Protocol, runtime_checkable

from palaver.model.build import JsonObject

MessageCost = Callable[[JsonObject, JsonObject], Decimal | None]
"""A function that returns the cost of a message, given with its document, in US dollars; None if it is unknown."""


PlatformTitle = Callable[[str], str]
"""A function that returns the title of a platform, such as "Claude Code", for its id."""


class Exporter(Protocol):
    @property
    def title(self) -> str:
        """A short description of the format."""
        ...

    @property
    def suffix(self) -> str:
        """The file name extension, such as ".md"."""
        ...

    @property
    def other_suffixes(self) -> tuple[str, ...]:
        """Other file name extensions of the format."""
        ...

    def write(
        self, documents: Iterable[JsonObject], *, cost: MessageCost | None = None, platform_title: PlatformTitle = str
    ) -> Iterator[bytes]:
        """Yield the bytes of the documents, in order, without changing the documents.

        A long conversation comes as several documents with one id, each with its `fragment`, in order. With `cost`,
        every message that states no cost gets a computed one, separate from the costs that sources state. Documents
        may be large: release each one (with `map`; the variable of a `for` loop would hold it) before requesting the
        next.
        """
        ...


class IndexEntry(NamedTuple):
    """A file with one conversation, in a folder of exported files."""

    file_name: str
    title: str
    platform_title: str
    created_at: str
    messages: int
    is_agent: bool


@runtime_checkable
class IndexedExporter(Exporter, Protocol):
    """An exporter that adds an index page to a folder of files."""

    @property
    def index_name(self) -> str:
        """The file name of the index page."""
        ...

    def previous_entries(self, page: str) -> dict[str, str] | None:
        """Return the entries of an index page that this exporter wrote, by file name; None for any other text."""
        ...

    def index(self, entries: Sequence[IndexEntry], previous: dict[str, str]) -> bytes:
        """Return the index page: these entries, and those of earlier exports whose files are still there."""
        ...
