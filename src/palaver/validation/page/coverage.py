"""Coverage: what the conversations of each platform are made of, and what of the source has no place in the schema."""

from collections import Counter

from palaver.model.build import JsonObject
from palaver.validation.page.charts import Bar, bar, bars
from palaver.validation.page.layout import Column, empty, number_cell, section, table
from palaver.validation.page.markup import Markup, breakable, joined, tag
from palaver.validation.page.words import counted, number, percent

_MOST_BARS = 8
_UNMAPPED = (Column("Kept as", "text"), Column("Share", "chart"), Column("Conversations"), Column("Times"))


def coverage(report: JsonObject) -> Markup:
    platforms = sorted(report["coverage"], key=lambda platform: -platform["conversations"])
    lead = "How much of the schema each platform fills, in parts of its conversations."
    if not platforms:
        return section("coverage", "Coverage", lead, empty("No conversation was read, so there is nothing to cover."))
    drawn = (_platform(platform, is_first=place == 0) for place, platform in enumerate(platforms))
    return section("coverage", "Coverage", lead, *drawn)


def _platform(platform: JsonObject, *, is_first: bool) -> Markup:
    head = tag(
        "summary",
        tag("h3", platform["title"] or platform["platform"]),
        tag("code", platform["platform"]) if platform["title"] not in {"", platform["platform"]} else None,
        tag(
            "small",
            f"{counted(platform['conversations'], 'conversation')}, {counted(platform['messages'], 'message')}",
        ),
    )
    charts = tag(
        "div",
        _counts("Roles", platform["roles"], "role", "No message was read."),
        _counts("Blocks", platform["blocks"], "type", "No block was read."),
        _counts("Versions", platform["versions"], "version", "No version is stated."),
        class_="boxes",
    )
    return tag("details", head, charts, _fields(platform), _unmapped(platform), class_="platform", open=is_first)


def _counts(title: str, counts: dict[str, int], thing: str, nothing: str) -> Markup:
    rows = [Bar(tag("code", name), count) for name, count in Counter(counts).most_common()]
    drawn = bars(rows[:_MOST_BARS], rows[_MOST_BARS:], thing=thing) if rows else empty(nothing)
    return tag("div", tag("h4", title), drawn, class_="box")


def _fields(platform: JsonObject) -> Markup:
    fields = platform["fields"]
    filled = [field for field in fields if field["conversations"]]
    never = [field for field in fields if not field["conversations"]]
    listed = tag("ul", *(_field(field, platform["conversations"]) for field in filled), class_="bars fields")
    return joined(
        tag("h4", f"Fields of the schema: {number(len(filled))} of {number(len(fields))} filled"),
        listed if filled else empty("No field is filled."),
        _never(never) if never else None,
    )


def _field(field: JsonObject, conversations: int) -> Markup:
    told = f"filled in {number(field['conversations'])} of {counted(conversations, 'conversation')}"
    return tag(
        "li",
        tag("span", _dotted(field["field"]), class_="bar-label"),
        bar(field["share"]),
        tag("span", percent(field["share"]), class_="bar-count"),
        title=told,
    )


def _never(never: list[JsonObject]) -> Markup:
    listed = tag("ul", *(tag("li", tag("code", field["field"])) for field in never), class_="chips")
    told = f"{counted(len(never), 'field')} never filled"
    return tag("details", tag("summary", told), listed, class_="never")


def _unmapped(platform: JsonObject) -> Markup:
    fields, more = platform["unmapped"], platform["unmapped_more"]
    title = tag("h4", "Source fields without a place in the schema")
    if not fields:
        return joined(title, empty("None: every field of the source has its place."))
    rows = (
        tag(
            "tr",
            tag("th", _dotted(field["field"]), scope="row"),
            tag("td", tag("span", bar(field["share"]), percent(field["share"]), class_="share"), class_="bar-cell"),
            number_cell(field["conversations"]),
            number_cell(field["count"]),
        )
        for field in fields
    )
    foot = tag("tr", tag("th", counted(more, "more field"), scope="row"), *[tag("td")] * 3) if more else None
    told = tag("p", "They are kept under their own names, so nothing is lost.", class_="hint")
    label = f"Unmapped fields of {platform['title'] or platform['platform']}"
    return joined(title, told, table(label, _UNMAPPED, rows, foot=foot, is_tall=True))


def _dotted(field: str) -> Markup:
    """The last part of a field's name stands out from where it is."""
    before, dot, last = field.rpartition(".")
    return tag(
        "code", tag("span", breakable(before + dot, "._"), class_="muted") if dot else None, breakable(last, "_")
    )
