"""What is in the archive at a glance: conversations and messages by platform, and when something was last imported."""

import sqlite3
from typing import NamedTuple


class PlatformContents(NamedTuple):
    platform: str
    conversations: int
    agents: int
    """How many of the conversations are those of agents."""
    messages: int
    newest: str
    """When its newest conversation last changed."""


class Contents(NamedTuple):
    platforms: list[PlatformContents]
    """The most conversations first."""
    last_import: str | None
    """When a source was last read; None if none was."""


def archive_contents(connection: sqlite3.Connection) -> Contents:
    rows = connection.execute(
        "select c.platform, count(*), sum(c.is_sidechain), sum(coalesce(m.messages, 0)), "
        "max(coalesce(c.updated_at, c.created_at)) from conversation c left join "
        "(select conversation, count(*) messages from message group by conversation) m "
        "on m.conversation = c.conversation_key group by c.platform order by 2 desc, 1"
    )
    platforms = [PlatformContents(*row) for row in rows]
    [last] = connection.execute("select max(imported_at) from source").fetchone()
    return Contents(platforms, last or None)
