"""Search in messages and titles: each result with its conversation and a snippet.

Results are ordered by when a body was first written, newest first. Ranking considers only the newest hits, since
scoring all hits of a common word takes seconds in a large archive.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import orjson

from palaver.archive.conversation_list import display_title
from palaver.archive.hits import Hits, SearchRequest
from palaver.archive.message_place import message_numbers
from palaver.archive.messages import read_message
from palaver.archive.query import Query, Range, ScratchIndex
from palaver.archive.search_text import content_texts
from palaver.archive.short_ids import ShortIds
from palaver.archive.snippets import Snippet, best_snippet, found_ranges

MAX_RANKED = 2_000
MAX_COUNTED = 10_000
CACHE_KILOBYTES = 128 << 10
"""Index and message pages are read alternately; the cache must hold both."""
_MAX_COUNTED_SINGLY = 2_000
_MAX_LOOKED_AT_TO_RANK = 6_000
MAX_TITLES_COUNTED = 100
_MAX_TITLES = 5
_MAX_TITLES_READ = 300
_MAX_OTHERS = 100
_MAX_STEPS_UP = 4
_MAX_NEIGHBOUR_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class HitConversation:
    platform: str
    conversation_id: str
    short_id: str
    title: str
    """Its title, or else its opening words."""
    has_title: bool
    project: str | None
    created_at: str
    updated_at: str | None


class OtherMessage(NamedTuple):
    """Another message with the same body."""

    platform: str
    conversation_id: str
    message_id: str
    timestamp: str


class Neighbour(NamedTuple):
    """A message near a hit."""

    number: int
    message_id: str
    role: str
    author_kind: str | None
    timestamp: str
    text: str
    """How it begins."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A body that was found, with the first message that has it and passes the filters."""

    conversation: HitConversation
    conversation_key: int
    message_id: str
    number: int
    """Position of the message in its conversation, counted from 1."""
    role: str
    author_kind: str | None
    model: str | None
    timestamp: str
    snippet: Snippet | None
    tool: str | None
    """Name of the tool whose call or result the snippet is from, if known."""
    score: float | None
    others: list[OtherMessage]
    others_total: int
    before: list[Neighbour] = field(default_factory=list[Neighbour])
    after: list[Neighbour] = field(default_factory=list[Neighbour])


@dataclass(frozen=True, slots=True)
class TitleHit:
    conversation: HitConversation
    ranges: list[Range]


@dataclass(frozen=True, slots=True)
class SearchResult:
    hits: list[Hit]
    total: int
    is_total_exact: bool
    """Whether all hits were counted; if not, and the total is `MAX_COUNTED`, there are more."""
    titles: list[TitleHit] = field(default_factory=list[TitleHit])
    titles_total: int = 0
    is_titles_total_exact: bool = True


def search(
    connection: sqlite3.Connection,
    request: SearchRequest,
    *,
    limit: int = 20,
    offset: int = 0,
    is_ranked: bool = False,
    snippet_length: int = 160,
    context: int = 0,
) -> SearchResult:
    """Return one page of results, with snippets of about `snippet_length` characters.

    Each hit has as many messages before and after it as `context` says.
    """
    connection.execute(f"pragma cache_size = -{CACHE_KILOBYTES}")
    with closing(ScratchIndex()) as scratch:
        hits = Hits(connection, request, scratch)
        builder = _ResultBuilder(connection, request, hits, scratch, snippet_length)
        if is_ranked:
            keys, total, is_exact = _ranked(hits, limit, offset)
        else:
            keys, total, is_exact = _newest(hits, limit, offset)
        page = _numbered(connection, [builder.hit(key, score) for key, score in keys], context)
        if not is_ranked:
            page.sort(key=lambda hit: (hit.timestamp, hit.conversation.conversation_id, hit.message_id), reverse=True)
        if request.has_message_filters or offset:
            return SearchResult(page, total, is_exact)
        titles = TitleHits(connection, request, hits, scratch)
        found = list(islice(titles.newest(_MAX_TITLES_READ), MAX_TITLES_COUNTED + 1))
        first = [builder.title(row) for row in found[:_MAX_TITLES]]
        is_complete = titles.is_complete and len(found) <= MAX_TITLES_COUNTED
        return SearchResult(page, total, is_exact, first, min(len(found), MAX_TITLES_COUNTED), is_complete)


