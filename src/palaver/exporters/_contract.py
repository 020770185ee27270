"""The contract of exporters: they take documents and yield bytes, one document at a time."""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Protocol

from palaver.model.build import JsonObject

MessageCost = Callable[[JsonObject, JsonObject], Decimal | None]
"""A function that returns the cost of a message, given with its document, in US dollars; None if it is unknown."""


class Exporter(Protocol):
    @property
    def title(self) -> str:
        """A short description of the format."""
        ...

    @property
    def suffix(self) -> str:
        """The file name extension, such as ".md"."""
        ...

    def write(self, documents: Iterable[JsonObject], *, cost: MessageCost | None = None) -> Iterator[bytes]:
        """Yield the bytes of the documents, in order, without changing the documents.

        A long conversation comes as several documents with one id, each with its `fragment`, in order. With `cost`,
        every message that states no cost gets a computed one, separate from the costs that sources state. Documents
        may be large: release each one (with `map`; the variable of a `for` loop would hold it) before requesting the
        next.
        """
        ...
