"""The findings, by code: how grave, how many, what they mean, and the first of them with their places."""

from collections import Counter

from palaver.model.build import JsonObject
from palaver.validation.page.charts import Bar, bars
from palaver.validation.page.layout import badge, empty, filter_box, icon, path, section
from palaver.validation.page.markup import Markup, joined, lines, tag
from palaver.validation.page.words import counted, number

_MOST_BARS = 8
"""Of each severity, so that a chart of many errors still shows what else there is."""
_STAGES = {"reading": "while reading", "schema": "by the schema", "rule": "by a rule"}


def findings(report: JsonObject) -> Markup:
    groups = report["findings"]
    if not groups:
        lead = "What was noticed, by code."
        return section("findings", "Findings", lead, empty("No findings: everything is as it should be."))
    total = sum(group["count"] for group in groups)
    return section(
        "findings",
        "Findings",
        f"{counted(total, 'finding')} of {counted(len(groups), 'kind')}, the gravest first.",
        _chart(groups),
        filter_box("finding-groups", "Filter findings", "code, severity, file, text"),
        tag("div", *(_group(group, place) for place, group in enumerate(groups, 1)), id="finding-groups"),
    )


def _chart(groups: list[JsonObject]) -> Markup:
    stages = Counter(group["code"] for group in groups)
    rows = [
        Bar(
            joined(
                icon(group["severity"]),
                tag("a", group["code"], href=f"#finding-{place}"),
                tag("small", group["stage"]) if stages[group["code"]] > 1 else None,
            ),
            group["count"],
            group["severity"],
        )
        for place, group in enumerate(groups, 1)
    ]
    tones = ("error", "warning", "note")
    by_tone = [[row for row in rows if row.kind == tone] for tone in tones]
    drawn = [row for alike in by_tone for row in alike[:_MOST_BARS]]
    left = [row for alike in by_tone for row in alike[_MOST_BARS:]]
    legend = tag("p", *(badge(tone, tone) for tone in tones), class_="legend")
    caption = tag("figcaption", "Findings by code", legend)
    return tag("figure", caption, bars(drawn, left, thing="code"), class_="box chart")


def _group(group: JsonObject, place: int) -> Markup:
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
    return tag("details", head, _examples(group), class_=f"finding is-{group['severity']}", id=f"finding-{place}")


def _examples(group: JsonObject) -> Markup:
    examples = group["examples"]
    if not examples:
        return empty("No example is kept.")
    more = group["count"] - len(examples)
    told = (
        f"The first {number(len(examples))} of {number(group['count'])}; --max-errors keeps more." if more > 0 else None
    )
    return joined(
        tag("ol", *map(_example, examples), class_="examples"),
        tag("p", told, class_="hint") if told else None,
    )


def _example(example: JsonObject) -> Markup:
    place = path(example["source"]) if example["source"] else tag("span", "the archive itself", class_="path")
    line = example["line"]
    facts = [
        ("Where", example["where"]),
        ("Conversation", example["conversation_id"]),
        ("Pointer", example["pointer"]),
    ]
    told = [tag("div", tag("dt", name), tag("dd", tag("code", value))) for name, value in facts if value]
    return tag(
        "li",
        tag(
            "p", place, tag("span", f"line {number(line)}", class_="line") if line is not None else None, class_="place"
        ),
        tag("p", example["message"], class_="message"),
        tag("dl", *told, class_="where") if told else None,
        tag("pre", lines(example["excerpt"])) if example["excerpt"] else None,
    )
