"""Usage records counted by themselves: what they say was used, with or without a conversation beside them."""

# ruff: noqa: S608 - conditions are words of this program, every value is bound

import sqlite3
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Literal, get_args

import orjson

from palaver.archive.statistics import Key, Statistics, Tally, count_answer, week
from palaver.archive.usage import MODEL, RECORDS, Answer, Scope, Usage
from palaver.prices import Prices

UsageBy = Literal["day", "week", "month", "model", "platform", "subject"]
USAGE_BY = get_args(UsageBy)


def usage_statistics(connection: sqlite3.Connection, scope: Scope, by: UsageBy, prices: Prices) -> Statistics:
    """Totals and groups; every record counts, sums over a time as well as single calls."""
    found = Statistics()
    chosen, values = scope.records()
    query = (
        f"select {_day(scope)}, {MODEL}, m.platform, m.subject_kind, m.subject_id, m.kind, m.timestamp, "
        "cast(m.record as blob), m.input_tokens, m.output_tokens, m.cache_read_tokens, m.cache_write_tokens, "
        f"m.cache_write_1h_tokens, m.thinking_tokens from {RECORDS} where {chosen}"
    )
    for day, model, platform, of, name, kind, timestamp, text, *figures in connection.execute(query, values):
        record: dict[str, Any] = orjson.loads(text)
        group = found.group(_KEYS[by](day, model, platform, None if name is None else f"{of}:{name}"))
        group.usage_records += 1
        found.periods += kind == "period"
        _add(group, record)
        if any(figure is not None for figure in figures):
            tier = (record.get("tokens") or {}).get("service_tier")
            place = (None, timestamp, "", "", platform, None, day, None, model, tier, 0, 1)
            count_answer(Answer(Usage._make((*place, *figures)), tuple(figures), []), group, found, prices)
    for group in found.groups.values():
        _join(found.total, group)
    return found


def _day(scope: Scope) -> str:
    """The day of a record, as a column; that of a sum over a day is the one it states, wherever it is read."""
    return f"case m.kind when 'period' then substr(m.timestamp, 1, 10) else {scope.day()} end"


_KEYS: Mapping[str, Callable[[str, str | None, str, str | None], Key]] = {
    "day": lambda day, *_: day,
    "week": lambda day, *_: week(day),
    "month": lambda day, *_: day[:7],
    "model": lambda _, model, *__: model,
    "platform": lambda _, __, platform, ___: platform,
    "subject": lambda *facts: facts[3],
}


def _add(tally: Tally, record: dict[str, Any]) -> None:
    """What stands in a record beside tokens."""
    for name, count in (record.get("counts") or {}).items():
        tally.counts[name] = tally.counts.get(name, 0) + count
    if cost := record.get("cost"):
        currency = cost.get("currency") or "USD"
        tally.stated[currency] = tally.stated.get(currency, 0.0) + cost["amount"]


def _join(total: Tally, group: Tally) -> None:
    total.usage_records += group.usage_records
    total.answers += group.answers
    total.tokens.join(group.tokens)
    if group.cost is not None:
        total.cost = (total.cost or Decimal(0)) + group.cost
    for into, sums in ((total.counts, group.counts), (total.stated, group.stated)):
        for name, count in sums.items():
            into[name] = into.get(name, 0) + count
