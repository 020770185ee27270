"""The list of conversations: which are listed, in which order, and what each row shows."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple

import orjson

from palaver.archive.conversation_tags import tags_by_conversation
from palaver.archive.conversation_totals import (
    LACKS_ANSWER_ID,
    RECORDED_ID,
    ConversationTotals,
    conversation_totals,
    has_recorded_calls,
)
from palaver.archive.filters import Filters
from palaver.archive.messages import IS_UNDATED
from palaver.archive.short_ids import ShortIds

_CHUNK_SIZE = 500
"""Number of conversations bound to one statement."""
_OPENING_MESSAGES = 20
_MAX_TITLE_CHARACTERS = 400
UNTITLED = "(empty)"


class Sort(StrEnum):
    UPDATED = "updated"
    CREATED = "created"
    MESSAGES = "messages"
    TOKENS = "tokens"


class FoundConversations(NamedTuple):
    """Keys of the conversations that pass a filter, in order."""

    keys: list[int]
    """Conversations without any stated time come last if the order is one of time."""
    hidden_agents: int
    """Number of agents that pass the filter too, but are only counted."""
    hidden_recordings: int
    """Likewise of recorded conversations that another platform has as well."""


@dataclass(frozen=True, slots=True)
class ListedConversation:
    platform: str
    conversation_id: str
    short_id: str
    title: str
    has_title: bool
    project: str | None
    model: str | None
    created_at: str
    updated_at: str | None
    is_undated: bool
    """Whether no message states a time, so that these times are guesses."""
    status: str | None
    totals: ConversationTotals
    is_sidechain: bool
    parent: str | None
    agents: int
    tags: list[str] = field(default_factory=list[str])
    rating: dict[str, Any] | None = None
    sources: list[str] = field(default_factory=list[str])


# What is left of a deleted session, `archived`, belongs to a session without being an agent.
_IS_AGENT = "c.is_sidechain and c.status is not 'archived'"
_IN_TRANSCRIPT = f"""(
    exists (select 1 from message t where t.api_message_id = nullif({{0}}.api_message_id, '') and t.sent_at is null)
    or exists (select 1 from message t where t.request_id = {{0}}.request_id
        and {LACKS_ANSWER_ID.format("t")} and t.sent_at is null)
    and {RECORDED_ID} is not null)"""  # noqa: S608 - constants
_OF_CALLS = "from message w where w.conversation = c.conversation_key and w.sent_at is not null"
_IS_RECORDING = f"""(
    exists (select 1 {_OF_CALLS})
    and not exists (select 1 {_OF_CALLS} and w.author_kind = 'model' and not {_IN_TRANSCRIPT.format("w")})
    and (exists (select 1 {_OF_CALLS} and w.author_kind = 'model')
        or not exists (select 1 {_OF_CALLS} and (w.sent_request in (
            select a.sent_request from message a where a.sent_at is not null and a.sent_request is not null
            and a.author_kind = 'model' and {_IN_TRANSCRIPT.format("a")})) is not true))
    and not exists (select 1 {_OF_CALLS} and exists (select 1 from answer_usage u where u.message = w.message_key
        and u.api_message_id <> '' and not exists (select 1 from message t
            where t.api_message_id = u.api_message_id and t.sent_at is null)))
    and not exists (select 1 from message o where o.conversation = c.conversation_key and o.sent_at is null
        and (o.api_message_id is not null or o.request_id is not null)))"""  # noqa: S608 - constants
"""Whether `conversation c` is recorded API traffic of which transcripts have all answers.

If it has only calls that failed, they must have been answered when they were sent again. What the assistant wrote down
itself may be in the same conversation, as with sessions and traces of Copilot: such a conversation is no recording.
"""
_ORDERS = {
    Sort.UPDATED: "coalesce(c.updated_at, c.created_at)",
    Sort.CREATED: "c.created_at",
    Sort.MESSAGES: "(select count(*) from message m where m.conversation = c.conversation_key)",
}


def recordings(connection: sqlite3.Connection) -> list[int]:
    """Return the keys of the recorded conversations of which an assistant's own record has all answers."""
    if not has_recorded_calls(connection):
        return []
    query = f"select c.conversation_key from conversation c where {_IS_RECORDING}"  # noqa: S608 - constants
    return [key for (key,) in connection.execute(query)]


def is_recording(connection: sqlite3.Connection, key: int) -> bool:
    """Return whether a conversation is recorded, and an assistant's own record has all of its answers."""
    if not has_recorded_calls(connection):
        return False
    query = f"select {_IS_RECORDING} from conversation c where c.conversation_key = ?"  # noqa: S608 - constants, a bound value
    return bool(connection.execute(query, (key,)).fetchone()[0])


