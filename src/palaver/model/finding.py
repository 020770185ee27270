"""Findings: the kinds, each declared beside the code that reports it, and a tally per source.

A finding never stops a record from being read. Of frequent ones only the count and the first occurrences are stored.
"""

from dataclasses import dataclass, field
from typing import Any, Literal


class CompactPickle:
    """Pickles the values of its slots only, in field order; the default protocol would also store every slot name."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return self.__class__, tuple([getattr(self, name) for name in self.__slots__])


Severity = Literal["note", "warning", "error"]

MAX_STORED_PER_CODE = 20


@dataclass(frozen=True, slots=True)
class FindingKind:
    code: str
    severity: Severity
    meaning: str


KINDS: dict[str, FindingKind] = {}


def finding_kind(code: str, severity: Severity, meaning: str) -> FindingKind:
    """Declare a kind of finding; `docs/findings.md` lists all declarations."""
    if code in KINDS:
        raise ValueError(f"the finding {code!r} is declared twice")
    kind = KINDS[code] = FindingKind(code, severity, meaning)
    return kind


@dataclass(frozen=True, slots=True)
class Finding(CompactPickle):
    code: str
    severity: Severity
    source: str
    where: str
    message: str
    kept: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "source": self.source,
            "where": self.where,
            "message": self.message,
            "kept": self.kept,
        }


@dataclass(slots=True)
class FindingTally(CompactPickle):
    """The findings of one source: a count per code, and the first occurrences."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    first: list[Finding] = field(default_factory=list[Finding])

    def add(self, finding: Finding) -> None:
        count = self.counts.get(finding.code, 0)
        self.counts[finding.code] = count + 1
        if count < MAX_STORED_PER_CODE:
            self.first.append(finding)
