"""Drift: kinds of records that no importer knows, since the product has changed."""

from palaver.model.build import JsonObject
from palaver.validation.page.layout import Column, empty, number_cell, path, section, table
from palaver.validation.page.markup import Markup, tag

_COLUMNS = (
    Column("Kind", "text"),
    Column("Platform", "text"),
    Column("Version", "text"),
    Column("Times"),
    Column("Met first in", "text"),
)


def drift(report: JsonObject) -> Markup:
    kinds = report["drift"]
    if not kinds:
        lead = "Kinds of records that no importer knows."
        return section("drift", "Drift", lead, empty("None: every kind of record is known."))
    lead = (
        "Kinds of records that this palaver does not know. "
        "A newer palaver may know these; nothing is lost: they are kept whole."
    )
    return section("drift", "Drift", lead, table("Unknown kinds of records", _COLUMNS, map(_row, kinds)))


def _row(kind: JsonObject) -> Markup:
    return tag(
        "tr",
        tag("th", tag("code", kind["kind"]), scope="row"),
        tag("td", kind["platform"]),
        tag("td", kind["version"]) if kind["version"] is not None else tag("td", "not stated", class_="muted"),
        number_cell(kind["count"]),
        tag(
            "td",
            path(kind["source"]),
            tag("span", "conversation ", tag("code", kind["conversation_id"]), class_="codes"),
        ),
    )
