"""Totals of the archive, overall and grouped by day, project, model and so on.

Messages are counted as stored. Usage counts once (`usage.py`), including calls that only a usage record states. Tool
calls count once by the same rule: per answer, or per body if there is no API message id, at the first message that has
them. Costs are computed here from prices, request by request; costs stated by sources are reported separately and never
mixed in.
"""

# ruff: noqa: S608 - conditions are constants, every value is bound

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

from palaver.archive.conversation_list import recordings
from palaver.archive.conversation_totals import answer_id, calls_table
from palaver.archive.tally import GroupBy, GroupKey, Statistics, Tally
from palaver.archive.usage import (
    MODEL_COLUMN,
    OWNER_ORDER,
    CountedAnswer,
    MessagesInRange,
    Scope,
    Usage,
    counted_answers,
    counted_record_answers,
    messages_in_range,
    undated_records,
)
from palaver.archive.usage_blocks import Block, BlockIndex, is_gap, usage_blocks
from palaver.prices import PriceRow, Prices
from palaver.prices.model_families import model_family


class PricedAnswer(NamedTuple):
    amount: Decimal
    row: PriceRow


def statistics(
    connection: sqlite3.Connection, scope: Scope, by: GroupBy, prices: Prices, *, folds_models: bool = False
) -> Statistics:
    """Return the totals and groups of everything in scope; `folds_models` groups a model's spellings together."""
    found = Statistics()
    among = messages_in_range(connection, scope)
    if by == "block":
        found.blocks = blocks_in_scope(connection, scope)
    grouping = _Grouping(scope, by, BlockIndex(found.blocks), folds_models=folds_models)
    answered = _count_messages(connection, scope, among, grouping, found)
    _count_tools(connection, scope, among, grouping, found)
    answers = chain(counted_answers(connection, scope, among=among), counted_record_answers(connection, scope))
    counted_on = _count_usage(answers, grouping, prices, found)
    _count_stated(connection, scope, among, grouping, found)
    found.uncounted = Counter({name: count for name, count in answered.items() if name not in counted_on})
    if scope.is_timed():
        found.undated = undated_records(connection, scope, with_usage=True)
    else:
        where, values = scope.conversation_condition()
        query = (
            f"select count(*) from conversation c where {where} "
            "and not exists (select 1 from message m where m.conversation = c.conversation_key)"
        )
        (found.without_messages,) = connection.execute(query, values).fetchone()
    agents = connection.execute("select conversation_key from conversation where is_sidechain")
    found.agents = sum(key in found.total.conversations for (key,) in agents)
    found.recordings = sum(key in found.total.conversations for key in recordings(connection))
    return found


def price_answer(answer: CountedAnswer, prices: Prices) -> PricedAnswer | None:
    """Return the cost of an answer by the prices of its owner's model and time, or None if they are unknown."""
    owner = answer.owner
    row = prices.row(owner.model, owner.timestamp, owner.platform, owner.service_tier)
    if row is None:
        return None
    return PricedAnswer(row.amount(row.charge_counts(answer.counts)), row)


def blocks_in_scope(connection: sqlite3.Connection, scope: Scope) -> list[Block]:
    """Return the blocks with an answer in scope.

    Where a block begins depends on the answers before it, so those before the range are read as well: as many days as
    it takes to find a gap that is long enough to begin a block, whatever came before.
    """
    since = scope.filters.since
    days = 2
    while True:
        start = _days_before(since, days)
        earlier = replace(scope, filters=replace(scope.filters, since=start))
        times = [answer.owner.timestamp for answer in counted_answers(connection, earlier)]
        blocks = usage_blocks(times)
        first = next((index for index, block in enumerate(blocks) if block.last >= since), len(blocks))
        ends = [start, *(block.last for block in blocks)]
        if not start or any(is_gap(ends[index], block.first) for index, block in enumerate(blocks[: first + 1])):
            return blocks[first:]
        days = days * 4 if days < _LONGEST_CHAIN_DAYS else 0


_LONGEST_CHAIN_DAYS = 100


def _days_before(time: str, days: int) -> str:
    """Return a time some days earlier; "", the beginning of time, for no days or no time."""
    if not time or not days:
        return ""
    try:
        moment = datetime.fromisoformat(time) - timedelta(days=days)
    except (ValueError, OverflowError):
        return ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.000Z"


