"""Totals of the archive, and the same by day, project, model and the like.

Messages are counted as they are stored. Usage counts once (`usage.py`), calls that only a usage record tells of
included, and so do tool calls, by the same rule: per
answer, or per body where there is no answer's id, at the first message that holds them. Cost is made here from prices,
request by request; what sources themselves say that something cost is told beside it and never mixed in.
"""

# ruff: noqa: S608 - conditions are words of this program, every value is bound

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple, get_args

from palaver.archive.calls import calls_table
from palaver.archive.usage import FIRST, MODEL, Answer, Counts, Scope, Usage, answers, recorded_answers
from palaver.prices import PriceRow, Prices

By = Literal["day", "week", "month", "project", "model", "platform", "tool", "conversation"]
BY = get_args(By)
TIMES = ("day", "week", "month")

Key = str | int | None
"""A day, a Monday, a month, a name; a conversation's key in the archive; None for what has none."""


@dataclass(slots=True)
class Tokens:
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    thinking: int = 0

    def add(self, counts: Sequence[int | None]) -> None:
        sent, answered, read, written, _, thought = counts
        self.input += sent or 0
        self.output += answered or 0
        self.cache_read += read or 0
        self.cache_write += written or 0
        self.thinking += thought or 0

    def take(self, counts: Counts) -> None:
        self.add([-(count or 0) for count in counts])

    def join(self, other: "Tokens") -> None:
        self.add((other.input, other.output, other.cache_read, other.cache_write, 0, other.thinking))

    def total(self) -> int:
        """All of them; where a provider counts thinking or cached tokens inside others, they are in it twice."""
        return self.input + self.output + self.cache_read + self.cache_write + self.thinking


@dataclass(slots=True)
class Tally:
    """What was counted for everything, or for one group of it."""

    conversations: set[int] = field(default_factory=set[int])
    messages: Counter[str] = field(default_factory=Counter[str])
    """By who wrote them."""
    tool_calls: int = 0
    tool_messages: int = 0
    """Messages that call the tool, where tools are what is grouped by."""
    answers: int = 0
    """Usages that were counted."""
    usage_records: int = 0
    """How many of them only a usage record tells of; or all records, where these are what is counted."""
    counts: dict[str, float] = field(default_factory=dict[str, float])
    """What else usage records count, by name."""
    tokens: Tokens = field(default_factory=Tokens)
    cost: Decimal | None = None
    """In USD, of those whose model has a known price; None when there are none."""
    stated: dict[str, float] = field(default_factory=dict[str, float])
    """What sources say it cost, by currency."""


@dataclass(slots=True)
class Statistics:
    total: Tally = field(default_factory=Tally)
    groups: dict[Key, Tally] = field(default_factory=dict[Key, Tally])
    copies: int = 0
    """Messages whose usage was counted elsewhere, of so many answers."""
    copied_answers: int = 0
    naive: Tokens = field(default_factory=Tokens)
    """What came out if every message counted."""
    unpriced: Counter[str | None] = field(default_factory=Counter[str | None])
    """Counted usages without a cost, by model."""
    partial: int = 0
    """Counted usages whose source did not record their end."""
    agents: int = 0
    """Conversations of agents, among all."""
    periods: int = 0
    """Usage records that are sums over a time, where records are what is counted."""

    def group(self, key: Key) -> Tally:
        try:
            return self.groups[key]
        except KeyError:
            return self.groups.setdefault(key, Tally())


class Priced(NamedTuple):
    amount: Decimal
    row: PriceRow


def statistics(connection: sqlite3.Connection, scope: Scope, by: By, prices: Prices) -> Statistics:
    found = Statistics()
    _count_messages(connection, scope, by, found)
    _count_tools(connection, scope, by, found)
    _count_usage(connection, scope, by, prices, found)
    _count_stated(connection, scope, by, found)
    agents = connection.execute("select conversation_key from conversation where is_sidechain")
    found.agents = sum(key in found.total.conversations for (key,) in agents)
    return found


