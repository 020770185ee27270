"""The messages of one conversation for display: which are shown, in order, read one at a time."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from palaver.errors import ArchiveError
from palaver.model.build import JsonObject

IS_OFF_PATH = "coalesce(json_extract({}.rest, '$.metadata.on_active_path') = 0, 0)"
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
    """All messages of a conversation in order, and which of them are shown."""

    steps: list[Step]
    shown: list[bool]
    begin: int
    end: int
    before: int = 0
    after: int = 0
    """Number of further messages before the first and after the last one shown."""
    hides_branches: bool = False
    """Whether hidden messages are on abandoned branches."""

    @property
    def is_whole(self) -> bool:
        return not (self.before or self.after)


def select_messages(
    connection: sqlite3.Connection,
    key: int,
    branch: str | None = None,
    *,
    first: int | None = None,
    last: int | None = None,
) -> MessageSelection:
    """Select the active path, all branches (`all`), or the path to a message; of these, the first or last few."""
    steps = [Step(key, bool(is_off), bool(begins)) for key, is_off, begins in connection.execute(_STEPS, (key,))]
    if branch is None:
        shown = [not step.is_off_path for step in steps]
    elif branch == "all":
        shown = [True] * len(steps)
    else:
        path = _path_to(connection, key, branch)
        shown = [step.key in path for step in steps]
    indexes = [index for index, is_shown in enumerate(shown) if is_shown]
    chosen = indexes[-last:] if last is not None else indexes[:first]
    is_whole = len(chosen) == len(indexes)
    return MessageSelection(
        steps,
        shown,
        begin=0 if is_whole or not chosen else chosen[0],
        end=len(steps) if is_whole else chosen[-1] + 1 if chosen else 0,
        before=len(indexes) - len(chosen) if last is not None else 0,
        after=len(indexes) - len(chosen) if last is None else 0,
        hides_branches=branch is None,
    )


def _path_to(connection: sqlite3.Connection, key: int, word: str) -> set[int]:
    """Return the keys of the messages that lead to a message, given by its id or a prefix of it."""
    query = "select message_id from message where conversation = ? and "
    found = (
        connection.execute(f"{query} message_id = ?", (key, word)).fetchall()
        or connection.execute(f"{query} substr(message_id, 1, length(?)) = ? limit 5", (key, word, word)).fetchall()
    )
    if not found or not word:
        raise ArchiveError(f"no message of this conversation is called {word!r}: --branch all shows their ids")
    if len(found) > 1:
        names = ", ".join(name for (name,) in found)
        raise ArchiveError(f"{word!r} may mean several messages ({names}): say more of it")
    rows = connection.execute(
        "with recursive path (message_key, parent) as ("
        "select message_key, parent_message_id from message where conversation = ?1 and message_id = ?2 union "
        "select m.message_key, m.parent_message_id from path join message m "
        "on m.conversation = ?1 and m.message_id = path.parent) select message_key from path",
        (key, found[0][0]),
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
