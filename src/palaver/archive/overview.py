"""An overview of one conversation: its figures, its children, and the copies of its messages elsewhere.

Children are its agents, and what was forked or resumed from it. Of several copies of a message, the first is the least
by time, conversation id, message id and platform, whatever the order of import.
"""

# ruff: noqa: S608 - conditions are constants, every value is bound

import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import orjson

from palaver.archive.conversation_list import ListedConversation, display_title, list_conversations
from palaver.archive.conversation_totals import (
    LACKS_ANSWER_ID,
    calls_table,
    has_other_calls,
    has_recorded_calls,
    recorded_answer_id,
)
from palaver.archive.duplicates import window_duplicates
from palaver.archive.messages import IS_OFF_PATH, StoredMessage
from palaver.archive.usage import HAS_USAGE, OWNER_ORDER, usage_owner
from palaver.model.build import JsonObject


class Child(NamedTuple):
    key: int
    platform: str
    conversation_id: str
    title: str
    is_sidechain: bool
    fork_point: str | None
    """Id of the parent's message at which it begins."""
    tool_use_id: str | None
    """Id of the tool call that started it, if the source states it."""
    messages: int


def child_conversations(connection: sqlite3.Connection, platform: str, conversation_id: str) -> list[Child]:
    rows = connection.execute(
        "select conversation_key, platform, conversation_id, title, is_sidechain, "
        "json_extract(header, '$.session.fork_point'), json_extract(header, '$.platform.metadata.parent_tool_use_id'), "
        "(select count(*) from message where conversation = conversation_key) "
        "from conversation where parent_conversation_id = ? and platform = ? order by created_at, conversation_id",
        (conversation_id, platform),
    ).fetchall()
    return [
        Child(
            *(key, its_platform, name, display_title(connection, key, title), bool(is_sidechain)),
            *(_text(fork_point), _text(tool_use_id), messages),
        )
        for key, its_platform, name, title, is_sidechain, fork_point, tool_use_id, messages in rows
    ]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class UnshownChildren:
    """Child conversations not shown yet, indexed by the ids that can introduce them."""

    def __init__(self, children: Iterable[Child]) -> None:
        self._waiting = {child.conversation_id: child for child in children}
        self._conversations_by_id: dict[str, list[str]] = {}
        for child in self._waiting.values():
            for introducing_id in (child.conversation_id, child.fork_point, child.tool_use_id):
                if introducing_id:
                    self._conversations_by_id.setdefault(introducing_id, []).append(child.conversation_id)

    def take(self, ids: Iterable[str]) -> list[Child]:
        """Remove and return the children started by these messages, calls or conversations."""
        names = dict.fromkeys(name for any_id in ids for name in self._conversations_by_id.get(any_id, ()))
        return [self._waiting.pop(name) for name in names if name in self._waiting]

    def remaining(self) -> list[Child]:
        return list(self._waiting.values())


_FROM_MESSAGES = "from message m join conversation c on c.conversation_key = m.conversation"


class MessageLocation(NamedTuple):
    platform: str
    conversation_id: str
    message_id: str


class Copy(NamedTuple):
    """The first occurrence of a message that is a copy.

    Kinds: `usage`, another copy of the same answer, where its usage is counted; `content`, the same content at the same
    time in another conversation; `repeated`, the same content shortly before in this conversation.
    """

    kind: Literal["usage", "content", "repeated"]
    first: MessageLocation


class CountedElsewhere(NamedTuple):
    """Another conversation, and the number of messages whose usage is counted there."""

    platform: str
    conversation_id: str
    messages: int


class Copies:
    """Lookup of copies among the messages of one conversation."""

    def __init__(
        self, connection: sqlite3.Connection, key: int, platform: str, conversation_id: str, window_ms: int
    ) -> None:
        self._connection = connection
        self._key = key
        self._conversation = (platform, conversation_id)
        self._window_ms = window_ms

    def copy_of(self, message: StoredMessage) -> Copy | None:
        """Return where the first copy of a message is, or None if the message is the first."""
        own = MessageLocation(*self._conversation, message.message_id)
        if message.tokens and (api_message_id := self._answer_id(message)):
            owner = usage_owner(self._connection, api_message_id)
            if owner is not None and owner != own:
                return Copy("usage", MessageLocation(*owner))
        if first := self._repeated.get(message.message_id):
            return Copy("repeated", MessageLocation(*self._conversation, first))
        first = self._first_at_that_time(message)
        return None if first[:2] == own[:2] else Copy("content", first)

    def _answer_id(self, message: StoredMessage) -> str | None:
        """Return the id of an answer, as the message or a recorded call with its request id states it."""
        if message.api_message_id:
            return message.api_message_id
        return recorded_answer_id(self._connection, message.request_id) if message.request_id else None

    @cached_property
    def _repeated(self) -> dict[str, str]:
        return window_duplicates(self._connection, self._key, self._window_ms)

    def _first_at_that_time(self, message: StoredMessage) -> MessageLocation:
        if message.metadata.get("timestamp_inferred") is True:
            return MessageLocation(*self._conversation, message.message_id)
        query = (
            f"select c.platform, c.conversation_id, m.message_id {_FROM_MESSAGES} "
            f"where m.body = ? and m.timestamp = ? order by {OWNER_ORDER} limit 1"
        )
        return MessageLocation(*self._connection.execute(query, (message.body, message.timestamp)).fetchone())


