"""Messages of one conversation as they are looked at: which of them, in order, one at a time."""

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
    ) s"""  # noqa: S608 - our own words
_MESSAGE = """
    select m.message_key, m.message_id, m.parent_message_id, m.role, m.author_kind, m.timestamp, m.model,
        m.api_message_id, m.body, cast(b.content as blob), cast(m.tokens as blob), cast(m.rest as blob)
    from message m join body b on b.body_key = m.body where m.message_key = ?"""


class Step(NamedTuple):
    key: int
    is_off_path: bool
    begins_branch: bool
    """It is left of the active path while the message before it is not."""


@dataclass(frozen=True, slots=True)
class Viewed:
    """A message of the archive, with what can be asked for in SQL beside its document."""

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
        parts: JsonObject = {"message_id": self.message_id}
        if self.parent_message_id is not None:
            parts["parent_message_id"] = self.parent_message_id
        parts |= {"role": self.role, "timestamp": self.timestamp, "content": self.content}
        if self.tokens is not None:
            parts["tokens"] = self.tokens
        return parts | self.rest


@dataclass(frozen=True, slots=True)
class Selection:
    """All messages in order, and which of them are shown."""

    steps: list[Step]
    shown: list[bool]
    begin: int
    end: int
    before: int = 0
    after: int = 0
    """How many more could be shown in front of the first and behind the last."""
    tells_branches: bool = False
    """Whether those that are not shown stand on branches that were left."""

    @property
    def is_whole(self) -> bool:
        return not (self.before or self.after)


def select(
    connection: sqlite3.Connection,
    key: int,
    branch: str | None = None,
    *,
    first: int | None = None,
    last: int | None = None,
) -> Selection:
    """The active path, all branches (`all`), or the path to a message; of that the first or last few."""
    steps = [Step(key, bool(is_off), bool(begins)) for key, is_off, begins in connection.execute(_STEPS, (key,))]
    if branch is None:
        shown = [not step.is_off_path for step in steps]
    elif branch == "all":
        shown = [True] * len(steps)
    else:
        path = _path_to(connection, key, branch)
        shown = [step.key in path for step in steps]
    places = [place for place, is_shown in enumerate(shown) if is_shown]
    chosen = places[-last:] if last is not None else places[:first]
    is_whole = len(chosen) == len(places)
    return Selection(
        steps,
        shown,
        begin=0 if is_whole or not chosen else chosen[0],
        end=len(steps) if is_whole else chosen[-1] + 1 if chosen else 0,
        before=len(places) - len(chosen) if last is not None else 0,
        after=len(places) - len(chosen) if last is None else 0,
        tells_branches=branch is None,
    )


def _path_to(connection: sqlite3.Connection, key: int, word: str) -> set[int]:
    """The messages that lead to one, which is named by its id or the beginning of it."""
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


def messages(connection: sqlite3.Connection, selection: Selection) -> Iterator[Viewed]:
    """The shown messages, one at a time, each with all of its own content."""
    for place in range(selection.begin, selection.end):
        if selection.shown[place]:
            yield viewed(connection, selection.steps[place].key)


def viewed(connection: sqlite3.Connection, key: int) -> Viewed:
    *columns, content, tokens, rest = connection.execute(_MESSAGE, (key,)).fetchone()
    return Viewed(
        *columns,
        size_bytes=len(content),
        content=orjson.loads(content),
        tokens=orjson.loads(tokens) if tokens else None,
        rest=orjson.loads(rest),
    )


def revisions_of(connection: sqlite3.Connection, message: Viewed) -> list[JsonObject]:
    """The other versions of a message that are kept, as message documents."""
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
