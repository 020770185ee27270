"""Message numbers: `ID:N` names the Nth message of a conversation.

N is the position in the conversation's stored order, counted from 1 over all branches and hidden messages. It is
computed on read and never stored. `ID:<message id>`, or the beginning of a message id, is accepted wherever `ID:N` is.

Ids contain colons too: `chatgpt:6812` names a platform, `<session>:agent-<id>` an agent. So a word is read as

1. a conversation that has exactly this id;
2. `ID:N`, if what precedes the last colon names a conversation and is no platform;
3. a conversation, by the beginning of its id, its short id or its title;
4. `ID:<message id>`.
"""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from palaver.archive.selection import (
    ConversationRef,
    exactly_named_conversations,
    find_conversation,
    named_conversations,
)
from palaver.archive.short_ids import ShortIds
from palaver.errors import ArchiveError

_MAX_SHOWN = 5
_MAX_AT_ONCE = 100
"""Numbers computed in one pass over a conversation."""
_MAX_DIGITS = 15
"""Longer numbers are message ids."""
_ORDER = "position, timestamp, message_id"
_MESSAGES_NAMED = (
    "select message_id from message where conversation = ?1 and message_id = ?2",
    "select message_id from message where conversation = ?1 and substr(message_id, 1, length(?2)) = ?2 limit 6",
)


class MessagePlace(NamedTuple):
    """A conversation, and one of its messages or None."""

    conversation: ConversationRef
    number: int | None = None
    message_id: str | None = None


def find_place(connection: sqlite3.Connection, word: str) -> MessagePlace:
    """Return what a word names; raise ArchiveError if it names nothing, or several conversations or messages."""
    if exactly_named_conversations(connection, word):
        return MessagePlace(find_conversation(connection, word))
    head, _, tail = word.rpartition(":")
    if is_number(tail) and not _is_platform(connection, head) and named_conversations(connection, head):
        return find_message(connection, find_conversation(connection, head), tail)
    if named_conversations(connection, word):
        return MessagePlace(find_conversation(connection, word))
    candidates: list[tuple[ConversationRef, str]] = []
    for index in (index for index in range(len(word) - 1, 0, -1) if word[index] == ":"):
        head, tail = word[:index], word[index + 1 :]
        if tail and not _is_platform(connection, head):
            candidates += [(conversation, tail) for conversation in named_conversations(connection, head)]
    for conversation, tail in candidates:
        if _message_ids(connection, conversation, tail):
            return find_message(connection, conversation, tail)
    if candidates:
        return find_message(connection, *candidates[0])
    return MessagePlace(find_conversation(connection, word))


def find_message(connection: sqlite3.Connection, conversation: ConversationRef, word: str) -> MessagePlace:
    """Return the message that a number, or the beginning of a message id, names, or raise ArchiveError."""
    if is_number(word):
        return _numbered(connection, conversation, int(word))
    found = _message_ids(connection, conversation, word)
    if not found:
        name = _short_id(connection, conversation)
        raise ArchiveError(f"{name} has no message {word!r}: give its number, or the beginning of its id")
    if len(found) > 1:
        names = ", ".join(found[:_MAX_SHOWN]) + ", …" * (len(found) > _MAX_SHOWN)
        raise ArchiveError(f"{word!r} matches several messages: {names}. Type more of the id")
    return MessagePlace(conversation, message_numbers(connection, conversation.key, found)[found[0]], found[0])


def message_numbers(connection: sqlite3.Connection, key: int, message_ids: Iterable[str]) -> dict[str, int]:
    """Return the numbers of some messages of a conversation, by their ids, without sorting its messages."""
    wanted = list(dict.fromkeys(message_ids))
    numbers: dict[str, int] = {}
    for start in range(0, len(wanted), _MAX_AT_ONCE):
        some = wanted[start : start + _MAX_AT_ONCE]
        marks = ", ".join("?" * len(some))
        query = f"select {_ORDER} from message where conversation = ? and message_id in ({marks})"  # noqa: S608 - constants, bound values
        places = connection.execute(query, (key, *some)).fetchall()
        if places:
            counts = ", ".join([f"sum(({_ORDER}) <= (?, ?, ?))"] * len(places))
            query = f"select {counts} from message where conversation = ?"  # noqa: S608 - constants, bound values
            values = [value for place in places for value in place]
            found = connection.execute(query, (*values, key)).fetchone()
            numbers |= {place[2]: number for place, number in zip(places, found, strict=True)}
    return numbers


def is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= _MAX_DIGITS


def _numbered(connection: sqlite3.Connection, conversation: ConversationRef, number: int) -> MessagePlace:
    query = f"select message_id from message where conversation = ? order by {_ORDER} limit 1 offset ?"  # noqa: S608 - constants, bound values
    row = connection.execute(query, (conversation.key, number - 1)).fetchone() if number else None
    if row is None:
        query = "select count(*) from message where conversation = ?"
        (count,) = connection.execute(query, (conversation.key,)).fetchone()
        messages = "1 message" if count == 1 else f"{count:,} messages"
        raise ArchiveError(f"{_short_id(connection, conversation)} has {messages}; there is no message {number}")
    return MessagePlace(conversation, number, row[0])


def _message_ids(connection: sqlite3.Connection, conversation: ConversationRef, word: str) -> list[str]:
    """Return the message with this id, or else those whose ids begin with it."""
    word = word.encode(errors="replace").decode()  # the command line may hold bytes that are not UTF-8
    for query in _MESSAGES_NAMED:
        if found := [message_id for (message_id,) in connection.execute(query, (conversation.key, word))]:
            return found
    return []


def _is_platform(connection: sqlite3.Connection, word: str) -> bool:
    """Return whether conversations of a platform with this name are in the archive."""
    word = word.encode(errors="replace").decode()
    return bool(
        connection.execute("select exists (select 1 from conversation where platform = ?)", (word,)).fetchone()[0]
    )


def _short_id(connection: sqlite3.Connection, conversation: ConversationRef) -> str:
    return ShortIds(connection).short_id(conversation.platform, conversation.conversation_id)