def priced(answer: Answer, prices: Prices) -> Priced | None:
    """What an answer cost, by the prices of its owner's model and time; None when they are not known."""
    owner = answer.owner
    row = prices.row(owner.model, owner.timestamp, owner.platform, owner.service_tier)
    if row is None:
        return None
    sent, answered, read, written, hour, thought = answer.counts
    tokens: dict[str, Any] = {
        "input_tokens": sent,
        "output_tokens": answered,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "thinking_tokens": thought,
    }
    if hour:
        tokens["cache_creation"] = {"ephemeral_1h_input_tokens": hour}
    return Priced(row.amount(row.charge(tokens)), row)


def _count_usage(connection: sqlite3.Connection, scope: Scope, by: By, prices: Prices, found: Statistics) -> None:
    key_of = _USAGE_KEYS[by]
    groups: dict[Key, Tally] = found.groups if by != "tool" else {}
    for answer in chain(answers(connection, scope), recorded_answers(connection, scope)):
        owner = answer.owner
        if answer.copies and owner.conversation_key is not None:
            _note_copies(answer, found)
        if not owner.is_chosen:
            continue
        if owner.is_partial and all(copy.is_partial for copy in answer.copies):
            found.partial += 1
        key = key_of(owner)
        try:
            tally = groups[key]
        except KeyError:
            tally = groups[key] = Tally()
        tally.usage_records += owner.conversation_key is None
        count_answer(answer, tally, found, prices)
    for tally in groups.values():
        found.total.answers += tally.answers
        found.total.usage_records += tally.usage_records
        found.total.tokens.join(tally.tokens)
        found.naive.join(tally.tokens)
        if tally.cost is not None:
            found.total.cost = (found.total.cost or Decimal(0)) + tally.cost


def count_answer(answer: Answer, tally: Tally, found: Statistics, prices: Prices) -> None:
    tally.answers += 1
    tally.tokens.add(answer.counts)
    cost = priced(answer, prices)
    if cost is None:
        found.unpriced[answer.owner.model] += 1
    else:
        tally.cost = cost.amount if tally.cost is None else tally.cost + cost.amount


def _note_copies(answer: Answer, found: Statistics) -> None:
    """What every message by itself would count: the copies, and each with its own figures, not the greatest."""
    left_out = [copy for copy in answer.copies if copy.is_chosen]
    found.copies += len(left_out)
    found.copied_answers += bool(left_out)
    for copy in left_out:
        found.naive.add(copy.counts)
    if answer.owner.is_chosen:
        found.naive.add(answer.owner.counts)
        found.naive.take(answer.counts)


_USAGE_KEYS: dict[str, Callable[[Usage], Key]] = {
    "day": lambda usage: usage.day,
    "week": lambda usage: week(usage.day),
    "month": lambda usage: usage.day[:7],
    "project": lambda usage: usage.project,
    "model": lambda usage: usage.model,
    "platform": lambda usage: usage.platform,
    "conversation": lambda usage: usage.conversation_key,
    "tool": lambda _: None,
}


@cache
def week(day: str) -> str:
    """The Monday of a day's week."""
    try:
        when = date.fromisoformat(day)
        return (when - timedelta(days=when.weekday())).isoformat()
    except (ValueError, OverflowError):
        return day


def _count_messages(connection: sqlite3.Connection, scope: Scope, by: By, found: Statistics) -> None:
    """Messages, and the conversations they are of."""
    key, key_of = _grouping(scope, by)
    where, values = _where(scope)
    # By model, a message is an answer of it: what people and tools say is said to no model in particular.
    groups_all = by != "model"
    query = (
        f"select {key}, m.conversation, coalesce(m.author_kind, 'other'), count(*) from message m "
        f"join conversation c on c.conversation_key = m.conversation where {where} group by 1, 2, 3"
    )
    for value, conversation, author, count in connection.execute(query, values):
        found.total.conversations.add(conversation)
        found.total.messages[author] += count
        if by != "tool" and (groups_all or author == "model"):
            group = found.group(key_of(value))
            group.conversations.add(conversation)
            group.messages[author] += count


def _count_tools(connection: sqlite3.Connection, scope: Scope, by: By, found: Statistics) -> None:
    """Calls of tools: of several messages that hold the same ones, the first has them."""
    key, key_of = _grouping(scope, by)
    where, values = _where(scope)
    query = (
        f"select coalesce(nullif(m.api_message_id, ''), m.body) as answer, t.tool, {where}, {key}, m.conversation, "
        "t.calls from tool_call t cross join message m on m.body = t.body "
        f"join conversation c on c.conversation_key = m.conversation order by answer, t.tool, {FIRST}"
    )
    for (_, tool), copies in groupby(connection.execute(query, values), itemgetter(0, 1)):
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