def find_conversations(
    connection: sqlite3.Connection,
    filters: Filters,
    sort: Sort = Sort.UPDATED,
    *,
    with_agents: bool = False,
    with_recordings: bool = False,
    limit: int | None = None,
) -> FoundConversations:
    """Return the conversations to list, in descending order, which is kept up to `limit` conversations only."""
    condition, values = filters.where()
    order = ", ".join(f"{_ORDERS[by]} desc" for by in (sort, Sort.UPDATED) if by in _ORDERS)
    is_recording = _IS_RECORDING if has_recorded_calls(connection) else "false"
    rows = connection.execute(
        f"select c.conversation_key, {_IS_AGENT}, {is_recording} from conversation c where {condition} "  # noqa: S608 - constants, bound values
        f"order by {order}, c.platform, c.conversation_id",
        values,
    ).fetchall()
    listed = [row for row in rows if with_recordings or not row[2]]
    keys = [key for key, is_agent, _ in listed if with_agents or not is_agent]
    hidden = len(listed) - len(keys), len(rows) - len(listed)
    if sort is Sort.TOKENS:
        sizes = {
            key: totals.size for some in _chunks(keys) for key, totals in conversation_totals(connection, some).items()
        }
        keys.sort(key=lambda key: sizes[key], reverse=True)
    elif sort in {Sort.UPDATED, Sort.CREATED}:
        keys = _dated_first(connection, keys, len(keys) if limit is None else limit)
    return FoundConversations(keys, *hidden)


def _dated_first(connection: sqlite3.Connection, keys: list[int], limit: int) -> list[int]:
    """Move conversations without any stated time to the end, looking at no more than it takes to fill a list."""
    dated: list[int] = []
    undated: list[int] = []
    remaining = _chunks(keys)
    for some in remaining:
        without_time = {key for (key,) in _query_keys(connection, _UNDATED, some)}
        dated += [key for key in some if key not in without_time]
        undated += [key for key in some if key in without_time]
        if len(dated) >= limit:
            break
    return [*dated, *(key for some in remaining for key in some), *undated]


def list_conversations(connection: sqlite3.Connection, keys: Iterable[int]) -> Iterator[ListedConversation]:
    """Yield the rows of a list, reading several hundred conversations at a time."""
    short_ids = ShortIds(connection)
    for some in _chunks(keys):
        totals = conversation_totals(connection, some)
        rows = {key: row for key, *row in _query_keys(connection, _CONVERSATIONS, some)}
        agents = dict(_query_keys(connection, _AGENTS, some))
        ratings = {key: _rating(rating) for key, *rating in _query_keys(connection, _RATINGS, some)}
        tags = tags_by_conversation(connection, some)
        undated = {key for (key,) in _query_keys(connection, _UNDATED, some)}
        sources: dict[int, list[str]] = {}
        for key, label in _query_keys(connection, _SOURCES, some):
            sources.setdefault(key, []).append(label)
        for key in some:
            platform, name, title, project, model, created, updated, status, is_sidechain, parent = rows[key]
            stated = title if title and title.strip() else None
            yield ListedConversation(
                *(platform, name, short_ids.short_id(platform, name)),
                *(stated or opening_words(connection, key), stated is not None),
                *(project, model, created, updated, key in undated, status, totals[key], bool(is_sidechain), parent),
                agents.get(key, 0),
                tags.get(key, []),
                ratings.get(key),
                sources.get(key, []),
            )


_UNDATED = f"select conversation_key from conversation where conversation_key in ({{}}) and {IS_UNDATED}"  # noqa: S608 - constants
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


def _query_keys(connection: sqlite3.Connection, query: str, keys: Sequence[int]) -> list[tuple[Any, ...]]:
    return connection.execute(query.format(", ".join("?" * len(keys))), keys).fetchall()


def _rating(rating: list[Any]) -> dict[str, Any]:
    return dict(zip(("score", "feedback", "rated_at"), rating, strict=True))


def _chunks(keys: Iterable[int]) -> Iterator[list[int]]:
    remaining = iter(keys)
    while some := list(islice(remaining, _CHUNK_SIZE)):
        yield some


def display_title(connection: sqlite3.Connection, key: int, title: str | None) -> str:
    return title if title and title.strip() else opening_words(connection, key)


def opening_words(connection: sqlite3.Connection, key: int) -> str:
    """Return the first words of a person, or else the first words of the conversation."""
    from palaver.archive.search_text import content_texts

    rows = connection.execute(
        "select cast(b.content as blob) from (select body, position, author_kind, role from message "
        "where conversation = ? order by author_kind is not 'human', role <> 'user', position limit ?) m "
        "join body b on b.body_key = m.body order by m.author_kind is not 'human', m.role <> 'user', m.position",
        (key, _OPENING_MESSAGES),
    )
    for (content,) in rows:
        text, _, _ = content_texts(
            [block for block in orjson.loads(content) if block["type"] in {"text", "code", "file"}]
        )
        if text.strip():
            return text.strip()[:_MAX_TITLE_CHARACTERS]
    return UNTITLED
