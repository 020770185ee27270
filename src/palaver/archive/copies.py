"""Messages that stand in the archive more than once: which of them is the first, and where.

The first is the least by (timestamp, conversation_id, message_id), whatever came in first.
"""

import sqlite3
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from palaver.archive.viewing import Viewed
from palaver.model.timestamps import normalize_timestamp

_FIRST = "m.timestamp, c.conversation_id, m.message_id, c.platform"
_PLACES = "from message m join conversation c on c.conversation_key = m.conversation"


class Place(NamedTuple):
    platform: str
    conversation_id: str
    message_id: str


class Copy(NamedTuple):
    """That a message is not the first of its kind; its usage, or only its content, is told there."""

    kind: Literal["usage", "content"]
    first: Place


class CountedThere(NamedTuple):
    """How many messages of a conversation have their usage counted in another one."""

    platform: str
    conversation_id: str
    messages: int


def copy_of(
    connection: sqlite3.Connection, message: Viewed, platform: str, conversation_id: str, window_ms: int
) -> Copy | None:
    """Where the first of a message's copies is; None when it is that one itself."""
    own = Place(platform, conversation_id, message.message_id)
    if message.api_message_id and message.tokens:
        first = first_of_answer(connection, message.api_message_id)
        if first != own:
            return Copy("usage", first)
    first = first_of_body(connection, message.body, message.timestamp, window_ms)
    return None if first == own else Copy("content", first)


def first_of_answer(connection: sqlite3.Connection, api_message_id: str) -> Place:
    """Where the usage of an answer is counted, of all copies with the provider's id."""
    query = f"select c.platform, c.conversation_id, m.message_id {_PLACES} where m.api_message_id = ?"
    return Place(*connection.execute(f"{query} order by {_FIRST} limit 1", (api_message_id,)).fetchone())


def first_of_body(connection: sqlite3.Connection, body: int, timestamp: str, window_ms: int) -> Place:
    """The first message with the same role and content, of those that are no further away than the window."""
    query = f"select c.platform, c.conversation_id, m.message_id {_PLACES} where m.body = ?"
    values = (body, *_around(timestamp, window_ms))
    found = connection.execute(f"{query} and m.timestamp between ? and ? order by {_FIRST} limit 1", values)
    return Place(*found.fetchone())


def counted_elsewhere(connection: sqlite3.Connection, key: int) -> list[CountedThere]:
    """The conversations in which usage that stands here as well is counted, the most of it first."""
    rows = connection.execute(
        f"""
        select platform, conversation_id, messages from (
            select (select m.conversation {_PLACES} where m.api_message_id = own.api_message_id
                order by {_FIRST} limit 1) as there, count(*) as messages
            from message own
            where own.conversation = ? and own.api_message_id is not null and own.tokens is not null
            group by there
        ) join conversation on conversation_key = there
        where there <> ? order by messages desc, platform, conversation_id""",  # noqa: S608 - our own words
        (key, key),
    )
    return [CountedThere(*row) for row in rows]


def _around(timestamp: str, window_ms: int) -> tuple[str, str]:
    try:
        moment, window = datetime.fromisoformat(timestamp), timedelta(milliseconds=window_ms)
        return normalize_timestamp(moment - window), normalize_timestamp(moment + window)
    except (ValueError, OverflowError):
        return timestamp, timestamp
