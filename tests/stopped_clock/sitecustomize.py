"""Stop the clock of a Python process at its start, for screens that are compared with stored ones."""

import datetime as dt
import time
from itertools import count

NOW = "2026-07-17T12:00:00+00:00"
"""A day after the newest fixture, so that screens have times like `1 day ago` and statistics of the last days."""


def stop_the_clock() -> None:
    """Make it always the same moment; what is measured takes a quarter of a second each time."""
    moment = dt.datetime.fromisoformat(NOW)

    class Stopped(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> "Stopped":
            return cls.fromtimestamp(moment.timestamp(), tz)

    class StoppedDate(dt.date):
        @classmethod
        def today(cls) -> dt.date:
            return moment.date()

    ticks = count()
    dt.datetime = Stopped  # type: ignore[misc]
    dt.date = StoppedDate  # type: ignore[misc]
    time.time = moment.timestamp
    time.time_ns = lambda: int(moment.timestamp()) * 10**9
    time.perf_counter = lambda: next(ticks) / 4


stop_the_clock()
