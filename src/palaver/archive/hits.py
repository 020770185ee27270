"""Which messages a search finds, newest first, without ever looking at more of them than it has to.

A hit is a body: what was said once, however many messages repeat it. Its number in the index grows with the time when
it was first said, so the index itself gives hits in the order of time, one after the other. Each is then looked up
among the messages. Where hardly any of them passes the filters, it goes the other way round: what passes is collected
first, and looked up in the index.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from palaver.archive.filters import Filters
from palaver.archive.query import Query
from palaver.archive.rows import BODY_BITS, second_of
from palaver.archive.scratch import Scratch
from palaver.archive.words import worded

BODY_MASK = (1 << BODY_BITS) - 1
_LAST = (1 << 63) - 1
_PATIENCE = 4_000
"""How many hits are looked at before it is asked whether only few messages pass the filters.

If so, as many more are looked at as collecting those messages would cost; then they are collected.
"""
_FEW = 20_000
_NEVER = 1 << 62
_PROBE = 40
"""Asking the index about one body costs as much as looking at this many of its hits."""
_ASKED_ONE_BY_ONE = 100
_ANY = ("true", "true")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for, and where; of the filters, the dates are meant for each message."""

    query: Query
    filters: Filters = field(default_factory=Filters)
    columns: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    only_errors: bool = False

    @property
    def is_about_messages(self) -> bool:
        """Whether it asks for something that a title has not."""
        return bool(self.columns or self.roles or self.authors or self.only_errors)

    def of_conversation(self) -> Filters:
        return replace(self.filters, since="", until="")

    def quick(self) -> Filters:
        """Those filters for which a conversation's own row is enough."""
        return Filters(platforms=self.filters.platforms, projects=self.filters.projects, tags=self.filters.tags)

    def of_message(self) -> tuple[str, list[Any]]:
        """A condition on `message m`, with its values."""
        conditions: list[str] = []
        values: list[Any] = []
        for column, words in (("role", self.roles), ("author_kind", self.authors)):
            if words:
                conditions.append(f"m.{column} in ({', '.join('?' * len(words))})")
                values += words
        for sign, moment in ((">=", self.filters.since), ("<", self.filters.until)):
            if moment:
                conditions.append(f"m.timestamp {sign} ?")
                values.append(moment)
        if self.only_errors:
            conditions.append("(select b.is_error from body b where b.body_key = m.body)")
        return " and ".join(conditions) or "true", values


