"""One reading of one source: its options, where to continue, and what became of every record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palaver.model.finding import Finding, FindingKind, FindingTally
from palaver.model.ledger import Ledger
from palaver.sources.cursors import Cursor


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Bytes set aside, with the reason."""

    source: str
    where: str
    code: str
    message: str
    raw: bytes


class Run:
    """Handed to an importer's `read`: every record the readers count must get exactly one disposition here."""

    def __init__(
        self,
        source: str,
        options: Any = None,
        *,
        form: str = "",
        cursors: Mapping[str, Cursor] | None = None,
        keeps_cursors: bool = False,
        set_aside: Callable[[Quarantined], None] | None = None,
        advance: Callable[[int], None] | None = None,
        used: Callable[[Sequence[dict[str, Any]]], None] | None = None,
    ) -> None:
        self.source = source
        self.options = options
        self.form = form
        """What the importer called the source when it was asked; empty when it was not."""
        self.cursors: Mapping[str, Cursor] = cursors or {}
        self.keeps_cursors = keeps_cursors
        """Whether somebody wants to continue from here: making a cursor costs a look at the file's end."""
        self.next_cursors: dict[str, Cursor] = {}
        self.is_continued = False
        """Set by an importer that went on from its cursors: what was read before is not read again."""
        self.ledger = Ledger()
        self.findings = FindingTally()
        self.advance = advance or (lambda _: None)
        """Told by the readers how many bytes they took in, for whoever shows progress."""
        self._set_aside = set_aside
        self._used = used

    @property
    def is_joined(self) -> bool:
        """Whether what comes out is joined with what was read before, so that older versions count as well."""
        return self.keeps_cursors

    def note(self, kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        self.findings.add(Finding(kind.code, kind.severity, self.source, where, message or kind.meaning, kept))

    def read(self, count: int = 1) -> None:
        """Called by the readers in `sources`, never by an importer."""
        self.ledger.read += count

    def mapped(self, count: int = 1) -> None:
        self.ledger.mapped += count

    def folded(self, into: str, count: int = 1) -> None:
        self.ledger.folded[into] += count

    def skipped(self, rule: str, count: int = 1) -> None:
        self.ledger.skipped[rule] += count

    def used(self, *records: dict[str, Any]) -> None:
        """Hand over what was used without a conversation, as `build.usage` makes it; what it is from is `mapped`.

        Many records at once are judged in less time than one by one.
        """
        if self._used is not None:
            self._used(records)

    def quarantined(self, kind: FindingKind, raw: bytes, where: str, message: str = "") -> None:
        self.ledger.quarantined[kind.code] += 1
        self.set_aside(kind, raw, where, message)

    def set_aside(self, kind: FindingKind, raw: bytes, where: str, message: str = "") -> None:
        """Keep bytes that are no record: what was made of records and could not be written."""
        self.note(kind, where, message, kept=False)
        if self._set_aside is not None:
            self._set_aside(Quarantined(self.source, where, kind.code, message or kind.meaning, raw))


def place(number: int, offset: int, label: str = "") -> str:
    """Words for where a record stands in a file."""
    text = f"line {number}, byte {offset}"
    return f"{label}: {text}" if label else text
