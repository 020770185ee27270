"""What is to be read into the archive: planned by one, carried out by another."""

from dataclasses import dataclass, field

from palaver.archive.sources import CursorRow, SourceFacts
from palaver.sources.discovery import Unit


@dataclass(frozen=True, slots=True)
class Task:
    """A unit, what is known of it, and where the last reading of it ended."""

    unit: Unit
    facts: SourceFacts
    options: dict[str, str] = field(default_factory=dict[str, str])
    cursors: tuple[CursorRow, ...] = ()

    @property
    def unread_bytes(self) -> int:
        """How much there is to read, as far as it is known beforehand."""
        return max(0, self.unit.size_bytes - sum(cursor.read_bytes for cursor in self.cursors))
