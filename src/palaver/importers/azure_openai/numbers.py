"""Numbers of rows: counts, durations and .NET's ticks, which a log has as numbers or as their texts."""

import math
from typing import Any

from palaver.model.timestamps import normalize_timestamp

_TICKS_IN_1970 = 621_355_968_000_000_000
_TICKS_A_MILLISECOND = 10_000


def number_of(value: Any) -> float | None:
    """A number, or the text of one; None for what is neither."""
    match value:
        case bool():
            return None
        case int():
            return value if abs(value) < 1 << 63 else None
        case float():
            found = value
        case str() if len(value) < 40:
            try:
                found = float(value)
            except ValueError:
                return None
        case _:
            return None
    if not math.isfinite(found) or abs(found) >= 1 << 63:
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