def search_titles(
    connection: sqlite3.Connection, request: SearchRequest, *, limit: int = 20, offset: int = 0
) -> SearchResult:
    """Return one page of conversations whose title matches, newest first."""
    with closing(ScratchIndex()) as scratch:
        hits = Hits(connection, request, scratch)
        builder = _ResultBuilder(connection, request, hits, scratch, 0)
        found = list(TitleHits(connection, request, hits, scratch).newest())
        page = [builder.title(row) for row in found[offset : offset + limit]]
        return SearchResult([], 0, is_total_exact=True, titles=page, titles_total=len(found))


def _numbered(connection: sqlite3.Connection, hits: list[Hit], context: int) -> list[Hit]:
    """Add the number of each message, with one pass over each conversation, and the messages around it."""
    ids: dict[int, list[str]] = {}
    for hit in hits:
        ids.setdefault(hit.conversation_key, []).append(hit.message_id)
    numbers = {key: message_numbers(connection, key, message_ids) for key, message_ids in ids.items()}
    hits = [replace(hit, number=numbers[hit.conversation_key][hit.message_id]) for hit in hits]
    if not context:
        return hits
    around: dict[int, dict[int, Neighbour]] = {}
    for key in numbers:
        wanted = {
            number
            for hit in hits
            if hit.conversation_key == key
            for number in range(hit.number - context, hit.number + context + 1)
        }
        around[key] = {neighbour.number: neighbour for neighbour in _neighbours(connection, key, wanted)}
    return [
        replace(
            hit,
            before=_present(around[hit.conversation_key], range(hit.number - context, hit.number)),
            after=_present(around[hit.conversation_key], range(hit.number + 1, hit.number + context + 1)),
        )
        for hit in hits
    ]


def _present(around: dict[int, Neighbour], numbers: Iterable[int]) -> list[Neighbour]:
    return [around[number] for number in numbers if number in around]


def _neighbours(connection: sqlite3.Connection, key: int, numbers: set[int]) -> Iterator[Neighbour]:
    """Yield the messages with these numbers; numbers that a conversation does not have are left out."""
    query = "select message_key from message where conversation = ? order by position, timestamp, message_id"
    for number, (message,) in enumerate(connection.execute(query, (key,)), start=1):
        if number in numbers:
            found = read_message(connection, message)
            texts = (text for text in content_texts(found.content) if text.strip())
            yield Neighbour(
                *(number, found.message_id, found.role, found.author_kind, found.timestamp),
                next(texts, "").strip()[:_MAX_NEIGHBOUR_CHARACTERS],
            )


Scored = list[tuple[int, float | None]]


def _newest(hits: Hits, limit: int, offset: int) -> tuple[Scored, int, bool]:
    newest = hits.newest()
    before = sum(1 for _ in islice(newest, offset))
    keys: Scored = [(key, None) for key in islice(newest, limit)]
    total = before + len(keys)
    if len(keys) < limit:
        return keys, total, True
    if (count := hits.count(MAX_COUNTED + 1)) is not None:
        return keys, max(total, min(count, MAX_COUNTED)), count <= MAX_COUNTED
    hits.max_looked_at = hits.looked_at + _MAX_COUNTED_SINGLY
    for _ in newest:
        if total >= MAX_COUNTED:
            return keys, total, False
        total += 1
    return keys, total, not hits.is_cut


def _ranked(hits: Hits, limit: int, offset: int) -> tuple[Scored, int, bool]:
    newest = hits.newest()
    pool = list(islice(newest, offset + limit))
    if hits.is_unfiltered and len(pool) == offset + limit:
        most = max(MAX_RANKED, len(pool))
        scores = hits.newest_scored(most + 1, pool)
        pool = list(scores)[:most]
        is_exact = len(scores) <= most
    else:
        hits.max_looked_at = max(_MAX_LOOKED_AT_TO_RANK, hits.looked_at + 1)
        pool += islice(newest, max(0, MAX_RANKED - len(pool)))
        is_exact = not hits.is_cut and next(newest, None) is None and not hits.is_cut
        scores = hits.scores(pool)
    # Sorting is stable: of two with equal scores, the newer comes first.
    pool.sort(key=lambda key: scores.get(key, 0.0))
    return [(key, scores.get(key)) for key in pool[offset : offset + limit]], len(pool), is_exact


