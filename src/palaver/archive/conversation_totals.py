"""Totals and cost of conversations, with an answer that occurs several times in one counted once.

Commands that list conversations import this module at their start: what only some of them need is imported late.
"""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import orjson

if TYPE_CHECKING:
    from decimal import Decimal

    from palaver.prices import Prices

COUNT_COLUMNS = (
    "input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, thinking_tokens"
)


_MESSAGE_COLUMNS = (
    "message_key, conversation, message_id, timestamp, author_kind, model, {} as api_message_id, tokens, rest, "
    f"{COUNT_COLUMNS}, 1 as is_message"
)
LACKS_ANSWER_ID = (
    "{0}.api_message_id is null and {0}.request_id is not null and ({0}.sent_at is null or {0}.tokens is not null)"
)
"""Condition on a message: it states the id of its request, and not that of its answer."""
_LEAST_ID, _GREATEST_ID = (
    f"(select {which}(r.api_message_id) from message r where r.request_id = {{0}}.request_id and r.sent_at is not null)"  # noqa: S608 - constants
    for which in ("min", "max")
)
_OF_REQUEST = "request "
"""What precedes the id of a request that names an answer, since no record of the call has the answer's own id."""
_NAMELESS_ANSWERS = (
    "(select count(*) from (select 1 from message r where r.request_id = {0}.request_id and r.sent_at >= '' "  # noqa: S608 - constants
    f"and {LACKS_ANSWER_ID.format('r')} limit 2))"
)
RECORDED_ID = (
    f"case when {_LEAST_ID} is null then iif({_NAMELESS_ANSWERS} = 1, '{_OF_REQUEST}' || {{0}}.request_id, null) "
    f"when {_LEAST_ID} = {_GREATEST_ID} then nullif({_LEAST_ID}, '') end"
)
"""The id of the only answer that was recorded for the request of a message; null if there is none, or several.

One query for the least and the greatest id would read all of them, and gateways may give all requests the same id.
"""
_RECORDED_ID = RECORDED_ID.format("m")

_OTHER_CALLS = f"""
    select null, m.conversation, m.message_id, r.timestamp, null, json_extract(r.rest, '$.metadata.model_override'),
        a.api_message_id, a.tokens, r.rest, {", ".join(f"a.{name}" for name in COUNT_COLUMNS.split(", "))}, 0
    from answer_usage a join message m on m.message_key = a.message
    join revision r on r.conversation = m.conversation and r.message_id = m.message_id and r.version = (
        select v.version from revision v where v.conversation = m.conversation and v.message_id = m.message_id
        and json_extract(v.rest, '$.metadata.api_message_id') = a.api_message_id
        order by v.timestamp, v.version limit 1)
    where a.api_message_id <> '' and a.api_message_id is not m.api_message_id"""  # noqa: S608 - constants, bound values


def has_other_calls(connection: sqlite3.Connection) -> bool:
    return connection.execute("select 1 from answer_usage limit 1").fetchone() is not None


def has_recorded_calls(connection: sqlite3.Connection) -> bool:
    return connection.execute("select 1 from message where sent_at is not null limit 1").fetchone() is not None


def recorded_answer_id(connection: sqlite3.Connection, request_id: str) -> str | None:
    """Return the id of the only recorded answer to a request; None if there is none, or several.

    An answer whose id is not known has one made of the request's.
    """
    query = f"select {_RECORDED_ID} from (select ? as request_id) m"  # noqa: S608 - constants, a bound value
    return connection.execute(query, (request_id,)).fetchone()[0]


def answers_of_request(message: str, answer_id: str) -> str:
    """Return an SQL condition on a message: an answer without id of its own, whose request gives it this one."""
    after = len(_OF_REQUEST) + 1
    return (
        f"{LACKS_ANSWER_ID.format(message)} and {message}.request_id = "
        f"iif(substr({answer_id}, 1, {after - 1}) = '{_OF_REQUEST}', substr({answer_id}, {after}), null)"
    )


def answer_id(connection: sqlite3.Connection) -> str:
    """Return an SQL expression for the id of the answer that `message m` is, as it or a recorded call states it."""
    if not has_recorded_calls(connection):
        return "m.api_message_id"
    return f"iif({LACKS_ANSWER_ID.format('m')}, {_RECORDED_ID}, m.api_message_id)"


def calls_table(connection: sqlite3.Connection) -> str:
    """Return a table expression with one row per call: all messages, and a further row for each other call they answer.

    In most archives no message answers several calls, and none was recorded; then this is the message table, and as
    fast. Its `api_message_id` may come from a recorded call: to find one, use `calls_of_answer`.
    """
    own = answer_id(connection)
    has_others = has_other_calls(connection)
    if own == "m.api_message_id" and not has_others:
        return "(select *, 1 as is_message from message)"
    messages = f"select {_MESSAGE_COLUMNS.format(own)} from message m"  # noqa: S608 - constants
    return f"({messages} union all {_OTHER_CALLS})" if has_others else f"({messages})"


