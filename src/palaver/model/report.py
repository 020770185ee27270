"""The report of an import, source by source, in the shape that `palaver import --json` prints."""

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from palaver.model.finding import CompactPickle, FindingTally
from palaver.model.ledger import Ledger


@dataclass(slots=True)
class SourceReport(CompactPickle):
    source: str
    platform: str
    size_bytes: int = 0
    conversations: int = 0
    messages: int = 0
    usage_records: int = 0
    """Records of consumption that belongs to no conversation."""
    ledger: Ledger = field(default_factory=Ledger)
    findings: FindingTally = field(default_factory=FindingTally)
    failure: str = ""
    """Why the source could not be read to its end; empty if it could."""
    traceback: str = ""
    """Set if the failure is a bug in palaver."""

    @property
    def is_clean(self) -> bool:
        has_errors = any(finding.severity == "error" for finding in self.findings.first)
        return not (self.failure or has_errors or self.ledger.quarantined) and self.ledger.adds_up

    def to_json(self) -> dict[str, Any]:
        report: dict[str, Any] = {
            "source": self.source,
            "platform": self.platform,
            "bytes": self.size_bytes,
            "conversations": self.conversations,
            "messages": self.messages,
            "usage_records": self.usage_records,
            "records": self.ledger.to_json(),
            "findings": dict(sorted(self.findings.counts.items())),
        }
        if self.failure:
            report["failure"] = self.failure
        if self.traceback:
            report["traceback"] = self.traceback
        return report


class SourceReports:
    """Reports in order of arrival. All but the first are pickled, which takes a third of the memory."""

    __slots__ = ("_first", "_pickled")

    def __init__(self) -> None:
        self._first: list[SourceReport] = []
        self._pickled: list[bytes] = []

    def append(self, report: SourceReport) -> None:
        if len(self._first) < _MAX_UNPICKLED:
            self._first.append(report)
        else:
            self._pickled.append(pickle.dumps(report, pickle.HIGHEST_PROTOCOL))

    def __iter__(self) -> Iterator[SourceReport]:
        yield from self._first
        yield from map(pickle.loads, self._pickled)

    def __len__(self) -> int:
        return len(self._first) + len(self._pickled)


_MAX_UNPICKLED = 1_000


@dataclass(slots=True)
class Report:
    sources: SourceReports = field(default_factory=SourceReports)
    unclaimed: list[str] = field(default_factory=list[str])
    """Files inside folders that no importer reads."""
    unclaimed_before: set[str] = field(default_factory=set[str])
    """Those that the archive knows from an earlier import, which has listed them."""
    unread: dict[str, str] = field(default_factory=dict[str, str])
    """Of the unclaimed files, those of known formats that have no importer yet, each with its format."""
    refused: list[str] = field(default_factory=list[str])
    """Paths that could not be read at all, each with the reason."""
    unchanged: list[str] = field(default_factory=list[str])
    """Sources that have not changed since the last import and were not opened."""
    released: list[str] = field(default_factory=list[str])
    """Sources that their importer no longer claims: what was misread of them leaves the archive."""
    reread: int | None = None
    """How many sources are read again because a higher revision of their importer reads them; None without archive."""
    archive: dict[str, int] | None = None
    """Conversations by outcome, if the import went into the archive."""

    def add_unclaimed(self, labels: Iterable[str], unread: Mapping[str, str]) -> None:
        self.unclaimed += labels
        self.unread |= unread

    @property
    def exit_code(self) -> int:
        """0 for success, 1 if some records were refused, 2 if a path could not be read."""
        if self.refused:
            return 2
        return 0 if all(source.is_clean for source in self.sources) else 1

    def totals(self) -> dict[str, Any]:
        ledger = Ledger()
        findings: Counter[str] = Counter()
        for source in self.sources:
            ledger.add(source.ledger)
            findings.update(source.findings.counts)
        totals: dict[str, Any] = {
            "sources": len(self.sources),
            "bytes": sum(source.size_bytes for source in self.sources),
            "conversations": sum(source.conversations for source in self.sources),
            "messages": sum(source.messages for source in self.sources),
            "usage_records": sum(source.usage_records for source in self.sources),
            "records": ledger.to_json(),
            "findings": dict(sorted(findings.items())),
        }
        if self.reread is not None:
            totals["reread"] = self.reread
        if self.archive is not None:
            totals["unchanged_sources"] = len(self.unchanged)
            totals["archive"] = self.archive
        return totals

    def to_json(self) -> dict[str, Any]:
        return {**self.outline(), "sources": [source.to_json() for source in self.sources]}

    def outline(self) -> dict[str, Any]:
        """Return the report without its sources, which may be very many."""
        return {
            "totals": self.totals(),
            "refused": self.refused,
            "unclaimed": self.unclaimed,
            "released": self.released,
        }
