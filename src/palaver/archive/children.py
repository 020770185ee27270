"""Conversations that another one started: its agents, and what was forked or resumed from it."""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from palaver.archive.listing import readable_title


class Child(NamedTuple):
    key: int
    platform: str
    conversation_id: str
    title: str
    is_sidechain: bool
    fork_point: str | None
    """The message of the parent at which it begins."""
    tool_use_id: str | None
    """The call that started it, where the source tells."""
    messages: int


def children_of(connection: sqlite3.Connection, platform: str, conversation_id: str) -> list[Child]:
    rows = connection.execute(
        "select conversation_key, platform, conversation_id, title, is_sidechain, "
        "json_extract(header, '$.session.fork_point'), json_extract(header, '$.platform.metadata.parent_tool_use_id'), "
        "(select count(*) from message where conversation = conversation_key) "
        "from conversation where parent_conversation_id = ? and platform = ? order by created_at, conversation_id",
        (conversation_id, platform),
    ).fetchall()
    return [
        Child(
            *(key, its_platform, name, readable_title(connection, key, title), bool(is_sidechain)),
            *(_text(fork_point), _text(tool_use_id), messages),
        )
        for key, its_platform, name, title, is_sidechain, fork_point, tool_use_id, messages in rows
    ]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class Children:
    """The children that were not told yet, by whatever tells where they began."""

    def __init__(self, children: Iterable[Child]) -> None:
        self._waiting = {child.conversation_id: child for child in children}
        self._names: dict[str, list[str]] = {}
        for child in self._waiting.values():
            for word in (child.conversation_id, child.fork_point, child.tool_use_id):
                if word:
                    self._names.setdefault(word, []).append(child.conversation_id)

    def told_by(self, words: Iterable[str]) -> list[Child]:
        """Those that these ids of messages, calls or conversations lead to; each is told once."""
        names = dict.fromkeys(name for word in words for name in self._names.get(word, ()))
        return [self._waiting.pop(name) for name in names if name in self._waiting]

    def rest(self) -> list[Child]:
        return list(self._waiting.values())
