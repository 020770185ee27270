"""Searching the archive: what is found, in which conversation, with the passage that shows it.

Newest first: what was said counts from when it was first said. Ranking looks at the newest hits only, since scoring all
that a common word finds takes seconds in a large archive.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import orjson

from palaver.archive.hits import Hits, Wanted
from palaver.archive.listing import readable_title
from palaver.archive.naming import Names
from palaver.archive.scratch import Range, Scratch
from palaver.archive.snippets import Snippet, found_ranges, snippet
from palaver.archive.titles import Titles

RANKED = 2_000
COUNTED = 10_000
CACHE_KILOBYTES = 128 << 10
"""Hits come out of the index and out of the messages in turns: neither shall have to be read again."""
_COUNTED_ONE_BY_ONE = 2_000
_LOOKED_AT_TO_RANK = 6_000
TITLES_COUNTED = 100
_TITLES = 5
_TITLES_READ = 300
_OTHERS = 100
_STEPS_UP = 4


@dataclass(frozen=True, slots=True)
class Conversation:
    platform: str
    conversation_id: str
    short_id: str
    title: str
    """Its first words where it has none."""
    has_title: bool
    project: str | None
    created_at: str
    updated_at: str | None


class Place(NamedTuple):
    """A message that says the same."""

    platform: str
    conversation_id: str
    message_id: str
    timestamp: str


@dataclass(frozen=True, slots=True)
class Hit:
    """What was found once, in the first message that says it and passes the filters."""

    conversation: Conversation
    message_id: str
    role: str
    author_kind: str | None
    model: str | None
    timestamp: str
    snippet: Snippet | None
    tool: str | None
    """Of the call or the result that the snippet is from, if it is known."""
    score: float | None
    others: list[Place]
    others_total: int


@dataclass(frozen=True, slots=True)
class TitleHit:
    conversation: Conversation
    ranges: list[Range]


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[Hit]
    total: int
    is_total_exact: bool
    """Otherwise nobody has looked at all of them; there are more than COUNTED if it is that."""
    titles: list[TitleHit] = field(default_factory=list[TitleHit])
    titles_total: int = 0
    is_titles_total_exact: bool = True


def search(
    connection: sqlite3.Connection,
    wanted: Wanted,
    *,
    limit: int = 20,
    offset: int = 0,
    is_ranked: bool = False,
    room: int = 160,
) -> Found:
    """One page of what is found; snippets are of about `room` characters."""
    connection.execute(f"pragma cache_size = -{CACHE_KILOBYTES}")
    with closing(Scratch()) as scratch:
        hits = Hits(connection, wanted, scratch)
        shown = _Shown(connection, wanted, hits, scratch, room)
        if is_ranked:
            keys, total, is_exact = _ranked(hits, limit, offset)
        else:
            keys, total, is_exact = _newest(hits, limit, offset)
        page = [shown.hit(key, score) for key, score in keys]
        if not is_ranked:
            page.sort(key=lambda hit: (hit.timestamp, hit.conversation.conversation_id, hit.message_id), reverse=True)
        if wanted.is_about_messages or offset:
            return Found(page, total, is_exact)
        titles = Titles(connection, wanted, hits, scratch)
        named = list(islice(titles.newest(_TITLES_READ), TITLES_COUNTED + 1))
        first = [shown.title(row) for row in named[:_TITLES]]
        are_all = titles.are_all and len(named) <= TITLES_COUNTED
        return Found(page, total, is_exact, first, min(len(named), TITLES_COUNTED), are_all)


def search_titles(connection: sqlite3.Connection, wanted: Wanted, *, limit: int = 20, offset: int = 0) -> Found:
    """Conversations whose title holds the words, newest first."""
    with closing(Scratch()) as scratch:
        hits = Hits(connection, wanted, scratch)
        shown = _Shown(connection, wanted, hits, scratch, 0)
        named = list(Titles(connection, wanted, hits, scratch).newest())
        page = [shown.title(row) for row in named[offset : offset + limit]]
        return Found([], 0, is_total_exact=True, titles=page, titles_total=len(named))


Scored = list[tuple[int, float | None]]


def _newest(hits: Hits, limit: int, offset: int) -> tuple[Scored, int, bool]:
    newest = hits.newest()
    before = sum(1 for _ in islice(newest, offset))
    keys: Scored = [(key, None) for key in islice(newest, limit)]
    total = before + len(keys)
    if len(keys) < limit:
        return keys, total, True
    if (count := hits.count(COUNTED + 1)) is not None:
        return keys, max(total, min(count, COUNTED)), count <= COUNTED
    hits.enough = hits.looked_at + _COUNTED_ONE_BY_ONE
    for _ in newest:
        if total >= COUNTED:
            return keys, total, False
        total += 1
    return keys, total, not hits.is_cut


def _ranked(hits: Hits, limit: int, offset: int) -> tuple[Scored, int, bool]:
    newest = hits.newest()
    pool = list(islice(newest, offset + limit))
    if hits.finds_all and len(pool) == offset + limit:
        most = max(RANKED, len(pool))
        scores = hits.newest_scored(most + 1, pool)
        pool = list(scores)[:most]
        is_exact = len(scores) <= most
    else:
        hits.enough = max(_LOOKED_AT_TO_RANK, hits.looked_at + 1)
        pool += islice(newest, max(0, RANKED - len(pool)))
        is_exact = not hits.is_cut and next(newest, None) is None and not hits.is_cut
        scores = hits.scores(pool)
    # Of two that fit equally well, the newer one comes first: sorting keeps their order.
    pool.sort(key=lambda key: scores.get(key, 0.0))
    return [(key, scores.get(key)) for key in pool[offset : offset + limit]], len(pool), is_exact


class _Shown:
    """What is told about each hit."""

    def __init__(self, connection: sqlite3.Connection, wanted: Wanted, hits: Hits, scratch: Scratch, room: int) -> None:
        self._connection = connection
        self._wanted = wanted
        self._hits = hits
        self._scratch = scratch
        self._room = room
        self._names = Names(connection)
        self._conversations: dict[int, Conversation] = {}

    def hit(self, key: int, score: float | None) -> Hit:
        rows = self._hits.messages(key)
        conversation, message_id, parent, role, author_kind, timestamp, model, _, _ = rows[0]
        passage = snippet(self._hits.content(key), self._wanted.columns, self._wanted.query, self._room, self._scratch)
        tool = None if passage is None else passage.piece.tool
        if passage is not None and passage.piece.tool_use_id is not None:
            tool = self._answered(conversation, parent, passage.piece.tool_use_id)
        others = [Place(row[7], row[8], row[1], row[5]) for row in rows[1 : _OTHERS + 1]]
        return Hit(
            self.conversation(conversation),
            *(message_id, role, author_kind, model, timestamp),
            *(passage, tool, score, others, len(rows) - 1),
        )

    def title(self, row: tuple[int, str]) -> TitleHit:
        key, title = row
        return TitleHit(self.conversation(key), found_ranges(title, list(self._wanted.query.terms()), self._scratch))

    def conversation(self, key: int) -> Conversation:
        if key not in self._conversations:
            platform, conversation_id, title, *others = self._connection.execute(
                "select platform, conversation_id, title, project, created_at, updated_at from conversation "
                "where conversation_key = ?",
                (key,),
            ).fetchone()
            self._conversations[key] = Conversation(
                *(platform, conversation_id, self._names.short(platform, conversation_id)),
                *(readable_title(self._connection, key, title), bool(title and title.strip()), *others),
            )
        return self._conversations[key]

    def _answered(self, conversation: int, message_id: str | None, call: str) -> str | None:
        """The tool that gave a result: its call stands a few messages before it at most."""
        query = (
            "select m.parent_message_id, cast(b.content as blob) from message m join body b on b.body_key = m.body "
            "where m.conversation = ? and m.message_id = ?"
        )
        for _ in range(_STEPS_UP):
            row = None if message_id is None else self._connection.execute(query, (conversation, message_id)).fetchone()
            if row is None:
                break
            message_id, content = row
            for block in orjson.loads(content):
                if block["type"] == "tool_use" and block["id"] == call:
                    return block["name"]
        return None