def _count_usage(
    answers: Iterable[CountedAnswer], grouping: "_Grouping", prices: Prices, found: Statistics
) -> set[str]:
    """Count the usage of answers, and return the platforms that have any."""
    key_of = grouping.usage_key()
    groups: dict[GroupKey, Tally] = found.groups if grouping.by != "tool" else {}
    platforms: set[str] = set()
    for answer in answers:
        owner = answer.owner
        platforms.add(owner.platform)
        if answer.copies and owner.conversation_key is not None:
            platforms.update(copy.platform for copy in answer.copies)
            _count_copies(answer, found)
        if not owner.is_chosen:
            continue
        if owner.is_partial and all(copy.is_partial for copy in answer.copies):
            found.partial[owner.platform] += 1
        key = key_of(owner)
        try:
            tally = groups[key]
        except KeyError:
            tally = groups[key] = Tally()
        tally.usage_records += owner.conversation_key is None
        if grouping.by == "model" and owner.model is not None:
            tally.models.add(owner.model)
        count_answer(answer, tally, found, prices)
    for tally in groups.values():
        found.total.answers += tally.answers
        found.total.usage_records += tally.usage_records
        found.total.tokens.join(tally.tokens)
        found.naive.join(tally.tokens)
        if tally.cost is not None:
            found.total.cost = (found.total.cost or Decimal(0)) + tally.cost
    return platforms


def count_answer(answer: CountedAnswer, tally: Tally, found: Statistics, prices: Prices) -> None:
    tally.answers += 1
    tally.tokens.add(answer.counts)
    cost = price_answer(answer, prices)
    if cost is None:
        found.unpriced[answer.owner.model] += 1
    else:
        tally.cost = cost.amount if tally.cost is None else tally.cost + cost.amount


def _count_copies(answer: CountedAnswer, found: Statistics) -> None:
    """Add to `naive` what counting every message would add: all copies, each with its own counts."""
    left_out = [copy for copy in answer.copies if copy.is_chosen]
    found.copies += len(left_out)
    found.copied_answers += bool(left_out)
    for copy in left_out:
        found.naive.add(copy.counts)
    if answer.owner.is_chosen:
        found.naive.add(answer.owner.counts)
        found.naive.subtract(answer.counts)


@cache
def week_start(day: str) -> str:
    """Return the Monday of a day's week."""
    try:
        when = date.fromisoformat(day)
        return (when - timedelta(days=when.weekday())).isoformat()
    except (ValueError, OverflowError):
        return day


def _count_messages(
    connection: sqlite3.Connection, scope: Scope, among: MessagesInRange, grouping: "_Grouping", found: Statistics
) -> Counter[str]:
    """Count messages and their conversations; return the number of answers by platform."""
    key, key_of = grouping.message_key()
    where, values = _where(scope)
    in_range, keys = among.condition(with_copies=False)
    by = grouping.by
    # Grouped by model, only answers count: messages of people and tools belong to no particular model.
    groups_all = by != "model"
    query = (
        f"select {key}, m.conversation, coalesce(m.author_kind, 'other'), count(*) from message m "
        f"join conversation c on c.conversation_key = m.conversation where {in_range} and {where} group by 1, 2, 3"
    )
    answers = Counter[int]()
    for value, conversation, author, count in connection.execute(query, [*keys, *values]):
        found.total.conversations.add(conversation)
        found.total.messages[author] += count
        if author == "model":
            answers[conversation] += count
        if by != "tool" and (groups_all or author == "model"):
            group = found.group(key_of(value))
            group.conversations.add(conversation)
            group.messages[author] += count
            if by == "model" and value is not None:
                group.models.add(value)
    answered = Counter[str]()
    for conversation, platform in connection.execute("select conversation_key, platform from conversation"):
        answered[platform] += answers[conversation]
    return +answered


def _count_tools(
    connection: sqlite3.Connection, scope: Scope, among: MessagesInRange, grouping: "_Grouping", found: Statistics
) -> None:
    """Count tool calls; of several messages with the same calls, the first one counts."""
    key, key_of = grouping.message_key()
    where, values = _where(scope)
    in_range, keys = among.condition(with_copies=True)
    by = grouping.by
    calls = "tool_call t cross join message m" if in_range == "true" else "message m cross join tool_call t"
    query = (
        f"select coalesce(nullif({answer_id(connection)}, ''), m.body) as answer, t.tool, {where}, {key}, "
        f"m.conversation, t.calls from {calls} on m.body = t.body "
        f"join conversation c on c.conversation_key = m.conversation "
        f"where {in_range} order by answer, t.tool, {OWNER_ORDER}"
    )
    for (_, tool), copies in groupby(connection.execute(query, [*values, *keys]), itemgetter(0, 1)):
        held = list(copies)
        _, _, is_chosen, value, conversation, _ = held[0]
        calls = max(copy[-1] for copy in held)
        if not is_chosen:
            continue
        group = found.group(tool if by == "tool" else key_of(value))
        group.tool_calls += calls
        if by == "tool":
            group.conversations.add(conversation)
            group.tool_messages += 1
    found.total.tool_calls = sum(group.tool_calls for group in found.groups.values())


