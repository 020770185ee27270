"""Recognition of Continue's folder and files, by their names and first bytes."""

import re
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.contract import Match
from palaver.importers.continue_dev import layout
from palaver.importers.continue_dev.layout import (
    CONFIGS,
    DEV_DATA,
    EVENTS,
    INDEX,
    INPUT_HISTORY,
    OTHER_CONFIG,
    SECRETS,
    SESSIONS,
)
from palaver.importers.continue_dev.share import is_share
from palaver.importers.continue_dev.timeline import has_timeline
from palaver.sources.source import Source

_MEMBERS = (*CONFIGS, OTHER_CONFIG, INPUT_HISTORY, *SECRETS)
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_SAMPLED_FILES = 5
_SESSION_FIELDS = ("sessionId", "workspaceDirectory")
_EVENT_FIELDS = {
    "tokensGenerated": {"promptTokens", "generatedTokens"},
    "chatFeedback": {"prompt", "completion"},
    "chatInteraction": {"prompt", "completion"},
    "autocomplete": {"prompt", "completion", "filepath"},
    "quickEdit": {"prompt", "label"},
    "toolUsage": {"toolCallId", "functionName"},
    "editInteraction": {"prompt", "completion"},
    "editOutcome": {"prompt", "previousCode"},
    "nextEditOutcome": {"completion"},
    "nextEditWithHistory": {"completion"},
}


def recognize(source: Source) -> Match:
    if source.is_folder:
        return _recognize_folder(source)
    if source.file_name == INDEX and _is_index(source):
        return Match.no("Continue's index of sessions")
    if is_share(source.head()):
        return Match.yes("a transcript that Continue's /share wrote", form="share")
    if _is_session(source):
        return Match.yes("a session of Continue", form="session")
    if _is_dev_data(source):
        return Match.yes("events that Continue logs", form="dev_data")
    return Match.no()


def form_of(source: Source) -> str:
    """Return the form of a source that the user assigned to this importer, even if it is not recognized."""
    if source.is_folder:
        return "root"
    if found := recognize(source).form:
        return found
    if source.file_name == INDEX:
        return "index"
    return {".jsonl": "dev_data", ".md": "share"}.get(source.suffix, "session")


def _recognize_folder(source: Source) -> Match:
    files, folders = source.listing()
    if SESSIONS not in folders and DEV_DATA not in folders:
        return Match.no()
    sessions = source.subfolder(SESSIONS) if SESSIONS in folders else None
    has_sessions = sessions is not None and _holds_sessions(sessions)
    has_events = DEV_DATA in folders and _holds_events(source.subfolder(DEV_DATA))
    if not (has_sessions or has_events):
        return Match.no()
    inside = [name for name in (SESSIONS, DEV_DATA) if name in folders]
    members = [*inside, *(name for name in _MEMBERS if name in files)]
    size_bytes = sum(file.size_bytes for name in inside for file in source.files_below(name))
    return Match.yes("Continue's folder", tuple(members), "root", size_bytes)


def _holds_sessions(sessions: Source) -> bool:
    """Return whether a folder directly contains sessions; other tools have folders of the same name."""
    files = [name for name in sessions.listing()[0] if name.endswith(".json")]
    if INDEX in files:
        files.remove(INDEX)
        if _is_index(Source(sessions.folder, INDEX)):
            return True
    return any(_is_session(Source(sessions.folder, name)) for name in files[:_SAMPLED_FILES])


def _holds_events(folder: Source) -> bool:
    files, folders = folder.listing()
    versions = [folder.subfolder(name).listing()[0] for name in folders if _VERSION.fullmatch(name)]
    names = [name for listed in (files, *versions) for name in listed]
    return any(name.endswith(".jsonl") and name.removesuffix(".jsonl") in EVENTS for name in names)


def _is_index(source: Source) -> bool:
    match _first_value(source):
        case [first, *_]:
            return isinstance(first, dict) and layout.index_row(first) is not None and "title" in first
        case _:
            return False


def _is_session(source: Source) -> bool:
    try:
        if b'"history"' not in source.head():
            return False
    except (PalaverError, OSError):
        return False
    match _first_value(source):
        case {"history": list(items), **session}:
            if any(isinstance(item, dict) and "executionId" in item for item in items) or "executionId" in session:
                return False  # Kiro's sessions look much the same
            is_named = all(isinstance(session.get(name), str) for name in _SESSION_FIELDS)
            return is_named if not items else is_named or any(map(_is_item, items))
        case {"history": {"timeline": list()}}:
            return has_timeline(source)
        case _:
            return False


def _is_item(item: Any) -> bool:
    match item:
        case {"message": {"role": str()}, "contextItems": list()}:
            return True
        case _:
            return False


def _is_dev_data(source: Source) -> bool:
    """Return whether the lines are events; older ones do not name themselves and are recognized by file name."""
    if b'"schema"' in source.head():
        match _first_value(source):
            case {"eventName": str(name), "schema": str()} | {"name": str(name), "data": dict(), "schema": str()}:
                return name in EVENTS
            case _:
                pass
    name = EVENTS.get(source.stem, "") if source.suffix == ".jsonl" else ""
    if not name:
        return False
    row = _first_value(source)
    return isinstance(row, dict) and row.keys() >= _EVENT_FIELDS[name] and "type" not in row


def _first_value(source: Source) -> Any:
    try:
        return source.parsed_head()
    except (PalaverError, OSError):
        return None
