"""The table of `palaver stats`: one row for each group, bars, and a total row.

On a narrow terminal whole columns are left out, those that say least first, before a name is cut.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from palaver.archive.statistics_order import Names, greatest_measure, in_order
from palaver.archive.tally import TIME_GROUPINGS, GroupBy, GroupKey, Statistics, Tally
from palaver.cli import _archive
from palaver.cli._terminal import output
from palaver.cli._terminal.layout import bar, can_draw_blocks
from palaver.cli._terminal.words import display_path, escaped_line, gist, local_time, money, short_number

if TYPE_CHECKING:
    from rich.text import Text

    from palaver.archive.usage_record_statistics import UsageGroupBy

_HEADS = {
    "messages": "msgs",
    "calls": "calls",
    "records": "records",
    "input": "input",
    "output": "output",
    "cache_read": "cache r",
    "cache_write": "cache w",
    "estimated": "≈ tokens",
    "cost": "cost",
}
_LEFT_OUT_FIRST = ("cache_write", "cache_read", "records", "calls", "input", "messages", "output", "estimated")
_TOTAL = "total"
_LONGEST_NAME = 48
_LONGEST_BAR = 40
_SHORTEST_BAR = 6
_LONGEST_GAP = 7
"""Days without messages are shown, unless there are more of them in a row."""


@dataclass(slots=True)
class _Column:
    head: str
    cells: list[str]
    total: str

    @property
    def width(self) -> int:
        return max(len(self.head), len(self.total), *map(len, self.cells))


def lines(found: Statistics, by: "GroupBy | UsageGroupBy", names: Names, *, is_utc: bool) -> "Iterator[Text]":
    from rich.text import Text

    name, measure = greatest_measure(found)
    rows = list(_with_gaps(in_order(found, by, names), by))
    greatest = max(measure(tally) for tally in found.groups.values())
    labels = [Text(label) for label in _labels([key for key, _ in rows], found, by, names, is_utc=is_utc)]
    columns = _columns([tally for _, tally in rows], found, by)
    width = output.terminal_width()
    longest = max(len(by), len(_TOTAL), *(label.cell_len for label in labels))
    if width is not None:
        longest = min(longest, max(_LONGEST_NAME, width // 3))
        for column in _LEFT_OUT_FIRST:
            if _table_width(longest, columns) > width and len(columns) > 1:
                columns.pop(column, None)
        longest = max(len(_TOTAL), min(longest, width - _table_width(0, columns)))
        for label in labels:
            label.truncate(longest, overflow="ellipsis" if can_draw_blocks() else "crop")
    bar_width = min(_LONGEST_BAR, (width or 100) - _table_width(longest, columns) - 2)
    has_bars = bar_width >= _SHORTEST_BAR and greatest
    # Bars need no heading beside their numbers.
    over_bars = f"  {name}" if has_bars and name not in columns and bar_width >= len(name) else ""
    widths = {kind: column.width for kind, column in columns.items()}
    heads = "".join(f"  {column.head:>{widths[kind]}}" for kind, column in columns.items())
    yield Text(f"{by:<{longest}}{heads}{over_bars}", "dim")
    with_blocks = can_draw_blocks()
    for index, ((_, tally), label) in enumerate(zip(rows, labels, strict=True)):
        label.align("left", longest)
        for kind, column in columns.items():
            label.append(f"  {column.cells[index]:>{widths[kind]}}", "" if kind in {"cost", "calls"} else "dim")
        if tally is not None and has_bars:
            label.append("  ").append(bar(measure(tally) / greatest, bar_width, with_blocks=with_blocks), "cyan")
        label.rstrip()
        yield label
    if len(found.groups) > 1:
        sums = "".join(f"  {column.total:>{widths[kind]}}" for kind, column in columns.items())
        yield Text(f"{_TOTAL:<{longest}}{sums}".rstrip(), "bold")


def _table_width(longest: int, columns: dict[str, _Column]) -> int:
    return longest + sum(column.width + 2 for column in columns.values())


def _columns(rows: list[Tally | None], found: Statistics, by: "GroupBy | UsageGroupBy") -> dict[str, _Column]:
    """Return the columns that are not empty."""
    total = found.total
    if by == "tool":
        # A message that calls two tools is in both rows: their sum is the number of nothing.
        messages = [f"{tally.tool_messages:,}" if tally else "" for tally in rows]
        calls = [_cell(tally, "calls") for tally in rows]
        return {"messages": _Column("msgs", messages, ""), "calls": _Column("calls", calls, f"{total.tool_calls:,}")}
    columns: dict[str, _Column] = {}
    for name, head in _HEADS.items():
        cells = [_cell(tally, name) for tally in rows]
        if any(cells):
            columns[name] = _Column(head, cells, _cell(total, name))
    if by == "model" and "messages" in columns:
        # Grouped by model, messages of people and tools are in no row.
        columns["messages"].total = f"{sum(tally.messages.total() for tally in rows if tally):,}"
    return columns


def _cell(tally: Tally | None, column: str) -> str:
    if tally is None:
        return ""
    match column:
        case "messages":
            return f"{tally.messages.total():,}" if tally.messages else ""
        case "calls":
            return f"{tally.tool_calls:,}" if tally.tool_calls else ""
        case "records":
            return f"{tally.usage_records:,}" if tally.usage_records else ""
        case "estimated":
            return short_number(tally.estimated) if tally.estimated else ""
        case "cost":
            return "" if tally.cost is None else money(tally.cost)
        case _:
            return short_number(getattr(tally.tokens, column)) if tally.answers else ""


def _labels(
    keys: Sequence[GroupKey], found: Statistics, by: "GroupBy | UsageGroupBy", names: Names, *, is_utc: bool
) -> list[str]:
    active = {block.start for block in found.blocks if block.seconds_left(datetime.now(UTC))}
    labels: list[str] = []
    for key in keys:
        match by:
            case "conversation" if key is not None:
                platform, conversation_id, title = names[key]
                labels.append(gist(title or f"{platform}:{conversation_id}", 200))
            case "platform":
                labels.append(_archive.platform_title(str(key)))
            case "project":
                labels.append(display_path(key) if isinstance(key, str) else "no project")
            case "block" if key is not None:
                labels.append(block_label(str(key), is_utc=is_utc) + (" active" if key in active else ""))
            case "day" | "week" | "month" if key is None:
                labels.append("no date")
            case _:
                labels.append(f"no {by}" if key is None else escaped_line(str(key)))
    return labels


def block_label(start: str, *, is_utc: bool) -> str:
    moment = None if is_utc else local_time(start)
    return f"{moment:%Y-%m-%d %H:%M}" if moment else start[:16].replace("T", " ")


def _with_gaps(
    rows: list[tuple[GroupKey, Tally]], by: "GroupBy | UsageGroupBy"
) -> Iterator[tuple[GroupKey, Tally | None]]:
    """Add rows for the days, weeks or months without anything; one row of dots for a long gap."""
    if by not in TIME_GROUPINGS or by == "block":
        yield from rows
        return
    before: str | None = None
    for key, tally in rows:
        missing = _between(before, str(key), by) if before is not None and key is not None else []
        if len(missing) > _LONGEST_GAP:
            yield "…" if can_draw_blocks() else "...", None
        else:
            yield from ((time, None) for time in missing)
        yield key, tally
        before = None if key is None else str(key)


def _between(first: str, last: str, by: "GroupBy | UsageGroupBy") -> list[str]:
    """Return the days, Mondays or months between two of them, at most one more than the longest gap."""
    found: list[str] = []
    try:
        current = date.fromisoformat(f"{first}-01" if by == "month" else first)
        while len(found) <= _LONGEST_GAP:
            if by == "month":
                current = (current + timedelta(days=31)).replace(day=1)
            else:
                current += timedelta(days=7 if by == "week" else 1)
            key = current.isoformat()[: len(first)]
            if key >= last:
                break
            found.append(key)
    except (ValueError, OverflowError):
        return []
    return found
