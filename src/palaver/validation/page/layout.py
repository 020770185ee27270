"""What sections are made of: a heading, tables that scroll on their own, badges, paths, words for what is empty."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from palaver.validation.page.markup import Markup, breakable, tag
from palaver.validation.page.words import shortened

_ICONS = {
    "error": "M5.3 1h5.4L15 5.3v5.4L10.7 15H5.3L1 10.7V5.3zM5 5l6 6M11 5l-6 6",
    "warning": "M8 1.5 15.2 14.5H.8zM8 6v4M8 12v.5",
    "note": "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zM8 7v4.5M8 4.5V5",
    "valid": "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zM4.8 8.2l2.2 2.3 4.2-4.8",
    "theme": "M14 9.7A6.2 6.2 0 1 1 6.3 2a5 5 0 0 0 7.7 7.7z",
}
MOST_SOURCES = 500
"""How many sources are drawn one by one; the others are summed up."""

Tone = Literal["error", "warning", "note", "valid"]


class Column(NamedTuple):
    """A column of a table; a reader may sort by numbers and by text."""

    title: str
    kind: Literal["number", "text", "chart"] = "number"


def section(name: str, title: str, lead: str | Markup, *content: Markup | None) -> Markup:
    heading = tag("h2", title, id=f"{name}-title")
    return tag("section", heading, tag("p", lead, class_="lead"), *content, id=name, aria_labelledby=f"{name}-title")


def empty(sentence: str) -> Markup:
    """What stands where there is nothing to show."""
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
    """A table in a box of its own that scrolls where it must, by keyboard too."""
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
    """A number; zeros step back, so that the others are seen."""
    return tag("td", count, class_=f"number {'zero' if not count else tone or ''}".rstrip())


def path(whole: str) -> Markup:
    """A path that is short enough for its place, and whole when asked."""
    shown = shortened(whole)
    return tag("span", breakable(shown, r"/\!"), class_="path", title=whole if shown != whole else None)


def badge(tone: Tone, word: str) -> Markup:
    """A word with its sign: read without its colour, too."""
    return tag("span", icon(tone), word, class_=f"badge is-{tone}")


def icon(name: str) -> Markup:
    return tag("svg", tag("use", href=f"#icon-{name}"), class_=f"icon is-{name}", aria_hidden="true")


def icons() -> tuple[Markup, ...]:
    """All signs, once for the page."""
    return tuple(
        tag("symbol", tag("path", d=strokes), id=f"icon-{name}", viewBox="0 0 16 16")
        for name, strokes in _ICONS.items()
    )


def filter_box(rows: str, label: str, hint: str) -> Markup:
    """A field that hides what does not hold its words; it waits for the script that makes it work."""
    field = tag("input", type="search", placeholder=hint, data_filter=rows, autocomplete="off", spellcheck="false")
    told = tag("output", class_="told", aria_live="polite")
    return tag("div", tag("label", tag("span", label), field), told, class_="filter", data_script=True, hidden=True)
