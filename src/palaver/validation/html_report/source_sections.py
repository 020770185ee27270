"""The sections about sources: the ledger of their records, the sources themselves, and what was not checked."""

from collections import Counter
from collections.abc import Iterable

from palaver.model.build import JsonObject
from palaver.validation.html_report.components import (
    MAX_SOURCE_ROWS,
    Bar,
    Column,
    Share,
    badge,
    bars,
    counted,
    empty,
    filter_box,
    has_widened,
    icon,
    number,
    number_cell,
    path,
    percent,
    section,
    size,
    stacked,
    swatch,
    table,
)
from palaver.validation.html_report.markup import Markup, joined, tag

_MAX_LEDGER_BARS = 6
_MEANINGS = {
    "mapped": "became a message or part of one",
    "folded": "merged into another record's message",
    "skipped by rule": "left out by a documented rule",
    "quarantined": "could not be read; kept in the quarantine",
    "unaccounted": "a bug: please report it",
}
_LEDGER_COLUMNS = (
    Column("Source", "text"),
    Column("Result", "chart"),
    *map(Column, ("Read", "Mapped", "Folded", "Skipped", "Quarantined")),
)


def ledger_section(report: JsonObject) -> Markup:
    records = report["totals"]["records"]
    if not records["read"] and not _accounted_records(records):
        return section("ledger", "Ledger", "The result of every record read.", empty("No records were read."))
    shares = _shares(records)
    sources = sorted(report["sources"], key=lambda source: -_problem_records(source["records"]))
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
    missing = records["read"] - _accounted_records(records)
    return [*shares, Share("missing", "unaccounted", missing)] if missing > 0 else shares


def _legend(records: JsonObject, shares: list[Share]) -> Markup:
    read = records["read"]
    adds_up = read == _accounted_records(records)
    rows = (
        tag(
            "tr",
            tag("th", swatch(share.kind), share.label.capitalize(), tag("small", _MEANINGS[share.label]), scope="row"),
            number_cell(share.count),
            tag("td", percent(share.count / read) if read else "", class_="number"),
        )
        for share in shares
    )
    verdict = badge("valid", "adds up") if adds_up else badge("error", "does not add up")
    foot = tag("tr", tag("th", "Read ", verdict, scope="row"), number_cell(read), tag("td"))
    columns = [Column("Records", "text"), Column("Count"), Column("Share")]
    widened_hint = "Very small parts are drawn slightly wider, so that they stay visible."
    return tag(
        "div",
        table("Records by result", columns, rows, foot=foot, is_sortable=False),
        tag("p", widened_hint, class_="hint") if has_widened([share.count for share in shares]) else None,
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
            _most_frequent(counts, kind, thing),
            class_="box",
        )
        for title, kind, counts, thing in named
        if counts
    ]
    return tag("div", *boxes, class_="boxes") if boxes else None


def _most_frequent(counts: dict[str, int], kind: str, thing: str) -> Markup:
    rows = [Bar(tag("code", name), count, kind) for name, count in Counter(counts).most_common()]
    return bars(rows[:_MAX_LEDGER_BARS], rows[_MAX_LEDGER_BARS:], thing=thing)


def _by_source(sources: list[JsonObject]) -> Markup:
    drawn, left = sources[:MAX_SOURCE_ROWS], sources[MAX_SOURCE_ROWS:]
    rows = (
        tag(
            "tr",
            tag("th", path(source["source"]), scope="row"),
            tag("td", stacked(_shares(source["records"]), "Records"), class_="bar-cell"),
            *_record_cells([source["records"]]),
        )
        for source in drawn
    )
    foot = None
    if left:
        rest = tag("th", counted(len(left), "more source"), scope="row")
        foot = tag("tr", rest, tag("td"), *_record_cells(source["records"] for source in left))
    drawn_table = table("Records by source", _LEDGER_COLUMNS, rows, foot=foot, is_tall=True)
    return tag(
        "details",
        tag("summary", f"{counted(len(sources), 'source')}, one by one"),
        drawn_table,
        open=len(sources) <= 12,
    )


def _record_cells(many: Iterable[JsonObject]) -> list[Markup]:
    sums = [0, 0, 0, 0, 0]
    for records in many:
        shares = _shares(records)[:4]
        sums = [total + count for total, count in zip(sums, [records["read"], *(s.count for s in shares)], strict=True)]
    return [*(number_cell(count) for count in sums[:-1]), number_cell(sums[-1], tone="is-error")]


def _accounted_records(records: JsonObject) -> int:
    return (
        records["mapped"] + records["folded"] + sum(records["skipped"].values()) + sum(records["quarantined"].values())
    )


def _problem_records(records: JsonObject) -> int:
    return sum(records["quarantined"].values()) + abs(records["read"] - _accounted_records(records))


