"""Telling Continue's folder and its files from those of others, by names and by what stands at their beginnings."""

import re
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.contract import Match
from palaver.importers.continue_dev import index
from palaver.importers.continue_dev.layout import (
    CONFIGS,
    DEV_DATA,
    EVENTS,
    INDEX,
    OTHER_CONFIG,
    SECRETS,
    SESSIONS,
    TYPED,
)
from palaver.importers.continue_dev.share import is_share
from palaver.sources.source import Source

_MEMBERS = (*CONFIGS, OTHER_CONFIG, TYPED, *SECRETS)
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_LOOKED_AT = 5
_SESSION = ("sessionId", "workspaceDirectory")
_OWN_ROWS = {
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
        return _folder(source)
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
    """The form of a source that somebody named, whatever is in it."""
    if source.is_folder:
        return "root"
    if found := recognize(source).form:
        return found
    if source.file_name == INDEX:
        return "index"
    return {".jsonl": "dev_data", ".md": "share"}.get(source.suffix, "session")


def _folder(source: Source) -> Match:
    files, folders = source.listing()
    if SESSIONS not in folders and DEV_DATA not in folders:
        return Match.no()
    sessions = source.within(SESSIONS) if SESSIONS in folders else None
    has_sessions = sessions is not None and _holds_sessions(sessions)
    has_events = DEV_DATA in folders and _holds_events(source.within(DEV_DATA))
    if not (has_sessions or has_events):
        return Match.no()
    inside = [name for name in (SESSIONS, DEV_DATA) if name in folders]
    members = [*inside, *(name for name in _MEMBERS if name in files)]
    size_bytes = sum(file.size_bytes for name in inside for file in source.under(name))
    return Match.yes("Continue's folder", tuple(members), "root", size_bytes)


def _holds_sessions(sessions: Source) -> bool:
    """Whether sessions lie directly in a folder; other tools have folders of the same name."""
    files = [name for name in sessions.listing()[0] if name.endswith(".json")]
    if INDEX in files:
        files.remove(INDEX)
        if _is_index(Source(sessions.folder, INDEX)):
            return True
    return any(_is_session(Source(sessions.folder, name)) for name in files[:_LOOKED_AT])


def _holds_events(folder: Source) -> bool:
    files, folders = folder.listing()
    versions = [folder.within(name).listing()[0] for name in folders if _VERSION.fullmatch(name)]
    names = [name for listed in (files, *versions) for name in listed]
    return any(name.endswith(".jsonl") and name.removesuffix(".jsonl") in EVENTS for name in names)


def _is_index(source: Source) -> bool:
    match _glimpsed(source):
        case [first, *_]:
            return isinstance(first, dict) and index.row_of(first) is not None and "title" in first
        case _:
            return False


def _is_session(source: Source) -> bool:
    try:
        if b'"history"' not in source.head():
            return False
    except (PalaverError, OSError):
        return False
    match _glimpsed(source):
        case {"history": list(items), **session}:
            if any(isinstance(item, dict) and "executionId" in item for item in items) or "executionId" in session:
                return False  # Kiro's, which looks much the same
            is_named = all(isinstance(session.get(name), str) for name in _SESSION)
            return is_named if not items else is_named or any(map(_is_item, items))
        case _:
            return False


def _is_item(item: Any) -> bool:
    match item:
        case {"message": {"role": str()}, "contextItems": list()}:
            return True
        case _:
            return False


def _is_dev_data(source: Source) -> bool:
    """Whether lines say that they are events; older ones do not, and are known by the names of their files."""
    if b'"schema"' in source.head():
        match _glimpsed(source):
            case {"eventName": str(name), "schema": str()} | {"name": str(name), "data": dict(), "schema": str()}:
                return name in EVENTS
            case _:
                pass
    name = EVENTS.get(source.stem, "") if source.suffix == ".jsonl" else ""
    if not name:
        return False
    row = _glimpsed(source)
    return isinstance(row, dict) and row.keys() >= _OWN_ROWS[name] and "type" not in row


def _glimpsed(source: Source) -> Any:
    try:
        return source.glimpse()
    except (PalaverError, OSError):
        return None
