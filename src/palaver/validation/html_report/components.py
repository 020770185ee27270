"""The building blocks of sections: number formats, tables, badges, paths and charts.

Charts are SVG with widths in percent, so they fill the space they get. The style sheet sets colours and patterns by
class. Every chart comes with its numbers, so nothing depends on colour alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from palaver.validation.html_report.markup import Markup, breakable, joined, tag

_PATH_WIDTH = 80


def number(count: int) -> str:
    return f"{count:,}"


def counted(count: int, thing: str, things: str | None = None) -> str:
    """Return a count with its noun: `1 source`, `1,200 sources`."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def size(count: int) -> str:
    """Format a number of bytes in the largest fitting unit."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5:
            return f"{amount:.{0 if amount >= 99.5 else 1}f} {unit}"
    return f"{amount / 1000:,.1f} TB"


def percent(share: float) -> str:
    """Format a share from 0 to 1; only exactly 0 and 1 show as 0% and 100%."""
    if share <= 0:
        return "0%"
    if share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1:
        return ">99.9%"
    tenths = f"{share * 100:.1f}"
    return f"{tenths.removesuffix('.0')}%"


def shortened(path: str, width: int = _PATH_WIDTH) -> str:
    """Return the end of a long path, which is what distinguishes it, starting at a separator if possible."""
    if len(path) <= width:
        return path
    end = path[1 - width :]
    cuts = [index for index in (end.find("/"), end.find("\\"), end.find("!")) if index >= 0]
    return f"…{end[min(cuts) :] if cuts and min(cuts) < width // 2 else end}"


def moment(time: str) -> str:
    """Format a UTC time as its date and minute; return text that is not a time unchanged."""
    try:
        parsed = datetime.fromisoformat(time)
    except ValueError:
        return time
    return f"{parsed.day} {parsed:%B %Y}, {parsed:%H:%M} UTC"


_ICONS = {
    "error": "M5.3 1h5.4L15 5.3v5.4L10.7 15H5.3L1 10.7V5.3zM5 5l6 6M11 5l-6 6",
    "warning": "M8 1.5 15.2 14.5H.8zM8 6v4M8 12v.5",
    "note": "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zM8 7v4.5M8 4.5V5",
    "valid": "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zM4.8 8.2l2.2 2.3 4.2-4.8",
    "theme": "M14 9.7A6.2 6.2 0 1 1 6.3 2a5 5 0 0 0 7.7 7.7z",
}
MAX_SOURCE_ROWS = 500
"""How many sources get a row of their own; the others are summed up."""

Tone = Literal["error", "warning", "note", "valid"]


class Column(NamedTuple):
    """A column of a table; the page sorts by numbers and by text."""

    title: str
    kind: Literal["number", "text", "chart"] = "number"


def section(name: str, title: str, lead: str | Markup, *content: Markup | None) -> Markup:
    heading = tag("h2", title, id=f"{name}-title")
    return tag("section", heading, tag("p", lead, class_="lead"), *content, id=name, aria_labelledby=f"{name}-title")


def empty(sentence: str) -> Markup:
    """Return a sentence for an empty section."""
    return tag("p", sentence, class_="empty")


def table(
    label: str,
    columns: Sequence[Column],
    rows: Iterable[Markup],
    *,
    foot: Markup | None = None,
    name: str | None = None,
    is_sortable: bool = True,
    is_tall: bool = False,
) -> Markup:
    """Return a table in a box that scrolls on its own, also by keyboard."""
    heads = (
        tag(
            "th",
            column.title,
            scope="col",
            class_="number" if column.kind == "number" else None,
            data_sort=column.kind if is_sortable and column.kind != "chart" else None,
        )
        for column in columns
    )
    whole = tag(
        "table",
        tag("caption", label, class_="unshown"),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *rows, id=name),
        foot and tag("tfoot", foot),
    )
    return tag("div", whole, class_="scroll tall" if is_tall else "scroll", tabindex=0, role="region", aria_label=label)


def number_cell(count: int, *, tone: str | None = None) -> Markup:
    """Return a cell with a number; zeros are dimmed."""
    return tag("td", count, class_=f"number {'zero' if not count else tone or ''}".rstrip())


def path(whole: str) -> Markup:
    """Return a shortened path, with the full path as its tooltip."""
    shown = shortened(whole)
    return tag("span", breakable(shown, r"/\!"), class_="path", title=whole if shown != whole else None)


def badge(tone: Tone, word: str) -> Markup:
    """Return a word with its icon, so that it does not depend on colour."""
    return tag("span", icon(tone), word, class_=f"badge is-{tone}")


def icon(name: str) -> Markup:
    return tag("svg", tag("use", href=f"#icon-{name}"), class_=f"icon is-{name}", aria_hidden="true")


def icons() -> tuple[Markup, ...]:
    """Return the definitions of all icons, for the top of the page."""
    return tuple(
        tag("symbol", tag("path", d=strokes), id=f"icon-{name}", viewBox="0 0 16 16")
        for name, strokes in _ICONS.items()
    )


def filter_box(rows: str, label: str, hint: str) -> Markup:
    """Return a field that filters rows by words; it is hidden until the script runs."""
    field = tag("input", type="search", placeholder=hint, data_filter=rows, autocomplete="off", spellcheck="false")
    status = tag("output", class_="filter-status", aria_live="polite")
    return tag("div", tag("label", tag("span", label), field), status, class_="filter", data_script=True, hidden=True)


_MIN_PERCENT = 1.2
"""The least width of a part that is not zero, so that it can be seen."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole; `kind` selects how it is drawn."""

    kind: str
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a bar chart; `kind` selects how it is drawn."""

    label: Markup
    count: int
    kind: str = "plain"


def stacked(shares: Sequence[Share], label: str, *, is_large: bool = False) -> Markup:
    """Return all shares of a whole in one bar."""
    description = ", ".join(f"{number(share.count)} {share.label}" for share in shares if share.count)
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
        aria_label=f"{label}: {description or 'nothing'}",
    )


def has_widened(counts: Sequence[int]) -> bool:
    """Return whether a part is drawn wider than its share, to be visible."""
    return any(0 < count < sum(counts) * _MIN_PERCENT / 100 for count in counts)


def bar(share: float, kind: str = "plain") -> Markup:
    """Return a bar for a share from 0 to 1."""
    width = max(_MIN_PERCENT, min(share, 1) * 100) if share > 0 else 0
    drawn = tag("rect", width=f"{width:.4g}%", height="100%", class_=f"is-{kind}") if width else None
    return tag("svg", drawn, class_="bar", aria_hidden="true")


def bars(rows: Sequence[Bar], left: Sequence[Bar] = (), *, thing: str) -> Markup:
    """Return rows as bars on one scale, then the number and sum of the rows left out (`left`)."""
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
    """Return a small square for a legend, drawn like the parts of a kind."""
    drawn = tag("rect", width="100%", height="100%", class_=f"is-{kind}")
    return tag("svg", drawn, class_="swatch", aria_hidden="true")


def patterns() -> Markup:
    """Return the fill patterns that distinguish parts without colour, for the top of the page."""
    skipped = _pattern("skipped", 8, "M-2 6 6-2M-2 10 10-2M2 10 10 2")
    return joined(skipped, _pattern("quarantined", 6, "M0 0 6 6M6 0 0 6"))


def _pattern(kind: str, side: int, strokes: str) -> Markup:
    ground = tag("rect", width=side, height=side)
    drawn = tag("path", d=strokes)
    return tag("pattern", ground, drawn, id=f"drawn-{kind}", width=side, height=side, patternUnits="userSpaceOnUse")


def _rect(at: float, width: float, share: Share) -> Markup:
    tooltip = tag("title", f"{number(share.count)} {share.label}")
    return tag("rect", tooltip, x=f"{at:.4g}%", width=f"{width:.4g}%", height="100%", class_=f"is-{share.kind}")


def _widths(counts: Sequence[int]) -> list[float]:
    whole = sum(counts) or 1
    wanted = [max(_MIN_PERCENT, 100 * count / whole) if count else 0.0 for count in counts]
    return [100 * width / (sum(wanted) or 1) for width in wanted]
