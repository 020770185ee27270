"""The sections about contents: findings by code, coverage of the schema by platform, and unknown kinds of records."""

from collections import Counter
from shlex import quote

from palaver.model.build import JsonObject
from palaver.validation.html_report.components import (
    Bar,
    Column,
    badge,
    bar,
    bars,
    counted,
    empty,
    filter_box,
    icon,
    number,
    number_cell,
    path,
    percent,
    section,
    table,
)
from palaver.validation.html_report.markup import Markup, breakable, joined, lines, tag

_MAX_BARS_PER_SEVERITY = 8
"""A limit per severity, so that many errors do not crowd out the rest."""
_STAGES = {"reading": "while reading", "schema": "by the schema", "rule": "by a rule"}


def findings_section(report: JsonObject) -> Markup:
    groups = report["findings"]
    if not groups:
        lead = "Problems and oddities, by code."
        return section("findings", "Findings", lead, empty("No problems found."))
    total = sum(group["count"] for group in groups)
    return section(
        "findings",
        "Findings",
        f"{counted(total, 'finding')} of {counted(len(groups), 'kind')}, most severe first.",
        _chart(groups),
        filter_box("finding-groups", "Filter findings", "code, severity, file, text"),
        tag("div", *(_group(group, position) for position, group in enumerate(groups, 1)), id="finding-groups"),
    )


def _chart(groups: list[JsonObject]) -> Markup:
    stages = Counter(group["code"] for group in groups)
    rows = [
        Bar(
            joined(
                icon(group["severity"]),
                tag("a", group["code"], href=f"#finding-{position}"),
                tag("small", group["stage"]) if stages[group["code"]] > 1 else None,
            ),
            group["count"],
            group["severity"],
        )
        for position, group in enumerate(groups, 1)
    ]
    tones = ("error", "warning", "note")
    by_tone = [[row for row in rows if row.kind == tone] for tone in tones]
    drawn = [row for rows_of_tone in by_tone for row in rows_of_tone[:_MAX_BARS_PER_SEVERITY]]
    left = [row for rows_of_tone in by_tone for row in rows_of_tone[_MAX_BARS_PER_SEVERITY:]]
    legend = tag("p", *(badge(tone, tone) for tone in tones), class_="legend")
    caption = tag("figcaption", "Findings by code", legend)
    return tag("figure", caption, bars(drawn, left, thing="code"), class_="box chart")


def _group(group: JsonObject, position: int) -> Markup:
    head = tag(
        "summary",
        tag(
            "span",
            badge(group["severity"], group["severity"]),
            tag("code", group["code"]),
            tag("small", _STAGES[group["stage"]]),
            class_="finding-name",
        ),
        tag(
            "span",
            tag("b", group["count"]),
            tag("small", f"in {counted(group['sources'], 'source')}"),
            class_="finding-count",
        ),
        tag("span", group["meaning"], class_="finding-meaning"),
    )
    return tag("details", head, _examples(group), class_=f"finding is-{group['severity']}", id=f"finding-{position}")


def _examples(group: JsonObject) -> Markup:
    examples = group["examples"]
    if not examples:
        return empty("No example was kept.")
    more = group["count"] - len(examples)
    hint = (
        f"The first {number(len(examples))} of {number(group['count'])}; --max-errors keeps more." if more > 0 else None
    )
    return joined(
        tag("ol", *map(_example, examples), class_="examples"),
        tag("p", hint, class_="hint") if hint else None,
    )


def _example(example: JsonObject) -> Markup:
    source = path(example["source"]) if example["source"] else tag("span", "the archive", class_="path")
    line = example["line"]
    details = [
        ("Where", example["where"]),
        ("Conversation", example["conversation_id"]),
        ("Pointer", example["pointer"]),
    ]
    rows = [tag("div", tag("dt", name), tag("dd", tag("code", value))) for name, value in details if value]
    if example["conversation_id"]:
        command = f"palaver show {quote(example['conversation_id'])}"
        rows.append(tag("div", tag("dt", "Open"), tag("dd", tag("code", command, class_="command"))))
    return tag(
        "li",
        tag(
            "p",
            source,
            tag("span", f"line {number(line)}", class_="line") if line is not None else None,
            class_="place",
        ),
        tag("p", example["message"], class_="message"),
        tag("dl", *rows, class_="where") if rows else None,
        tag("pre", lines(example["excerpt"])) if example["excerpt"] else None,
    )


_MAX_BARS = 8
_UNMAPPED_COLUMNS = (Column("Kept as", "text"), Column("Share", "chart"), Column("Conversations"), Column("Times"))


