"""How far a ZIP may inflate: limits that are checked while it does, whatever sizes it declares."""

import os
from dataclasses import dataclass

from palaver.errors import OptionError

MAX_BYTES_VARIABLE = "PALAVER_ZIP_MAX_BYTES"
MAX_RATIO_VARIABLE = "PALAVER_ZIP_MAX_RATIO"
ARCHIVE_MEMBERS = 4
"""All members of an archive together may be as large as so many of the largest."""
RATIO_FLOOR_BYTES = 1 << 28
"""Up to here any ratio is honest: a log of one repeated line comes near deflate's 1032:1."""


@dataclass(frozen=True, slots=True)
class Limits:
    max_bytes: int = 64 << 30
    max_ratio: int = 200

    @classmethod
    def of_environment(cls) -> "Limits":
        """Environment variables reach the worker processes as well."""
        return cls(_positive(MAX_BYTES_VARIABLE, cls().max_bytes), _positive(MAX_RATIO_VARIABLE, cls().max_ratio))


def _positive(variable: str, default: int) -> int:
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text)):
        raise OptionError(f"{variable} is {text[:40]!r}: give a whole number above 0, or unset it")
    return int(text)


class Allowance:
    """What one opened archive inflated to so far; a member that is read again counts once."""

    def __init__(self, limits: Limits, archive_bytes: int) -> None:
        self.limits = limits
        self._archive_bytes = archive_bytes
        self._total = 0
        self._furthest: dict[str, int] = {}

    def refusal(self, name: str, inflated: int, packed: int) -> str:
        """Why a member must not be inflated any further, if so."""
        known = self._furthest.get(name, 0)
        if inflated > known:
            self._furthest[name] = inflated
            self._total += inflated - known
        limits = self.limits
        if inflated > limits.max_bytes:
            return f"is larger than {limits.max_bytes} bytes; {_trusted(MAX_BYTES_VARIABLE)}"
        if self._total > limits.max_bytes * ARCHIVE_MEMBERS:
            most = limits.max_bytes * ARCHIVE_MEMBERS
            return f"brings its archive past {most} bytes; {_trusted(MAX_BYTES_VARIABLE)}"
        if _is_past(limits.max_ratio, inflated, packed):
            return f"inflates to more than {limits.max_ratio} times its size; {_trusted(MAX_RATIO_VARIABLE)}"
        if _is_past(limits.max_ratio, self._total, self._archive_bytes):
            ratio = limits.max_ratio
            return f"brings its archive past {ratio} times the archive's size; {_trusted(MAX_RATIO_VARIABLE)}"
        return ""


def _is_past(ratio: int, inflated: int, packed: int) -> bool:
    return inflated > RATIO_FLOOR_BYTES and inflated > ratio * packed


def _trusted(variable: str) -> str:
    return f"if you trust it, raise {variable}"
