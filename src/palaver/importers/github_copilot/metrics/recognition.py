"""Recognition of usage reports by the field names in their first rows, and of how a file stores its rows."""

from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from itertools import islice
from typing import Any, Literal, cast

from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.raw_records import has_object_per_line
from palaver.model.build import JsonObject
from palaver.sources.damage import BOM, SPACE
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.source import Source

Layout = Literal["lines", "array", "day_totals", "seats", "usageItems"]
"""Where the rows are: one per line, in an array, or in the list under this name."""

_LISTS: tuple[Layout, ...] = ("day_totals", "seats", "usageItems")
_BLANK = BOM + SPACE + b"\0"
_MAX_LINES = 8
_HALLMARKS = (
    *(b'"total_suggestions_count"', b'"copilot_ide_', b'"copilot_dotcom_', b'_interaction_count"', b'"totals_by_'),
    *(b'"daily_active_users"', b'_activity_count"', b'"download_links"', b'"seats"', b'"seat_', b'"usageItems"'),
)
_HEAD_BYTES = 1 << 14
"""Enough to recognize even a long row."""
_USAGE_API_FIELDS = frozenset(
    {"total_suggestions_count", "total_acceptances_count", "total_lines_suggested", "total_active_users", "breakdown"}
)
_METRICS_API_FIELDS = frozenset(
    {
        *("copilot_ide_chat", "copilot_ide_code_completions", "copilot_dotcom_chat", "copilot_dotcom_pull_requests"),
        *("total_active_users", "total_engaged_users"),
    }
)
_REPORT_FIELDS = frozenset(
    {
        *("user_initiated_interaction_count", "code_generation_activity_count", "code_acceptance_activity_count"),
        *("totals_by_ide", "totals_by_feature", "totals_by_language_feature", "totals_by_language_model"),
        *("totals_by_model_feature", "totals_by_cli", "daily_active_users", "monthly_active_users", "used_chat"),
        *("used_agent", "loc_added_sum", "loc_suggested_to_add_sum", "user_login"),
    }
)
_SEAT_FIELDS = frozenset({"assignee", "last_activity_at", "last_activity_editor", "assigning_team", "plan_type"})
_MIN_MATCHES = 2


def recognize(source: Source) -> Match:
    head = b"" if source.is_folder else source.head()[:_HEAD_BYTES]
    if not any(hallmark in head for hallmark in _HALLMARKS):
        return Match.no()
    layout = layout_of(source)
    for row in islice(_rows(source, layout), _MAX_LINES):
        if isinstance(row, dict) and (reason := _reason(cast("JsonObject", row), layout)):
            return Match.yes(reason, form=f"metrics:{layout}")
    match source.parsed_head():
        case {"total_seats": int(), "seats": list()}:
            return Match.yes("seats of Copilot", form="metrics:seats")
        case _:
            return Match.no()


def layout_of(source: Source) -> Layout:
    if source.head().lstrip(_BLANK).startswith(b"["):
        return "array"
    value = source.parsed_head()
    if isinstance(value, dict) and not has_object_per_line(source.head()):
        for name in _LISTS:
            if isinstance(cast("JsonObject", value).get(name), list):
                return name
    return "lines"


def is_copilot_item(item: JsonObject) -> bool:
    """Return whether an item of a bill belongs to Copilot."""
    names = (item.get("product"), item.get("sku"), item.get("unitType"))
    return any("copilot" in word.lower() or word == "ai-credits" for word in names if isinstance(word, str))


def _rows(source: Source, layout: Layout) -> Iterator[Any]:
    value = source.parsed_head()
    if isinstance(value, list):
        yield from cast("list[Any]", value)
    elif isinstance(value, dict):
        yield from cast("JsonObject", value)[layout] if layout in _LISTS else [value]
    if layout == "lines":
        for line in islice(BytesIO(source.head()), 1, _MAX_LINES):
            with suppress(*NOT_JSON):
                yield parse(line)


def _reason(row: JsonObject, layout: Layout) -> str:
    names = row.keys()
    if layout == "usageItems":
        return "a bill with items of Copilot" if is_copilot_item(row) else ""
    if layout == "seats":
        return "seats of Copilot" if len(_SEAT_FIELDS & names) >= _MIN_MATCHES else ""
    if "seats" in names and isinstance(row["seats"], list) and "total_seats" in names:
        return "pages of seats of Copilot"
    if "seat_breakdown" in names and "seat_management_setting" in names:
        return "settings of a Copilot subscription"
    if "day" in names and len(_USAGE_API_FIELDS & names) > _MIN_MATCHES:
        return "use of Copilot by day"
    if "date" in names and len(_METRICS_API_FIELDS & names) > _MIN_MATCHES:
        return "metrics of Copilot by day"
    if "day" in names and len(_REPORT_FIELDS & names) > _MIN_MATCHES:
        return "a report of Copilot's usage metrics"
    if isinstance(row.get("download_links"), list) and not names.isdisjoint({"report_day", "report_start_day"}):
        return "links to reports of Copilot's use, which are not the reports: fetch what they lead to"
    return ""
