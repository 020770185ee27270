"""Sources that hold what was forgotten: what they would tell about it is not written down again."""

import sqlite3


def withhold(connection: sqlite3.Connection, platform: str, conversation_id: str, source: int) -> None:
    """Remember that a source holds a forgotten conversation, so that it can be found again if that is undone."""
    connection.execute("insert or ignore into withheld values (?, ?, ?)", (platform, conversation_id, source))


def holds_forgotten(connection: sqlite3.Connection, source: int) -> bool:
    """Whether any of it is forgotten: a cursor's state, which may hold text, is then not kept."""
    return connection.execute("select 1 from withheld where source = ? limit 1", (source,)).fetchone() is not None


def is_all_forgotten(connection: sqlite3.Connection, source: int) -> bool:
    """Whether nothing of it is in the archive since the user did not want it there."""
    origin = connection.execute("select 1 from origin where source = ? limit 1", (source,)).fetchone()
    return origin is None and holds_forgotten(connection, source)


def drop_what_sources_said(connection: sqlite3.Connection, platform: str, conversation_id: str) -> None:
    """Clear what the sources of a conversation that has just been forgotten left behind in other tables."""
    query = "select source from withheld where platform = ? and conversation_id = ?"
    for (source,) in connection.execute(query, (platform, conversation_id)).fetchall():
        connection.execute("delete from cursor where source = ?", (source,))
        if is_all_forgotten(connection, source):
            connection.execute("delete from quarantine where source = ?", (source,))
            connection.execute("update finding set places = '[]' where source = ?", (source,))
