"""The ledger: the outcome of every record of a source. read = mapped + folded + skipped + quarantined."""

from dataclasses import dataclass, field
from typing import Any

from palaver.model.finding import CompactPickle


class Counts(dict[str, int]):
    """Counts by word. A run holds three of these per source, and a `Counter` takes five times the memory."""

    __slots__ = ()

    def __missing__(self, word: str) -> int:
        return 0

    def total(self) -> int:
        return sum(self.values())

    def add(self, other: "Counts") -> None:
        for word, count in other.items():
            self[word] += count


@dataclass(slots=True)
class Ledger(CompactPickle):
    read: int = 0
    mapped: int = 0
    folded: Counts = field(default_factory=Counts)
    skipped: Counts = field(default_factory=Counts)
    quarantined: Counts = field(default_factory=Counts)

    @property
    def accounted(self) -> int:
        return self.mapped + self.folded.total() + self.skipped.total() + self.quarantined.total()

    @property
    def adds_up(self) -> bool:
        return self.read == self.accounted

    def add(self, other: "Ledger") -> None:
        self.read += other.read
        self.mapped += other.mapped
        self.folded.add(other.folded)
        self.skipped.add(other.skipped)
        self.quarantined.add(other.quarantined)

    def to_json(self) -> dict[str, Any]:
        return {
            "read": self.read,
            "mapped": self.mapped,
            "folded": self.folded.total(),
            "skipped": dict(sorted(self.skipped.items())),
            "quarantined": dict(sorted(self.quarantined.items())),
        }
