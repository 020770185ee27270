"""Times as people write them: 2026-01-31, 2026-02, 2026, 7d, "2 weeks ago", yesterday, "last month"."""

from typing import TYPE_CHECKING, Any

from palaver.errors import OptionError

if TYPE_CHECKING:
    from datetime import date, datetime

ACCEPTED = "2026-01-31, 2026-01-31T12:00, 2026-02, 2026, 7d, 12h, 2w, today, yesterday, week, month, 'last week'"
_UNITS = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks", "mo": "months", "y": "years"}


def parse_time(value: "str | date | datetime | None") -> str:
    """Return a time in the schema's format, or "" if none is given.

    Times without a zone are in this machine's time zone. A year, a month, a week or a day is its first moment; weeks
    begin on Monday. `7d` and `7 days ago` are a length of time before now.
    """
    if not value:
        return ""
    from datetime import UTC, datetime

    from palaver.model.timestamps import normalize_timestamp

    try:
        match value:
            case str():
                now = datetime.now(UTC).astimezone()
                words = " ".join(value.lower().split())
                when = _named_period(words, now) or _time_before(words, now) or _calendar_time(value.strip())
            case datetime():
                when = value
            case _:
                when = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - the machine's zone is added later
        return normalize_timestamp(when if when.tzinfo else when.astimezone())
    except (ValueError, OverflowError) as error:
        raise OptionError(f"{value!r} is not a date that palaver understands: try {ACCEPTED}") from error


def _named_period(words: str, now: "datetime") -> "datetime | None":
    """Return the first moment of `today`, `yesterday`, or this or the last day, week, month or year."""
    from datetime import timedelta

    if words == "now":
        return now
    # Without a zone, so that the days around a change of the clocks begin at midnight as well.
    midnight = now.replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    starts = {
        "day": midnight,
        "week": midnight - timedelta(days=midnight.weekday()),
        "month": midnight.replace(day=1),
        "year": midnight.replace(month=1, day=1),
    }
    named = {"today": "this day", "yesterday": "last day"}.get(words, words)
    which, _, unit = named.rpartition(" ")
    if unit not in starts or which not in {"", "this", "last"} or named == "day":
        return None
    return _earlier(starts[unit], f"{unit}s", int(which == "last"))


def _time_before(words: str, now: "datetime") -> "datetime | None":
    """Return the time of `7d`, `7 days` or `7 days ago`."""
    import re

    found = re.fullmatch(r"(\d{1,6}) ?([a-z]+)(?: ago)?", words)
    if not found:
        return None
    unit = _UNITS.get(found[2]) or found[2].removesuffix("s") + "s"
    return _earlier(now, unit, int(found[1])) if unit in _UNITS.values() else None


def _earlier(when: "datetime", unit: str, count: int) -> "datetime":
    from dateutil.relativedelta import relativedelta

    lengths: dict[str, Any] = {unit: count}
    return when - relativedelta(**lengths)


def _calendar_time(text: str) -> "datetime":
    import re
    from datetime import datetime

    if re.fullmatch(r"\d{4}", text):
        return datetime(int(text), 1, 1)  # noqa: DTZ001 - the machine's zone is added later
    if month := re.fullmatch(r"(\d{4})-(\d{1,2})", text):
        return datetime(int(month[1]), int(month[2]), 1)  # noqa: DTZ001 - the machine's zone is added later
    return datetime.fromisoformat(text)