def _count_stated(connection: sqlite3.Connection, scope: Scope, by: By, found: Statistics) -> None:
    """What sources say: message by message, or in one sum for a conversation whose messages say nothing."""
    key, key_of = _grouping(scope, by)
    for value, amount, currency in [*_message_costs(connection, scope, key), *_sums(connection, scope, key)]:
        for tally in (found.total, found.group(key_of(value))) if by != "tool" else (found.total,):
            tally.stated[currency or "USD"] = tally.stated.get(currency or "USD", 0.0) + amount


# The keys of `rest` are sorted: where cost is one of them, the first is not greater. So hardly any text is looked into.
_HAS_COST = """{0}.rest < '{{"cosu' and json_extract({0}.rest, '$.cost.amount') is not null"""


def _message_costs(connection: sqlite3.Connection, scope: Scope, key: str) -> Iterator[tuple[Any, float, str | None]]:
    where, values = _where(scope)
    query = (
        f"select coalesce(nullif(m.api_message_id, ''), m.message_key) as answer, {where}, {key}, "
        "json_extract(m.rest, '$.cost.amount'), json_extract(m.rest, '$.cost.currency') "
        f"from {calls_table(connection)} m join conversation c on c.conversation_key = m.conversation "
        f"where {_HAS_COST.format('m')} order by answer, {FIRST}"
    )
    for _, copies in groupby(connection.execute(query, values), itemgetter(0)):
        held = list(copies)
        _, is_chosen, value, _, currency = held[0]
        if is_chosen:
            yield value, max(copy[3] for copy in held), currency


def _sums(connection: sqlite3.Connection, scope: Scope, key: str) -> Iterator[tuple[Any, float, str | None]]:
    """A sum's time is that of the conversation's end, which stands in the place of a message's."""
    where, values = _where(scope)
    query = (
        f"select {key}, json_extract(c.header, '$.metrics.total_cost.amount'), "
        "json_extract(c.header, '$.metrics.total_cost.currency') from conversation c "
        "join (select conversation_key as conversation, coalesce(updated_at, created_at) as timestamp, model "
        "from conversation) m on m.conversation = c.conversation_key "
        f"where json_extract(c.header, '$.metrics.total_cost.amount') is not null and {where} "
        f"and not exists (select 1 from message s where s.conversation = m.conversation and {_HAS_COST.format('s')})"
    )
    yield from connection.execute(query, values)


def _where(scope: Scope) -> tuple[str, list[Any]]:
    conversations, values = scope.conversations()
    times, time_values = scope.times()
    return f"{conversations} and {times}", [*values, *time_values]


def _grouping(scope: Scope, by: By) -> tuple[str, Callable[[Any], Key]]:
    """The column by which messages are grouped, and what the key of a group is."""
    match by:
        case "day":
            return scope.day(), _itself
        case "week":
            return scope.day(), week
        case "month":
            return scope.day(), lambda day: day[:7]
        case "project" | "platform":
            return f"c.{by}", _itself
        case "model":
            return MODEL, _itself
        case "conversation":
            return "m.conversation", _itself
        case "tool":
            return "null", _itself


def _itself(value: Any) -> Key:
    return value


def last_days(groups: dict[Key, Tally], days: int) -> dict[Key, Tally]:
    """The groups of so many days up to the last one on which anything happened."""
    known = [key for key in groups if isinstance(key, str)]
    if not known:
        return {}
    try:
        first = (date.fromisoformat(max(known)) - timedelta(days=days - 1)).isoformat()
    except (ValueError, OverflowError):
        return groups
    return {key: tally for key, tally in groups.items() if isinstance(key, str) and key >= first}


def titles(connection: sqlite3.Connection, keys: Iterable[Key]) -> dict[Key, tuple[str, str, str | None]]:
    """Platform, id and title of conversations; what is of none has none."""
    query = "select platform, conversation_id, title from conversation where conversation_key = ?"
    return {key: connection.execute(query, (key,)).fetchone() for key in keys if key is not None}
