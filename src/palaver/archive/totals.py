"""Tokens of a conversation: an answer that stands in it more than once has been paid for once."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from palaver.archive.calls import calls_table


class Totals(NamedTuple):
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
        """What was new: not what was read from the cache, which is the same again in every request."""
        return self.input + self.cache_write + self.output

    def tokens(self) -> dict[str, int] | None:
        """By kind; None where the source states no usage."""
        names = ("input", "output", "cache_read", "cache_write", "thinking")
        return {name: getattr(self, name) for name in names} if self.has_tokens else None


# Numbers are added as floating point, which is exact up to 2**53 and, unlike integers, never too large to be added.
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


def totals_of(connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, Totals]:
    """Of some hundred conversations, by key; one without messages has them as well."""
    rows = connection.execute(_TOTALS.format(calls_table(connection), ", ".join("?" * len(keys))), keys)
    found = {key: Totals(*numbers, has_tokens=bool(has_tokens)) for key, *numbers, has_tokens in rows}
    return {key: found.get(key, Totals()) for key in keys}
