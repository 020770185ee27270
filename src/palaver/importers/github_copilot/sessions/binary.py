"""Bytes in JSON, as VS Code wrote them over the years."""

from base64 import b64encode
from typing import Any


def base64_of(value: Any) -> str | None:
    """The bytes in base64; None where the value is none of their spellings."""
    if isinstance(value, dict) and "path" in value:  # the address of a file, as most are
        return None
    match value:
        case {"$base64": str(encoded)} if len(value) == 1:
            return encoded
        case {"type": "Buffer", "data": list(numbers)} if len(value) == 2:
            return _encoded(numbers)
        case list(numbers):
            return _encoded(numbers)
        case {"0": int()}:  # an array of bytes that was written as an object
            return _encoded([value.get(str(index)) for index in range(len(value))])
        case _:
            return None


def _encoded(numbers: list[Any]) -> str | None:
    if not numbers:
        return None
    try:
        return b64encode(bytes(numbers)).decode()
    except (TypeError, ValueError):
        return None
