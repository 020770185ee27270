"""Times of spans: nanoseconds since 1970, often as text, or `[seconds, nanoseconds]`."""

from typing import Any

from palaver.model.timestamps import readable_timestamp

_BILLION = 1_000_000_000


def moment(value: Any) -> str:
    """A time in the schema's spelling; empty where it is none."""
    nanoseconds = _nanoseconds(value)
    if nanoseconds is not None:
        return readable_timestamp(nanoseconds // 1_000_000) if nanoseconds >= 10**17 else ""
    return readable_timestamp(value) if isinstance(value, str | int | float) else ""


def milliseconds_between(start: Any, end: Any) -> float | None:
    """How long something took; None where that is not known."""
    begun, done = _nanoseconds(start), _nanoseconds(end)
    if begun is None or done is None or done < begun:
        return None
    took = (done - begun) / 1_000_000
    return int(took) if took == int(took) else took


def _nanoseconds(value: Any) -> int | None:
    match value:
        case [int(seconds), int(nanoseconds)] if 0 <= seconds < 10**11 and 0 <= nanoseconds < _BILLION:
            return seconds * _BILLION + nanoseconds
        case str() if value.isascii() and value.isdigit() and 17 < len(value) < 21:
            return int(value)
        case int() if 10**17 <= value < 10**21 and not isinstance(value, bool):
            return value
        case _:
            return None
