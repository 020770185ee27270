"""Numbers of rows: counts, durations and .NET's ticks, which a log has as numbers or as their texts."""

import math
from functools import lru_cache
from typing import Any

from palaver.model.timestamps import normalize_timestamp, readable_timestamp

_TICKS_IN_1970 = 621_355_968_000_000_000
_TICKS_A_MILLISECOND = 10_000
_MOST = 1 << 63
_LONGEST = 40


_remembered = lru_cache(1 << 6)(readable_timestamp)
"""The rows of a call have one time, which several questions are about."""


def time_of(value: Any) -> str:
    """A time in the schema's spelling; empty for null, and for what cannot be read."""
    return _remembered(value) if isinstance(value, str) and len(value) < _LONGEST else readable_timestamp(value)


def number_of(value: Any) -> float | None:
    """A number, or the text of one; None for what is neither."""
    if type(value) is int and -_MOST < value < _MOST:
        return value
    if value is None:
        return None
    match value:
        case bool():
            return None
        case int():
            return None
        case float():
            found = value
        case str() if len(value) < _LONGEST:
            try:
                found = float(value)
            except ValueError:
                return None
        case _:
            return None
    if not math.isfinite(found) or abs(found) >= _MOST:
        return None
    return int(found) if found.is_integer() else found


def whole_number(value: Any) -> int | None:
    number = number_of(value)
    return number if isinstance(number, int) else None


def time_of_ticks(value: Any) -> str:
    """A time that is counted in tenths of microseconds since the year 1; empty where it cannot be one."""
    ticks = whole_number(value)
    if ticks is None or ticks < _TICKS_IN_1970:
        return ""
    try:
        # As a float, so that no size of it is taken for another unit.
        return normalize_timestamp((ticks - _TICKS_IN_1970) // _TICKS_A_MILLISECOND / 1000)
    except ValueError:
        return ""
