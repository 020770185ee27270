"""Properties of a whole session: from its manifest, the session database, and the object around its messages.

The database is `db/sessions.db` beside the folder of sessions, or in `CLINE_DB_DATA_DIR`; its table `sessions` has one
row for each session. It states which session started which, and replaces the manifest for agents, which have none. It
is never written to, and sessions are read even if it is missing or damaged.
"""

import os
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import orjson

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP
from palaver.importers.cline.session_files import is_session_id
from palaver.importers.cline.session_messages import typed_text
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.run import Run
from palaver.sources.source import Source

LINEAGE = ("parent_session_id", "parent_agent_id", "agent_id", "conversation_id", "is_subagent")
"""Columns that a manifest does not have."""
_DATABASE_NAME = "sessions.db"
_FLAGS = ("interactive", "enable_tools", "enable_spawn", "enable_teams", "is_subagent")
_IGNORED_COLUMNS = ("transcript_path", "hook_path", "messages_path", "status_lock")
_Fingerprint = tuple[str, int, int, int, int]

_cached_rows: list[tuple[_Fingerprint, dict[str, JsonObject]]] = []
"""The rows read last: sessions of one database are read one after the other."""
PLATFORM = "cline"
_STATUSES: dict[str, build.Status] = {
    "idle": "active",
    "running": "active",
    "pending": "active",
    "completed": "completed",
    "cancelled": "completed",
    "failed": "error",
}
_EDITORS = frozenset({"vscode", "jetbrains", "neovim"})
_AGENT_ROLES = ("subagent", "teammate")
_PATH_FIELDS = frozenset({"messages_path", "compaction_path", "messagesPath", "compactionPath", "hookPath"})
_MAPPED_FIELDS = frozenset(
    {*_PATH_FIELDS, "session_id", "started_at", "model", "cwd", "workspace_root", "prompt", "metadata"}
)
_MAPPED_WRAPPER_FIELDS = frozenset({"messages", "system_prompt", "sessionId", "updated_at"})
_MAX_TITLE_LENGTH = 120
"""The limit of the product itself."""