def coverage_section(report: JsonObject) -> Markup:
    platforms = sorted(report["coverage"], key=lambda platform: -platform["conversations"])
    lead = "The share of each platform's conversations that fill a field of the schema."
    if not platforms:
        return section("coverage", "Coverage", lead, empty("No conversations were read."))
    drawn = (_platform(platform, is_first=index == 0) for index, platform in enumerate(platforms))
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
        _count_box("Roles", platform["roles"], "role", "No message was read."),
        _count_box("Blocks", platform["blocks"], "type", "No block was read."),
        _count_box("Versions", platform["versions"], "version", "No version is recorded."),
        class_="boxes",
    )
    return tag("details", head, charts, _fields(platform), _unmapped(platform), class_="platform", open=is_first)


def _count_box(title: str, counts: dict[str, int], thing: str, nothing: str) -> Markup:
    rows = [Bar(tag("code", name), count) for name, count in Counter(counts).most_common()]
    drawn = bars(rows[:_MAX_BARS], rows[_MAX_BARS:], thing=thing) if rows else empty(nothing)
    return tag("div", tag("h4", title), drawn, class_="box")


def _fields(platform: JsonObject) -> Markup:
    fields = platform["fields"]
    filled = [field for field in fields if field["conversations"]]
    unfilled = [field for field in fields if not field["conversations"]]
    listed = tag("ul", *(_field(field, platform["conversations"]) for field in filled), class_="bars fields")
    return joined(
        tag("h4", f"Fields of the schema: {number(len(filled))} of {number(len(fields))} filled"),
        listed if filled else empty("No field is filled."),
        _unfilled_fields(unfilled) if unfilled else None,
    )


def _field(field: JsonObject, conversations: int) -> Markup:
    tooltip = f"filled in {number(field['conversations'])} of {counted(conversations, 'conversation')}"
    return tag(
        "li",
        tag("span", _field_name(field["field"]), class_="bar-label"),
        bar(field["share"]),
        tag("span", percent(field["share"]), class_="bar-count"),
        title=tooltip,
    )


def _unfilled_fields(unfilled: list[JsonObject]) -> Markup:
    listed = tag("ul", *(tag("li", tag("code", field["field"])) for field in unfilled), class_="chips")
    summary = f"{counted(len(unfilled), 'field')} never filled"
    return tag("details", tag("summary", summary), listed, class_="never")


def _unmapped(platform: JsonObject) -> Markup:
    fields, more = platform["unmapped"], platform["unmapped_more"]
    title = tag("h4", "Source fields without a place in the schema")
    if not fields:
        return joined(title, empty("None: every source field has a place."))
    rows = (
        tag(
            "tr",
            tag("th", _field_name(field["field"]), scope="row"),
            tag("td", tag("span", bar(field["share"]), percent(field["share"]), class_="share"), class_="bar-cell"),
            number_cell(field["conversations"]),
            number_cell(field["count"]),
        )
        for field in fields
    )
    foot = tag("tr", tag("th", counted(more, "more field"), scope="row"), *[tag("td")] * 3) if more else None
    hint = tag("p", "Kept under their own names; nothing is lost.", class_="hint")
    label = f"Unmapped fields of {platform['title'] or platform['platform']}"
    return joined(title, hint, table(label, _UNMAPPED_COLUMNS, rows, foot=foot, is_tall=True))


def _field_name(field: str) -> Markup:
    """Return the name of a field with its last part emphasised."""
    before, dot, last = field.rpartition(".")
    return tag(
        "code", tag("span", breakable(before + dot, "._"), class_="muted") if dot else None, breakable(last, "_")
    )


_DRIFT_COLUMNS = (
    Column("Kind", "text"),
    Column("Platform", "text"),
    Column("Version", "text"),
    Column("Times"),
    Column("First seen in", "text"),
)


def drift_section(report: JsonObject) -> Markup:
    kinds = report["drift"]
    if not kinds:
        lead = "Record kinds unknown to the importers."
        return section("drift", "Drift", lead, empty("None: every kind of record is known."))
    lead = "Record kinds that this version of palaver does not know. They are stored as they are; nothing is lost."
    return section("drift", "Drift", lead, table("Unknown record kinds", _DRIFT_COLUMNS, map(_drift_row, kinds)))


def _drift_row(kind: JsonObject) -> Markup:
    return tag(
        "tr",
        tag("th", tag("code", kind["kind"]), scope="row"),
        tag("td", kind["platform"]),
        tag("td", kind["version"]) if kind["version"] is not None else tag("td", "unknown", class_="muted"),
        number_cell(kind["count"]),
        tag(
            "td",
            path(kind["source"]),
            tag("span", "conversation ", tag("code", kind["conversation_id"]), class_="codes"),
        ),
    )
