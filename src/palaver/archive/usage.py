"""Token usage, with every answer counted once.

Resumed, forked and branched sessions, side questions and compaction record the same answer several times. Usage
therefore counts once per API message id, wherever it was recorded, with the greatest count of each kind among all
copies; messages without such an id count once each, unless a recorded call has their request id and states the other.
Day, project, model and conversation of a usage are those of its owner, the first copy: one with a project before one
without, then least by time, conversation id, message id and platform. A message without token counts has
no usage. A message that answers several calls with the same words has a usage for each. A usage record of a call counts
only if no message has the usage of that call.
"""

# ruff: noqa: S608 - conditions are constants, every value is bound

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

from palaver.archive.conversation_totals import (
    LACKS_ANSWER_ID,
    answer_id,
    answers_of_request,
    calls_of_answer,
    calls_table,
    has_other_calls,
    has_recorded_calls,
)
from palaver.archive.filters import Filters, model_condition

Counts = tuple[int | None, ...]
"""Token counts as stated by the source: input, output, cache read, cache write, 1-hour cache write, thinking."""


class Usage(NamedTuple):
    """The usage of one message, or of one usage record, which has no conversation."""

    api_message_id: str | None
    timestamp: str
    conversation_id: str
    message_id: str
    platform: str
    conversation_key: int | None
    day: str | None
    """None for a usage record without a time of its own."""
    project: str | None
    model: str | None
    service_tier: str | None
    is_partial: int
    """Whether the source did not record the end of the answer; its output may then exceed what was recorded."""
    is_chosen: int
    """Whether it passes the filters."""
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    cache_write_1h: int | None
    thinking: int | None

    @property
    def counts(self) -> Counts:
        return cast("Counts", self[_FIRST_COUNT:])


class CountedAnswer(NamedTuple):
    """An answer that counts once: its owner, the greatest counts, and the copies not counted."""

    owner: Usage
    counts: Counts
    copies: list[Usage]


@dataclass(frozen=True, slots=True)
class Scope:
    """What is counted. The filters' times apply to messages, and its models to the model that answered."""

    filters: Filters = field(default_factory=Filters)
    is_utc: bool = False

    def conversation_condition(self) -> tuple[str, list[Any]]:
        """Return an SQL condition on `conversation c` for all filters but the times, with its values."""
        return replace(self.filters, since="", until="").where()

    def time_condition(self) -> tuple[str, list[Any]]:
        """Return an SQL condition on the time of `message m`, with its values."""
        conditions = ["true"]
        values: list[Any] = []
        for condition, value in (("m.timestamp >= ?", self.filters.since), ("m.timestamp < ?", self.filters.until)):
            if value:
                conditions.append(condition)
                values.append(value)
        return " and ".join(conditions), values

    def model_condition(self) -> tuple[str, list[str]]:
        """Return an SQL condition on the model of `message m` in `conversation c`, with its values."""
        return model_condition(MODEL_COLUMN, self.filters.models)

    def is_timed(self) -> bool:
        return bool(self.filters.since or self.filters.until)

    def record_condition(self) -> tuple[str, list[Any]]:
        """Return an SQL condition on `usage_record m`, with its values; conversation filters exclude all records.

        A record may name a project, but has neither tools nor tags. A record without a time of its own is in no range.
        """
        filters = self.filters
        if filters.has or filters.tools or filters.tags:
            return "false", []
        projects, project_values = filters.project_condition("m.project")
        times, time_values = self.time_condition()
        if self.is_timed():
            times = f"not {IS_UNDATED} and {times}"
        models, model_values = self.model_condition()
        platforms = f"m.platform in ({', '.join('?' * len(filters.platforms))})" if filters.platforms else "true"
        conditions = f"{platforms} and {projects} and {times} and {models}"
        return conditions, [*filters.platforms, *project_values, *time_values, *model_values]

    def day_column(self) -> str:
        """Return an SQL expression for the day of `message m`."""
        day = "substr(m.timestamp, 1, 10)"
        return day if self.is_utc else f"coalesce(date(m.timestamp, 'localtime'), {day})"

    def record_day_column(self) -> str:
        """Return an SQL expression for the day of `usage_record m`; null for one without a time of its own."""
        return f"iif({IS_UNDATED}, null, {self.day_column()})"


IS_UNDATED = "(instr(m.record, '\"timestamp_inferred\":true') > 0)"
"""Whether the time of `usage_record m` was inferred from its file. Looking for the text is faster than parsing it."""

