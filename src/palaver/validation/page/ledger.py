"""The ledger: what became of every record that was read, for everything and for each source."""

from collections import Counter
from collections.abc import Iterable

from palaver.model.build import JsonObject
from palaver.validation.page.charts import Bar, Share, bars, has_widened, stacked, swatch
from palaver.validation.page.layout import MOST_SOURCES, Column, badge, empty, number_cell, path, section, table
from palaver.validation.page.markup import Markup, joined, tag
from palaver.validation.page.words import counted, number, percent

_MOST_BARS = 6
_MEANINGS = {
    "mapped": "became a message or a part of one",
    "folded": "went into another record's message",
    "skipped by rule": "left out on purpose",
    "quarantined": "refused and set aside",
    "unaccounted": "should not be: please report it",
}
_COLUMNS = (
    Column("Source", "text"),
    Column("What became of its records", "chart"),
    *map(Column, ("Read", "Mapped", "Folded", "Skipped", "Quarantined")),
)


def ledger(report: JsonObject) -> Markup:
    records = report["totals"]["records"]
    if not records["read"] and not _accounted(records):
        return section("ledger", "Ledger", "What became of every record that was read.", empty("No record was read."))
    shares = _shares(records)
    sources = sorted(report["sources"], key=lambda source: -_trouble(source["records"]))
    return section(
        "ledger",
        "Ledger",
        _equation(records, shares),
        stacked(shares, "All records", is_large=True),
        tag("div", _legend(records, shares), _breakdowns(records), class_="split"),
        _by_source(sources) if sources else None,
    )


def _equation(records: JsonObject, shares: list[Share]) -> Markup:
    terms = " + ".join(f"{number(share.count)} {share.label}" for share in shares)
    return joined(tag("strong", f"{counted(records['read'], 'record')} read"), f" = {terms}.")


def _shares(records: JsonObject) -> list[Share]:
    shares = [
        Share("mapped", "mapped", records["mapped"]),
        Share("folded", "folded", records["folded"]),
        Share("skipped", "skipped by rule", sum(records["skipped"].values())),
        Share("quarantined", "quarantined", sum(records["quarantined"].values())),
    ]
    missing = records["read"] - _accounted(records)
    return [*shares, Share("missing", "unaccounted", missing)] if missing > 0 else shares


def _legend(records: JsonObject, shares: list[Share]) -> Markup:
    read = records["read"]
    adds_up = read == _accounted(records)
    rows = (
        tag(
            "tr",
            tag("th", swatch(share.kind), share.label.capitalize(), tag("small", _MEANINGS[share.label]), scope="row"),
            number_cell(share.count),
            tag("td", percent(share.count / read) if read else "", class_="number"),
        )
        for share in shares
    )
    told = badge("valid", "adds up") if adds_up else badge("error", "does not add up")
    foot = tag("tr", tag("th", "Read ", told, scope="row"), number_cell(read), tag("td"))
    columns = [Column("Records", "text"), Column("Count"), Column("Share")]
    widened = "Parts too small to be seen are drawn a little wider than they are."
    return tag(
        "div",
        table("What became of all records", columns, rows, foot=foot, is_sortable=False),
        tag("p", widened, class_="hint") if has_widened([share.count for share in shares]) else None,
    )


def _breakdowns(records: JsonObject) -> Markup | None:
    named = [
        ("Skipped, by rule", "skipped", records["skipped"], "rule"),
        ("Quarantined, by code", "quarantined", records["quarantined"], "code"),
    ]
    boxes = [
        tag(
            "div",
            tag("h3", title),
            _most(counts, kind, thing),
            class_="box",
        )
        for title, kind, counts, thing in named
        if counts
    ]
    return tag("div", *boxes, class_="boxes") if boxes else None


def _most(counts: dict[str, int], kind: str, thing: str) -> Markup:
    rows = [Bar(tag("code", name), count, kind) for name, count in Counter(counts).most_common()]
    return bars(rows[:_MOST_BARS], rows[_MOST_BARS:], thing=thing)


def _by_source(sources: list[JsonObject]) -> Markup:
    drawn, left = sources[:MOST_SOURCES], sources[MOST_SOURCES:]
    rows = (
        tag(
            "tr",
            tag("th", path(source["source"]), scope="row"),
            tag("td", stacked(_shares(source["records"]), "Records"), class_="bar-cell"),
            *_numbers([source["records"]]),
        )
        for source in drawn
    )
    foot = None
    if left:
        rest = tag("th", counted(len(left), "more source"), scope="row")
        foot = tag("tr", rest, tag("td"), *_numbers(source["records"] for source in left))
    drawn_table = table("Records by source", _COLUMNS, rows, foot=foot, is_tall=True)
    return tag(
        "details",
        tag("summary", f"{counted(len(sources), 'source')}, one by one"),
        drawn_table,
        open=len(sources) <= 12,
    )


def _numbers(many: Iterable[JsonObject]) -> list[Markup]:
    sums = [0, 0, 0, 0, 0]
    for records in many:
        shares = _shares(records)[:4]
        sums = [total + count for total, count in zip(sums, [records["read"], *(s.count for s in shares)], strict=True)]
    return [*(number_cell(count) for count in sums[:-1]), number_cell(sums[-1], tone="is-error")]


def _accounted(records: JsonObject) -> int:
    return (
        records["mapped"] + records["folded"] + sum(records["skipped"].values()) + sum(records["quarantined"].values())
    )


def _trouble(records: JsonObject) -> int:
    return sum(records["quarantined"].values()) + abs(records["read"] - _accounted(records))
