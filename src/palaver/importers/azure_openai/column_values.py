"""Values of a row's columns: numbers and times, parsed; headers and other values, without secrets.

Logs write counts, durations and .NET ticks as numbers or as text.
"""

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from palaver.model.timestamps import normalize_timestamp, timestamp_or_empty
from palaver.redact.policy import harmless_headers, mask_headers, mask_url
from palaver.redact.text import is_secret_name, mask_text, mask_tokens

_TICKS_IN_1970 = 621_355_968_000_000_000
_TICKS_PER_MILLISECOND = 10_000
_MAX_NUMBER = 1 << 63
_MAX_TEXT_LENGTH = 40
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE).fullmatch
_MAX_DEPTH = 8

_cached_time = lru_cache(1 << 6)(timestamp_or_empty)
"""Cached because the rows of a call share a time, which is parsed several times."""


def parse_time(value: Any) -> str:
    """Return a time in the format of the schema; empty for null and for an unreadable time."""
    return (
        _cached_time(value) if isinstance(value, str) and len(value) < _MAX_TEXT_LENGTH else timestamp_or_empty(value)
    )


def parse_number(value: Any) -> float | None:
    """Return a finite number, also from its text; None for anything else."""
    if type(value) is int and -_MAX_NUMBER < value < _MAX_NUMBER:
        return value
    if value is None:
        return None
    match value:
        case int():  # a bool, or out of range
            return None
        case float():
            found = value
        case str() if len(value) < _MAX_TEXT_LENGTH:
            try:
                found = float(value)
            except ValueError:
                return None
        case _:
            return None
    if not math.isfinite(found) or abs(found) >= _MAX_NUMBER:
        return None
    return int(found) if found.is_integer() else found


def parse_int(value: Any) -> int | None:
    number = parse_number(value)
    return number if isinstance(number, int) else None


def parse_ticks(value: Any) -> str:
    """Return the time of .NET ticks, tenths of microseconds since the year 1; empty if unreadable or before 1970."""
    ticks = parse_int(value)
    if ticks is None or ticks < _TICKS_IN_1970:
        return ""
    try:
        # A float is always in seconds: an int would be read as another unit, depending on its size.
        return normalize_timestamp((ticks - _TICKS_IN_1970) // _TICKS_PER_MILLISECOND / 1000)
    except ValueError:
        return ""


def mask_column(name: str, value: Any, depth: int = 0) -> Any:
    """Return a column's value without possible secrets; None if nothing remains."""
    if "header" in name.lower():
        return harmless_headers(_parse_headers(value)) or None
    match value:
        case str():
            if is_secret_name(name):
                return None
            if "://" in value and _URL(value):
                return mask_url(value)
            # A column of any name may hold headers, as the text of an object.
            return mask_text(value) if value.startswith(("{", "[")) else mask_tokens(value)
        case dict() if depth < _MAX_DEPTH:
            masked = {key: mask_column(str(key), item, depth + 1) for key, item in value.items()}
            return {key: item for key, item in masked.items() if item is not None} or None
        case list() if depth < _MAX_DEPTH:
            if all(isinstance(item, list) and len(item) == 2 for item in value):
                return mask_headers(value) or None
            return [mask_column(name, item, depth + 1) for item in value] or None
        case dict() | list():
            return None
        case _:
            return value


def column_headers(value: Any) -> dict[str, str]:
    """Return the harmless headers of a column that holds an object, pairs or lines of headers."""
    return harmless_headers(_parse_headers(value))


def _parse_headers(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            lines = (line.partition(":") for line in value.splitlines())
            return {name.strip(): text.strip() for name, colon, text in lines if colon}
    match value:
        case dict():
            # A repeated header has a list of values.
            return {name: item[0] if isinstance(item, list) and item else item for name, item in value.items()}
        case list():
            pairs = [item for item in value if isinstance(item, list) and len(item) == 2]
            named = [(item.get("name"), item.get("value")) for item in value if isinstance(item, dict)]
            return {name: text for name, text in (*pairs, *named) if isinstance(name, str)}
        case _:
            return {}