class Header:
    """Collects the properties of one session and builds its documents."""

    def __init__(self, session_id: str, manifest: JsonObject, row: JsonObject, wrapper: JsonObject) -> None:
        self.session_id = session_id
        self._manifest = manifest or row
        self._row = row
        self._wrapper = dict(wrapper)
        manifest_metadata = self._manifest.get("metadata")
        self._manifest_metadata: JsonObject = manifest_metadata if isinstance(manifest_metadata, dict) else {}
        self.is_sidechain = wrapper.get("agent") in _AGENT_ROLES or row.get("is_subagent") is True
        prompt = self._manifest.get("prompt")
        self.prompt = prompt if isinstance(prompt, str) and prompt.strip() else ""
        self.first_text = ""
        """The first typed text, a fallback for the title."""
        self.models: Counter[str] = Counter()
        """Number of answers by model."""
        self.summaries: list[JsonObject] = []
        self.views: list[JsonObject] = []
        """Descriptions of the compacted views."""
        self.started_at = timestamp_or_empty(self._manifest.get("started_at")) or self._time_from_id()

    def document(self, messages: list[JsonObject], created_at: str, fragment: JsonObject | None) -> JsonObject:
        platform: JsonObject = {"name": PLATFORM}
        if (version := self._version()) is not None:
            platform["version"] = version
        if (model := self._model()) is not None:
            platform["model"] = model
        if metadata := self._metadata(model):
            platform["metadata"] = metadata
        return build.conversation(
            conversation_id=self.session_id,
            title=self._title(),
            platform=platform,
            session=self._session(),
            context=self._context(),
            created_at=created_at,
            updated_at=self.updated_at() or None,
            status=self._status(),
            messages=messages,
            summaries=self.summaries or None,
            fragment=fragment,
        )

    def add_message(self, message: JsonObject) -> None:
        """Update the models and the first text from a message."""
        if message["role"] == "assistant":
            if model := message["metadata"].get("model_override"):
                self.models[model] += 1
        elif not self.first_text and message["metadata"]["author_kind"] in {"human", "model"}:
            texts = (block["text"] for block in message["content"] if block["type"] == "text")
            self.first_text = next(filter(typed_text, texts), "")

    def add_wrapper(self, wrapper: JsonObject) -> None:
        """Add the fields around the messages; some come after them in the file."""
        self._wrapper |= wrapper

    def add_view(self, name: str, wrapper: JsonObject) -> None:
        """Add a compacted view with the fields that differ from those around the messages."""
        rest = {key: value for key, value in wrapper.items() if value is not None and value != self._wrapper.get(key)}
        self.views.append({"file": name, **rest})

    @property
    def system_prompt(self) -> str:
        stated = self._wrapper.get("system_prompt")
        return stated if isinstance(stated, str) and stated.strip() else ""

    def updated_at(self) -> str:
        stated = (
            self._wrapper.get("updated_at"),
            self._manifest.get("ended_at"),
            self._manifest.get("updated_at"),
        )
        return max(map(timestamp_or_empty, stated))

    def note_times(self, run: Run) -> None:
        """Record findings for missing or unreadable times."""
        for fields, name in (
            (self._manifest, "started_at"),
            (self._manifest, "ended_at"),
            (self._wrapper, "updated_at"),
        ):
            if fields.get(name) is not None and not timestamp_or_empty(fields[name]):
                run.note(BAD_TIMESTAMP, self.session_id, f"{name} {fields[name]!r:.60}")
        if not self.started_at:
            run.note(INFERRED_TIMESTAMP, self.session_id, "the conversation has no time of its own")

    def _time_from_id(self) -> str:
        """Return the start time contained in a generated session id, or ""."""
        match = is_session_id(self.session_id)
        return timestamp_or_empty(int(match[1])) if match else ""

    def _title(self) -> str | None:
        stated = self._manifest_metadata.get("title")
        if isinstance(stated, str) and stated.strip():
            return stated
        first_line = typed_text(self.prompt or self.first_text).split("\n", 1)[0].strip()
        return first_line[:_MAX_TITLE_LENGTH] or None

    def _status(self) -> build.Status | None:
        stated = self._manifest.get("status")
        return _STATUSES.get(stated) if isinstance(stated, str) else None

    def _version(self) -> str | None:
        for holder in (self._wrapper.get("origin"), self._manifest_metadata.get("sessionHistoryOrigin")):
            if isinstance(holder, dict) and isinstance((version := holder.get("version")), str) and version:
                return version
        return None

    def _model(self) -> str | None:
        """Return the model with the most answers, else the selected one."""
        if self.models:
            return self.models.most_common(1)[0][0]
        chosen = self._manifest.get("model")
        return chosen if isinstance(chosen, str) and chosen else None

    def _metadata(self, model: str | None) -> JsonObject:
        """Return all unmapped fields under their own names, without repetitions."""
        fields = {
            name: value for name, value in self._manifest.items() if name not in _MAPPED_FIELDS and value is not None
        }
        if fields.get("version") == 1:
            del fields["version"]
        if (status := fields.get("status")) == self._status() and status is not None:
            del fields["status"]
        if self._manifest.get("model") not in (None, model):
            fields["model"] = self._manifest["model"]
        metadata: JsonObject = dict(fields)
        if not isinstance(self._manifest.get("metadata"), dict | None):
            metadata["metadata"] = self._manifest["metadata"]
        self._add_fields(
            metadata,
            {name: value for name, value in self._manifest_metadata.items() if name not in {*_PATH_FIELDS, "title"}},
        )
        wrapper = {
            name: value
            for name, value in self._wrapper.items()
            if name not in _MAPPED_WRAPPER_FIELDS and value is not None
        }
        if wrapper.get("version") == 1:
            del wrapper["version"]
        prompt = self._wrapper.get("system_prompt")
        if prompt is not None and not isinstance(prompt, str):
            wrapper["system_prompt"] = prompt
        self._add_fields(metadata, wrapper)
        self._add_fields(metadata, {name: self._row[name] for name in LINEAGE if name in self._row})
        if self.prompt and typed_text(self.prompt) != typed_text(self.first_text):
            metadata["prompt"] = self.prompt
        elif not isinstance(self._manifest.get("prompt"), str) and self._manifest.get("prompt") is not None:
            metadata["prompt"] = self._manifest["prompt"]
        if self.views:
            metadata["compactions"] = self.views
        return metadata

    def _add_fields(self, metadata: JsonObject, more: JsonObject) -> None:
        for name, value in more.items():
            stated = self._manifest.get(_MANIFEST_NAMES.get(name, name))
            if name not in metadata and value != stated:
                metadata[name] = value
            elif value not in (metadata.get(name), stated):
                metadata.setdefault("source_fields", {})[name] = value

    def _session(self) -> JsonObject:
        parent = self._parent()
        if parent is None or parent == self.session_id:
            return {"session_id": self.session_id, "is_sidechain": False}
        return {
            "session_id": self.session_id,
            "is_sidechain": self.is_sidechain,
            "parent_conversation_id": parent,
        }

    def _parent(self) -> str | None:
        """Return the session that started this one or that it was forked from, or None."""
        origin, fork = self._wrapper.get("origin"), self._manifest_metadata.get("fork")
        stated = (
            self._row.get("parent_session_id"),
            origin.get("parentThreadId") if isinstance(origin, dict) else None,
            fork.get("forkedFromSessionId") if isinstance(fork, dict) else None,
            self.session_id.partition("__")[0] if self.is_sidechain and "__" in self.session_id else None,
        )
        return next((parent for parent in stated if isinstance(parent, str) and parent), None)

    def _context(self) -> JsonObject | None:
        context: JsonObject = {}
        cwd, root, source = (self._manifest.get(name) for name in ("cwd", "workspace_root", "source"))
        folder = next((path for path in (root, cwd) if isinstance(path, str) and path), None)
        if folder is not None:
            context["workspace"] = {"path": folder}
        if isinstance(source, str) and source in _EDITORS:
            context["environment"] = {"editor": source}
        custom = {
            name: path for name, path in (("cwd", cwd), ("workspace_root", root)) if path not in (None, "", folder)
        }
        if custom:
            context["custom"] = custom
        return context or None


