"""The hits of a search, newest first, reading no more of them than necessary.

A hit is a body, however many messages repeat it. Search keys ascend with the time when a body was first written, so the
index yields hits in order of time. Each hit is then looked up in the message table. If hardly any hit passes the
filters, the search works the other way round: it collects the bodies that pass, and looks them up in the index.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import orjson

from palaver.archive.body_store import BODY_BITS, epoch_second
from palaver.archive.filters import Filters
from palaver.archive.query import Query, ScratchIndex
from palaver.archive.search_text import content_texts
from palaver.archive.usage import OWNER_ORDER

BODY_MASK = (1 << BODY_BITS) - 1
_MAX_KEY = (1 << 63) - 1
_HITS_BEFORE_ESTIMATE = 1_000
"""Number of hits to read before estimating how many messages pass the filters.

If they are few, the search reads as many further hits as collecting those messages would cost, then collects them.
"""
_HITS_BEFORE_SLOW_FILTERS = 5_000
"""Number of further hits to read before slow filters are applied to all conversations at once."""
_MAX_CANDIDATE_MESSAGES = 20_000
_MAX_CANDIDATE_CONVERSATIONS = 1_000
_MAX_REMAINING_HITS = 20_000
_NEVER = 1 << 62
_PROBE_COST = 80
"""Looking up one body in the index, and scoring it later, costs as much as reading this many hits."""
_PROBE_BATCH = 32
"""Number of hits fetched with each lookup, which adds a quarter to its cost."""
_MAX_SINGLE_LOOKUPS = 100
_NO_CONDITIONS = ("true", "true")
# Every body belongs to a message, except those that only older versions of messages have.
_HAS_MESSAGE = (
    f"(search.rowid & {BODY_MASK} not in (select body from revision) "  # noqa: S608 - constants, bound values
    f"or exists (select 1 from message m where m.body = search.rowid & {BODY_MASK}))"
)
_COLUMNS = {"text": 3.0, "thinking": 1.5, "tool": 1.0}
"""Columns of the index with their weights: message text counts more than tool output."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A query with its filters; the dates of the filters apply to messages, not to conversations."""

    query: Query
    filters: Filters = field(default_factory=Filters)
    columns: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    only_errors: bool = False

    @property
    def has_message_filters(self) -> bool:
        """Whether there are filters that cannot apply to titles."""
        return bool(self.columns or self.roles or self.authors or self.only_errors)

    def conversation_filters(self) -> Filters:
        return replace(self.filters, since="", until="")

    def quick_filters(self) -> Filters:
        """Return the filters that need only the conversation's own row."""
        return Filters(platforms=self.filters.platforms, projects=self.filters.projects, tags=self.filters.tags)

    def message_condition(self) -> tuple[str, list[Any]]:
        """Return an SQL condition on `message m`, with its values."""
        conditions: list[str] = []
        values: list[Any] = []
        for column, words in (("role", self.roles), ("author_kind", self.authors)):
            if words:
                conditions.append(f"m.{column} in ({', '.join('?' * len(words))})")
                values += words
        for operator, moment in ((">=", self.filters.since), ("<", self.filters.until)):
            if moment:
                conditions.append(f"m.timestamp {operator} ?")
                values.append(moment)
        if self.only_errors:
            conditions.append("(select b.is_error from body b where b.body_key = m.body)")
        return " and ".join(conditions) or "true", values


