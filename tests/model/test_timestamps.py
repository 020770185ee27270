import re
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.model.timestamps import TIMESTAMP_PATTERN, are_canonical, normalize_timestamp

NUMBERS = [
    (0, "1970-01-01T00:00:00.000Z"),
    (1700000000, "2023-11-14T22:13:20.000Z"),
    (9_999_999_999, "2286-11-20T17:46:39.000Z"),
    (10_000_000_000, "1970-04-26T17:46:40.000Z"),
    (1700000000123, "2023-11-14T22:13:20.123Z"),
    (99_999_999_999_999, "5138-11-16T09:46:39.999Z"),
    (10**14, "1973-03-03T09:46:40.000Z"),
    (1700000000123456, "2023-11-14T22:13:20.123Z"),
    (10**17, "1973-03-03T09:46:40.000Z"),
    (1700000000123456789, "2023-11-14T22:13:20.123Z"),
    (-1, "1969-12-31T23:59:59.000Z"),
    (-0.0005, "1969-12-31T23:59:59.999Z"),
    (1700000000.123, "2023-11-14T22:13:20.123Z"),
    (1700000000.1239998, "2023-11-14T22:13:20.123Z"),
    (1700000000.9996, "2023-11-14T22:13:20.999Z"),
    (1700000000123.9, "2023-11-14T22:13:20.123Z"),
    (1.7e15, "2023-11-14T22:13:20.000Z"),
    (Decimal("1700000000.1239"), "2023-11-14T22:13:20.123Z"),
    (Decimal("1700000000.12399999999999999999999999999999"), "2023-11-14T22:13:20.123Z"),
    (Fraction(3, 2), "1970-01-01T00:00:01.500Z"),
    ("1700000000", "2023-11-14T22:13:20.000Z"),
    (" 1700000000.1239 ", "2023-11-14T22:13:20.123Z"),
    ("1700000000123", "2023-11-14T22:13:20.123Z"),
    ("1.7e12", "2023-11-14T22:13:20.000Z"),
    ("-100000000", "1966-10-31T14:13:20.000Z"),
]

DATETIMES = [
    (datetime(2025, 1, 2, 3, 4, 5, 999_999), "2025-01-02T03:04:05.999Z"),  # noqa: DTZ001  (naive is the case)
    (datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC), "2025-01-02T03:04:05.000Z"),
    (datetime(2025, 1, 2, 3, tzinfo=timezone(timedelta(hours=5, minutes=30))), "2025-01-01T21:30:00.000Z"),
    (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z"),
    (date(2025, 1, 2), "2025-01-02T00:00:00.000Z"),
]

TEXTS = [
    ("2025-01-02T03:04:05.678Z", "2025-01-02T03:04:05.678Z"),
    ("2024-02-29T00:00:00.000Z", "2024-02-29T00:00:00.000Z"),
    ("2025-01-02T03:04:05Z", "2025-01-02T03:04:05.000Z"),
    ("2025-01-02T03:04:05", "2025-01-02T03:04:05.000Z"),
    ("2025-01-02 03:04:05.6", "2025-01-02T03:04:05.600Z"),
    ("2025-01-02T03:04:05.123456789Z", "2025-01-02T03:04:05.123Z"),
    ("2025-01-02T03:04:05.999999+00:00", "2025-01-02T03:04:05.999Z"),
    ("2025-01-02T03:04:05,5Z", "2025-01-02T03:04:05.500Z"),
    ("2025-01-02T03:04", "2025-01-02T03:04:00.000Z"),
    ("2025-01-02", "2025-01-02T00:00:00.000Z"),
    ("2024-02-29", "2024-02-29T00:00:00.000Z"),
    ("2025-01-02T03:04:05.123+02:30", "2025-01-02T00:34:05.123Z"),
    ("2025-01-02T03:04:05-0800", "2025-01-02T11:04:05.000Z"),
    ("2025-01-02T03:04:05+05", "2025-01-01T22:04:05.000Z"),
    ("2025-01-02 03:04:05 UTC", "2025-01-02T03:04:05.000Z"),
    ("2025-01-02 03:04:05 GMT+01:00", "2025-01-02T02:04:05.000Z"),
    ("20250102T030405Z", "2025-01-02T03:04:05.000Z"),
    ("2025/1/2 3:04 am", "2025-01-02T03:04:00.000Z"),
    ("1/2/2025, 3:04:05.678 PM", "2025-01-02T15:04:05.678Z"),
    ("1/2/2025, 12:00:00 AM", "2025-01-02T00:00:00.000Z"),
    ("1/2/2025, 12:00:00 PM", "2025-01-02T12:00:00.000Z"),
    ("Tue, 05 Mar 2024 10:00:00 +0100", "2024-03-05T09:00:00.000Z"),
    ("Tue, 05 Mar 2024 10:00:00 -0800 (PST)", "2024-03-05T18:00:00.000Z"),
    ("Tue, 05 Mar 2024 10:00:00 EST", "2024-03-05T15:00:00.000Z"),
    ("Tue, 05 Mar 2024 10:00:00 GMT", "2024-03-05T10:00:00.000Z"),
    ("Tue Mar 05 2024 10:00:00 GMT+0100 (Central European Standard Time)", "2024-03-05T09:00:00.000Z"),
    ("Tue Mar  5 10:00:00 2024", "2024-03-05T10:00:00.000Z"),
    ("March 5, 2024 at 3:04 PM", "2024-03-05T15:04:00.000Z"),
    ("05-Mar-2024", "2024-03-05T00:00:00.000Z"),
]

