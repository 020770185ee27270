"""Messages that stand in the archive more than once: where the first of them is.

The first is the least by time, conversation id, message id and platform, whatever came in first.
"""

# ruff: noqa: S608 - conditions are words of this program, every value is bound

import sqlite3
from collections import Counter
from functools import cached_property
from typing import Literal, NamedTuple

from palaver.archive.calls import has_other_calls
from palaver.archive.duplicates import window_duplicates
from palaver.archive.usage import FIRST, HAS_USAGE, usage_owner
from palaver.archive.viewing import Viewed

_PLACES = "from message m join conversation c on c.conversation_key = m.conversation"


class Place(NamedTuple):
    platform: str
    conversation_id: str
    message_id: str


class Copy(NamedTuple):
    """That a message is not the first of its kind.

    The same answer, whose usage is counted there; the same content at the same time in another conversation; or the
    same content again in this one, shortly after the first.
    """

    kind: Literal["usage", "content", "repeated"]
    first: Place


class CountedThere(NamedTuple):
    """How many messages of a conversation have their usage counted in another one."""

    platform: str
    conversation_id: str
    messages: int


class Copies:
    """The copies among the messages of one conversation."""

    def __init__(
        self, connection: sqlite3.Connection, key: int, platform: str, conversation_id: str, window_ms: int
    ) -> None:
        self._connection = connection
        self._key = key
        self._place = (platform, conversation_id)
        self._window_ms = window_ms

    def copy_of(self, message: Viewed) -> Copy | None:
        """Where the first of a message's copies is; None when it is that one itself."""
        own = Place(*self._place, message.message_id)
        if message.api_message_id and message.tokens:
            owner = usage_owner(self._connection, message.api_message_id)
            if owner is not None and owner != own:
                return Copy("usage", Place(*owner))
        if first := self._repeated.get(message.message_id):
            return Copy("repeated", Place(*self._place, first))
        first = self._first_at_that_time(message)
        return None if first[:2] == own[:2] else Copy("content", first)

    @cached_property
    def _repeated(self) -> dict[str, str]:
        return window_duplicates(self._connection, self._key, self._window_ms)

    def _first_at_that_time(self, message: Viewed) -> Place:
        if message.metadata.get("timestamp_inferred") is True:
            return Place(*self._place, message.message_id)
        query = (
            f"select c.platform, c.conversation_id, m.message_id {_PLACES} "
            f"where m.body = ? and m.timestamp = ? order by {FIRST} limit 1"
        )
        return Place(*self._connection.execute(query, (message.body, message.timestamp)).fetchone())


def counted_elsewhere(connection: sqlite3.Connection, key: int) -> list[CountedThere]:
    """The conversations in which usage that stands here as well is counted, the most of it first."""
    if has_other_calls(connection):
        return _counted_one_by_one(connection, key)
    rows = connection.execute(
        f"""
        select platform, conversation_id, messages from (
            select (select m.conversation {_PLACES} where m.api_message_id = own.api_message_id and {HAS_USAGE}
                order by {FIRST} limit 1) as there, count(*) as messages
            from message own
            where own.conversation = ? and own.api_message_id is not null and own.tokens is not null
            group by there
        ) join conversation on conversation_key = there
        where there <> ? order by messages desc, platform, conversation_id""",
        (key, key),
    )
    return [CountedThere(*row) for row in rows]


def _counted_one_by_one(connection: sqlite3.Connection, key: int) -> list[CountedThere]:
    """The same where messages answer several calls: asked as one question it would look at all of them each time."""
    query = "select platform, conversation_id from conversation where conversation_key = ?"
    here = connection.execute(query, (key,)).fetchone()
    found: Counter[tuple[str, str]] = Counter()
    own = "select api_message_id from message where conversation = ? and api_message_id <> '' and tokens is not null"
    for (api_message_id,) in connection.execute(own, (key,)).fetchall():
        owner = usage_owner(connection, api_message_id)
        if owner is not None and owner[:2] != here:
            found[owner[:2]] += 1
    return [CountedThere(*place, count) for place, count in sorted(found.items(), key=lambda one: (-one[1], one[0]))]
