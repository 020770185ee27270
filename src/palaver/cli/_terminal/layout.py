"""Text, bars and stars that fit a terminal.

Words are wrapped, code and tables keep their lines. Bars are drawn in eighths of a block, ratings in stars; where the
output cannot encode these, bars are number signs and ratings numbers.
"""

import re
import sys
from functools import cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console


_FENCE = re.compile(r"\s*(```|~~~)")
_HANGING = re.compile(r"\s*(?:[-*+>]\s+|\d{1,3}[.)]\s+)?")


def wrapped(text: str, width: int | None) -> list[str]:
    """Return the lines of a text without the empty lines around it; a width of None never wraps."""
    lines: list[str] = []
    is_code = False
    for line in text.strip("\n").rstrip().split("\n"):
        is_fence = _FENCE.match(line) is not None
        if width is None or is_code or is_fence or line.startswith("|") or cell_len(line) <= width:
            lines.append(line.rstrip())
        else:
            lines += _wrapped_line(line, width)
        is_code ^= is_fence
    return lines


def _wrapped_line(line: str, width: int) -> list[str]:
    """Wrap a line with a hanging indent: continuation lines start below its first word, not below its list marker."""
    found = _HANGING.match(line)
    marker = found[0] if found and cell_len(found[0]) <= width // 2 else ""
    indent = " " * cell_len(marker)
    pieces = Text(line[len(marker) :]).wrap(console_for_wrapping(), max(width - len(indent), 10))
    return [f"{indent if number else marker}{piece.plain.rstrip()}" for number, piece in enumerate(pieces)]


def cut(text: str, width: int | None) -> str:
    """Return a line truncated to the width, with an ellipsis."""
    if width is None or cell_len(text) <= width:
        return text
    line = Text(text)
    line.truncate(max(width, 1), overflow="ellipsis")
    return line.plain


@cache
def console_for_wrapping() -> "Console":
    from rich.console import Console

    return Console(width=80, color_system=None)


_EIGHTHS = " ▏▎▍▌▋▊▉█"


def can_draw_blocks() -> bool:
    """Return whether standard output can encode block characters."""
    return _can_encode("█▏…")


def pointer() -> str:
    """Return the sign that points at a line."""
    return "▶" if _can_encode("▶") else ">"


def stars(score: float | None) -> str:
    """Return a rating of up to five as stars, or as a number where the output cannot encode them."""
    if score is None:
        return "rated"
    if not _can_encode("★☆½"):
        return f"{score:g} of 5"
    whole = int(score)
    half = "½" if score > whole else ""
    return f"{'★' * whole}{half}" or "☆☆☆☆☆"


def _can_encode(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
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