class Hits:
    """The hits of one search request, identified by their search keys."""

    def __init__(self, connection: sqlite3.Connection, request: SearchRequest, scratch: ScratchIndex) -> None:
        self._connection = connection
        self._request = request
        self._scratch = scratch
        self._expression = request.query.expression(request.columns)
        self._message, self._message_values = request.message_condition()
        self._conversation, self._conversation_values = request.conversation_filters().where()
        self._needs_text_check = self._expression is None or request.query.needs_text_check
        self._symbols = request.query.required_symbols()
        self._passes: dict[int, bool] = {}
        self._quick = request.quick_filters().where()
        self._is_quick = request.quick_filters() == request.conversation_filters()
        self._likely: set[int] | None = None
        self.looked_at = 0
        """Number of hits read so far, with single lookups counted at their cost."""
        self.max_looked_at: int | None = None
        """Limit for `looked_at`."""
        self.is_cut = False
        """Whether the limit was reached before the last hit."""

    @property
    def is_unfiltered(self) -> bool:
        """Whether every hit of the index that belongs to a message is a result."""
        return not self._needs_text_check and (self._message, self._conversation) == _NO_CONDITIONS

    @property
    def candidate_conversations(self) -> str | None:
        """Keys of the conversations that may pass, as JSON, once they are known to be few; otherwise None."""
        few = self._likely is not None and len(self._likely) <= _MAX_CANDIDATE_CONVERSATIONS
        return orjson.dumps(list(self._likely or ())).decode() if few else None

    def newest(self) -> Iterator[int]:
        """Yield the search keys of the results."""
        previous = 0
        next_estimate = _HITS_BEFORE_ESTIMATE
        for key, conversation in self._from_index():
            if key == previous:
                continue
            if self._reached_limit():
                return
            self.looked_at += 1
            if conversation is not None and self.passes_filters(conversation) and self._matches_text(key):
                previous = key
                yield key
            if self.looked_at == next_estimate and self.max_looked_at is None:
                if next_estimate == _HITS_BEFORE_ESTIMATE and not self._is_quick:
                    next_estimate += _HITS_BEFORE_SLOW_FILTERS
                elif next_estimate in {_HITS_BEFORE_ESTIMATE, _HITS_BEFORE_ESTIMATE + _HITS_BEFORE_SLOW_FILTERS}:
                    next_estimate += self._collection_cost()
                else:
                    # Another message with this body may pass.
                    yield from self._hits_among_candidates(key if key == previous else key + 1)
                    return

    def count(self, limit: int) -> int | None:
        """Return the number of results up to a limit, or None if each would have to be read."""
        if not self.is_unfiltered:
            return None
        query = f"select count(*) from (select 1 from search where search match ? and {_HAS_MESSAGE} limit ?)"  # noqa: S608 - constants, bound values
        return self._connection.execute(query, (self._expression, limit)).fetchone()[0]

    def newest_scored(self, limit: int, first: list[int]) -> dict[int, float]:
        """Return the newest results with their scores; requires `is_unfiltered` and the `first` results.

        The index is faster in ascending order: if there seem to be few results, all of them are read that way.
        """
        is_scored = not (self._request.query.excluded or self._request.columns)
        score = self._score if is_scored else "0.0"
        query = f"select rowid, {score} from search where search match ? and {_HAS_MESSAGE} order by rowid"  # noqa: S608 - constants, bound values
        rows: list[tuple[int, float]] = []
        if self._seem_few(first, limit):
            rows = self._connection.execute(f"{query} limit ?", (self._expression, limit)).fetchall()[::-1]
        if not 0 < len(rows) < limit:
            rows = self._connection.execute(f"{query} desc limit ?", (self._expression, limit)).fetchall()
        found = dict(rows)
        return found if is_scored else found | self.scores(list(found))

    def _seem_few(self, first: list[int], limit: int) -> bool:
        """Estimate whether there are fewer hits than the limit, from how the first ones are spread over time."""
        query = "select (select min(id) from search_docsize), (select max(id) from search_docsize)"
        oldest, newest = self._connection.execute(query).fetchone()
        return len(first) * (newest - oldest) < limit * (newest - first[-1])

    def scores(self, keys: list[int]) -> dict[int, float]:
        """Return the score of each key; lower is better."""
        # The keys passed the whole query already; excluded terms and other columns must not affect the score.
        expression = Query(self._request.query.required).expression()
        if expression is None or not keys:
            return {}
        # The plus keeps SQLite from looking up each rowid in the index separately, which would take minutes.
        return dict(
            self._connection.execute(
                f"select rowid, {self._score} from search where search match ? and rowid between ? and ? "  # noqa: S608 - constants, bound values
                "and +rowid in (select value from json_each(?))",
                (expression, min(keys), max(keys), orjson.dumps(keys).decode()),
            )
        )

    @property
    def _score(self) -> str:
        columns = self._request.columns or _COLUMNS
        return f"bm25(search, {', '.join(str(_COLUMNS[name] * (name in columns)) for name in _COLUMNS)})"

    def messages(self, key: int) -> list[tuple[Any, ...]]:
        """Return the messages with this body that pass the filters, the owner first."""
        query = (
            "select m.conversation, m.message_id, m.parent_message_id, m.role, m.author_kind, m.timestamp, m.model, "  # noqa: S608 - constants, bound values
            "c.platform, c.conversation_id from message m join conversation c on c.conversation_key = m.conversation "
            f"where m.body = ? and {self._message} order by {OWNER_ORDER}"
        )
        rows = self._connection.execute(query, (key & BODY_MASK, *self._message_values))
        return [row for row in rows if self.passes_filters(row[0])]

    def content(self, key: int) -> list[dict[str, Any]]:
        return orjson.loads(self._stored_content(key))

    def _stored_content(self, key: int) -> bytes:
        query = "select cast(content as blob) from body where body_key = ?"
        return self._connection.execute(query, (key & BODY_MASK,)).fetchone()[0]

    def _from_index(self) -> Iterator[tuple[int, int | None]]:
        """Yield each hit with the conversation of each message that passes the message filters, or with None.

        If everything passes, no message is read.
        """
        before = (
            (epoch_second(self._request.filters.until) + 1) << BODY_BITS if self._request.filters.until else _MAX_KEY
        )
        match, values = ("true", []) if self._expression is None else ("search match ?", [self._expression])
        if self.is_unfiltered:
            query = f"select rowid, 0 from search where {match} and rowid < ? and {_HAS_MESSAGE} order by rowid desc"  # noqa: S608 - constants, bound values
            return self._connection.execute(query, (*values, before))
        query = (
            "select search.rowid, m.conversation from search left join message m "  # noqa: S608 - constants, bound values
            f"on m.body = search.rowid & ? and {self._message} where {match} and search.rowid < ? "
            "order by search.rowid desc"
        )
        return self._connection.execute(query, (BODY_MASK, *self._message_values, *values, before))

    def passes_filters(self, conversation: int) -> bool:
        """Return whether a conversation passes the filters; after many lookups, all are checked at once."""
        if self._conversation == "true":
            return True
        if (passes := self._passes.get(conversation)) is None:
            if len(self._passes) == _MAX_SINGLE_LOOKUPS and self._quick[0] != "true":
                self._likely = set(self._conversation_keys(*self._quick))
            passes = conversation in self._likely if self._likely is not None else True
            if passes and not (self._likely is not None and self._is_quick):
                query = f"select 1 from conversation c where c.conversation_key = ? and {self._conversation}"  # noqa: S608 - constants, bound values
                values = (conversation, *self._conversation_values)
                passes = self._connection.execute(query, values).fetchone() is not None
            self._passes[conversation] = passes
        return passes

    def _matches_text(self, key: int) -> bool:
        if not self._needs_text_check:
            return True
        stored = self._stored_content(key)
        if not all(symbol in stored for symbol in self._symbols):
            return False
        texts = zip(("text", "thinking", "tool"), content_texts(orjson.loads(stored)), strict=True)
        columns = self._request.columns
        searched = [text for column, text in texts if not columns or column in columns]
        return self._request.query.matches(searched, self._scratch)

    def _collection_cost(self) -> int:
        """Return the cost of collecting the bodies that may pass, as a number of hits."""
        if not self._is_quick:
            self._likely = set(self._conversation_keys(self._conversation, self._conversation_values))
            self._is_quick = True
        if (conversations := self._likely_conversations) is None:
            return _NEVER
        count = (
            "select count(*) from (select 1 from json_each(?) join message on conversation = json_each.value limit ?)"
        )
        messages = self._connection.execute(count, (conversations, _MAX_CANDIDATE_MESSAGES + 1)).fetchone()[0]
        return messages + 1 if messages <= _MAX_CANDIDATE_MESSAGES else _NEVER

    def _hits_among_candidates(self, below: int) -> Iterator[int]:
        """Yield the bodies that may pass the filters and are found by the index."""
        query = (
            "select search_key from body where body_key in (select body from json_each(?) "
            "join message on conversation = json_each.value) and search_key < ? order by 1 desc"
        )
        candidates = [key for (key,) in self._connection.execute(query, (self._likely_conversations, below))]
        match, values = ("true", []) if self._expression is None else ("search match ?", [self._expression])
        remaining = self._remaining_hits(below, min(_PROBE_COST * len(candidates), _MAX_REMAINING_HITS))
        query = f"select rowid from search where {match} and rowid <= ? order by rowid desc limit {_PROBE_BATCH}"  # noqa: S608 - constants, bound values
        known, down_to = (set[int](), below) if remaining is None else (remaining, 0)
        for key in candidates:
            if self._reached_limit():
                return
            self.looked_at += _PROBE_COST if remaining is None else 1
            if key < down_to:
                # Messages of one conversation are mostly close in time: the next candidates are near.
                rows = [found for (found,) in self._connection.execute(query, (*values, key))]
                known, down_to = set(rows), rows[-1] if len(rows) == _PROBE_BATCH else 0
            if key in known and self._has_passing_message(key) and self._matches_text(key):
                yield key

    @cached_property
    def _likely_conversations(self) -> str | None:
        """Keys of the conversations that pass the quick filters, as JSON, or None if there are no such filters."""
        if self._likely is None and self._quick[0] != "true":
            self._likely = set(self._conversation_keys(*self._quick))
        likely = self._likely
        if since := self._request.filters.since:
            late = self._conversation_keys("coalesce(c.updated_at, ?) >= ?", [since, since])
            likely = late if likely is None else likely.intersection(late)
        return None if likely is None else orjson.dumps(list(likely)).decode()

    def _conversation_keys(self, condition: str, values: list[Any]) -> list[int]:
        query = f"select c.conversation_key from conversation c where {condition}"  # noqa: S608 - constants, bound values
        return [key for (key,) in self._connection.execute(query, values)]

    def _remaining_hits(self, below: int, limit: int) -> set[int] | None:
        """Return all remaining hits, or None if there are so many that single lookups cost less."""
        if self._expression is None:
            return None
        left = "from search where search match ? and rowid < ?"
        query = f"select count(*) from (select 1 {left} limit ?)"  # noqa: S608 - constants, bound values
        if self._connection.execute(query, (self._expression, below, limit)).fetchone()[0] == limit:
            return None
        query = f"select rowid {left}"
        return {key for (key,) in self._connection.execute(query, (self._expression, below))}

    def _reached_limit(self) -> bool:
        self.is_cut = self.max_looked_at is not None and self.looked_at >= self.max_looked_at
        return self.is_cut

    def _has_passing_message(self, key: int) -> bool:
        query = f"select m.conversation from message m where m.body = ? and {self._message}"  # noqa: S608 - constants, bound values
        rows = self._connection.execute(query, (key & BODY_MASK, *self._message_values))
        return any(self.passes_filters(conversation) for (conversation,) in rows)
