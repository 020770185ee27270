"""What became of every record of a source: read = mapped + folded + skipped + quarantined."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Ledger:
    read: int = 0
    mapped: int = 0
    folded: Counter[str] = field(default_factory=Counter[str])
    skipped: Counter[str] = field(default_factory=Counter[str])
    quarantined: Counter[str] = field(default_factory=Counter[str])

    @property
    def accounted(self) -> int:
        return self.mapped + self.folded.total() + self.skipped.total() + self.quarantined.total()

    @property
    def adds_up(self) -> bool:
        return self.read == self.accounted

    def add(self, other: "Ledger") -> None:
        self.read += other.read
        self.mapped += other.mapped
        self.folded.update(other.folded)
        self.skipped.update(other.skipped)
        self.quarantined.update(other.quarantined)

    def to_json(self) -> dict[str, Any]:
        return {
            "read": self.read,
            "mapped": self.mapped,
            "folded": self.folded.total(),
            "skipped": dict(sorted(self.skipped.items())),
            "quarantined": dict(sorted(self.quarantined.items())),
        }