MODEL_COLUMN = "coalesce(m.model, c.model)"
HAS_USAGE = (
    "(m.input_tokens is not null or m.output_tokens is not null or m.cache_read_tokens is not null "
    "or m.cache_write_tokens is not null or m.thinking_tokens is not null)"
)
RECORDS_AS_MESSAGES = (
    "(select *, started_at as timestamp, json_extract(record, '$.metadata.workspace.path') as project "
    "from usage_record) m cross join (select null as model) c"
)
"""Usage records with the column names of messages and conversations."""
OWNER_ORDER = "c.project is null, m.timestamp, c.conversation_id, m.message_id, c.platform"
"""The order of copies: the first is the owner. An assistant's own record of an answer mostly names a project, which
recorded API traffic never does."""

# Almost every answer has the standard tier; finding that in the text is much faster than parsing it.
_TIER = """iif(instr(m.tokens, '"service_tier":"standard"'), 'standard', json_extract(m.tokens, '$.service_tier'))"""


class MessagesInRange(NamedTuple):
    """The messages in a range of time, as JSON lists of keys; both are empty if the range is not narrow."""

    keys: str = ""
    with_copies: str = ""
    """Also messages outside the range with the same answer, or with the same tool calls."""

    def condition(self, *, with_copies: bool) -> tuple[str, list[str]]:
        """Return an SQL condition on `message m`, with its values."""
        keys = self.with_copies if with_copies else self.keys
        return ("m.message_key in (select value from json_each(?))", [keys]) if keys else ("true", [])


def messages_in_range(connection: sqlite3.Connection, scope: Scope) -> MessagesInRange:
    """Find the messages of a narrow range of time by an index, so that no query need read all messages.

    Nothing is found if there is no range or if it is wide: reading all messages is then faster. Neither is anything
    found if some messages answer several calls, since a call is not a row of its own.
    """
    if not scope.is_timed() or has_other_calls(connection):
        return MessagesInRange()
    times, values = scope.time_condition()
    # `message_by_body` covers this query.
    keys = [key for (key,) in connection.execute(f"select m.message_key from message m where {times}", values)]
    if len(keys) > _NARROW:
        (last_key,) = connection.execute("select max(message_key) from message").fetchone()
        if len(keys) * _NARROW_SHARE > last_key:
            return MessagesInRange()
    listed = json.dumps(keys)
    same_request = (
        "select o.message_key from (select distinct r.request_id as id from answer a cross join message r "
        "on r.api_message_id = a.id and r.sent_at is not null) q "
        f"cross join message o on o.request_id = q.id and {LACKS_ANSWER_ID.format('o')} union "
        f"select o.message_key from answer a cross join message o on {answers_of_request('o', 'a.id')} union "
        if has_recorded_calls(connection)
        else ""
    )
    related = connection.execute(
        "with chosen as (select m.* from json_each(?) k cross join message m on m.message_key = k.value), "
        f"answer as (select distinct {answer_id(connection)} as id from chosen m) "
        "select message_key from chosen union "
        f"select o.message_key from answer a cross join message o on o.api_message_id = a.id union {same_request}"
        "select o.message_key from chosen m cross join tool_call t on t.body = m.body "
        "cross join message o on o.body = m.body",
        (listed,),
    )
    return MessagesInRange(listed, json.dumps([key for (key,) in related]))


_NARROW = 50_000
_NARROW_SHARE = 4
"""A range is narrow if it has up to so many messages, or no more than this part of all: a quarter."""


def counted_answers(
    connection: sqlite3.Connection, scope: Scope, *, in_time_order: bool = False, among: MessagesInRange | None = None
) -> Iterator[CountedAnswer]:
    """Yield every answer in scope, itself or one of its copies, with all its copies."""
    among = among or messages_in_range(connection, scope)
    return _count_once(map(Usage._make, _usage_rows(connection, scope, among, in_time_order=in_time_order)))


def counted_record_answers(connection: sqlite3.Connection, scope: Scope) -> Iterator[CountedAnswer]:
    """Yield the answers in scope that only usage records of single calls state, not messages."""
    is_in_messages = (
        "exists (select 1 from message t where t.api_message_id = m.api_message_id and "
        f"{HAS_USAGE.replace('m.', 't.')}) or exists (select 1 from answer_usage t "
        "where t.api_message_id = m.api_message_id)"
    )
    condition = f"m.kind = 'request' and {HAS_USAGE} and not ({is_in_messages})"
    return _count_once(record_usages(connection, scope, condition))


def undated_records(connection: sqlite3.Connection, scope: Scope, *, with_usage: bool) -> int:
    """Return the number of usage records that pass all filters but the times, and have no time of their own."""
    untimed = replace(scope, filters=replace(scope.filters, since="", until=""))
    chosen, values = untimed.record_condition()
    usage = f"m.kind = 'request' and {HAS_USAGE}" if with_usage else "true"
    query = f"select count(*) from {RECORDS_AS_MESSAGES} where {IS_UNDATED} and {usage} and {chosen}"
    (number,) = connection.execute(query, values).fetchone()
    return number


