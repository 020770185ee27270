"""Times as people write them."""

from datetime import UTC, date, datetime, timedelta

import pytest

from palaver.archive.filter_times import parse_time
from palaver.errors import OptionError
from palaver.model.timestamps import normalize_timestamp


def local(*parts):
    return normalize_timestamp(datetime(*parts).astimezone())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026", (2026, 1, 1)),
        ("2026-02", (2026, 2, 1)),
        ("2026-2", (2026, 2, 1)),
        ("2026-01-31", (2026, 1, 31)),
        ("2026-01-31T12:00", (2026, 1, 31, 12)),
        ("2026-01-31 12:00", (2026, 1, 31, 12)),
    ],
)
def test_a_calendar_time_is_its_first_moment_here(text, expected):
    assert parse_time(text) == local(*expected)


def test_a_time_with_a_zone_keeps_it():
    assert parse_time("2026-01-31T12:00+02:00") == "2026-01-31T10:00:00.000Z"


def test_times_of_python_are_times_too():
    assert parse_time(datetime(2026, 1, 31, 12, tzinfo=UTC)) == "2026-01-31T12:00:00.000Z"
    assert parse_time(datetime(2026, 1, 31, 12)) == local(2026, 1, 31, 12)  # noqa: DTZ001 - the case in question
    assert parse_time(date(2026, 1, 31)) == local(2026, 1, 31)


def test_no_time_is_empty():
    assert parse_time(None) == parse_time("") == ""


def test_named_periods_begin_at_midnight():
    midnight = datetime.now().astimezone().replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    monday = midnight - timedelta(days=midnight.weekday())
    first = midnight.replace(day=1)
    before = (first - timedelta(days=1)).replace(day=1)
    expected = {
        "today": midnight,
        "Yesterday": midnight - timedelta(days=1),
        "week": monday,
        "this week": monday,
        "last  week": monday - timedelta(days=7),
        "month": first,
        "last month": before,
        "year": midnight.replace(month=1, day=1),
        "last year": midnight.replace(year=midnight.year - 1, month=1, day=1),
    }
    assert {text: parse_time(text) for text in expected} == {
        text: normalize_timestamp(when.astimezone()) for text, when in expected.items()
    }


@pytest.mark.parametrize(
    ("texts", "ago"),
    [
        (("90m", "90 min", "90 minutes ago"), timedelta(minutes=90)),
        (("12h", "12 hours"), timedelta(hours=12)),
        (("1d", "1 day ago", "24h"), timedelta(days=1)),
        (("2w", "2 weeks ago", "14d"), timedelta(days=14)),
    ],
)
def test_lengths_of_time_end_now(texts, ago):
    earliest = normalize_timestamp(datetime.now(UTC) - ago)
    parsed = [parse_time(text) for text in texts]
    latest = normalize_timestamp(datetime.now(UTC) - ago)
    assert all(earliest <= time <= latest for time in parsed)


def test_months_and_years_ago_keep_the_day():
    assert parse_time("12 months")[:10] == parse_time("1y")[:10]


@pytest.mark.parametrize(
    "text", ["soon", "day", "next week", "2026-13", "2026-02-30", "7 blinks", "999999y", "week last", "0", "20260"]
)
def test_anything_else_is_an_error_that_offers_what_works(text):
    with pytest.raises(OptionError, match=r"is not a date that palaver understands: try 2026-01-31, .*'last week'"):
        parse_time(text)
