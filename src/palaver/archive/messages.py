"""The messages of one conversation for display: which are shown, in order, read one at a time."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from palaver.model.build import JsonObject

IS_OFF_PATH = "coalesce(json_extract({}.rest, '$.metadata.on_active_path') = 0, 0)"
IS_UNDATED = (
    "not exists (select 1 from message m where m.conversation = conversation_key "
    "and coalesce(json_extract(m.rest, '$.metadata.timestamp_inferred') <> 1, 1))"
)
"""Condition on `conversation`: no message has a time of its own, so that the conversation's times are guesses."""
_STEPS = f"""
    select message_key, is_off, case when is_off then not exists (
        select 1 from message p where p.conversation = ?1 and p.message_id = s.parent_message_id
        and {IS_OFF_PATH.format("p")}) else 0 end
    from (
        select message_key, parent_message_id, {IS_OFF_PATH.format("m")} as is_off
        from message m where conversation = ?1 order by position, timestamp, message_id
    ) s"""  # noqa: S608 - constants, bound values
_MESSAGE = """
    select m.message_key, m.message_id, m.parent_message_id, m.role, m.author_kind, m.timestamp, m.model,
        m.api_message_id, m.body, cast(b.content as blob), cast(m.tokens as blob), cast(m.rest as blob)
    from message m join body b on b.body_key = m.body where m.message_key = ?"""


class Step(NamedTuple):
    key: int
    is_off_path: bool
    begins_branch: bool
    """Whether it is off the active path, and its parent is not."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A stored message: its columns and the fields of its document."""

    key: int
    message_id: str
    parent_message_id: str | None
    role: str
    author_kind: str | None
    timestamp: str
    model: str | None
    api_message_id: str | None
    body: int
    size_bytes: int
    content: list[JsonObject]
    tokens: JsonObject | None
    rest: JsonObject

    @property
    def metadata(self) -> JsonObject:
        return self.rest.get("metadata") or {}

    @property
    def request_id(self) -> str | None:
        return stated_request_id(self.metadata)

    @property
    def is_off_path(self) -> bool:
        return self.metadata.get("on_active_path") is False

    def document(self) -> JsonObject:
        """Return the message as it occurs in a document."""
        parts: JsonObject = {"message_id": self.message_id}
        if self.parent_message_id is not None:
            parts["parent_message_id"] = self.parent_message_id
        parts |= {"role": self.role, "timestamp": self.timestamp, "content": self.content}
        if self.tokens is not None:
            parts["tokens"] = self.tokens
        return parts | self.rest


@dataclass(frozen=True, slots=True)
class MessageSelection:
    """All messages of a conversation in order, and which of them are shown.

    The number of a message is its index in `steps`, counted from 1.
    """

    steps: list[Step]
    shown: list[bool]
    begin: int
    end: int
    before: int = 0
    after: int = 0
    """Number of further messages before the first and after the last one shown."""
    hides_branches: bool = False
    """Whether hidden messages are on abandoned branches."""
    target: int | None = None
    """Key of the message that the others are around."""

    @property
    def is_whole(self) -> bool:
        return not (self.before or self.after)


def stated_request_id(metadata: JsonObject) -> str | None:
    """Return the id of a message's request; None if it has none, or a mere number, which is unique in its log only."""
    stated = metadata.get("request_id")
    is_id = isinstance(stated, str) and stated and not (stated.isascii() and stated.isdigit())
    return stated if is_id else None


def select_messages(
    connection: sqlite3.Connection,
    key: int,
    branch: str | None = None,
    *,
    first: int | None = None,
    last: int | None = None,
    around: int | None = None,
    context: int = 0,
) -> MessageSelection:
    """Select the active path, all branches (`all`), or the path to the message with this id; of these, a part.

    The part is the first or the last few messages, or the message with the number `around` and as many messages before
    and after it as `context` says. If that message is not on the active path, the path to it is selected.
    """
    steps = [Step(key, bool(is_off), bool(begins)) for key, is_off, begins in connection.execute(_STEPS, (key,))]
    target = None if around is None else around - 1
    if branch is None and target is not None and steps[target].is_off_path:
        query = "select message_id from message where message_key = ?"
        (branch,) = connection.execute(query, (steps[target].key,)).fetchone()
    if branch is None:
        shown = [not step.is_off_path for step in steps]
    elif branch == "all":
        shown = [True] * len(steps)
    else:
        path = _path_to(connection, key, branch)
        shown = [step.key in path for step in steps]
    if target is not None:
        shown[target] = True
    indexes = [index for index, is_shown in enumerate(shown) if is_shown]
    start, stop = 0, len(indexes)
    if target is not None:
        start, stop = max(indexes.index(target) - context, 0), indexes.index(target) + context + 1
    elif last is not None:
        start = max(stop - last, 0)
    elif first is not None:
        stop = first
    chosen = indexes[start:stop]
    is_whole = len(chosen) == len(indexes)
    return MessageSelection(
        steps,
        shown,
        begin=0 if is_whole or not chosen else chosen[0],
        end=len(steps) if is_whole else chosen[-1] + 1 if chosen else 0,
        before=start,
        after=len(indexes) - start - len(chosen),
        hides_branches=branch is None,
        target=None if target is None else steps[target].key,
    )


def _path_to(connection: sqlite3.Connection, key: int, message_id: str) -> set[int]:
    """Return the keys of the messages that lead to a message."""
    rows = connection.execute(
        "with recursive path (message_key, parent) as ("
        "select message_key, parent_message_id from message where conversation = ?1 and message_id = ?2 union "
        "select m.message_key, m.parent_message_id from path join message m "
        "on m.conversation = ?1 and m.message_id = path.parent) select message_key from path",
        (key, message_id),
    )
    return {message for (message,) in rows}


def shown_messages(connection: sqlite3.Connection, selection: MessageSelection) -> Iterator[StoredMessage]:
    """Yield the shown messages, reading one at a time."""
    for index in range(selection.begin, selection.end):
        if selection.shown[index]:
            yield read_message(connection, selection.steps[index].key)


def read_message(connection: sqlite3.Connection, key: int) -> StoredMessage:
    *columns, content, tokens, rest = connection.execute(_MESSAGE, (key,)).fetchone()
    return StoredMessage(
        *columns,
        size_bytes=len(content),
        content=orjson.loads(content),
        tokens=orjson.loads(tokens) if tokens else None,
        rest=orjson.loads(rest),
    )


def stored_message(connection: sqlite3.Connection, conversation: int, message_id: str) -> StoredMessage:
    """Return the message of a conversation with this id."""
    query = "select message_key from message where conversation = ? and message_id = ?"
    (key,) = connection.execute(query, (conversation, message_id)).fetchone()
    return read_message(connection, key)


def older_versions(connection: sqlite3.Connection, message: StoredMessage) -> list[JsonObject]:
    """Return the revisions of a message, as message documents."""
    rows = connection.execute(
        "select r.parent_message_id, r.role, r.timestamp, cast(b.content as blob), cast(r.rest as blob) "
        "from revision r join body b on b.body_key = r.body join message m on m.message_key = ? "
        "where r.conversation = m.conversation and r.message_id = m.message_id order by r.timestamp, r.version",
        (message.key,),
    )
    return [
        {
            "message_id": message.message_id,
            **({} if parent is None else {"parent_message_id": parent}),
            "role": role,
            "timestamp": timestamp,
            "content": orjson.loads(content),
            **orjson.loads(rest),
        }
        for parent, role, timestamp, content, rest in rows
    ]
