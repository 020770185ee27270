"""Bills: what was used of which product, in which unit, and what it cost."""

from collections.abc import Callable

from palaver.importers.github_copilot.metrics.figures import names_of
from palaver.importers.github_copilot.metrics.record import (
    PLATFORM,
    day_of,
    inferred,
    period_of,
    subject_of,
    told,
    usage_id,
)
from palaver.importers.github_copilot.metrics.shapes import is_copilots
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.sources.run import Run

_LARGEST = 1 << 63


class Bills:
    """Makes a record of every item."""

    def __init__(self, run: Run, time: str, report: JsonObject) -> None:
        self._run = run
        self._time = time
        self._report = report
        self._period = period_of(report.get("timePeriod"))
        self._keys: dict[str, int] = {}

    def take(self, item: JsonObject, where: Callable[[], str]) -> None:
        if not is_copilots(item):
            self._run.skipped("other-product")
            return
        stated = item.get("date")
        period = (day_of(stated) if isinstance(stated, str) else None) or self._period
        period = period or inferred(self._time, self._run, where())
        scope = f"{names_of(self._report)}-{names_of(item)}"
        key = f"bill-{'' if period.is_inferred else period.started_at}-{period.ended_at}-{scope}"
        count = self._keys[key] = self._keys.get(key, 0) + 1
        counts, cost, rest = _split(item)
        model = rest.pop("model") if isinstance(item.get("model"), str) else None
        self._run.used(
            build.usage(
                usage_id=usage_id(key if count == 1 else f"{key}#{count}"),
                platform={"name": PLATFORM},
                kind="period",
                started_at=period.started_at,
                ended_at=period.ended_at,
                subject=subject_of(item, self._report),
                model=model,
                counts=counts or None,
                cost=cost,
                metadata=told({**rest, "report": self._report} if self._report else rest, period),
            )
        )
        self._run.mapped()


def _split(item: JsonObject) -> tuple[JsonObject, JsonObject | None, JsonObject]:
    """Quantities by their unit, the money, and the rest."""
    unit = item.get("unitType")
    prefix = f"{unit}." if isinstance(unit, str) else ""
    counts: JsonObject = {}
    rest: JsonObject = {}
    cost: JsonObject | None = None
    for name, value in item.items():
        if type(value) not in {int, float} or not 0 <= value < _LARGEST:
            rest[name] = value
        elif name.lower().endswith("quantity"):
            counts[prefix + name] = value
        elif name == "netAmount":
            cost = {"amount": value, "currency": "USD"}
        else:
            rest[name] = value
    return counts, cost, rest