class _ResultBuilder:
    """Builds results from the keys of hits."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        request: SearchRequest,
        hits: Hits,
        scratch: ScratchIndex,
        snippet_length: int,
    ) -> None:
        self._connection = connection
        self._request = request
        self._hits = hits
        self._scratch = scratch
        self._snippet_length = snippet_length
        self._short_ids = ShortIds(connection)
        self._conversations: dict[int, HitConversation] = {}

    def hit(self, key: int, score: float | None) -> Hit:
        rows = self._hits.messages(key)
        conversation, message_id, parent, role, author_kind, timestamp, model, _, _ = rows[0]
        passage = best_snippet(
            self._hits.content(key), self._request.columns, self._request.query, self._snippet_length, self._scratch
        )
        tool = None if passage is None else passage.piece.tool
        if passage is not None and passage.piece.tool_use_id is not None:
            tool = self._tool_of_result(conversation, parent, passage.piece.tool_use_id)
        others = [OtherMessage(row[7], row[8], row[1], row[5]) for row in rows[1 : _MAX_OTHERS + 1]]
        return Hit(
            self.conversation(conversation),
            *(conversation, message_id, 0, role, author_kind, model, timestamp),
            *(passage, tool, score, others, len(rows) - 1),
        )

    def title(self, row: tuple[int, str]) -> TitleHit:
        key, title = row
        return TitleHit(self.conversation(key), found_ranges(title, list(self._request.query.terms()), self._scratch))

    def conversation(self, key: int) -> HitConversation:
        if key not in self._conversations:
            platform, conversation_id, title, *others = self._connection.execute(
                "select platform, conversation_id, title, project, created_at, updated_at from conversation "
                "where conversation_key = ?",
                (key,),
            ).fetchone()
            self._conversations[key] = HitConversation(
                *(platform, conversation_id, self._short_ids.short_id(platform, conversation_id)),
                *(display_title(self._connection, key, title), bool(title and title.strip()), *others),
            )
        return self._conversations[key]

    def _tool_of_result(self, conversation: int, message_id: str | None, call: str) -> str | None:
        """Return the name of the tool that a result is from; its call is at most a few messages before."""
        query = (
            "select m.parent_message_id, cast(b.content as blob) from message m join body b on b.body_key = m.body "
            "where m.conversation = ? and m.message_id = ?"
        )
        for _ in range(_MAX_STEPS_UP):
            row = None if message_id is None else self._connection.execute(query, (conversation, message_id)).fetchone()
            if row is None:
                break
            message_id, content = row
            for block in orjson.loads(content):
                if block["type"] == "tool_use" and block["id"] == call:
                    return block["name"]
        return None


class TitleHits:
    """Conversations whose titles match a search request."""

    def __init__(
        self, connection: sqlite3.Connection, request: SearchRequest, hits: Hits, scratch: ScratchIndex
    ) -> None:
        self._connection = connection
        self._request = request
        self._hits = hits
        self._scratch = scratch
        self.is_complete = True
        """Whether all matching titles were read."""

    def newest(self, limit: int | None = None) -> Iterator[tuple[int, str]]:
        """Yield keys and titles, newest first; the limit applies only with slow filters, to the titles checked."""
        filters = self._request.filters
        quick = replace(self._request.quick_filters(), since=filters.since, until=filters.until)
        is_slow = quick != filters
        condition, values = quick.where()
        if (candidates := self._hits.candidate_conversations) is not None:
            condition = f"{condition} and c.conversation_key in (select value from json_each(?))"  # noqa: S608 - constants, bound values
            values.append(candidates)
        title_condition, words = _title_condition(self._request.query)
        query = (
            f"select c.conversation_key, c.title from conversation c where c.title is not null and {title_condition} "  # noqa: S608 - constants, bound values
            f"and {condition} order by coalesce(c.updated_at, c.created_at) desc, c.conversation_id, c.platform"
        )
        read = 0
        for key, title in self._connection.execute(query, (*words, *values)):
            if self._request.query.matches([title], self._scratch):
                if is_slow and read == limit:
                    self.is_complete = False
                    return
                read += 1
                if not is_slow or self._hits.passes_filters(key):
                    yield key, title


def _title_condition(query: Query) -> tuple[str, list[Any]]:
    """Return a condition for titles that may match: they contain the letters, or have letters SQLite cannot fold."""
    conditions: list[str] = []
    values: list[str] = []
    for group in query.required:
        tokens = [term.tokens for term in group]
        if all(tokens) and all(token.isascii() for term in tokens for token in term):
            alternatives = [" and ".join(["c.title like ?"] * len(term)) for term in tokens]
            conditions.append(f"({' or '.join(alternatives)})")
            values += [f"%{token}%" for term in tokens for token in term]
    if not conditions:
        return "true", []
    return f"({' and '.join(conditions)} or length(cast(c.title as blob)) > length(c.title))", values
