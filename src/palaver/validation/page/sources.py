"""The sources, those with trouble first."""

from collections.abc import Iterable

from palaver.model.build import JsonObject
from palaver.validation.page.layout import (
    MOST_SOURCES,
    Column,
    badge,
    empty,
    filter_box,
    number_cell,
    path,
    section,
    table,
)
from palaver.validation.page.markup import Markup, joined, tag
from palaver.validation.page.words import counted, number, size

_MOST_CODES = 3
_COLUMNS = (
    Column("Source", "text"),
    Column("Read as", "text"),
    Column("Verdict", "text"),
    *map(Column, ("Errors", "Warnings", "Notes", "Conversations", "Messages", "Documents", "Size")),
)


def sources(report: JsonObject) -> Markup:
    every = sorted(report["sources"], key=_trouble)
    if not every:
        return section("sources", "Sources", "What was read.", empty("No source was read."))
    drawn, left = every[:MOST_SOURCES], every[MOST_SOURCES:]
    lead = f"{counted(len(every), 'source')}, those with trouble first."
    if left:
        lead += f" The first {number(MOST_SOURCES)} are shown; the JSON report has all of them."
    return section(
        "sources",
        "Sources",
        lead,
        filter_box("source-rows", "Filter sources", "path, platform, code"),
        table("Sources", _COLUMNS, map(_row, drawn), foot=_rest(left), name="source-rows", is_tall=True),
    )


def _trouble(source: JsonObject) -> tuple[bool, bool, int, int, int]:
    severities = source["severities"]
    return (
        source["valid"],
        source["failure"] is None,
        -severities["error"],
        -severities["warning"],
        -severities["note"],
    )


def _row(source: JsonObject) -> Markup:
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
        _numbers([source]),
    )


def _verdict(source: JsonObject) -> Markup:
    if source["failure"] is not None:
        return badge("error", "cut short")
    return badge("valid", "valid") if source["valid"] else badge("error", "not valid")


def _codes(findings: dict[str, int]) -> Markup | None:
    if not findings:
        return None
    ordered = sorted(findings.items(), key=lambda finding: -finding[1])
    told = [f"{code} \N{MULTIPLICATION SIGN} {number(count)}" for code, count in ordered[:_MOST_CODES]]
    if len(ordered) > _MOST_CODES:
        told.append(f"{len(ordered) - _MOST_CODES} more")
    return tag("span", " · ".join(told), class_="codes")


def _rest(left: list[JsonObject]) -> Markup | None:
    if not left:
        return None
    failed = sum(1 for source in left if not source["valid"])
    told = f"{number(failed)} not valid" if failed else "all valid"
    return tag(
        "tr",
        tag("th", counted(len(left), "more source"), scope="row"),
        tag("td"),
        tag("td", told),
        _numbers(left),
    )


def _numbers(many: Iterable[JsonObject]) -> Markup:
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
