"""Charts, drawn as SVG: shares of a whole in one bar, and bars to compare.

Widths are in percent of the page's room, so that a chart is as wide as there is space. Colours and patterns are the
style sheet's, by class. Each chart stands beside its numbers, so none is told by its colour alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from palaver.validation.page.markup import Markup, joined, tag
from palaver.validation.page.words import counted, number

_LEAST_PERCENT = 1.2
"""What is there can be seen, however little it is."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole: how it is drawn, what it is called, how many."""

    kind: str
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar to compare with others: what it is about, how many, and how it is drawn."""

    label: Markup
    count: int
    kind: str = "plain"


def stacked(shares: Sequence[Share], label: str, *, is_large: bool = False) -> Markup:
    """All shares of a whole in one bar."""
    told = ", ".join(f"{number(share.count)} {share.label}" for share in shares if share.count)
    rects: list[Markup] = []
    at = 0.0
    for share, width in zip(shares, _widths([share.count for share in shares]), strict=True):
        if width:
            rects.append(_rect(at, width, share))
            at += width
    return tag(
        "svg",
        *rects,
        class_="stack large" if is_large else "stack",
        role="img",
        aria_label=f"{label}: {told or 'nothing'}",
    )


def has_widened(counts: Sequence[int]) -> bool:
    """Whether a part is drawn wider than it is, so as to be seen."""
    return any(0 < count < sum(counts) * _LEAST_PERCENT / 100 for count in counts)


def bar(share: float, kind: str = "plain") -> Markup:
    """One bar for a share from 0 to 1; the number stands beside it."""
    width = max(_LEAST_PERCENT, min(share, 1) * 100) if share > 0 else 0
    drawn = tag("rect", width=f"{width:.4g}%", height="100%", class_=f"is-{kind}") if width else None
    return tag("svg", drawn, class_="bar", aria_hidden="true")


def bars(rows: Sequence[Bar], left: Sequence[Bar] = (), *, thing: str) -> Markup:
    """Rows as bars that share a scale, then how many more are left and how many they are together."""
    longest = max((row.count for row in rows), default=0) or 1
    listed = [
        tag(
            "li",
            tag("span", row.label, class_="bar-label"),
            bar(row.count / longest, row.kind),
            tag("span", row.count, class_="bar-count"),
        )
        for row in rows
    ]
    if left:
        rest = f"{counted(len(left), f'more {thing}')}, together {number(sum(row.count for row in left))}"
        listed.append(tag("li", rest, class_="bar-rest"))
    return tag("ul", *listed, class_="bars")


def swatch(kind: str) -> Markup:
    """A small square that shows in a legend how a part is drawn."""
    drawn = tag("rect", width="100%", height="100%", class_=f"is-{kind}")
    return tag("svg", drawn, class_="swatch", aria_hidden="true")


def patterns() -> Markup:
    """The patterns that tell parts apart without colour, once for the page."""
    skipped = _pattern("skipped", 8, "M-2 6 6-2M-2 10 10-2M2 10 10 2")
    return joined(skipped, _pattern("quarantined", 6, "M0 0 6 6M6 0 0 6"))


def _pattern(kind: str, side: int, strokes: str) -> Markup:
    ground = tag("rect", width=side, height=side)
    drawn = tag("path", d=strokes)
    return tag("pattern", ground, drawn, id=f"drawn-{kind}", width=side, height=side, patternUnits="userSpaceOnUse")


def _rect(at: float, width: float, share: Share) -> Markup:
    told = tag("title", f"{number(share.count)} {share.label}")
    return tag("rect", told, x=f"{at:.4g}%", width=f"{width:.4g}%", height="100%", class_=f"is-{share.kind}")


def _widths(counts: Sequence[int]) -> list[float]:
    whole = sum(counts) or 1
    wanted = [max(_LEAST_PERCENT, 100 * count / whole) if count else 0.0 for count in counts]
    return [100 * width / (sum(wanted) or 1) for width in wanted]
