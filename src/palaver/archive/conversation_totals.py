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
_NAMES_REQUEST_ONLY = (
    "m.api_message_id is null and m.sent_at is null and m.request_id is not null and exists ("
    "select 1 from message w where w.request_id = m.request_id and w.sent_at is not null "
    "and w.api_message_id is not null)"
)
"""Condition on `message m`: it states no id of its answer, but a recorded call with its request id does."""
_RECORDED_ID = (
    "(select min(w.api_message_id) from message w where w.request_id = m.request_id and w.sent_at is not null)"
)

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


def names_requests_only(connection: sqlite3.Connection) -> bool:
    """Return whether some messages state the id of a recorded call's request, and not the id of its answer."""
    if connection.execute("select 1 from message where sent_at is not null limit 1").fetchone() is None:
        return False
    query = f"select 1 from message m where {_NAMES_REQUEST_ONLY} limit 1"  # noqa: S608 - constants
    return connection.execute(query).fetchone() is not None


def recorded_answer_id(connection: sqlite3.Connection, request_id: str) -> str | None:
    """Return the id of the answer to a request, from a recorded call; None if it was not recorded."""
    query = f"select {_RECORDED_ID} from (select ? as request_id) m"  # noqa: S608 - constants, a bound value
    return connection.execute(query, (request_id,)).fetchone()[0]


def calls_table(connection: sqlite3.Connection) -> str:
    """Return a table expression with one row per call: all messages, and a further row for each other call they answer.

    In most archives no message answers several calls, and all state the ids of their answers or none; then this is the
    message table, and as fast. A separate part for those that state only the id of a request keeps the index in use.
    """
    parts: list[str] = []
    own = _MESSAGE_COLUMNS.format("m.api_message_id")
    if names_requests_only(connection):
        recorded = _MESSAGE_COLUMNS.format(_RECORDED_ID)
        parts.append(f"select {own} from message m where not ({_NAMES_REQUEST_ONLY})")  # noqa: S608 - constants
        parts.append(f"select {recorded} from message m where {_NAMES_REQUEST_ONLY}")  # noqa: S608 - constants
    if has_other_calls(connection):
        parts = [*(parts or [f"select {own} from message m"]), _OTHER_CALLS]  # noqa: S608 - constants
    return f"({' union all '.join(parts)})" if parts else "(select *, 1 as is_message from message)"


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
        from {} where conversation in ({}) group by conversation, coalesce(api_message_id, message_key)
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
        "select coalesce(m.api_message_id, m.message_key), coalesce(m.model, c.model), c.platform, "  # noqa: S608 - constants, bound values
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
