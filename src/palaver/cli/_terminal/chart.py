"""Bars of block characters, in eighths; of number signs where the output cannot encode these."""

import sys

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def can_draw_blocks() -> bool:
    """Return whether standard output can encode block characters."""
    try:
        "█▏…".encode(sys.stdout.encoding or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def bar(share: float, width: int, *, with_blocks: bool) -> str:
    """Return a bar for a share of the width; a positive share is never empty."""
    if share <= 0 or width <= 0:
        return ""
    if not with_blocks:
        return "#" * max(1, round(share * width))
    eighths = max(1, round(share * width * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