REFUSED = [
    *(True, False, None, [], {}, b"2025-01-02", 1j),
    *(float("nan"), float("inf"), float("-inf"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")),
    *(10**21, 1e21, -(10**12), 10**5000, "1e300", "9" * 90, "9" * 5000),
    *("", "   ", "garbage", "Monday", "10", "2025", "20250102", "1e-300", "nan", "inf", "10:30", "2025-01", "T10:00Z"),
    *("2025-13-01T00:00:00.000Z", "2025-04-31T00:00:00.000Z", "2023-02-29T00:00:00.000Z", "0000-01-01T00:00:00.000Z"),
    *("2025-01-02T24:00:00.000Z", "2025-01-02T10:60:00.000Z", "2025-01-02T10:00:60.000Z", "2025-13-01", "2025-01-32"),
    *("2025-01-02T10:00:00+24:00", "2025-01-02T10:00:00+01:60", "2025-01-02T10:00:00 EST", "2025-01-02T10Z"),
    *(
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    ),
    *("13/2/2025", "5.12.2024", "5-12-2024", "1/2/25", "2025/1/2 13:04 pm", "2025/1/2 0:04 am"),
    *("5 Mar", "March 2024", "5 Mar 24", "Monday March 2024", "Mar 5 10:00", "30 Feb 2024", "5 Mar 2024 or so"),
    *("5 Mar 2024 10:00 XYZ", "5 Mar 2024 10:00 BRST+3", "5 Mar 2024 10:00 EST+3", "5 Mar 2024 25:00"),
    *("\uff12025-01-02", "2025-01-02T03:04:05.678Z tomorrow", "2025-01-02\x00", "\ud800"),
]


@pytest.mark.parametrize(("value", "expected"), [*NUMBERS, *DATETIMES, *TEXTS], ids=repr)
def test_a_time_of_any_spelling_becomes_canonical(value, expected):
    assert normalize_timestamp(value) == expected


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: ascii(value)[:40] if type(value) is not int else "int")
def test_what_is_no_time_is_refused_with_a_sentence(value):
    with pytest.raises(ValueError, match=r"is not a timestamp"):
        normalize_timestamp(value)


def test_a_canonical_text_is_returned_as_it_is():
    text = "2025-01-02T03:04:05.678Z"
    assert normalize_timestamp(text) is text


@settings(deadline=None)
@given(st.datetimes(timezones=st.timezones() | st.none()))
def test_law_a_datetime_and_its_iso_spelling_are_one_time(moment):
    try:
        expected = normalize_timestamp(moment)
    except ValueError:
        return
    assert re.fullmatch(TIMESTAMP_PATTERN, expected)
    offset = moment.utcoffset()
    if not offset or offset % timedelta(minutes=1) == timedelta():
        assert normalize_timestamp(moment.isoformat()) == expected


@given(st.integers(-62_135_596_800_000, 9_999_999_999_999))
def test_law_milliseconds_survive(milliseconds):
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    assert normalize_timestamp(Decimal(milliseconds) / 1000) == normalize_timestamp(moment)


@given(st.floats(0, 9_999_999_999, exclude_max=True) | st.integers(0, 9_999_999_999_999).map(lambda ms: ms / 1000))
def test_law_a_float_reads_as_its_decimal_spelling(seconds):
    assert normalize_timestamp(seconds) == normalize_timestamp(Decimal(repr(seconds)))


@settings(deadline=None)
@given(st.text() | st.text("0123456789-/:. TZJanMrchPM+,()", max_size=40) | st.floats() | st.integers() | st.decimals())
def test_law_anything_is_a_time_or_a_value_error(value):
    try:
        normalized = normalize_timestamp(value)
    except ValueError as error:
        assert "is not a timestamp" in str(error)  # noqa: PT017  (either outcome is right)
    else:
        assert normalize_timestamp(normalized) == normalized


def test_dateutil_is_imported_only_when_needed():
    script = (
        "import sys; from palaver.model.timestamps import normalize_timestamp as normalize;"
        "normalize('2025-01-02T03:04:05+02:00'); assert 'dateutil' not in sys.modules;"
        "normalize('Tue, 05 Mar 2024 10:00:00 +0100'); assert 'dateutil' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


ALMOST = st.from_regex(
    r"[0-9]{4}-[0-9W]{2}-[0-9]{1,2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}[.,][0-9]{2,4}[Zz]?", fullmatch=True
)


@given(
    st.lists(ALMOST | st.datetimes().map(lambda time: time.isoformat(timespec="milliseconds") + "Z") | st.integers())
)
def test_many_times_are_canonical_when_each_of_them_is(values):
    def is_its_own_spelling(value):
        try:
            return normalize_timestamp(value) == value
        except ValueError:
            return False

    assert are_canonical(values) == all(map(is_its_own_spelling, values))
