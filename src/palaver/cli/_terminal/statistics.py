"""Totals and groups of `palaver stats`, as JSON and in a terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from palaver.archive.statistics import TIME_GROUPINGS, GroupBy, GroupKey, Statistics, Tally, conversation_titles
from palaver.archive.usage import Scope
from palaver.cli import _archive
from palaver.cli._terminal import output
from palaver.cli._terminal.layout import bar, can_draw_blocks
from palaver.cli._terminal.words import counted, display_path, escaped_line, gist, short_number, tallied, usage_records

if TYPE_CHECKING:
    import sqlite3
    from decimal import Decimal

    from rich.text import Text

    from palaver.archive.usage_record_statistics import UsageGroupBy

    _Names = dict[GroupKey, tuple[str, str, str | None]]
    """Platform, id and title of conversations, by key."""

_HEADS = {
    "messages": "msgs",
    "calls": "calls",
    "records": "records",
    "input": "input",
    "output": "output",
    "cache_read": "cache r",
    "cache_write": "cache w",
    "cost": "cost",
}
_AUTHORS = ("human", "model", "tool", "harness")
_FIGURES_AT = 12
_MODELS_NAMED = 5
_LONGEST_BAR = 40
_SHORTEST_BAR = 6
_NARROW = 100
_LONGEST_NAME, _LONGEST_NAME_IF_NARROW = 40, 22
_LARGEST_EXACT = 1 << 53
"""Integers up to this one are exact in JSON, whatever reads it."""
_LONGEST_GAP = 7
"""Days without messages are shown, unless there are more of them in a row."""


def answer(
    connection: "sqlite3.Connection",
    found: Statistics,
    scope: Scope,
    by: "GroupBy | UsageGroupBy",
    *,
    is_of_records: bool,
) -> dict[str, Any]:
    names = conversation_titles(connection, found.groups) if by == "conversation" else {}
    return {
        "of": "usage_records" if is_of_records else "messages",
        "since": scope.filters.since or None,
        "until": scope.filters.until or None,
        "by": by,
        "time_zone": "UTC" if scope.is_utc else "local",
        "totals": {**_counted(found.total), "agents": found.agents},
        "groups": [
            {
                "group": ":".join(names[key][:2]) if key in names else key,
                "title": names[key][2] if key in names else None,
                **_counted(tally),
            }
            for key, tally in _in_order(found, by, names)
        ],
        "left_out": {"copies": found.copies, "answers": found.copied_answers, "naive_tokens": asdict(found.naive)},
        "unpriced": [{"model": model, "answers": count} for model, count in found.unpriced_models()],
        "partial_answers": found.partial,
        "periods": found.periods,
    }


def _counted(tally: Tally) -> dict[str, Any]:
    return {
        "conversations": len(tally.conversations),
        "messages": {**dict.fromkeys(_AUTHORS, 0), **tally.messages},
        "tool_calls": tally.tool_calls,
        "answers": tally.answers,
        "usage_records": tally.usage_records,
        "counts": {name: _number(count) for name, count in sorted(tally.counts.items())},
        "tokens": asdict(tally.tokens),
        "cost": None if tally.cost is None else {"amount": float(tally.cost), "currency": "USD"},
        "stated_costs": [
            {"amount": float(amount), "currency": currency} for currency, amount in sorted(tally.stated.items())
        ],
    }


def _number(count: "Decimal") -> float:
    return int(count) if abs(count) < _LARGEST_EXACT and count == int(count) else float(count)


def _in_order(found: Statistics, by: "GroupBy | UsageGroupBy", names: "_Names") -> list[tuple[GroupKey, Tally]]:
    """Return times in order, everything else with the greatest first; of equal ones, the first by name."""
    if by in TIME_GROUPINGS:
        return sorted(found.groups.items(), key=lambda entry: str(entry[0]))
    measure = _measure(found)[1]

    def rank(entry: tuple[GroupKey, Tally]) -> tuple[float, float, str]:
        key, tally = entry
        return -measure(tally), -_size(tally), ":".join(names[key][:2]) if key in names else str(key)

    return sorted(found.groups.items(), key=rank)


def _size(tally: Tally) -> float:
    return tally.tokens.total() or tally.messages.total() or tally.tool_calls


def _measure(found: Statistics) -> tuple[str, Any]:
    """Return what bars are drawn of: the first of cost, tokens, messages, calls and records that any group has."""
    groups = found.groups.values()
    if any(group.cost for group in groups):
        return "cost", lambda tally: float(tally.cost or 0)
    if any(group.answers for group in groups):
        return "tokens", lambda tally: tally.tokens.total()
    if any(group.messages for group in groups):
        return "messages", lambda tally: tally.messages.total()
    if any(group.tool_calls for group in groups):
        return "calls", lambda tally: tally.tool_calls
    return "records", lambda tally: tally.usage_records


def show(connection: "sqlite3.Connection", found: Statistics, by: "GroupBy | UsageGroupBy", *, is_recent: bool) -> None:
    for line in _totals(found):
        output.answer(line)
    if found.groups:
        output.answer("")
        for line in _groups(connection, found, by, is_recent=is_recent):
            output.answer(line)
    if notes := list(footnotes(found)):
        output.answer("")
        for line in notes:
            output.answer(line)


def _totals(found: Statistics) -> "Iterator[Text]":
    from rich.text import Text

    total = found.total
    counts: list[str] = []
    if total.conversations:
        agents = f" ({found.agents:,} of agents)" if found.agents else ""
        counts += [counted(len(total.conversations), "conversation") + agents]
        counts += [counted(total.messages.total(), "message")]
    if total.tool_calls:
        counts.append(f"{counted(total.tool_calls, 'call')} of tools")
    if total.usage_records:
        counts.append(usage_records(total.usage_records))
    yield Text(", ".join(counts), "bold")
    if total.messages:
        yield Text(f"messages by {tallied(dict(total.messages))}", "dim")
    rows = list(_figures(total))
    if rows:
        yield Text("")
    width = max((len(figure) for _, figure, _ in rows), default=0)
    wide = max((len(name) for name, _, _ in rows), default=0) + 1
    for name, figure, note in rows:
        yield Text.assemble(
            (f"{name:<{max(wide, _FIGURES_AT)}}", "dim"), f"{figure:>{width}}", (f"  {note}" if note else "", "dim")
        )


def _figures(total: Tally) -> Iterator[tuple[str, str, str]]:
    """Yield names, numbers, and notes on them."""
    if total.answers:
        named = asdict(total.tokens).items()
        rows = [(name.replace("_", " "), f"{count:,}", "") for name, count in named if count or name != "thinking"]
        of = f"{counted(total.answers, 'answer')}, each counted once"
        yield *rows[0][:2], f"tokens of {of if total.conversations else usage_records(total.answers)}"
        yield from rows[1:]
    for name, count in sorted(total.counts.items()):
        yield escaped_line(name.replace("_", " ")), f"{_number(count):,}", ""
    if total.cost is not None:
        yield "cost", money(total.cost), "by public API prices"
    for currency, sum_ in sorted(total.stated.items()):
        yield "stated", money(sum_, currency), "by sources themselves, in no other number here"


def footnotes(found: Statistics) -> "Iterator[Text]":
    """Yield what the totals leave out or do not know."""
    from rich.text import Text

    if found.copies:
        more = found.naive.total() - found.total.tokens.total()
        yield Text(
            f"{counted(found.copies, 'copy')} of {counted(found.copied_answers, 'answer')} "
            f"{'was' if found.copies == 1 else 'were'} left out "
            f"({counted(max(more, 0), 'token')} that naive counting would add); --explain shows where each is counted.",
            "dim",
        )
    if found.unpriced:
        names = [
            escaped_line(model) if model else "one without a name"
            for model, _ in found.unpriced_models()[:_MODELS_NAMED]
        ]
        others = len(found.unpriced) - len(names)
        models = ", ".join(names) + (f" and {counted(others, 'other')}" if others else "")
        yield Text(f"{counted(found.unpriced.total(), 'answer')} by models without a known price: {models}.", "dim")
    if found.total.usage_records and found.total.conversations:
        answers = counted(found.total.usage_records, "answer")
        yield Text(f"{answers} by calls that only usage records tell of; --usage counts these alone.", "dim")
    if found.periods:
        are = "is a sum" if found.periods == 1 else "are sums"
        yield Text(f"{counted(found.periods, 'record')} {are} over a time, and may hold what others tell of.", "dim")
    if found.partial:
        was = "was" if found.partial == 1 else "were"
        yield Text(
            f"{counted(found.partial, 'answer')} {was} not recorded to the end; output may have been more.", "dim"
        )


def money(value: "Decimal | float", currency: str = "USD") -> str:
    sign = "$" if currency == "USD" else ""
    unit = "" if currency == "USD" else f" {escaped_line(currency)}"
    if 0 < value < 0.01:
        return f"<{sign}0.01{unit}"
    return f"{sign}{value:,.2f}{unit}"


def _groups(
    connection: "sqlite3.Connection", found: Statistics, by: "GroupBy | UsageGroupBy", *, is_recent: bool
) -> "Iterator[Text]":
    from rich.text import Text

    name, measure = _measure(found)
    names = conversation_titles(connection, found.groups) if by == "conversation" else {}
    rows = list(_with_gaps(_in_order(found, by, names), by))
    greatest = max(measure(tally) for tally in found.groups.values())
    labels = _labels([key for key, _ in rows], by, names)
    columns = {head: [_cell(tally, column) for _, tally in rows] for column, head in _HEADS.items()}
    columns = {head: cells for head, cells in columns.items() if any(cells)}
    if by == "tool":
        columns = {"msgs": [f"{tally.tool_messages:,}" for _, tally in rows if tally], "calls": columns["calls"]}
    wide = max(len(by), *(label.cell_len for label in labels))
    widths = {head: max(len(head), *map(len, cells)) for head, cells in columns.items()}
    taken = wide + sum(width + 2 for width in widths.values()) + 2
    bar_width = min(_LONGEST_BAR, (output.terminal_width() or 100) - taken)
    if is_recent:
        yield Text(f"Day by day, up to {labels[-1].plain}", "bold")
    heads = "".join(f"  {head:>{width}}" for head, width in widths.items())
    # Bars need no heading beside their numbers.
    over_bars = f"  {name}" if name not in columns and bar_width >= len(name) else ""
    yield Text(f"{by:<{wide}}{heads}{over_bars}", "dim")
    with_blocks = can_draw_blocks()
    for index, ((_, tally), label) in enumerate(zip(rows, labels, strict=True)):
        label.align("left", wide)
        line = label
        for head, cells in columns.items():
            line.append(f"  {cells[index]:>{widths[head]}}", "" if head in {"cost", "calls"} else "dim")
        if tally is not None and bar_width >= _SHORTEST_BAR and greatest:
            line.append("  ").append(bar(measure(tally) / greatest, bar_width, with_blocks=with_blocks), "cyan")
        line.rstrip()
        yield line


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
        case "cost":
            return "" if tally.cost is None else money(tally.cost)
        case _:
            return short_number(getattr(tally.tokens, column)) if tally.answers else ""


def _labels(keys: Sequence[GroupKey], by: "GroupBy | UsageGroupBy", names: "_Names") -> "list[Text]":
    from rich.text import Text

    labels: list[Text] = []
    for key in keys:
        match by:
            case "conversation" if key is not None:
                platform, conversation_id, title = names[key]
                text = gist(title or f"{platform}:{conversation_id}", 200)
            case "platform":
                text = _archive.platform_title(str(key))
            case "project":
                text = display_path(key) if isinstance(key, str) else "no project"
            case _:
                text = f"no {by}" if key is None else escaped_line(str(key))
        label = Text(text)
        if (width := output.terminal_width()) is not None and by not in TIME_GROUPINGS:
            longest = _LONGEST_NAME_IF_NARROW if width < _NARROW else _LONGEST_NAME
            label.truncate(longest, overflow="ellipsis" if can_draw_blocks() else "crop")
        labels.append(label)
    return labels


def _with_gaps(
    rows: list[tuple[GroupKey, Tally]], by: "GroupBy | UsageGroupBy"
) -> Iterator[tuple[GroupKey, Tally | None]]:
    """Add rows for the days, weeks or months without anything; one row of dots for a long gap."""
    if by not in TIME_GROUPINGS:
        yield from rows
        return
    before: str | None = None
    for key, tally in rows:
        missing = _between(before, str(key), by) if before is not None else []
        if len(missing) > _LONGEST_GAP:
            yield "…" if can_draw_blocks() else "...", None
        else:
            yield from ((time, None) for time in missing)
        yield key, tally
        before = str(key)


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
