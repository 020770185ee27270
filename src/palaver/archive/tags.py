"""Tags and ratings by the user; stored under the conversation's id, they survive a new import."""

import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from palaver.archive.conversation_tags import conversation_tags
from palaver.archive.selection import ConversationRef
from palaver.archive.source_records import timestamp_now
from palaver.errors import OptionError

MAX_TAG_CHARACTERS = 100
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories of characters that are invisible, or change how others are shown."""
_JOINERS = "\u200c\u200d"
"""Two of these characters that some languages and composed emoji need."""


class Rating(NamedTuple):
    score: float | None
    feedback: str | None
    rated_at: str


def normalize_tag(word: str) -> str:
    """Return a tag as it is stored: trimmed, composed, on one line; raise OptionError if it is not valid."""
    tag = unicodedata.normalize("NFC", word).strip()
    if any(unicodedata.category(character) in _INVISIBLE and character not in _JOINERS for character in tag):
        raise OptionError(f"the tag {tag!r} has invisible characters")
    tag = " ".join(tag.split())
    if not tag:
        raise OptionError("a tag needs at least one character")
    if len(tag) > MAX_TAG_CHARACTERS:
        raise OptionError(f"the tag {tag[:20]!r}… is longer than {MAX_TAG_CHARACTERS} characters")
    return tag


def tag_counts(connection: sqlite3.Connection, conversations: Iterable[ConversationRef] | None = None) -> Counter[str]:
    """Count the conversations with each tag, by default of all conversations."""
    if conversations is None:
        query = (
            "select conversation_key, platform, conversation_id, title from conversation c "
            "where conversation_key in (select conversation from source_tag) or exists (select 1 from tag t "
            "where t.platform = c.platform and t.conversation_id = c.conversation_id)"
        )
        conversations = map(ConversationRef._make, connection.execute(query))
    return Counter(tag for conversation in conversations for tag in conversation_tags(connection, *conversation[:3]))


def change_tags(
    connection: sqlite3.Connection, conversation: ConversationRef, tags: Sequence[str], *, is_removed: bool = False
) -> bool:
    """Add or remove tags of a conversation, and return whether they changed.

    A removed tag of a source stays removed when the source is imported again.
    """
    before = conversation_tags(connection, *conversation[:3])
    connection.executemany(
        "insert into tag values (?, ?, ?, ?, ?) on conflict do update set is_removed = excluded.is_removed, "
        "changed_at = excluded.changed_at where is_removed <> excluded.is_removed",
        [
            (conversation.platform, conversation.conversation_id, tag, is_removed, timestamp_now())
            for tag in tags
            if (tag in before) == is_removed
        ],
    )
    return conversation_tags(connection, *conversation[:3]) != before


def current_rating(connection: sqlite3.Connection, conversation: ConversationRef) -> Rating | None:
    query = "select score, feedback, rated_at from rating where platform = ? and conversation_id = ?"
    found = connection.execute(query, (conversation.platform, conversation.conversation_id)).fetchone()
    return Rating(*found) if found else None


def rate(
    connection: sqlite3.Connection, conversation: ConversationRef, score: float, feedback: str | None = None
) -> None:
    connection.execute(
        "insert or replace into rating values (?, ?, ?, ?, ?)",
        (conversation.platform, conversation.conversation_id, score, feedback, timestamp_now()),
    )


def clear_rating(connection: sqlite3.Connection, conversation: ConversationRef) -> bool:
    """Delete the rating of a conversation, and return whether there was one."""
    query = "delete from rating where platform = ? and conversation_id = ?"
    return connection.execute(query, (conversation.platform, conversation.conversation_id)).rowcount > 0