_MAX_CODES = 3
_SOURCE_COLUMNS = (
    Column("Source", "text"),
    Column("Read as", "text"),
    Column("Verdict", "text"),
    *map(Column, ("Errors", "Warnings", "Notes", "Conversations", "Messages", "Documents", "Size")),
)


def sources_section(report: JsonObject) -> Markup:
    ordered = sorted(report["sources"], key=_severity_order)
    if not ordered:
        return section("sources", "Sources", "Files and folders that were read.", empty("No sources were read."))
    drawn, left = ordered[:MAX_SOURCE_ROWS], ordered[MAX_SOURCE_ROWS:]
    lead = f"{counted(len(ordered), 'source')}, most problems first."
    if left:
        lead += f" Only the first {number(MAX_SOURCE_ROWS)} are shown; the JSON report lists all."
    return section(
        "sources",
        "Sources",
        lead,
        filter_box("source-rows", "Filter sources", "path, platform, code"),
        table(
            "Sources",
            _SOURCE_COLUMNS,
            map(_source_row, drawn),
            foot=_remaining_row(left),
            name="source-rows",
            is_tall=True,
        ),
    )


def _severity_order(source: JsonObject) -> tuple[bool, bool, int, int, int]:
    severities = source["severities"]
    return (
        source["valid"],
        source["failure"] is None,
        -severities["error"],
        -severities["warning"],
        -severities["note"],
    )


def _source_row(source: JsonObject) -> Markup:
    failure = source["failure"]
    return tag(
        "tr",
        tag(
            "th",
            path(source["source"]),
            tag("span", failure, class_="failure") if failure is not None else None,
            _codes(source["findings"]),
            scope="row",
        ),
        tag("td", source["read_as"]),
        tag("td", _verdict(source)),
        _source_cells([source]),
    )


def _verdict(source: JsonObject) -> Markup:
    if source["failure"] is not None:
        return badge("error", "cut short")
    return badge("valid", "valid") if source["valid"] else badge("error", "not valid")


def _codes(findings: dict[str, int]) -> Markup | None:
    if not findings:
        return None
    ordered = sorted(findings.items(), key=lambda finding: -finding[1])
    labels = [f"{code} \N{MULTIPLICATION SIGN} {number(count)}" for code, count in ordered[:_MAX_CODES]]
    if len(ordered) > _MAX_CODES:
        labels.append(f"{len(ordered) - _MAX_CODES} more")
    return tag("span", " · ".join(labels), class_="codes")


def _remaining_row(left: list[JsonObject]) -> Markup | None:
    if not left:
        return None
    failed = sum(1 for source in left if not source["valid"])
    verdict = f"{number(failed)} not valid" if failed else "all valid"
    return tag(
        "tr",
        tag("th", counted(len(left), "more source"), scope="row"),
        tag("td"),
        tag("td", verdict),
        _source_cells(left),
    )


def _source_cells(many: Iterable[JsonObject]) -> Markup:
    every = list(many)
    severities = [sum(source["severities"][tone] for source in every) for tone in ("error", "warning", "note")]
    counts = [sum(source[name] for source in every) for name in ("conversations", "messages", "documents")]
    size_bytes = sum(source["bytes"] for source in every)
    return joined(
        number_cell(severities[0], tone="is-error"),
        number_cell(severities[1], tone="is-warning"),
        number_cell(severities[2], tone="is-note"),
        *map(number_cell, counts),
        tag("td", size(size_bytes), class_="number", data_value=size_bytes),
    )


_MAX_UNCLAIMED = 100
_MAX_OPEN_UNCLAIMED = 20


def unread_section(report: JsonObject) -> Markup:
    lead = "Paths that could not be checked, and files that are not conversations."
    return section("unread", "Not checked", lead, _refused(report["refused"]), _unclaimed(report["unclaimed"]))


def _refused(sentences: list[str]) -> Markup:
    title = tag("h3", "Could not be checked")
    if not sentences:
        return joined(title, empty("None."))
    items = (tag("li", icon("error"), tag("span", sentence)) for sentence in sentences)
    return joined(title, tag("ul", *items, class_="refused"))


def _unclaimed(paths: list[str]) -> Markup:
    title = tag("h3", "Skipped")
    if not paths:
        return joined(title, empty("None."))
    drawn, left = paths[:_MAX_UNCLAIMED], paths[_MAX_UNCLAIMED:]
    return joined(
        title,
        tag(
            "details",
            tag("summary", f"{counted(len(paths), 'file')} skipped: not conversations"),
            tag("ul", *(tag("li", path(file)) for file in drawn), class_="unclaimed"),
            tag("p", f"and {counted(len(left), 'more file')}", class_="hint") if left else None,
            open=len(paths) <= _MAX_OPEN_UNCLAIMED,
        ),
    )
