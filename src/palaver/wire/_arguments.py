"""Arguments of calls that are JSON within a text."""

from typing import Any

import msgspec

from palaver.model.build import JsonObject


def parse_object(text: Any) -> JsonObject | None:
    """Return the object that a text encodes, with integers of any size; None for anything else."""
    if not isinstance(text, str | bytes):
        return None
    try:
        parsed = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None
