"""The SDK's database of sessions: which session started which, and what is known of sessions without a manifest.

It lies in `db/sessions.db` beside the folder of sessions, or where `CLINE_DB_DATA_DIR` says; table `sessions`, one row
a session. Agents have rows and no manifest. Nothing is ever written to it, and whatever is wrong with it, sessions are
read all the same.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import orjson

from palaver.model.build import JsonObject
from palaver.sources.source import Source

LINEAGE = ("parent_session_id", "parent_agent_id", "agent_id", "conversation_id", "is_subagent")
"""What only the database says of a session that has a manifest."""
_FILE = "sessions.db"
_FLAGS = ("interactive", "enable_tools", "enable_spawn", "enable_teams", "is_subagent")
_NOT_KEPT = ("transcript_path", "hook_path", "messages_path", "status_lock")
_Stamp = tuple[str, int, int, int, int]

_last: list[tuple[_Stamp, dict[str, JsonObject]]] = []
"""The rows that were read last: the sessions of one database come one after the other."""


def row_of(source: Source, session_id: str) -> JsonObject:
    """What the database says of a session, in the words of a manifest; empty where it says nothing."""
    path = _database_of(source)
    return {} if path is None else _rows(path).get(session_id, {})


def _database_of(source: Source) -> Path | None:
    """The database of a file `<data>/sessions/<session>/<file>` on disk."""
    try:
        here = source.folder.path_of(source.name)
        if here is None:
            return None
        # A link to a session leads to it, not to its database.
        above = here.absolute().parents
        found = above[2] / "db" / _FILE if len(above) > 2 else None
        if found is not None and found.is_file():
            return found
        elsewhere = os.environ.get("CLINE_DB_DATA_DIR", "").strip()
        return Path(elsewhere) / _FILE if elsewhere and (Path(elsewhere) / _FILE).is_file() else None
    except (OSError, ValueError):
        return None


def _rows(path: Path) -> dict[str, JsonObject]:
    try:
        stamp = _stamp(path)
    except OSError:
        return {}
    if not (_last and _last[0][0] == stamp):
        _last[:] = [(stamp, _read(path))]
    return _last[0][1]


def _stamp(path: Path) -> _Stamp:
    """The database as it is, with what waits in its log."""
    status = path.stat()
    log = path.with_name(f"{path.name}-wal")
    waiting = log.stat() if log.is_file() else None
    return (
        str(path),
        status.st_size,
        status.st_mtime_ns,
        waiting.st_size if waiting else 0,
        waiting.st_mtime_ns if waiting else 0,
    )


def _read(path: Path) -> dict[str, JsonObject]:
    for mode in ("mode=ro", "mode=ro&immutable=1"):  # the second where the folder cannot be written to
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=1)) as connection:
                cursor = connection.execute("SELECT * FROM sessions")
                names = [column[0] for column in cursor.description]
                rows = [_manifest(dict(zip(names, row, strict=True))) for row in cursor]
        except sqlite3.Error:
            continue
        return {row["session_id"]: row for row in rows if isinstance(row.get("session_id"), str)}
    return {}


def _manifest(row: JsonObject) -> JsonObject:
    """A row in the words of a manifest, without what is not set."""
    kept = {
        name: value
        for name, value in row.items()
        if value is not None and value != "" and not isinstance(value, bytes) and name not in _NOT_KEPT
    }
    for name in _FLAGS:
        if kept.get(name) in (0, 1):
            kept[name] = bool(kept[name])
    text = kept.pop("metadata_json", None)
    try:
        metadata = orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        metadata = None
    if isinstance(metadata, dict):
        kept["metadata"] = metadata
    return kept
