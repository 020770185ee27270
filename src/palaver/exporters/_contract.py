"""What every exporter offers: documents in, bytes out, one document at a time."""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Protocol

from palaver.model.build import JsonObject

MessageCost = Callable[[JsonObject, JsonObject], Decimal | None]
"""What a message costs in US dollars by some price list, given it and its document; None where nobody knows."""


class Exporter(Protocol):
    @property
    def title(self) -> str:
        """The format in a few words."""
        ...

    @property
    def suffix(self) -> str:
        """How the names of such files end, such as ".md"."""
        ...

    def write(self, documents: Iterable[JsonObject], *, cost: MessageCost | None = None) -> Iterator[bytes]:
        """Yield the bytes of the documents, in order; the documents stay what they are.

        A long conversation comes as several documents with one id, each with its `fragment`, in order. With `cost`, the
        price of every message is told that states none, apart from what sources state. Documents may be large: one is
        to be let go (by `map`; a `for` loop's name would hold it) before the next is asked for.
        """
        ...