class Hits:
    def __init__(self, connection: sqlite3.Connection, wanted: Wanted, scratch: Scratch) -> None:
        self._connection = connection
        self._wanted = wanted
        self._scratch = scratch
        self._expression = wanted.query.expression(wanted.columns)
        self._message, self._message_values = wanted.of_message()
        self._conversation, self._conversation_values = wanted.of_conversation().where()
        self._must_be_read = self._expression is None or wanted.query.is_looser
        self._signs = wanted.query.signs()
        self._passes: dict[int, bool] = {}
        self._quick = wanted.quick().where()
        self._is_quick = wanted.quick() == wanted.of_conversation()
        self._likely: set[int] | None = None
        self.looked_at = 0
        """How many hits of the index, counting what was asked of it one by one for what that costs."""
        self.enough: int | None = None
        """How many of them to look at."""
        self.is_cut = False
        """Whether there are hits that were not looked at."""

    def newest(self) -> Iterator[int]:
        """Numbers in the index of what is found."""
        previous = 0
        patience = _PATIENCE
        for key, conversation in self._from_index():
            if key == previous:
                continue
            if self._has_enough():
                return
            self.looked_at += 1
            if conversation is not None and self.is_allowed(conversation) and self._is_meant(key):
                previous = key
                yield key
            if self.looked_at == patience and self.enough is None:
                if patience == _PATIENCE:
                    patience += self._collecting_costs()
                # Another message may say the same, and pass.
                elif (few := self._few(key if key == previous else key + 1)) is not None:
                    yield from self._among(few)
                    return

    def count(self, most: int) -> int | None:
        """How many there are, up to a number; None where that would mean to look at them one by one."""
        if self._must_be_read or (self._message, self._conversation) != _ANY:
            return None
        query = (
            "select count(*) from (select 1 from search where search match ? "
            "and exists (select 1 from message m where m.body = search.rowid & ?) limit ?)"
        )
        return self._connection.execute(query, (self._expression, BODY_MASK, most)).fetchone()[0]

    def scores(self, keys: list[int]) -> dict[int, float]:
        """How well each of them fits, the less the better; what was said counts more than what a tool gave back."""
        # What is excluded would be scored as well, and has been left out already.
        expression = Query(self._wanted.query.required).expression(self._wanted.columns)
        if expression is None or not keys:
            return {}
        # The plus keeps SQLite from asking the index for each number by itself, which would take minutes.
        return dict(
            self._connection.execute(
                "select rowid, bm25(search, 3.0, 1.5, 1.0) from search where search match ? and rowid between ? and ? "
                "and +rowid in (select value from json_each(?))",
                (expression, min(keys), max(keys), orjson.dumps(keys).decode()),
            )
        )

    def messages(self, key: int) -> list[tuple[Any, ...]]:
        """The messages that say it and pass, the first of them first."""
        query = (
            "select m.conversation, m.message_id, m.parent_message_id, m.role, m.author_kind, m.timestamp, m.model, "  # noqa: S608 - conditions of ours
            "c.platform, c.conversation_id from message m join conversation c on c.conversation_key = m.conversation "
            f"where m.body = ? and {self._message} order by m.timestamp, c.conversation_id, m.message_id, c.platform"
        )
        rows = self._connection.execute(query, (key & BODY_MASK, *self._message_values))
        return [row for row in rows if self.is_allowed(row[0])]

    def content(self, key: int) -> list[dict[str, Any]]:
        return orjson.loads(self._stored(key))

    def _stored(self, key: int) -> bytes:
        query = "select cast(content as blob) from body where body_key = ?"
        return self._connection.execute(query, (key & BODY_MASK,)).fetchone()[0]

    def _from_index(self) -> Iterator[tuple[int, int | None]]:
        """Every hit, with the conversation of each message that says it and passes for itself, or with none."""
        before = (second_of(self._wanted.filters.until) + 1) << BODY_BITS if self._wanted.filters.until else _LAST
        match, values = ("true", []) if self._expression is None else ("search match ?", [self._expression])
        query = (
            "select search.rowid, m.conversation from search left join message m "  # noqa: S608 - conditions of ours
            f"on m.body = search.rowid & ? and {self._message} where {match} and search.rowid < ? "
            "order by search.rowid desc"
        )
        return self._connection.execute(query, (BODY_MASK, *self._message_values, *values, before))

    def is_allowed(self, conversation: int) -> bool:
        """Whether a conversation passes; asked once of each, or of all at once when it gets to be many."""
        if self._conversation == "true":
            return True
        if (passes := self._passes.get(conversation)) is None:
            condition, values = self._quick
            if len(self._passes) == _ASKED_ONE_BY_ONE and condition != "true":
                query = f"select c.conversation_key from conversation c where {condition}"  # noqa: S608 - ours
                self._likely = {key for (key,) in self._connection.execute(query, values)}
            passes = conversation in self._likely if self._likely is not None else True
            if passes and not (self._likely is not None and self._is_quick):
                query = f"select 1 from conversation c where c.conversation_key = ? and {self._conversation}"  # noqa: S608
                values = (conversation, *self._conversation_values)
                passes = self._connection.execute(query, values).fetchone() is not None
            self._passes[conversation] = passes
        return passes

    def _is_meant(self, key: int) -> bool:
        if not self._must_be_read:
            return True
        stored = self._stored(key)
        if not all(sign in stored for sign in self._signs):
            return False
        texts = zip(("text", "thinking", "tool"), worded(orjson.loads(stored)), strict=True)
        columns = self._wanted.columns
        read = [text for column, text in texts if not columns or column in columns]
        return self._wanted.query.holds(read, self._scratch)

    def _collecting_costs(self) -> int:
        """What it would take to collect the bodies that may pass, in hits that could be looked at instead."""
        if (conversations := self._likely_conversations()) is None:
            return _NEVER
        condition, values = conversations
        count = f"select count(*) from (select 1 from message where conversation in ({condition}) limit ?)"  # noqa: S608
        messages = self._connection.execute(count, (*values, _FEW + 1)).fetchone()[0]
        return messages + 1 if messages <= _FEW else _NEVER

    def _few(self, below: int) -> list[int] | None:
        """The bodies that may pass the filters, unless there are as few hits left."""
        conversations = self._likely_conversations()
        assert conversations is not None
        condition, values = conversations
        query = (
            "select search_key from body where body_key in "  # noqa: S608 - conditions of ours
            f"(select body from message where conversation in ({condition})) and search_key < ? order by 1 desc"
        )
        few = [key for (key,) in self._connection.execute(query, (*values, below))]
        return few if self._are_more(below, _PROBE * len(few)) else None

    def _likely_conversations(self) -> tuple[str, list[Any]] | None:
        """A query for those that pass the filters which are quick to ask; None if there are no such filters."""
        condition, values = self._quick
        if since := self._wanted.filters.since:
            condition += " and coalesce(c.updated_at, ?) >= ?"
            values = [*values, since, since]
        if condition == "true":
            return None
        return f"select c.conversation_key from conversation c where {condition}", values  # noqa: S608 - ours

    def _are_more(self, below: int, number: int) -> bool:
        """Whether so many hits are left that looking them up one by one takes longer."""
        if self._expression is None:
            return True
        query = "select count(*) from (select 1 from search where search match ? and rowid < ? limit ?)"
        return self._connection.execute(query, (self._expression, below, number)).fetchone()[0] == number

    def _among(self, few: list[int]) -> Iterator[int]:
        match, values = ("true", []) if self._expression is None else ("search match ?", [self._expression])
        probe = f"select 1 from search where {match} and rowid = ?"  # noqa: S608 - conditions of ours
        for key in few:
            if self._has_enough():
                return
            self.looked_at += _PROBE
            if (
                self._connection.execute(probe, (*values, key)).fetchone()
                and self._is_said(key)
                and self._is_meant(key)
            ):
                yield key

    def _has_enough(self) -> bool:
        self.is_cut = self.enough is not None and self.looked_at >= self.enough
        return self.is_cut

    def _is_said(self, key: int) -> bool:
        query = f"select m.conversation from message m where m.body = ? and {self._message}"  # noqa: S608 - ours
        rows = self._connection.execute(query, (key & BODY_MASK, *self._message_values))
        return any(self.is_allowed(conversation) for (conversation,) in rows)
