"""Usage, counted once: one answer of an API stands in many files, and was used once.

Resumed, forked and branched sessions, side questions and compaction write answers again. So usage counts once per API
message id, wherever it was recorded, with the greatest figure of each kind over all its copies; what has no such id
counts once per message. Day, project, model and conversation of a usage are those of its owner, the first of the
copies: least time, then conversation id, then message id, then platform. A message without token counts is no usage.
One that answers several calls with the same words is a usage for each. What a usage record tells of a call counts where
no message tells of it.
"""

# ruff: noqa: S608 - conditions are words of this program, every value is bound

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

from palaver.archive.calls import calls_table
from palaver.archive.filters import Filters

Counts = tuple[int | None, ...]
"""Tokens as their source counts them: input, output, cache read, cache write, of that for an hour, thinking."""


class Usage(NamedTuple):
    """What one message says was used; or one usage record, which has no conversation."""

    api_message_id: str | None
    timestamp: str
    conversation_id: str
    message_id: str
    platform: str
    conversation_key: int | None
    day: str
    project: str | None
    model: str | None
    service_tier: str | None
    is_partial: int
    """Whether the source never said that the answer came to its end: then its output may be more than was recorded."""
    is_chosen: int
    """Whether the filters let it through."""
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    cache_write_1h: int | None
    thinking: int | None

    @property
    def counts(self) -> Counts:
        return cast("Counts", self[_COUNTS:])


class Answer(NamedTuple):
    """What counts once: its owner, the greatest figures, and the copies that are left out."""

    owner: Usage
    counts: Counts
    copies: list[Usage]


@dataclass(frozen=True, slots=True)
class Scope:
    """What is counted. Times are those of messages, and a model is the one that answered."""

    filters: Filters = field(default_factory=Filters)
    is_utc: bool = False

    def conversations(self) -> tuple[str, list[Any]]:
        """A condition on `conversation c`, without regard to times."""
        return replace(self.filters, since="", until="").where()

    def times(self) -> tuple[str, list[Any]]:
        """A condition on `message m`."""
        conditions = ["true"]
        values: list[Any] = []
        for condition, value in (("m.timestamp >= ?", self.filters.since), ("m.timestamp < ?", self.filters.until)):
            if value:
                conditions.append(condition)
                values.append(value)
        return " and ".join(conditions), values

    def models(self) -> tuple[str, list[Any]]:
        """A condition on the model of `message m` in `conversation c`."""
        names = self.filters.models
        begins = " or ".join([f"substr({MODEL}, 1, ?) = ? collate nocase"] * len(names))
        return f"({begins})" if names else "true", [value for name in names for value in (len(name), name)]

    def records(self) -> tuple[str, list[Any]]:
        """A condition on `usage_record m`, of which nothing is left where conversations are asked for."""
        wanted = self.filters
        if wanted.projects or wanted.has or wanted.tools or wanted.tags:
            return "false", []
        times, time_values = self.times()
        models, model_values = self.models()
        platforms = f"m.platform in ({', '.join('?' * len(wanted.platforms))})" if wanted.platforms else "true"
        return f"{platforms} and {times} and {models}", [*wanted.platforms, *time_values, *model_values]

    def day(self) -> str:
        """The day of `message m`, as a column."""
        day = "substr(m.timestamp, 1, 10)"
        return day if self.is_utc else f"coalesce(date(m.timestamp, 'localtime'), {day})"


MODEL = "coalesce(m.model, c.model)"
HAS_USAGE = (
    "(m.input_tokens is not null or m.output_tokens is not null or m.cache_read_tokens is not null "
    "or m.cache_write_tokens is not null or m.thinking_tokens is not null)"
)
RECORDS = "(select *, started_at as timestamp from usage_record) m cross join (select null as model) c"
"""Usage records under the names that messages and their conversations have."""
FIRST = "m.timestamp, c.conversation_id, m.message_id, c.platform"
"""The order in which copies of one thing are told: the first is its owner."""

# Almost every answer has the standard tier: to find that in the text is much quicker than to take the text apart.
_TIER = """iif(instr(m.tokens, '"service_tier":"standard"'), 'standard', json_extract(m.tokens, '$.service_tier'))"""


def answers(connection: sqlite3.Connection, scope: Scope, *, in_time_order: bool = False) -> Iterator[Answer]:
    """Every usage that the scope lets through, itself or a copy of it, each with all of its copies."""
    return _once(map(Usage._make, _usages(connection, scope, in_time_order=in_time_order)))


