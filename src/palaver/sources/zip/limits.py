"""Limits on how far a ZIP may inflate, checked while it does, whatever sizes it declares."""

import os
from dataclasses import dataclass

from palaver.errors import OptionError

MAX_BYTES_VARIABLE = "PALAVER_ZIP_MAX_BYTES"
MAX_RATIO_VARIABLE = "PALAVER_ZIP_MAX_RATIO"
ARCHIVE_MEMBERS = 4
"""All members of an archive together may be this many times as large as the largest allowed member."""
RATIO_FLOOR_BYTES = 1 << 28
"""Up to this size any ratio is allowed: a log of one repeated line comes near deflate's maximum of 1032:1."""


@dataclass(frozen=True, slots=True)
class Limits:
    max_bytes: int = 64 << 30
    max_ratio: int = 200

    @classmethod
    def from_environment(cls) -> "Limits":
        """Read the limits from environment variables, which reach worker processes as well."""
        return cls(
            _positive_integer(MAX_BYTES_VARIABLE, cls().max_bytes),
            _positive_integer(MAX_RATIO_VARIABLE, cls().max_ratio),
        )


def _positive_integer(variable: str, default: int) -> int:
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text)):
        raise OptionError(f"{variable} is {text[:40]!r}: give a whole number above 0, or unset it")
    return int(text)


class Allowance:
    """What is left of the limits of one open archive; a member that is read again counts once."""

    def __init__(self, limits: Limits, archive_bytes: int) -> None:
        self.limits = limits
        self._archive_bytes = archive_bytes
        self._total = 0
        self._furthest: dict[str, int] = {}

    def refusal(self, name: str, inflated: int, packed: int) -> str:
        """Return why a member must not be inflated any further; empty if it may be."""
        known = self._furthest.get(name, 0)
        if inflated > known:
            self._furthest[name] = inflated
            self._total += inflated - known
        limits = self.limits
        if inflated > limits.max_bytes:
            return f"is larger than {limits.max_bytes} bytes; {_how_to_raise(MAX_BYTES_VARIABLE)}"
        if self._total > limits.max_bytes * ARCHIVE_MEMBERS:
            max_total = limits.max_bytes * ARCHIVE_MEMBERS
            return f"brings its archive past {max_total} bytes; {_how_to_raise(MAX_BYTES_VARIABLE)}"
        if _exceeds_ratio(limits.max_ratio, inflated, packed):
            return f"inflates to more than {limits.max_ratio} times its size; {_how_to_raise(MAX_RATIO_VARIABLE)}"
        if _exceeds_ratio(limits.max_ratio, self._total, self._archive_bytes):
            ratio = limits.max_ratio
            return f"brings its archive past {ratio} times the archive's size; {_how_to_raise(MAX_RATIO_VARIABLE)}"
        return ""


def _exceeds_ratio(ratio: int, inflated: int, packed: int) -> bool:
    return inflated > RATIO_FLOOR_BYTES and inflated > ratio * packed


def _how_to_raise(variable: str) -> str:
    return f"if you trust it, raise {variable}"
