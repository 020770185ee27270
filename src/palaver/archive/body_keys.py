"""Keys of bodies: a second above a number, so that the index yields bodies in the order of their first messages."""

from datetime import date
from functools import lru_cache

BODY_BITS = 31
"""How many of the lowest bits number the bodies of one second."""
_MAX_SECOND = (1 << 32) - 1


def epoch_second(timestamp: str) -> int:
    """Return the seconds since 1970, limited to what a search key can hold."""
    return min(_epoch_minute(timestamp[:16]) + int(timestamp[17:19]), _MAX_SECOND)


@lru_cache(1 << 12)
def _epoch_minute(minute: str) -> int:
    return _epoch_day(minute[:10]) + 3600 * int(minute[11:13]) + 60 * int(minute[14:])


@lru_cache(1 << 12)
def _epoch_day(day: str) -> int:
    try:
        return max(0, 86_400 * (date.fromisoformat(day).toordinal() - _EPOCH))
    except ValueError:  # the schema accepts dates that do not exist
        return 0


_EPOCH = date(1970, 1, 1).toordinal()
