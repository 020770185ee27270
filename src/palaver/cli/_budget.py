"""`palaver stats --budget`: what was spent of a budget, what is left, and where this leads."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from palaver.cli._terminal.words import local_time, money

if TYPE_CHECKING:
    from palaver.archive.time_ranges import TimeRange

_UNITS = ("day", "week", "month", "year")
_SHORTEST_ELAPSED = 0.02
"""The part of a period that must have passed before what was spent in it says anything about the rest."""


@dataclass(frozen=True, slots=True)
class Budget:
    amount: Decimal
    spent: Decimal
    since: str
    ends_at: str
    """When the period of the budget ends, or "" if it has no end."""
    projected: Decimal | None
    """What is spent by the end at this pace; None without an end, and early in the period."""
    unpriced: int
    """Answers that cost something unknown."""

    @property
    def is_over(self) -> bool:
        return self.spent > self.amount

    def as_json(self) -> dict[str, Any]:
        return {
            "amount": float(self.amount),
            "spent": float(self.spent),
            "left": float(max(self.amount - self.spent, Decimal(0))),
            "is_over": self.is_over,
            "ends_at": self.ends_at or None,
            "projected": None if self.projected is None else float(self.projected),
        }

    def sentences(self) -> Iterator[tuple[str, str]]:
        """Yield lines with their styles."""
        share = f" ({self.spent / self.amount:.0%})"
        spent = f"Budget {money(self.amount)}: {money(self.spent)} spent{share}"
        if self.is_over:
            yield f"{spent}, {money(self.spent - self.amount)} over budget", "bold red"
        else:
            yield f"{spent}, {money(self.amount - self.spent)} left", "bold"
        if self.projected is not None:
            until = local_time(self.ends_at)
            by = f"{until:%Y-%m-%d %H:%M}" if until else self.ends_at
            if self.projected > self.amount:
                yield f"At this pace: {money(self.projected)} by {by}, more than the budget", "bold"
            else:
                yield f"At this pace: {money(self.projected)} by {by}, within the budget", ""
        if self.unpriced:
            yield "Answers by models without a known price are not included.", "dim"


def budget(amount: float, spent: Decimal | None, chosen: "TimeRange", since: str, unpriced: int) -> Budget:
    """Compare what was spent in a range of time; `since` is the beginning of the range as typed."""
    spent = spent or Decimal(0)
    ends_at = chosen.until or _period_end(since)
    return Budget(
        Decimal(str(amount)), spent, chosen.since, ends_at, _projected(spent, chosen.since, ends_at), unpriced
    )


def _period_end(since: str) -> str:
    """Return when the day, week, month or year that was typed ends, if it is the current one."""
    unit = {"today": "day"}.get(word := since.strip().lower().removeprefix("this "), word)
    if unit not in _UNITS:
        return ""
    from dateutil.relativedelta import relativedelta

    from palaver.archive.filter_times import parse_time

    lengths: dict[str, Any] = {f"{unit}s": 1}
    start = datetime.fromisoformat(parse_time("today" if unit == "day" else unit)).astimezone()
    # Without a zone, so that a period with a change of the clocks ends at midnight as well.
    end = (start.replace(tzinfo=None) + relativedelta(**lengths)).astimezone(UTC)
    return f"{end:%Y-%m-%dT%H:%M:%S}.000Z"


def _projected(spent: Decimal, since: str, ends_at: str) -> Decimal | None:
    if not since or not ends_at:
        return None
    start, end = datetime.fromisoformat(since), datetime.fromisoformat(ends_at)
    elapsed = (datetime.now(UTC) - start) / (end - start) if end > start else 1
    if not _SHORTEST_ELAPSED <= elapsed < 1:
        return None
    return spent / Decimal(str(elapsed))