def _count_stated(
    connection: sqlite3.Connection, scope: Scope, among: MessagesInRange, grouping: "_Grouping", found: Statistics
) -> None:
    """Add up the costs stated by sources: per message, or per conversation if its messages state none."""
    key, key_of = grouping.message_key()
    for value, amount, currency in [
        *_message_costs(connection, scope, among, key),
        *_conversation_costs(connection, scope, key),
    ]:
        for tally in (found.total, found.group(key_of(value))) if grouping.by != "tool" else (found.total,):
            tally.add_stated(amount, currency)


# The keys of `rest` are sorted: if cost is one of them, the first key is not greater. So hardly any text is parsed.
_HAS_COST = """{0}.rest < '{{"cosu' and json_extract({0}.rest, '$.cost.amount') is not null"""


def _message_costs(
    connection: sqlite3.Connection, scope: Scope, among: MessagesInRange, key: str
) -> Iterator[tuple[Any, float, str | None]]:
    where, values = _where(scope)
    in_range, keys = among.condition(with_copies=True)
    query = (
        f"select coalesce(nullif(m.api_message_id, ''), m.message_key) as answer, {where}, {key}, "
        "json_extract(m.rest, '$.cost.amount'), json_extract(m.rest, '$.cost.currency') "
        f"from {calls_table(connection)} m join conversation c on c.conversation_key = m.conversation "
        f"where {in_range} and {_HAS_COST.format('m')} order by answer, {OWNER_ORDER}"
    )
    for _, copies in groupby(connection.execute(query, [*values, *keys]), itemgetter(0)):
        held = list(copies)
        _, is_chosen, value, _, currency = held[0]
        if is_chosen:
            yield value, max(copy[3] for copy in held), currency


def _conversation_costs(
    connection: sqlite3.Connection, scope: Scope, key: str
) -> Iterator[tuple[Any, float, str | None]]:
    """Yield costs stated for whole conversations, at the time of the conversation's end."""
    where, values = _where(scope)
    query = (
        f"select {key}, json_extract(c.header, '$.metrics.total_cost.amount'), "
        "json_extract(c.header, '$.metrics.total_cost.currency') from conversation c "
        "join (select conversation_key as conversation, coalesce(updated_at, created_at) as timestamp, model "
        "from conversation) m on m.conversation = c.conversation_key "
        f"where {where} and json_extract(c.header, '$.metrics.total_cost.amount') is not null "
        f"and not exists (select 1 from message s where s.conversation = m.conversation and {_HAS_COST.format('s')})"
    )
    yield from connection.execute(query, values)


def _where(scope: Scope) -> tuple[str, list[Any]]:
    conversations, values = scope.conversation_condition()
    times, time_values = scope.time_condition()
    return f"{conversations} and {times}", [*values, *time_values]


@dataclass(frozen=True, slots=True)
class _Grouping:
    scope: Scope
    by: GroupBy
    blocks: BlockIndex
    folds_models: bool

    def message_key(self) -> tuple[str, Callable[[Any], GroupKey]]:
        """Return the SQL expression to group messages by, and a function from its value to the group's key."""
        match self.by:
            case "day":
                return self.scope.day_column(), _itself
            case "week":
                return self.scope.day_column(), week_start
            case "month":
                return self.scope.day_column(), lambda day: day[:7]
            case "block":
                return "m.timestamp", self.blocks.block_start
            case "project" | "platform":
                return f"c.{self.by}", _itself
            case "model":
                return MODEL_COLUMN, self._model_key
            case "conversation":
                return "m.conversation", _itself
            case "tool":
                return "null", _itself

    def usage_key(self) -> Callable[[Usage], GroupKey]:
        match self.by:
            case "day":
                return lambda usage: usage.day
            case "week":
                return lambda usage: usage.day and week_start(usage.day)
            case "month":
                return lambda usage: usage.day and usage.day[:7]
            case "block":
                return lambda usage: usage.day and self.blocks.block_start(usage.timestamp)
            case "project":
                return lambda usage: usage.project
            case "platform":
                return lambda usage: usage.platform
            case "model":
                return lambda usage: self._model_key(usage.model)
            case "conversation":
                return lambda usage: usage.conversation_key
            case "tool":
                return lambda _: None

    def _model_key(self, model: str | None) -> GroupKey:
        return model_family(model) if model and self.folds_models else model


def _itself(value: Any) -> GroupKey:
    return value


def conversation_titles(
    connection: sqlite3.Connection, keys: Iterable[GroupKey]
) -> dict[GroupKey, tuple[str, str, str | None]]:
    """Return platform, id and title of conversations by key, skipping None."""
    query = "select platform, conversation_id, title from conversation where conversation_key = ?"
    return {key: connection.execute(query, (key,)).fetchone() for key in keys if key is not None}
