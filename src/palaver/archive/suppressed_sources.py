"""Sources that hold forgotten conversations, whose content must not be stored again in other tables."""

import sqlite3


def suppress_source(connection: sqlite3.Connection, platform: str, conversation_id: str, source: int) -> None:
    """Record that a source holds a forgotten conversation, so that undoing the deletion can find it."""
    connection.execute("insert or ignore into withheld values (?, ?, ?)", (platform, conversation_id, source))


def has_forgotten(connection: sqlite3.Connection, source: int) -> bool:
    """Return whether a source holds a forgotten conversation; its cursors, which may hold text, are then not stored."""
    return connection.execute("select 1 from withheld where source = ? limit 1", (source,)).fetchone() is not None


def is_fully_forgotten(connection: sqlite3.Connection, source: int) -> bool:
    """Return whether all conversations of a source are forgotten."""
    origin = connection.execute("select 1 from origin where source = ? limit 1", (source,)).fetchone()
    return origin is None and has_forgotten(connection, source)


def clear_source_traces(connection: sqlite3.Connection, platform: str, conversation_id: str) -> None:
    """Delete what the sources of a conversation just forgotten left in other tables."""
    query = "select source from withheld where platform = ? and conversation_id = ?"
    for (source,) in connection.execute(query, (platform, conversation_id)).fetchall():
        connection.execute("delete from cursor where source = ?", (source,))
        if is_fully_forgotten(connection, source):
            connection.execute("delete from quarantine where source = ?", (source,))
            connection.execute("update finding set places = '[]' where source = ?", (source,))
