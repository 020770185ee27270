"""Tags of conversations: those of their sources, and those that the user added or removed."""

import sqlite3
from collections.abc import Sequence


def tags_by_conversation(connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, list[str]]:
    """Return the tags of some conversations by key, without conversations that have none."""
    placeholders = ", ".join("?" * len(keys))
    tags: dict[int, set[str]] = {}
    query = f"select conversation, tag from source_tag where conversation in ({placeholders})"  # noqa: S608 - constants, bound values
    for key, tag in connection.execute(query, keys):
        tags.setdefault(key, set()).add(tag)
    query = (
        "select conversation_key, tag, is_removed from conversation join tag using (platform, conversation_id) "  # noqa: S608 - constants, bound values
        f"where conversation_key in ({placeholders})"
    )
    for key, tag, is_removed in connection.execute(query, keys):
        held = tags.setdefault(key, set())
        (held.discard if is_removed else held.add)(tag)
    return {key: sorted(held) for key, held in tags.items()}


def conversation_tags(connection: sqlite3.Connection, key: int, platform: str, conversation_id: str) -> list[str]:
    """Return the tags of the sources and the user, without those the user removed."""
    tags = {tag for (tag,) in connection.execute("select tag from source_tag where conversation = ?", (key,))}
    query = "select tag, is_removed from tag where platform = ? and conversation_id = ?"
    for tag, is_removed in connection.execute(query, (platform, conversation_id)):
        (tags.discard if is_removed else tags.add)(tag)
    return sorted(tags)
