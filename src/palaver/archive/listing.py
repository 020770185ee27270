"""Conversations in a list: which ones, in which order, and what is worth knowing about each at a glance."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple

import orjson

from palaver.archive.filters import Filters
from palaver.archive.naming import Names
from palaver.archive.reading import tags_of_all
from palaver.archive.totals import Totals, totals_of
from palaver.archive.words import worded

_AT_ONCE = 500
"""How many conversations one statement is asked about."""
_LOOKED_AT = 20
_TITLE_LETTERS = 400
UNTITLED = "(no words)"


class Sort(StrEnum):
    UPDATED = "updated"
    CREATED = "created"
    MESSAGES = "messages"
    TOKENS = "tokens"


class Found(NamedTuple):
    """The keys of all conversations that a filter lets through, in order."""

    keys: list[int]
    hidden: int
    """Agents that it lets through as well, but that are left to the conversations which started them."""


@dataclass(frozen=True, slots=True)
class Listed:
    platform: str
    conversation_id: str
    short_id: str
    title: str
    has_title: bool
    project: str | None
    model: str | None
    created_at: str
    updated_at: str | None
    status: str | None
    totals: Totals
    is_sidechain: bool
    parent: str | None
    agents: int
    tags: list[str] = field(default_factory=list[str])
    rating: dict[str, Any] | None = None
    sources: list[str] = field(default_factory=list[str])


_IS_HIDDEN = (
    "c.is_sidechain and exists (select 1 from conversation p where p.platform = c.platform "
    "and p.conversation_id = c.parent_conversation_id)"
)
_ORDERS = {
    Sort.UPDATED: "coalesce(c.updated_at, c.created_at)",
    Sort.CREATED: "c.created_at",
    Sort.MESSAGES: "(select count(*) from message m where m.conversation = c.conversation_key)",
}


def find(
    connection: sqlite3.Connection, filters: Filters, sort: Sort = Sort.UPDATED, *, with_agents: bool = False
) -> Found:
    """What is to be listed, the greatest first; an agent whose conversation is not here is listed in any case."""
    condition, values = filters.where()
    order = ", ".join(f"{_ORDERS[by]} desc" for by in (sort, Sort.UPDATED) if by in _ORDERS)
    rows = connection.execute(
        f"select c.conversation_key, {_IS_HIDDEN} from conversation c where {condition} "  # noqa: S608 - our own words
        f"order by {order}, c.platform, c.conversation_id",
        values,
    ).fetchall()
    keys = [key for key, is_hidden in rows if with_agents or not is_hidden]
    if sort is Sort.TOKENS:
        sizes = {key: totals.size for some in _chunks(keys) for key, totals in totals_of(connection, some).items()}
        keys.sort(key=lambda key: sizes[key], reverse=True)
    return Found(keys, len(rows) - len(keys))


def listed(connection: sqlite3.Connection, keys: Iterable[int]) -> Iterator[Listed]:
    """The rows of a list, looked up by the hundred."""
    names = Names(connection)
    for some in _chunks(keys):
        totals = totals_of(connection, some)
        rows = {key: row for key, *row in _about(connection, _CONVERSATIONS, some)}
        agents = dict(_about(connection, _AGENTS, some))
        ratings = {key: _filled(rating) for key, *rating in _about(connection, _RATINGS, some)}
        tags = tags_of_all(connection, some)
        sources: dict[int, list[str]] = {}
        for key, label in _about(connection, _SOURCES, some):
            sources.setdefault(key, []).append(label)
        for key in some:
            platform, name, title, project, model, created, updated, status, is_sidechain, parent = rows[key]
            stated = title if title and title.strip() else None
            yield Listed(
                *(platform, name, names.short(platform, name)),
                *(stated or first_words(connection, key), stated is not None),
                *(project, model, created, updated, status, totals[key], bool(is_sidechain), parent),
                agents.get(key, 0),
                tags.get(key, []),
                ratings.get(key),
                sources.get(key, []),
            )


_CONVERSATIONS = """
    select conversation_key, platform, conversation_id, title, project, model, created_at, updated_at, status,
        is_sidechain, parent_conversation_id
    from conversation where conversation_key in ({})"""
_AGENTS = """
    with recursive started (root, platform, conversation_id) as (
        select conversation_key, platform, conversation_id from conversation where conversation_key in ({})
        union
        select root, a.platform, a.conversation_id from started s join conversation a
        on a.parent_conversation_id = s.conversation_id and a.platform = s.platform and a.is_sidechain
    )
    select root, count(*) - 1 from started group by root"""
_RATINGS = """
    select conversation_key, score, feedback, rated_at from conversation join rating using (platform, conversation_id)
    where conversation_key in ({})"""
_SOURCES = """
    select conversation, label from origin join source on source_key = source
    where conversation in ({}) order by label"""


def _about(connection: sqlite3.Connection, query: str, keys: Sequence[int]) -> list[tuple[Any, ...]]:
    return connection.execute(query.format(", ".join("?" * len(keys))), keys).fetchall()


def _filled(rating: list[Any]) -> dict[str, Any]:
    return dict(zip(("score", "feedback", "rated_at"), rating, strict=True))


def _chunks(keys: Iterable[int]) -> Iterator[list[int]]:
    remaining = iter(keys)
    while some := list(islice(remaining, _AT_ONCE)):
        yield some


def readable_title(connection: sqlite3.Connection, key: int, title: str | None) -> str:
    return title if title and title.strip() else first_words(connection, key)


def first_words(connection: sqlite3.Connection, key: int) -> str:
    """How a conversation begins: with the first words of a person, else with the first there are."""
    rows = connection.execute(
        "select cast(b.content as blob) from (select body, position, author_kind, role from message "
        "where conversation = ? order by author_kind is not 'human', role <> 'user', position limit ?) m "
        "join body b on b.body_key = m.body order by m.author_kind is not 'human', m.role <> 'user', m.position",
        (key, _LOOKED_AT),
    )
    for (content,) in rows:
        said, _, _ = worded([block for block in orjson.loads(content) if block["type"] in {"text", "code", "file"}])
        if said.strip():
            return said.strip()[:_TITLE_LETTERS]
    return UNTITLED