def counted_elsewhere(connection: sqlite3.Connection, key: int) -> list[CountedElsewhere]:
    """Return the conversations that count usage of messages copied here, those with the most messages first."""
    if has_other_calls(connection) or _has_answers_by_request(connection, key):
        return _count_one_by_one(connection, key)
    rows = connection.execute(
        f"""
        select platform, conversation_id, messages from (
            select (select m.conversation {_FROM_MESSAGES} where m.api_message_id = own.api_message_id and {HAS_USAGE}
                order by {OWNER_ORDER} limit 1) as there, count(*) as messages
            from message own
            where own.conversation = ? and own.api_message_id is not null and own.tokens is not null
            group by there
        ) join conversation on conversation_key = there
        where there <> ? order by messages desc, platform, conversation_id""",
        (key, key),
    )
    return [CountedElsewhere(*row) for row in rows]


def _has_answers_by_request(connection: sqlite3.Connection, key: int) -> bool:
    """Return whether messages of a conversation, or copies of them, may belong to calls by the ids of requests only."""
    if not has_recorded_calls(connection):
        return False
    query = (
        f"select 1 from message m where m.conversation = ? and ({LACKS_ANSWER_ID.format('m')} or exists ("
        "select 1 from message r join message o on o.request_id = r.request_id where r.api_message_id = "
        f"m.api_message_id and r.sent_at is not null and {LACKS_ANSWER_ID.format('o')})) limit 1"
    )
    return connection.execute(query, (key,)).fetchone() is not None


def _count_one_by_one(connection: sqlite3.Connection, key: int) -> list[CountedElsewhere]:
    """Count per message, for archives where a call is no row of its own: one query would read all calls each time."""
    query = "select platform, conversation_id from conversation where conversation_key = ?"
    here = connection.execute(query, (key,)).fetchone()
    found: Counter[tuple[str, str]] = Counter()
    own = (
        f"select api_message_id from {calls_table(connection)} where conversation = ? and api_message_id <> '' "
        "and tokens is not null and is_message"
    )
    for (api_message_id,) in connection.execute(own, (key,)).fetchall():
        owner = usage_owner(connection, api_message_id)
        if owner is not None and owner[:2] != here:
            found[owner[:2]] += 1
    return [
        CountedElsewhere(*owner, count) for owner, count in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    ]


@dataclass(frozen=True, slots=True)
class Overview:
    key: int
    conversation: ListedConversation
    header: JsonObject
    models: list[str]
    """Models named by messages, most frequent first, or else the model of the conversation."""
    tool_calls: int
    failed_calls: int
    off_path: int
    branches: int
    """Number of messages off the active path, and of the branches they form."""
    revised: int
    """Number of messages that have revisions."""
    summaries: list[JsonObject]
    children: list[Child]
    parent_title: str | None
    """None if the parent is not in the archive."""
    counted_elsewhere: list[CountedElsewhere]


def conversation_overview(connection: sqlite3.Connection, key: int) -> Overview:
    [conversation] = list_conversations(connection, [key])
    [header] = connection.execute("select header from conversation where conversation_key = ?", (key,)).fetchone()
    parent = connection.execute(
        "select coalesce(title, '') from conversation where platform = ? and conversation_id = ?",
        (conversation.platform, conversation.parent),
    ).fetchone()
    models = connection.execute(
        "select model from message where conversation = ? and model is not null group by model order by count(*) desc",
        (key,),
    )
    tool_calls, failed_calls = _tool_call_counts(connection, key)
    off_path, branches = _branch_counts(connection, key)
    query = "select count(distinct message_id) from revision where conversation = ?"
    [revised] = connection.execute(query, (key,)).fetchone()
    return Overview(
        key,
        conversation=conversation,
        header=orjson.loads(header),
        models=[model for (model,) in models] or ([conversation.model] if conversation.model else []),
        tool_calls=tool_calls,
        failed_calls=failed_calls,
        off_path=off_path,
        branches=branches,
        revised=revised,
        summaries=_summaries(connection, key),
        children=child_conversations(connection, conversation.platform, conversation.conversation_id),
        parent_title=parent[0] if parent else None,
        counted_elsewhere=counted_elsewhere(connection, key),
    )


def _tool_call_counts(connection: sqlite3.Connection, key: int) -> tuple[int, int]:
    """Return the numbers of tool calls and of failed results, parsing only bodies that have some."""
    calling = connection.execute(
        "select cast(content as blob) from message m join body b on b.body_key = m.body "
        "where m.conversation = ? and exists (select 1 from tool_call t where t.body = m.body)",
        (key,),
    )
    calls = sum(block["type"] == "tool_use" for (content,) in calling for block in orjson.loads(content))
    failing = connection.execute(
        "select cast(content as blob) from message m join body b on b.body_key = m.body "
        "where m.conversation = ? and b.is_error",
        (key,),
    )
    return calls, sum(bool(block.get("is_error")) for (content,) in failing for block in orjson.loads(content))


def _branch_counts(connection: sqlite3.Connection, key: int) -> tuple[int, int]:
    """Return the number of messages off the active path, and the number of branches they form."""
    query = f"""
        select count(*), coalesce(sum(not exists (
            select 1 from message p where p.conversation = m.conversation and p.message_id = m.parent_message_id
            and {IS_OFF_PATH.format("p")})), 0)
        from message m where m.conversation = ? and {IS_OFF_PATH.format("m")}"""
    return connection.execute(query, (key,)).fetchone()


def _summaries(connection: sqlite3.Connection, key: int) -> list[JsonObject]:
    query = "select summary from summary where conversation = ? order by position, timestamp, summary_id"
    return [orjson.loads(summary) for (summary,) in connection.execute(query, (key,))]
