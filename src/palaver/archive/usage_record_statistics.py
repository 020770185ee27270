"""Statistics of usage records alone, whether or not there are conversations for them."""

# ruff: noqa: S608 - conditions are constants, every value is bound

import sqlite3
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Literal, get_args

import orjson

from palaver.archive.statistics import count_answer, week_start
from palaver.archive.tally import GroupKey, Statistics, Tally
from palaver.archive.usage import MODEL_COLUMN, RECORDS_AS_MESSAGES, CountedAnswer, Scope, Usage, undated_records
from palaver.prices import Prices
from palaver.prices.model_families import model_family

UsageGroupBy = Literal["day", "week", "month", "model", "platform", "subject"]
USAGE_GROUPINGS = get_args(UsageGroupBy)


def usage_record_statistics(
    connection: sqlite3.Connection, scope: Scope, by: UsageGroupBy, prices: Prices, *, folds_models: bool = False
) -> Statistics:
    """Return totals and groups; every record counts, whether a sum over a period or a single call.

    A record without a time of its own belongs to no day.
    """
    found = Statistics()
    if scope.is_timed():
        found.undated = undated_records(connection, scope, with_usage=False)
    chosen, values = scope.record_condition()
    query = (
        f"select {_day(scope)}, {MODEL_COLUMN}, m.platform, m.subject_kind, m.subject_id, m.kind, m.timestamp, "
        "cast(m.record as blob), m.input_tokens, m.output_tokens, m.cache_read_tokens, m.cache_write_tokens, "
        f"m.cache_write_1h_tokens, m.thinking_tokens from {RECORDS_AS_MESSAGES} where {chosen}"
    )
    for day, model, platform, subject_kind, subject_id, kind, timestamp, text, *counts in connection.execute(
        query, values
    ):
        record: dict[str, Any] = orjson.loads(text)
        subject = None if subject_id is None else f"{subject_kind}:{subject_id}"
        shown_model = model_family(model) if model and folds_models else model
        group = found.group(_KEYS[by](day, shown_model, platform, subject))
        if by == "model" and model is not None:
            group.models.add(model)
        group.usage_records += 1
        found.periods += kind == "period"
        _add(group, record)
        if any(count is not None for count in counts):
            tier = (record.get("tokens") or {}).get("service_tier")
            columns = (None, timestamp, "", "", platform, None, day, None, model, tier, 0, 1)
            count_answer(CountedAnswer(Usage._make((*columns, *counts)), tuple(counts), []), group, found, prices)
    for group in found.groups.values():
        _join(found.total, group)
    return found


def _day(scope: Scope) -> str:
    """Return an SQL expression for the day of a record; a sum over a day keeps its stated day in every time zone."""
    return f"case m.kind when 'period' then substr(m.timestamp, 1, 10) else {scope.record_day_column()} end"


_KEYS: Mapping[str, Callable[[str | None, str | None, str, str | None], GroupKey]] = {
    "day": lambda day, *_: day,
    "week": lambda day, *_: day and week_start(day),
    "month": lambda day, *_: day and day[:7],
    "model": lambda _, model, *__: model,
    "platform": lambda _, __, platform, ___: platform,
    "subject": lambda _, __, ___, subject: subject,
}


def _add(tally: Tally, record: dict[str, Any]) -> None:
    """Add the counts and costs that a record states besides tokens."""
    for name, count in (record.get("counts") or {}).items():
        tally.add_count(name, count)
    if cost := record.get("cost"):
        tally.add_stated(cost["amount"], cost.get("currency"))
    tally.estimated += _estimated_tokens((record.get("metadata") or {}).get("estimated_tokens"))


def _estimated_tokens(stated: Any) -> int:
    """Add up estimates, which a platform states as one number or by kind; other fields are not counts."""
    if isinstance(stated, dict):
        return sum(_estimated_tokens(stated.get(name)) for name in ("input_tokens", "output_tokens"))
    return stated if type(stated) is int and stated > 0 else 0


def _join(total: Tally, group: Tally) -> None:
    total.usage_records += group.usage_records
    total.answers += group.answers
    total.tokens.join(group.tokens)
    total.estimated += group.estimated
    if group.cost is not None:
        total.cost = (total.cost or Decimal(0)) + group.cost
    for name, count in group.counts.items():
        total.add_count(name, count)
    for currency, amount in group.stated.items():
        total.add_stated(amount, currency)
