"""Compare the archive's usage with a report of ccusage: `ccusage daily --json`, and its other reports.

The shapes of its versions differ a little: rows are under the report's name or under `data`; a day is `date` or
`period`; with `--instances`, rows are under the project they belong to.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from palaver.archive.usage import Scope
from palaver.archive.usage_comparison import DATED, Figures, Key, Period, Report, Tokens
from palaver.errors import SourceError

_REPORTS: dict[str, Period] = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "session": "session",
    "sessions": "session",
    "blocks": "block",
}
_NAMES: dict[Period, tuple[str, ...]] = {
    "day": ("date", "period"),
    "week": ("week", "period"),
    "month": ("month", "period"),
    "session": ("sessionId", "session", "period"),
    "block": ("startTime", "blockStart"),
}
_PLATFORM = "claude_code"
_SESSION_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Versions before 18 report sessions by the names of their folders, such as `-home-ada-garden`."""


def comparison_scope(scope: Scope, report: Report) -> Scope:
    """Return the scope of a report: its range, and Claude Code, as far as the filters do not say otherwise."""
    filters = scope.filters
    if not filters.platforms:
        filters = replace(filters, platforms=(_PLATFORM,))
    if not scope.is_timed():
        since, until = _range(report)
        filters = replace(filters, since=since, until=until)
    return replace(scope, filters=filters)


def _range(report: Report) -> tuple[str, str]:
    """Return the times between which the days of a report are in any time zone; a week or month has 31 days at most."""
    if report.period not in DATED:
        return "", ""
    try:
        days = [date.fromisoformat(f"{name}-01" if report.period == "month" else name) for name, _ in report.figures]
        first, last = min(days) - timedelta(days=1), max(days) + timedelta(days=33)
    except (ValueError, OverflowError):
        return "", ""
    return tuple(f"{datetime.combine(day, time(), UTC):%Y-%m-%dT%H:%M:%S}.000Z" for day in (first, last))  # pyright: ignore[reportReturnType] - two of them


def read_ccusage(path: Path) -> Report:
    """Read a report of ccusage; raise SourceError if it is none, or has no rows."""
    try:
        value = json.loads(path.read_bytes().decode("utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path} is not JSON: write it with `ccusage daily --json`") from error
    period, rows = _rows(value)
    if period is None:
        raise SourceError(f"{path} is not a report of ccusage: write one with `ccusage daily --json`")
    figures = _figures(period, [row for row in rows if isinstance(row, dict) and not row.get("isGap")])
    if not figures:
        raise SourceError(f"{path} has no usage to compare")
    if period == "session" and not any(_SESSION_ID.fullmatch(name) for name, _ in figures):
        raise SourceError(f"{path} names folders instead of sessions: compare `ccusage daily --json` instead")
    if not any(figure.cost for figure in figures.values()):
        figures = {key: figure._replace(is_priced=False) for key, figure in figures.items()}
    return Report(period, figures, tuple(_projects_folders()))


def _projects_folders() -> Iterator[str]:
    """Yield the folders whose session files ccusage reads."""
    configured = [text.strip() for text in os.environ.get("CLAUDE_CONFIG_DIR", "").split(",") if text.strip()]
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config")
    for folder in map(Path, configured or ("~/.claude", settings / "claude")):
        folder = folder.expanduser()
        yield str((folder if folder.name == "projects" else folder / "projects").resolve())


def _rows(value: Any) -> tuple[Period | None, list[Any]]:
    match value:
        case {"type": str(name), "data": list(rows)} if name in _REPORTS:
            return _REPORTS[name], rows
        case {"projects": dict(projects)}:
            return "day", [row for rows in projects.values() if isinstance(rows, list) for row in rows]
        case dict():
            for name, period in _REPORTS.items():
                if isinstance(rows := value.get(name), list):
                    return period, rows
        case _:
            pass
    return None, []


def _figures(period: Period, rows: list[dict[str, Any]]) -> dict[Key, Figures]:
    has_models = all(isinstance(row.get("modelBreakdowns"), list) for row in rows) and period != "block"
    found: dict[Key, Figures] = defaultdict(Figures)
    for row in rows:
        name = next((row[key] for key in _NAMES[period] if isinstance(row.get(key), str)), None)
        if name is None:
            continue
        for model, part in _parts(row) if has_models else [("", row)]:
            before = found[name, model]
            found[name, model] = Figures(before.tokens.plus(_tokens(part)), before.cost + _cost(part))
    return dict(found)


def _parts(row: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for part in row["modelBreakdowns"]:
        if isinstance(part, dict) and isinstance(model := part.get("modelName"), str):
            # The same model, answering at a higher speed and price.
            yield model.removesuffix("-fast"), part


def _tokens(part: dict[str, Any]) -> Tokens:
    counts = part["tokenCounts"] if isinstance(part.get("tokenCounts"), dict) else part
    written = counts.get("cacheCreationTokens", counts.get("cacheCreationInputTokens"))
    read = counts.get("cacheReadTokens", counts.get("cacheReadInputTokens"))
    return Tokens(*map(_count, (counts.get("inputTokens"), counts.get("outputTokens"), written, read)))


def _count(value: Any) -> int:
    return value if type(value) is int else 0


def _cost(part: dict[str, Any]) -> Decimal:
    value = next((part[key] for key in ("totalCost", "costUSD", "cost") if key in part), None)
    return Decimal(value) if isinstance(value, Decimal) or type(value) is int else Decimal(0)
