"""What the usage of one conversation would have cost, each answer once."""

import sqlite3
from decimal import Decimal
from typing import NamedTuple

import orjson

from palaver.archive.calls import calls_table
from palaver.archive.merge import joined_tokens
from palaver.prices import Prices


class ConversationCost(NamedTuple):
    amount: Decimal
    priced: int
    unpriced: int
    """Answers with usage that have no known price: they are not in the amount."""
    currency: str = "USD"


def cost_of(connection: sqlite3.Connection, key: int, prices: Prices) -> ConversationCost:
    rows = connection.execute(
        "select coalesce(m.api_message_id, m.message_key), coalesce(m.model, c.model), c.platform, "  # noqa: S608
        f"cast(m.tokens as blob), m.timestamp from {calls_table(connection)} m "
        "join conversation c on c.conversation_key = m.conversation "
        "where m.conversation = ? and m.tokens is not null order by m.timestamp, m.message_id",
        (key,),
    )
    answers: dict[str | int, tuple[str | None, str, bytes, str]] = {}
    for answer, model, platform, tokens, timestamp in rows:
        if known := answers.get(answer):
            joined = joined_tokens(orjson.loads(known[2]), orjson.loads(tokens))
            answers[answer] = (*known[:2], orjson.dumps(joined), known[3])
        else:
            answers[answer] = (model, platform, tokens, timestamp)
    costs = [
        prices.cost(model, orjson.loads(tokens), timestamp, platform)
        for model, platform, tokens, timestamp in answers.values()
    ]
    known_costs = [cost.amount for cost in costs if cost is not None]
    return ConversationCost(sum(known_costs, Decimal()), len(known_costs), len(costs) - len(known_costs))