def calls_of_answer(connection: sqlite3.Connection) -> str:
    """Return a table expression with the rows of `calls_table` for the answer with the id `?1`, found by indexes."""
    parts = [f"select {_MESSAGE_COLUMNS.format('m.api_message_id')} from message m where m.api_message_id = ?1"]  # noqa: S608 - constants, a bound value
    if has_recorded_calls(connection):
        parts.append(
            f"select {_MESSAGE_COLUMNS.format('?1')} from message m where {LACKS_ANSWER_ID.format('m')} "  # noqa: S608 - constants, a bound value
            "and m.request_id in (select r.request_id from message r where r.api_message_id = ?1 and r.sent_at is not "
            f"null) and {_RECORDED_ID} = ?1"
        )
        parts.append(
            f"select {_MESSAGE_COLUMNS.format('?1')} from message m where {answers_of_request('m', '?1')} "  # noqa: S608 - constants, a bound value
            f"and {_RECORDED_ID} = ?1"
        )
    if has_other_calls(connection):
        parts.append(f"{_OTHER_CALLS} and a.api_message_id = ?1")
    return f"({' union all '.join(parts)})"


class ConversationTotals(NamedTuple):
    messages: int = 0
    human_messages: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    thinking: int = 0
    has_tokens: bool = False

    @property
    def size(self) -> int:
        """Tokens without cache reads, which repeat the same input in every request."""
        return self.input + self.cache_write + self.output

    def tokens(self) -> dict[str, int] | None:
        """Return the tokens by kind, or None if the source states no usage."""
        names = ("input", "output", "cache_read", "cache_write", "thinking")
        return {name: getattr(self, name) for name in names} if self.has_tokens else None


# total() adds floating point numbers: exact up to 2**53 and, unlike sum() of integers, it never overflows.
_TOTALS = """
    select conversation, sum(messages), coalesce(sum(human_messages), 0), cast(total(input) as integer),
        cast(total(output) as integer), cast(total(cache_read) as integer), cast(total(cache_write) as integer),
        cast(total(thinking) as integer), max(has_tokens)
    from (
        select conversation, sum(is_message) as messages, sum(author_kind = 'human') as human_messages,
            max(input_tokens) as input, max(output_tokens) as output, max(cache_read_tokens) as cache_read,
            max(cache_write_tokens) as cache_write, max(thinking_tokens) as thinking, max(tokens is not null) has_tokens
        from {} where conversation in ({}) group by conversation, coalesce(nullif(api_message_id, ''), message_key)
    )
    group by conversation
"""


def conversation_totals(connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, ConversationTotals]:
    """Return totals by key for up to a few hundred conversations, including those without messages."""
    rows = connection.execute(_TOTALS.format(calls_table(connection), ", ".join("?" * len(keys))), keys)
    found = {key: ConversationTotals(*numbers, has_tokens=bool(has_tokens)) for key, *numbers, has_tokens in rows}
    return {key: found.get(key, ConversationTotals()) for key in keys}


class ConversationCost(NamedTuple):
    amount: "Decimal"
    priced: int
    unpriced: int
    """Answers with usage but no known price; the amount excludes them."""
    currency: str = "USD"


def conversation_cost(connection: sqlite3.Connection, key: int, prices: "Prices") -> ConversationCost:
    from decimal import Decimal

    from palaver.archive.join import join_tokens

    rows = connection.execute(
        "select coalesce(nullif(m.api_message_id, ''), m.message_key), coalesce(m.model, c.model), c.platform, "  # noqa: S608 - constants, bound values
        f"cast(m.tokens as blob), m.timestamp from {calls_table(connection)} m "
        "join conversation c on c.conversation_key = m.conversation "
        "where m.conversation = ? and m.tokens is not null order by m.timestamp, m.message_id",
        (key,),
    )
    answers: dict[str | int, tuple[str | None, str, bytes, str]] = {}
    for answer, model, platform, tokens, timestamp in rows:
        if known := answers.get(answer):
            joined = join_tokens(orjson.loads(known[2]), orjson.loads(tokens))
            answers[answer] = (*known[:2], orjson.dumps(joined), known[3])
        else:
            answers[answer] = (model, platform, tokens, timestamp)
    costs = [
        prices.cost(model, orjson.loads(tokens), timestamp, platform)
        for model, platform, tokens, timestamp in answers.values()
    ]
    known_costs = [cost.amount for cost in costs if cost is not None]
    return ConversationCost(sum(known_costs, Decimal()), len(known_costs), len(costs) - len(known_costs))
