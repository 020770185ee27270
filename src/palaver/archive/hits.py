"""Which messages a search finds, newest first, without ever looking at more of them than it has to.

A hit is a body: what was said once, however many messages repeat it. Its number in the index grows with the time when
it was first said, so the index itself gives hits in the order of time, one after the other. Each is then looked up
among the messages. Where hardly any of them passes the filters, it goes the other way round: what passes is collected
first, and looked up in the index.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import orjson

from palaver.archive.filters import Filters
from palaver.archive.query import Query
from palaver.archive.rows import BODY_BITS, second_of
from palaver.archive.scratch import Scratch
from palaver.archive.words import worded

BODY_MASK = (1 << BODY_BITS) - 1
_LAST = (1 << 63) - 1
_PATIENCE = 1_000
"""How many hits are looked at before it is asked whether only few messages pass the filters.

If so, as many more are looked at as collecting those messages would cost; then they are collected.
"""
_SLOW = 5_000
"""The same for filters that take long to ask, before they are asked of all conversations at once."""
_FEW = 20_000
_FEW_CONVERSATIONS = 1_000
_LISTED = 20_000
_NEVER = 1 << 62
_PROBE = 80
"""Asking the index about one body, and scoring it later, costs as much as looking at this many hits."""
_AHEAD = 32
"""How many hits are taken along whenever it is asked: that costs a quarter of asking."""
_ASKED_ONE_BY_ONE = 100
_ANY = ("true", "true")
# Every body is some message's, but for those that only older versions of messages have.
_IS_SAID = (
    f"(search.rowid & {BODY_MASK} not in (select body from revision) "  # noqa: S608 - a number
    f"or exists (select 1 from message m where m.body = search.rowid & {BODY_MASK}))"
)
_COLUMNS = {"text": 3.0, "thinking": 1.5, "tool": 1.0}
"""Of the index, with their weights: what was said counts more than what a tool gave back."""


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

    @property
    def finds_all(self) -> bool:
        """Whether everything is meant that the index finds, and some message says."""
        return not self._must_be_read and (self._message, self._conversation) == _ANY

    @property
    def few_conversations(self) -> str | None:
        """Those that may pass, as JSON, where it is known by now that they are few."""
        few = self._likely is not None and len(self._likely) <= _FEW_CONVERSATIONS
        return orjson.dumps(list(self._likely or ())).decode() if few else None

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
                if patience == _PATIENCE and not self._is_quick:
                    patience += _SLOW
                elif patience in {_PATIENCE, _PATIENCE + _SLOW}:
                    patience += self._collecting_costs()
                else:
                    # Another message may say the same, and pass.
                    yield from self._among_few(key if key == previous else key + 1)
                    return

    def count(self, most: int) -> int | None:
        """How many there are, up to a number; None where that would mean to look at them one by one."""
        if not self.finds_all:
            return None
        query = f"select count(*) from (select 1 from search where search match ? and {_IS_SAID} limit ?)"  # noqa: S608
        return self._connection.execute(query, (self._expression, most)).fetchone()[0]

    def newest_scored(self, most: int, first: list[int]) -> dict[int, float]:
        """The newest of all with their scores, where `finds_all` and some were found already.

        The index is quicker forwards: if there seem to be few, all of them come that way.
        """
        is_scored = not (self._wanted.query.excluded or self._wanted.columns)
        score = self._score if is_scored else "0.0"
        query = f"select rowid, {score} from search where search match ? and {_IS_SAID} order by rowid"  # noqa: S608
        rows: list[tuple[int, float]] = []
        if self._seem_few(first, most):
            rows = self._connection.execute(f"{query} limit ?", (self._expression, most)).fetchall()[::-1]
        if not 0 < len(rows) < most:
            rows = self._connection.execute(f"{query} desc limit ?", (self._expression, most)).fetchall()
        found = dict(rows)
        return found if is_scored else found | self.scores(list(found))

    def _seem_few(self, first: list[int], most: int) -> bool:
        """Whether there are fewer hits than that, if they are spread over time as the first of them are."""
        query = "select (select min(id) from search_docsize), (select max(id) from search_docsize)"
        oldest, newest = self._connection.execute(query).fetchone()
        return len(first) * (newest - oldest) < most * (newest - first[-1])

    def scores(self, keys: list[int]) -> dict[int, float]:
        """How well each of them fits, the less the better."""
        # What is excluded would be scored as well, and has been left out already; so have words in other columns.
        expression = Query(self._wanted.query.required).expression()
        if expression is None or not keys:
            return {}
        # The plus keeps SQLite from asking the index for each number by itself, which would take minutes.
        return dict(
            self._connection.execute(
                f"select rowid, {self._score} from search where search match ? and rowid between ? and ? "  # noqa: S608 - ours
                "and +rowid in (select value from json_each(?))",
                (expression, min(keys), max(keys), orjson.dumps(keys).decode()),
            )
        )

    @property
    def _score(self) -> str:
        columns = self._wanted.columns or _COLUMNS
        return f"bm25(search, {', '.join(str(_COLUMNS[name] * (name in columns)) for name in _COLUMNS)})"

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
        """Every hit, with the conversation of each message that says it and passes for itself, or with none.

        Where everything passes, no message is looked at.
        """
        before = (second_of(self._wanted.filters.until) + 1) << BODY_BITS if self._wanted.filters.until else _LAST
        match, values = ("true", []) if self._expression is None else ("search match ?", [self._expression])
        if self.finds_all:
            query = f"select rowid, 0 from search where {match} and rowid < ? and {_IS_SAID} order by rowid desc"  # noqa: S608
            return self._connection.execute(query, (*values, before))
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
            if len(self._passes) == _ASKED_ONE_BY_ONE and self._quick[0] != "true":
                self._likely = set(self._conversations(*self._quick))
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
        if not self._is_quick:
            self._likely, self._is_quick = set(self._conversations(self._conversation, self._conversation_values)), True
        if (conversations := self._likely_conversations) is None:
            return _NEVER
        count = (
            "select count(*) from (select 1 from json_each(?) join message on conversation = json_each.value limit ?)"
        )
        messages = self._connection.execute(count, (conversations, _FEW + 1)).fetchone()[0]
        return messages + 1 if messages <= _FEW else _NEVER

    def _among_few(self, below: int) -> Iterator[int]:
        """Of the bodies that may pass the filters, those that the index finds."""
        query = (
            "select search_key from body where body_key in (select body from json_each(?) "
            "join message on conversation = json_each.value) and search_key < ? order by 1 desc"
        )
        few = [key for (key,) in self._connection.execute(query, (self._likely_conversations, below))]
        match, values = ("true", []) if self._expression is None else ("search match ?", [self._expression])
        listed = self._listed(below, min(_PROBE * len(few), _LISTED))
        query = f"select rowid from search where {match} and rowid <= ? order by rowid desc limit {_AHEAD}"  # noqa: S608 - conditions of ours
        known, down_to = (set[int](), below) if listed is None else (listed, 0)
        for key in few:
            if self._has_enough():
                return
            self.looked_at += _PROBE if listed is None else 1
            if key < down_to:
                # What one conversation says was mostly said in one go: those that are asked for next are near.
                rows = [found for (found,) in self._connection.execute(query, (*values, key))]
                known, down_to = set(rows), rows[-1] if len(rows) == _AHEAD else 0
            if key in known and self._is_said(key) and self._is_meant(key):
                yield key

    @cached_property
    def _likely_conversations(self) -> str | None:
        """Those that pass the filters which are quick to ask, as JSON; None if there are no such filters."""
        if self._likely is None and self._quick[0] != "true":
            self._likely = set(self._conversations(*self._quick))
        likely = self._likely
        if since := self._wanted.filters.since:
            late = self._conversations("coalesce(c.updated_at, ?) >= ?", [since, since])
            likely = late if likely is None else likely.intersection(late)
        return None if likely is None else orjson.dumps(list(likely)).decode()

    def _conversations(self, condition: str, values: list[Any]) -> list[int]:
        query = f"select c.conversation_key from conversation c where {condition}"  # noqa: S608 - ours
        return [key for (key,) in self._connection.execute(query, values)]

    def _listed(self, below: int, most: int) -> set[int] | None:
        """All hits that are left; None where there are so many that asking for one after the other takes less."""
        if self._expression is None:
            return None
        left = "from search where search match ? and rowid < ?"
        query = f"select count(*) from (select 1 {left} limit ?)"  # noqa: S608 - ours
        if self._connection.execute(query, (self._expression, below, most)).fetchone()[0] == most:
            return None
        query = f"select rowid {left}"
        return {key for (key,) in self._connection.execute(query, (self._expression, below))}

    def _has_enough(self) -> bool:
        self.is_cut = self.enough is not None and self.looked_at >= self.enough
        return self.is_cut

    def _is_said(self, key: int) -> bool:
        query = f"select m.conversation from message m where m.body = ? and {self._message}"  # noqa: S608 - ours
        rows = self._connection.execute(query, (key & BODY_MASK, *self._message_values))
        return any(self.is_allowed(conversation) for (conversation,) in rows)