_MANIFEST_NAMES = {"enableTools": "enable_tools", "enableSpawn": "enable_spawn", "enableTeams": "enable_teams"}
"""Names in the `metadata` of a manifest that repeat fields of the manifest."""


def database_row(source: Source, session_id: str) -> JsonObject:
    """Return the database row of a session, with the field names of a manifest, or {}."""
    path = _database_path(source)
    return {} if path is None else _session_rows(path).get(session_id, {})


def _database_path(source: Source) -> Path | None:
    """Return the database for a file `<data>/sessions/<session>/<file>` on disk, or None."""
    try:
        here = source.folder.path_of(source.name)
        if here is None:
            return None
        # Not resolved: the target of a symbolic link may have no database.
        above = here.absolute().parents
        found = above[2] / "db" / _DATABASE_NAME if len(above) > 2 else None
        if found is not None and found.is_file():
            return found
        data_folder = os.environ.get("CLINE_DB_DATA_DIR", "").strip()
        return (
            Path(data_folder) / _DATABASE_NAME
            if data_folder and (Path(data_folder) / _DATABASE_NAME).is_file()
            else None
        )
    except (OSError, ValueError):
        return None


def _session_rows(path: Path) -> dict[str, JsonObject]:
    try:
        fingerprint = _fingerprint(path)
    except OSError:
        return {}
    if not (_cached_rows and _cached_rows[0][0] == fingerprint):
        _cached_rows[:] = [(fingerprint, _read_rows(path))]
    return _cached_rows[0][1]


def _fingerprint(path: Path) -> _Fingerprint:
    """Return path, sizes and times of the database and its write-ahead log."""
    status = path.stat()
    log = path.with_name(f"{path.name}-wal")
    wal = log.stat() if log.is_file() else None
    return (
        str(path),
        status.st_size,
        status.st_mtime_ns,
        wal.st_size if wal else 0,
        wal.st_mtime_ns if wal else 0,
    )


def _read_rows(path: Path) -> dict[str, JsonObject]:
    for mode in ("mode=ro", "mode=ro&immutable=1"):  # `immutable` for a folder without write permission
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=1)) as connection:
                cursor = connection.execute("SELECT * FROM sessions")
                names = [column[0] for column in cursor.description]
                rows = [_row_as_manifest(dict(zip(names, row, strict=True))) for row in cursor]
        except sqlite3.Error:
            continue
        return {row["session_id"]: row for row in rows if isinstance(row.get("session_id"), str)}
    return {}


def _row_as_manifest(row: JsonObject) -> JsonObject:
    """Convert a row to the fields of a manifest, without unset columns."""
    manifest = {
        name: value
        for name, value in row.items()
        if value is not None and value != "" and not isinstance(value, bytes) and name not in _IGNORED_COLUMNS
    }
    for name in _FLAGS:
        if manifest.get(name) in (0, 1):
            manifest[name] = bool(manifest[name])
    text = manifest.pop("metadata_json", None)
    try:
        metadata = orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        metadata = None
    if isinstance(metadata, dict):
        manifest["metadata"] = metadata
    return manifest
