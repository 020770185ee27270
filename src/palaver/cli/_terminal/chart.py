"""Bars drawn with letters: eighths of a block where the terminal has them, number signs elsewhere."""

import sys

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def can_draw() -> bool:
    """Whether standard output takes more than ASCII."""
    try:
        "█▏…".encode(sys.stdout.encoding or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def bar(share: float, width: int, *, is_drawn: bool) -> str:
    """A bar of a share of the width; anything at all shows."""
    if share <= 0 or width <= 0:
        return ""
    if not is_drawn:
        return "#" * max(1, round(share * width))
    eighths = max(1, round(share * width * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
