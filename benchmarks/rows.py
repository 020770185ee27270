"""One row of the table: what was measured, what it is held against, and the verdict."""

from dataclasses import asdict, dataclass, field
from typing import Any

OWN_LIMIT_MB, OWN_LIMIT_RECORDS, WORKER_LIMIT_MB = 150, 4, 100
PEAK_STRETCH_MB = 100


@dataclass
class Peak:
    """The largest resident memory: of the coordinating process, of one of its workers, of all at one moment."""

    own_mb: float | None = None
    worker_mb: float | None = None
    tree_mb: float | None = None


@dataclass(kw_only=True)
class Row:
    name: str
    work: str
    size: str = ""
    ours: float | None = None
    yardstick: float | None = None
    unit: str = ""
    ratio: float | None = None
    """What the limit is about, where it is not `ours`."""
    limit: float | None = None
    stretch: float | None = None
    is_floor: bool = False
    """Whether the limit is the least, not the most."""
    peak: Peak = field(default_factory=Peak)
    peak_limit: Peak = field(default_factory=Peak)
    peak_stretch_mb: float | None = None
    """For each process, in the lines that are about memory."""
    note: str = ""
    problem: str = ""
    """Why there is no result, or what is wrong with it."""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        if self.problem:
            return "failed"
        judged = [*self._judged(self.limit), *self._judged_peaks()]
        if not judged:
            return "stretch" if self._reaches_stretch() else ""
        if not all(judged):
            return "NO"
        return "stretch" if self._reaches_stretch() else "holds"

    def _reaches_stretch(self) -> bool:
        goals = self._judged(self.stretch)
        if self.peak_stretch_mb is not None:
            peaks = (self.peak.own_mb, self.peak.worker_mb)
            goals += [peak <= self.peak_stretch_mb for peak in peaks if peak is not None]
        return bool(goals) and all(goals)

    def _judged(self, limit: float | None) -> list[bool]:
        value = self.ours if self.ratio is None else self.ratio
        if limit is None or value is None:
            return []
        return [value >= limit if self.is_floor else value <= limit]

    def _judged_peaks(self) -> list[bool]:
        pairs = zip(asdict(self.peak).values(), asdict(self.peak_limit).values(), strict=True)
        return [peak <= limit for peak, limit in pairs if peak is not None and limit is not None]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}


def peak_limit(largest_record_mb: float) -> Peak:
    """What an import may take: a constant, and some times the record that it has to have in memory."""
    return Peak(OWN_LIMIT_MB + OWN_LIMIT_RECORDS * largest_record_mb, WORKER_LIMIT_MB)


def ratio_of(ours: float, yardstick: float) -> float | None:
    """None where there was too little to measure."""
    return ours / yardstick if ours > 0 and yardstick > 0 else None
