"""What was noticed: kinds of findings, each declared beside the code that notices it, and their tally.

A finding never ends a record; it remarks. Frequent ones are kept as a count with the first places only.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from palaver.model.compact import Compact

Severity = Literal["note", "warning", "error"]

PLACES_KEPT = 20


@dataclass(frozen=True, slots=True)
class FindingKind:
    code: str
    severity: Severity
    meaning: str


KINDS: dict[str, FindingKind] = {}


def finding_kind(code: str, severity: Severity, meaning: str) -> FindingKind:
    """Declare a kind of finding; `docs/findings.md` is made of all declarations."""
    if code in KINDS:
        raise ValueError(f"the finding {code!r} is declared twice")
    kind = KINDS[code] = FindingKind(code, severity, meaning)
    return kind


@dataclass(frozen=True, slots=True)
class Finding(Compact):
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
class FindingTally(Compact):
    """All findings of one source: how many of each code, and the first places."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    first: list[Finding] = field(default_factory=list[Finding])

    def add(self, finding: Finding) -> None:
        count = self.counts.get(finding.code, 0)
        self.counts[finding.code] = count + 1
        if count < PLACES_KEPT:
            self.first.append(finding)
