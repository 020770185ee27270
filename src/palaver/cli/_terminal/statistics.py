"""Totals and groups of `palaver stats`, as JSON and in a terminal."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from palaver.archive.statistics import conversation_titles
from palaver.archive.statistics_order import in_order
from palaver.archive.tally import GroupBy, Statistics, Tally
from palaver.archive.time_ranges import DAYS, AllTime, TimeRange
from palaver.archive.usage import Scope
from palaver.cli._terminal import output
from palaver.cli._terminal.layout import wrapped
from palaver.cli._terminal.statistics_notes import footnotes, no_tokens_reason
from palaver.cli._terminal.statistics_table import block_label
from palaver.cli._terminal.statistics_table import lines as table_lines
from palaver.cli._terminal.words import counted, duration, escaped_line, local_time, money, tallied, usage_records

if TYPE_CHECKING:
    import sqlite3
    from decimal import Decimal

    from palaver.archive.usage_record_statistics import UsageGroupBy
    from palaver.cli._budget import Budget

_AUTHORS = ("human", "model", "tool", "harness")
_FIGURES_AT = 12
_LARGEST_EXACT = 1 << 53
"""Integers up to this one are exact in JSON, whatever reads it."""


@dataclass(frozen=True, slots=True)
class Counting:
    """What was counted, and over which range of time."""

    scope: Scope
    """With the times of the range."""
    range: TimeRange
    by: "GroupBy | UsageGroupBy"
    all_time: AllTime | None
    """Everything, if the range is not everything."""
    budget: "Budget | None"
    is_of_records: bool
    is_exact: bool


def answer(connection: "sqlite3.Connection", found: Statistics, counting: Counting) -> dict[str, Any]:
    by = counting.by
    names = conversation_titles(connection, found.groups) if by == "conversation" else {}
    now = datetime.now(UTC)
    blocks = {block.start: block for block in found.blocks}

    def block_of(key: Any) -> dict[str, Any] | None:
        if (block := blocks.get(key)) is None:
            return None
        left = block.seconds_left(now)
        return {"end": block.end, "last_answer": block.last, "is_active": left > 0, "seconds_left": left}

    all_time = counting.all_time
    return {
        "of": "usage_records" if counting.is_of_records else "messages",
        "range": counting.range.kind,
        "since": counting.range.since or None,
        "until": counting.range.until or None,
        "by": by,
        "time_zone": "UTC" if counting.scope.is_utc else "local",
        "are_models_folded": not counting.is_exact,
        "totals": {**_counted(found.total), "agents": found.agents, "recordings": found.recordings},
        "all_time": None
        if all_time is None
        else {"conversations": all_time.conversations, "cost": _usd(all_time.cost)},
        "budget": None if counting.budget is None else counting.budget.as_json(),
        "groups": [
            {
                "group": ":".join(names[key][:2]) if key in names else key,
                "title": names[key][2] if key in names else None,
                "models": sorted(tally.models) if by == "model" else None,
                "block": block_of(key),
                **_counted(tally),
            }
            for key, tally in in_order(found, by, names)
        ],
        "left_out": {"copies": found.copies, "answers": found.copied_answers, "naive_tokens": asdict(found.naive)},
        "unpriced": [{"model": model, "answers": count} for model, count in found.unpriced_models()],
        "without_tokens": [
            {"platform": platform, "answers": count, "reason": no_tokens_reason(platform)}
            for platform, count in sorted(found.uncounted.items())
        ],
        "partial_answers": found.partial.total(),
        "periods": found.periods,
        "undated_records": found.undated,
    }


def _usd(amount: "Decimal | None") -> dict[str, Any] | None:
    return None if amount is None else {"amount": float(amount), "currency": "USD"}


def _counted(tally: Tally) -> dict[str, Any]:
    return {
        "conversations": len(tally.conversations),
        "messages": {**dict.fromkeys(_AUTHORS, 0), **tally.messages},
        "tool_calls": tally.tool_calls,
        "answers": tally.answers,
        "usage_records": tally.usage_records,
        "counts": {name: _number(count) for name, count in sorted(tally.counts.items())},
        "tokens": asdict(tally.tokens),
        "estimated_tokens": tally.estimated,
        "cost": _usd(tally.cost),
        "stated_costs": [
            {"amount": float(amount), "currency": currency} for currency, amount in sorted(tally.stated.items())
        ],
    }


def _number(count: "Decimal") -> float:
    return int(count) if abs(count) < _LARGEST_EXACT and count == int(count) else float(count)


def show(connection: "sqlite3.Connection", found: Statistics, counting: Counting) -> None:
    by = counting.by
    show_line(heading(counting), "bold")
    for line, style in _totals(found):
        show_line(line, style)
    if found.groups:
        output.answer("")
        names = conversation_titles(connection, found.groups) if by == "conversation" else {}
        for row in table_lines(found, by, names, is_utc=counting.scope.is_utc):
            output.answer(row)
    if active := _active_block(found, counting):
        show_line(active)
    show_notes(found, counting)


def show_notes(found: Statistics, counting: Counting) -> None:
    """Print the footnotes, the budget and the line about all time."""
    if notes := list(footnotes(found)):
        output.answer("")
        for line in notes:
            show_line(line, "dim")
    if counting.budget is not None:
        output.answer("")
        for line, style in counting.budget.sentences():
            show_line(line, style)
    if counting.all_time is not None:
        cost = counting.all_time.cost
        spent = "" if cost is None else f", {money(cost)}"
        output.answer("")
        show_line(f"All time: {counted(counting.all_time.conversations, 'conversation')}{spent}: `palaver stats --all`")


def show_line(line: str, style: str = "") -> None:
    """Print a line, wrapped at words on a terminal."""
    from rich.text import Text

    for piece in wrapped(line, output.terminal_width()) or [""]:
        output.answer(Text(piece, style))


def heading(counting: Counting) -> str:
    """Return the range of time in words."""
    chosen = counting.range
    if chosen.kind == "last_days":
        return f"Last {DAYS} days"
    if chosen.kind == "all_time":
        return "All time"
    since, until = _time_text(chosen.since, counting), _time_text(chosen.until, counting, is_end=True)
    if chosen.kind == "latest_days":
        return f"{since} to {until} (nothing in the last {DAYS} days)"
    if since and until:
        return since if since == until else f"{since} to {until}"
    return f"Since {since}" if since else f"Before {_time_text(chosen.until, counting)}"


def _time_text(time: str, counting: Counting, *, is_end: bool = False) -> str:
    """Return a time in the zone of days: as a date if it is midnight, for an end the date of the day before."""
    if not time:
        return ""
    moment = None if counting.scope.is_utc else local_time(time)
    moment = moment or datetime.fromisoformat(time)
    if (moment.hour, moment.minute, moment.second) != (0, 0, 0):
        return f"{moment:%Y-%m-%d %H:%M}"
    return f"{moment - timedelta(minutes=1) if is_end else moment:%Y-%m-%d}"


def _active_block(found: Statistics, counting: Counting) -> str:
    for block in found.blocks[-1:]:
        if left := block.seconds_left(datetime.now(UTC)):
            start, end = (block_label(time, is_utc=counting.scope.is_utc)[11:] for time in (block.start, block.end))
            return f"Active block: {start} to {end}, {duration(left)} left"
    return ""


def _kinds(found: Statistics) -> tuple[tuple[int, str], ...]:
    return (found.agents, "of agents"), (found.recordings, "recorded as well")


def _totals(found: Statistics) -> Iterator[tuple[str, str]]:
    """Yield lines with their styles."""
    total = found.total
    counts: list[str] = []
    if total.conversations:
        kinds = [f"{number:,} {words}" for number, words in _kinds(found) if number]
        among = f" ({', '.join(kinds)})" if kinds else ""
        counts += [counted(len(total.conversations), "conversation") + among]
        counts += [counted(total.messages.total(), "message")]
    if total.tool_calls:
        counts.append(f"{total.tool_calls:,} tool {'call' if total.tool_calls == 1 else 'calls'}")
    if total.usage_records:
        counts.append(usage_records(total.usage_records))
    yield ", ".join(counts), ""
    if total.messages:
        yield f"messages by {tallied(dict(total.messages))}", "dim"
    rows = list(_figures(total))
    if rows:
        yield "", ""
    width = max((len(figure) for _, figure, _ in rows), default=0)
    wide = max((len(name) for name, _, _ in rows), default=0) + 1
    terminal_width = output.terminal_width()
    for name, figure, note in rows:
        line = f"{name:<{max(wide, _FIGURES_AT)}}{figure:>{width}}"
        noted = f"{line}  {note}" if note else line
        yield line if terminal_width is not None and len(noted) > terminal_width else noted, ""
    for currency, amount in sorted(total.stated.items()):
        yield f"reported by the tools themselves: {money(amount, currency)} (not included above)", "dim"


def _figures(total: Tally) -> Iterator[tuple[str, str, str]]:
    """Yield names, numbers, and notes on them."""
    if total.answers:
        named = asdict(total.tokens).items()
        rows = [(name.replace("_", " "), f"{count:,}", "") for name, count in named if count or name != "thinking"]
        of = f"{counted(total.answers, 'answer')}, each counted once"
        yield *rows[0][:2], f"tokens of {of if total.conversations else usage_records(total.answers)}"
        yield from rows[1:]
    if total.estimated:
        yield "≈ tokens", f"{total.estimated:,}", "estimated by the tools themselves"
    for name, count in sorted(total.counts.items()):
        yield escaped_line(name.replace("_", " ")), f"{_number(count):,}", ""
    if total.cost is not None:
        yield "cost", money(total.cost), "by public API prices"
