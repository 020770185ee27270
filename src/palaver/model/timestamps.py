"""Timestamps: any spelling, normalised to the schema's: UTC, `YYYY-MM-DDTHH:MM:SS.mmmZ`.

A time without an offset is UTC, a date without a time is its midnight, and 1/2/2025 is the second of January. Anything
finer than a millisecond is cut off, not rounded. Nothing is filled in from today's date: a text that does not name its
day in full is refused.
"""

import re
from collections import deque
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from numbers import Rational
from typing import Any

TIMESTAMP_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$"

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (everything here is UTC, and naive arithmetic is faster)

# Every day that exists, except 29 February, which takes the slow path.
_DAY = (
    r"(?!0000)[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
is_canonical = re.compile(rf"{_DAY}T{_TIME}\.[0-9]{{3}}Z").fullmatch


def are_canonical(values: list[Any]) -> bool:
    """Return whether all values are canonical timestamps; several times faster than checking each."""
    try:
        joined = "".join(values)
        if set(map(len, values)) - {_LENGTH} or "T24" in joined:
            return False
        for position, separator in _SEPARATORS:
            if joined[position::_LENGTH] != separator * len(values):
                return False
        deque(map(datetime.fromisoformat, values), 0)
    except (TypeError, ValueError):
        return False
    return True


_SEPARATORS = ((4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"), (19, "."), (23, "Z"))
_LENGTH = 24
_is_utc = re.compile(rf"({_DAY})[T ]({_TIME})(?:\.([0-9]*))?(?:Z|[+-]00:?00)?").fullmatch

_is_number = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?").fullmatch


def _pattern(day: str, colon: str) -> re.Pattern[str]:
    return re.compile(
        day + rf"(?:(?:T|,?\s+)(?P<hour>[0-9]{{1,2}}){colon}(?P<minute>[0-9]{{2}})"
        rf"(?:{colon}(?P<second>[0-9]{{2}})(?:[.,](?P<fraction>[0-9]*))?)?"
        r"(?:\s*(?P<half>[AP])M)?"
        r"(?:\s*(?:Z|UTC|GMT|(?:UTC|GMT)?(?P<sign>[+-])(?P<hours>[0-9]{2})(?::?(?P<minutes>[0-5][0-9]))?))?)?",
        re.IGNORECASE,
    )


_SPELLINGS = (
    _pattern(r"(?P<year>[0-9]{4})(?P<dash>[-/.])(?P<month>[0-9]{1,2})(?P=dash)(?P<day>[0-9]{1,2})", ":"),
    _pattern(r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})", ""),
    _pattern(r"(?P<month>[0-9]{1,2})/(?P<day>[0-9]{1,2})/(?P<year>[0-9]{4})", ":"),
)

_names_month = re.compile(r"(?<![a-z])(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE).search
_UTC_PREFIX = re.compile(r"\b(?:UTC|GMT)(?=[+-][0-9])")
_COMMENT = re.compile(r"\s*\([^()]*\)$")

# The names of RFC 2822; other names mean different offsets in different countries.
_ZONE_HOURS = dict.fromkeys(("Z", "UT", "UTC", "GMT"), 0) | {
    "EDT": -4, "EST": -5, "CDT": -5, "CST": -6, "MDT": -6, "MST": -7, "PDT": -7, "PST": -8
}  # fmt: skip


def normalize_timestamp(value: object) -> str:
    """Return the canonical timestamp of a value; raise ValueError with a sentence if it is not a time.

    Numbers below 10,000,000,000 are seconds since 1970, larger ones milliseconds, from 1e14 microseconds and from 1e17
    nanoseconds.
    """
    if isinstance(value, float):
        return from_seconds(value)
    if isinstance(value, str):
        return value if is_canonical(value) else _from_text(value)
    if isinstance(value, bool):
        raise ValueError(f"{value} is not a timestamp")  # noqa: TRY004  (one exception type for every value that is not a time)
    if isinstance(value, int):
        return _from_ratio(value, 1)
    if isinstance(value, Decimal):
        return _from_decimal(value)
    if isinstance(value, Rational):
        return _from_ratio(int(value.numerator), int(value.denominator))
    if isinstance(value, datetime):
        return _from_datetime(value)
    if isinstance(value, date):
        return _from_datetime(datetime(value.year, value.month, value.day, tzinfo=UTC))
    raise ValueError(f"a value of type {type(value).__name__} is not a timestamp")


def timestamp_or_empty(value: object) -> str:
    """Return the canonical timestamp of a value, or "" for null and for values that are not a time."""
    if value is None:
        return ""
    try:
        return normalize_timestamp(value)
    except ValueError:
        return ""


def milliseconds_of(timestamp: str) -> int:
    """Return the milliseconds since 1970 of a canonical timestamp."""
    return round(datetime.fromisoformat(timestamp).timestamp() * 1000)


def _from_text(text: str) -> str:
    if utc := _is_utc(text):
        day, time, fraction = utc.groups("")
        return f"{day}T{time}.{fraction[:3]:0<3}Z"
    text = text.strip()
    if not text:
        raise ValueError("an empty text is not a timestamp")
    if len(text) > 100 or not text.isascii():
        raise ValueError(f"{text[:40]!r} is not a timestamp")
    if _is_number(text):
        number = Decimal(text)
        if abs(number) < 100_000_000:
            raise ValueError(f"{text!r} is not a timestamp: a number in a text needs nine digits or more to be a time")
        return _from_decimal(number)
    for spelling in _SPELLINGS:
        if found := spelling.fullmatch(text):
            return _from_parts(found)
    return _from_words(text)


def from_seconds(number: float) -> str:
    """Read a float by its shortest decimal spelling: 1700000000.123 has 123 milliseconds, though it is a hair less."""
    if not 0 <= number < 10_000_000_000:
        return _from_decimal(Decimal(repr(float(number))))
    milliseconds = round(number * 1000)
    if milliseconds / 1000 > number:
        milliseconds -= 1
    return from_milliseconds(milliseconds)


def _from_decimal(number: Decimal) -> str:
    if not number.is_finite():
        raise ValueError(f"{number} is not a timestamp")
    return _from_ratio(*number.as_integer_ratio())


MILLISECONDS = range(10_000_000_000, 10**14)
"""Numbers that can be neither seconds nor microseconds."""


def _from_ratio(whole: int, parts: int) -> str:
    if whole < MILLISECONDS.start * parts:
        per_second = 1
    elif whole < MILLISECONDS.stop * parts:
        per_second = 1000
    else:
        per_second = 1_000_000 if whole < 10**17 * parts else 1_000_000_000
    return from_milliseconds(whole * 1000 // (parts * per_second))


def from_milliseconds(milliseconds: int) -> str:
    """Return the canonical timestamp of milliseconds since 1970; raise ValueError outside the years 1 to 9999."""
    day, milliseconds = divmod(milliseconds, 86_400_000)
    seconds, milliseconds = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    return (_DAYS.get(day) or _day_prefix(day)) + _MINUTES[minutes] + _SECONDS[seconds] + _MILLISECONDS[milliseconds]


def _day_prefix(day: int) -> str:
    try:
        moment = _EPOCH + timedelta(day)
    except OverflowError as error:
        raise ValueError("the number is not a timestamp: it lies outside the years 1 to 9999") from error
    if len(_DAYS) >= _MAX_CACHED_DAYS:
        _DAYS.clear()
    prefix = _DAYS[day] = moment.isoformat()[:11]
    return prefix


_DAYS: dict[int, str] = {}
"""Cached prefixes by day: a conversation has few distinct days, an archive some thousands."""
_MAX_CACHED_DAYS = 1 << 14
_MINUTES = [f"{hour:02}:{minute:02}:" for hour in range(24) for minute in range(60)]
_SECONDS = [f"{second:02}." for second in range(60)]
_MILLISECONDS = [f"{millisecond:03}Z" for millisecond in range(1000)]


def _from_parts(found: re.Match[str]) -> str:
    part = found.groupdict()
    hour = int(part["hour"] or 0)
    if part["half"]:
        if not 1 <= hour <= 12:
            raise ValueError(f"{found[0]!r} is not a timestamp: no hour {hour} on a twelve-hour clock")
        hour = hour % 12 + (12 if part["half"] in "Pp" else 0)
    offset = timedelta(hours=int(part["hours"] or 0), minutes=int(part["minutes"] or 0))
    try:
        moment = datetime(
            int(part["year"]),
            int(part["month"]),
            int(part["day"]),
            hour,
            int(part["minute"] or 0),
            int(part["second"] or 0),
            int((part["fraction"] or "")[:3].ljust(3, "0")) * 1000,
            tzinfo=timezone(-offset if part["sign"] == "-" else offset),
        )
    except ValueError as error:
        raise ValueError(f"{found[0]!r} is not a timestamp: {error}") from error
    return _from_datetime(moment)


def _from_words(text: str) -> str:
    """Parse spellings with the name of a month, such as RFC 2822, with dateutil.

    It fills in missing parts from a default, so an incomplete text gives different results for two defaults. They are
    more than a week apart in every part, because a lone weekday means the next one. It also reads GMT+1 as one hour
    behind, hence the removal of the prefix.
    """
    from dateutil.parser import parse

    text = _UTC_PREFIX.sub("", _COMMENT.sub("", text))
    if not _names_month(text):
        raise ValueError(f"{text!r} is not a timestamp")
    try:
        moment, other = (parse(text, default=default, tzinfos=_zone) for default in _DEFAULTS)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{text!r} is not a timestamp: {error}") from error
    if moment != other or not re.search(rf"(?<![0-9:+]){moment.year:04}(?![0-9:])", text):
        raise ValueError(f"{text!r} is not a timestamp: it does not name its day, month and four-digit year")
    return _from_datetime(moment)


_DEFAULTS = (datetime(2000, 1, 1), datetime(2004, 2, 20))  # noqa: DTZ001  (a zone here would hide the text's own)


def _zone(name: str | None, offset_seconds: int | None) -> timezone | None:
    if name is None:
        return None if offset_seconds is None else timezone(timedelta(seconds=offset_seconds))
    hours = _ZONE_HOURS.get(name.upper())
    if hours is None or offset_seconds not in {None, hours * 3600}:
        raise ValueError(f"the time zone {name} is not known")
    return timezone(timedelta(hours=hours))


def _from_datetime(moment: datetime) -> str:
    try:
        if moment.utcoffset():
            moment = moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("the time is not a timestamp: it lies outside the years 1 to 9999") from error
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
