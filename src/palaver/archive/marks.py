"""What the user says of a conversation: tags and a rating. They are kept by its name, so they outlive a new import."""

import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from palaver.archive.naming import Named
from palaver.archive.reading import tags_of
from palaver.archive.sources import now
from palaver.errors import OptionError

LONGEST_TAG = 100
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that do not show, or change how others show."""
_JOINING = "\u200c\u200d"
"""Of these, the two that words of some languages and composed emoji are written with."""


class Rating(NamedTuple):
    score: float | None
    feedback: str | None
    rated_at: str


def clean_tag(word: str) -> str:
    """A tag as it is stored: trimmed, composed, on one line; what cannot be one is an error."""
    tag = unicodedata.normalize("NFC", word).strip()
    if any(unicodedata.category(character) in _UNSEEN and character not in _JOINING for character in tag):
        raise OptionError(f"the tag {tag!r} holds characters that do not show")
    tag = " ".join(tag.split())
    if not tag:
        raise OptionError("a tag needs at least one letter")
    if len(tag) > LONGEST_TAG:
        raise OptionError(f"the tag {tag[:20]!r}… is longer than {LONGEST_TAG} characters")
    return tag


def tags_used(connection: sqlite3.Connection, conversations: Iterable[Named] | None = None) -> Counter[str]:
    """How many conversations have each tag."""
    if conversations is None:
        query = (
            "select conversation_key, platform, conversation_id, title from conversation c "
            "where conversation_key in (select conversation from source_tag) or exists (select 1 from tag t "
            "where t.platform = c.platform and t.conversation_id = c.conversation_id)"
        )
        conversations = map(Named._make, connection.execute(query))
    return Counter(tag for one in conversations for tag in tags_of(connection, *one[:3]))


def mark(connection: sqlite3.Connection, one: Named, tags: Sequence[str], *, is_removed: bool = False) -> bool:
    """Give a conversation tags, or take them away; a source's own tag stays away from then on."""
    before = tags_of(connection, *one[:3])
    connection.executemany(
        "insert into tag values (?, ?, ?, ?, ?) on conflict do update set is_removed = excluded.is_removed, "
        "changed_at = excluded.changed_at where is_removed <> excluded.is_removed",
        [(one.platform, one.conversation_id, tag, is_removed, now()) for tag in tags if (tag in before) == is_removed],
    )
    return tags_of(connection, *one[:3]) != before


def rating_of(connection: sqlite3.Connection, one: Named) -> Rating | None:
    query = "select score, feedback, rated_at from rating where platform = ? and conversation_id = ?"
    found = connection.execute(query, (one.platform, one.conversation_id)).fetchone()
    return Rating(*found) if found else None


def rate(connection: sqlite3.Connection, one: Named, score: float, feedback: str | None = None) -> None:
    connection.execute(
        "insert or replace into rating values (?, ?, ?, ?, ?)",
        (one.platform, one.conversation_id, score, feedback, now()),
    )


def clear_rating(connection: sqlite3.Connection, one: Named) -> bool:
    """Take a rating back; whether there was one."""
    query = "delete from rating where platform = ? and conversation_id = ?"
    return connection.execute(query, (one.platform, one.conversation_id)).rowcount > 0
