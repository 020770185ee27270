"""Versions of one message: the greatest is the message itself, the others are kept beside it.

A version that is only known from a later request says nothing more than a greater one with the same body: it is let go.
"""

import sqlite3
from typing import Any, NamedTuple

import orjson

from palaver.archive.merge import says_nothing_more, version_key
from palaver.archive.rows import MessageRow

_ADD = "insert or ignore into revision values (?, ?, ?, ?, ?, ?, ?, cast(? as text))"
_CURRENT = (
    "select m.message_id, m.version, m.parent_message_id, m.role, m.timestamp, m.body, cast(m.rest as blob), "
    "json_array_length(b.content) from message m join body b on b.body_key = m.body where m.message_key = ?"
)
_ALIKE = (
    "select version, timestamp, cast(rest as blob) from revision "
    "where conversation = ? and message_id = ? and body = ? and version <> ?"
)


class Joined(NamedTuple):
    is_changed: bool
    api_message_id: str | None
    """What the version that is current now says itself."""


def join_version(connection: sqlite3.Connection, conversation: int, message: int, row: MessageRow, body: int) -> Joined:
    """Join a version with those of a message whose current version is another one."""
    *stored, stored_blocks = connection.execute(_CURRENT, (message,)).fetchone()
    (blocks,) = connection.execute("select json_array_length(content) from body where body_key = ?", (body,)).fetchone()
    rest, stored_rest = orjson.loads(row.rest), orjson.loads(stored[6])
    own = version_key(blocks, rest, row.timestamp, row.version)
    alike = _Alike(connection, conversation, row.message_id, body, blocks)
    if own < version_key(stored_blocks, stored_rest, stored[4], stored[1]):
        is_new = not (says_nothing_more(rest) and (stored[5] == body or alike.has_greater(own, row.version)))
        if is_new:
            account = (row.message_id, row.version, row.parent_message_id, row.role, row.timestamp, body, row.rest)
            is_new = connection.execute(_ADD, (conversation, *account)).rowcount > 0
        if is_new:
            alike.drop_lesser(own, row.version)
        return Joined(is_new, _api_id(stored_rest))
    if stored[5] != body or not says_nothing_more(stored_rest):
        connection.execute(_ADD, (conversation, *stored))
    connection.execute(
        "delete from revision where conversation = ? and message_id = ? and version = ?",
        (conversation, row.message_id, row.version),
    )
    alike.drop_lesser(own, row.version)
    connection.execute(
        "update message set parent_message_id = ?, role = ?, author_kind = ?, timestamp = ?, model = ?, "
        "api_message_id = ?, body = ?, version = ?, rest = cast(? as text) where message_key = ?",
        (
            *(row.parent_message_id, row.role, row.author_kind, row.timestamp, row.model),
            *(row.api_message_id, body, row.version, row.rest, message),
        ),
    )
    return Joined(is_changed=True, api_message_id=row.api_message_id)


class _Alike:
    """The other revisions of a message that have one body."""

    def __init__(self, connection: sqlite3.Connection, conversation: int, name: str, body: int, blocks: int) -> None:
        self._connection = connection
        self._place = (conversation, name)
        self._body = body
        self._blocks = blocks

    def has_greater(self, key: tuple[Any, ...], version: bytes) -> bool:
        return any(self._key(row) > key for row in self._rows(version))

    def drop_lesser(self, key: tuple[Any, ...], version: bytes) -> None:
        for row in self._rows(version):
            if self._key(row) < key and says_nothing_more(orjson.loads(row[2])):
                self._connection.execute(
                    "delete from revision where conversation = ? and message_id = ? and version = ?",
                    (*self._place, row[0]),
                )

    def _rows(self, version: bytes) -> list[tuple[bytes, str, bytes]]:
        return self._connection.execute(_ALIKE, (*self._place, self._body, version)).fetchall()

    def _key(self, row: tuple[bytes, str, bytes]) -> tuple[Any, ...]:
        version, timestamp, rest = row
        return version_key(self._blocks, orjson.loads(rest), timestamp, version)


def _api_id(rest: dict[str, Any]) -> str | None:
    found = (rest.get("metadata") or {}).get("api_message_id")
    return found if isinstance(found, str) else None