def recorded_answers(connection: sqlite3.Connection, scope: Scope) -> Iterator[Answer]:
    """The same of usage records of single calls, without those that a message tells of."""
    is_told = (
        "exists (select 1 from message t where t.api_message_id = m.api_message_id and "
        f"{HAS_USAGE.replace('m.', 't.')}) or exists (select 1 from answer_usage t "
        "where t.api_message_id = m.api_message_id)"
    )
    condition = f"m.kind = 'request' and {HAS_USAGE} and not ({is_told})"
    return _once(record_usages(connection, scope, condition))


def record_usages(connection: sqlite3.Connection, scope: Scope, condition: str = "true") -> Iterator[Usage]:
    """Usage records, those of one call next to each other with the first before the others."""
    chosen, values = scope.records()
    query = (
        f"select m.api_message_id, m.timestamp, '', m.usage_id, m.platform, null, {scope.day()}, null, {MODEL}, "
        f"json_extract(m.record, '$.tokens.service_tier'), 0, {chosen}, m.input_tokens, m.output_tokens, "
        "m.cache_read_tokens, m.cache_write_tokens, m.cache_write_1h_tokens, m.thinking_tokens "
        f"from {RECORDS} where {condition} order by 1, 2, 5, 4"
    )
    return map(Usage._make, connection.execute(query, values))


def _once(usages: Iterable[Usage]) -> Iterator[Answer]:
    owner: Usage | None = None
    copies: list[Usage] = []
    for usage in usages:
        if owner is not None:
            if usage.api_message_id is not None and usage.api_message_id == owner.api_message_id:
                copies.append(usage)
                continue
            if copies:
                yield from _copied(owner, copies)
                copies = []
            elif owner.is_chosen:
                yield Answer(owner, owner.counts, copies)
        owner = usage
    if owner is not None and copies:
        yield from _copied(owner, copies)
    elif owner is not None and owner.is_chosen:
        yield Answer(owner, owner.counts, copies)


def _copied(owner: Usage, copies: list[Usage]) -> Iterator[Answer]:
    if owner.is_chosen or any(copy.is_chosen for copy in copies):
        yield Answer(owner, greatest([owner.counts, *(copy.counts for copy in copies)]), copies)


def usage_owner(connection: sqlite3.Connection, api_message_id: str) -> tuple[str, str, str] | None:
    """Where the usage of an answer is counted: platform, conversation id, message id; None where it has none."""
    query = (
        f"select c.platform, c.conversation_id, m.message_id from {calls_table(connection)} m "
        "join conversation c on c.conversation_key = m.conversation "
        f"where m.api_message_id = ? and {HAS_USAGE} order by {FIRST} limit 1"
    )
    return connection.execute(query, (api_message_id,)).fetchone()


def greatest(of: Iterable[Counts]) -> Counts:
    """The field-wise maximum; a figure that nobody states stays unknown."""
    columns = zip(*of, strict=True)
    return tuple([max((count for count in counts if count is not None), default=None) for counts in columns])


def _usages(connection: sqlite3.Connection, scope: Scope, *, in_time_order: bool) -> Iterator[tuple[Any, ...]]:
    """Rows of usage, copies next to each other with their owner before them."""
    conversations, values = scope.conversations()
    times, time_values = scope.times()
    models, model_values = scope.models()
    chosen = f"m.conversation in (select c.conversation_key from conversation c where {conversations})"
    columns = (
        "nullif(m.api_message_id, '') as api_message_id, m.timestamp, c.conversation_id, m.message_id, c.platform, "
        f"c.conversation_key, {scope.day()}, c.project, {MODEL}, {_TIER}, "
        "instr(m.rest, '\"tokens_partial\":true') > 0, "
        f"{'true' if conversations == 'true' else chosen} and {times} and {models}, m.input_tokens, m.output_tokens, "
        "m.cache_read_tokens, m.cache_write_tokens, m.cache_write_1h_tokens, m.thinking_tokens"
    )
    order = "api_message_id"
    if in_time_order:
        answer = "coalesce(nullif(m.api_message_id, ''), m.message_key)"
        columns = f"{columns}, min(m.timestamp) over (partition by {answer}) as began"
        order = "began, api_message_id"
    query = (
        f"select {columns} from {calls_table(connection)} m join conversation c on c.conversation_key = m.conversation "
        f"where {HAS_USAGE} order by {order}, {FIRST}"
    )
    rows = connection.execute(query, [*values, *time_values, *model_values])
    return (row[:_WIDTH] for row in rows) if in_time_order else rows


_COUNTS = Usage._fields.index("input")
_WIDTH = len(Usage._fields)