def record_usages(connection: sqlite3.Connection, scope: Scope, condition: str = "true") -> Iterator[Usage]:
    """Yield usage records, with those of the same call next to each other, the first one leading."""
    chosen, values = scope.record_condition()
    query = (
        f"select m.api_message_id, m.timestamp, '', m.usage_id, m.platform, null, {scope.record_day_column()}, "
        f"m.project, {MODEL_COLUMN}, json_extract(m.record, '$.tokens.service_tier'), 0, {chosen}, "
        "m.input_tokens, m.output_tokens, m.cache_read_tokens, m.cache_write_tokens, m.cache_write_1h_tokens, "
        f"m.thinking_tokens from {RECORDS_AS_MESSAGES} where {condition} order by 1, 2, 5, 4"
    )
    return map(Usage._make, connection.execute(query, values))


def _count_once(usages: Iterable[Usage]) -> Iterator[CountedAnswer]:
    owner: Usage | None = None
    copies: list[Usage] = []
    for usage in usages:
        if owner is not None:
            if usage.api_message_id is not None and usage.api_message_id == owner.api_message_id:
                copies.append(usage)
                continue
            if copies:
                yield from _merged_answer(owner, copies)
                copies = []
            elif owner.is_chosen:
                yield CountedAnswer(owner, owner.counts, [])
        owner = usage
    if owner is not None and copies:
        yield from _merged_answer(owner, copies)
    elif owner is not None and owner.is_chosen:
        yield CountedAnswer(owner, owner.counts, [])


def _merged_answer(owner: Usage, copies: list[Usage]) -> Iterator[CountedAnswer]:
    if owner.is_chosen or any(copy.is_chosen for copy in copies):
        yield CountedAnswer(owner, max_counts([owner.counts, *(copy.counts for copy in copies)]), copies)


def usage_owner(connection: sqlite3.Connection, api_message_id: str) -> tuple[str, str, str] | None:
    """Return where the usage of an answer is counted: platform, conversation id, message id; None if nowhere."""
    query = (
        f"select c.platform, c.conversation_id, m.message_id from {calls_of_answer(connection)} m "
        f"join conversation c on c.conversation_key = m.conversation where {HAS_USAGE} order by {OWNER_ORDER} limit 1"
    )
    return connection.execute(query, (api_message_id,)).fetchone()


def max_counts(all_counts: Iterable[Counts]) -> Counts:
    """Return the field-wise maximum; None where no count is known."""
    columns = zip(*all_counts, strict=True)
    return tuple([max((count for count in counts if count is not None), default=None) for counts in columns])


def _usage_rows(
    connection: sqlite3.Connection, scope: Scope, among: MessagesInRange, *, in_time_order: bool
) -> Iterator[tuple[Any, ...]]:
    """Yield rows of usage, with copies next to each other, the owner leading."""
    conversations, values = scope.conversation_condition()
    times, time_values = scope.time_condition()
    models, model_values = scope.model_condition()
    chosen = f"m.conversation in (select c.conversation_key from conversation c where {conversations})"
    columns = (
        "nullif(m.api_message_id, '') as api_message_id, m.timestamp, c.conversation_id, m.message_id, c.platform, "
        f"c.conversation_key, {scope.day_column()}, c.project, {MODEL_COLUMN}, {_TIER}, "
        "instr(m.rest, '\"tokens_partial\":true') > 0, "
        f"{'true' if conversations == 'true' else chosen} and {times} and {models}, m.input_tokens, m.output_tokens, "
        "m.cache_read_tokens, m.cache_write_tokens, m.cache_write_1h_tokens, m.thinking_tokens"
    )
    order = "api_message_id"
    if in_time_order:
        answer = "coalesce(nullif(m.api_message_id, ''), m.message_key)"
        columns = f"{columns}, min(m.timestamp) over (partition by {answer}) as began"
        order = "began, api_message_id"
    in_range, keys = among.condition(with_copies=True)
    query = (
        f"select {columns} from {calls_table(connection)} m join conversation c on c.conversation_key = m.conversation "
        f"where {in_range} and {HAS_USAGE} order by {order}, {OWNER_ORDER}"
    )
    rows = connection.execute(query, [*values, *time_values, *model_values, *keys])
    return (row[:_WIDTH] for row in rows) if in_time_order else rows


_FIRST_COUNT = Usage._fields.index("input")
_WIDTH = len(Usage._fields)
