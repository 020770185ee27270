"""The files of one session: `<id>.messages.json`, its manifest `<id>.json`, and `<id>.compaction.json`.

They lie side by side in the session's folder, those of its agents too, which have messages only. The paths that a
manifest states may be those of another machine, so it is what lies beside a file that belongs to it.
"""

import re
from dataclasses import dataclass
from typing import Any

from palaver.errors import PalaverError
from palaver.sources.source import Source

MESSAGES = ".messages.json"
COMPACTION = ".compaction.json"
_MANIFEST = ".json"
is_session_id = re.compile(r"([0-9]{13})_[A-Za-z0-9_-]+").fullmatch
"""Ids as the product makes them: of the time in milliseconds, and of chance."""


@dataclass(frozen=True, slots=True)
class SessionFiles:
    messages: Source | None
    manifest: Source | None = None
    compactions: tuple[Source, ...] = ()

    @classmethod
    def of(cls, source: Source) -> "SessionFiles":
        """The files that belong together with one of them."""
        names = dict.fromkeys(names_beside(source))
        stem = stem_of(source.file_name)
        if source.file_name.endswith(COMPACTION):
            return cls(source)
        messages: Source | None = source
        if is_manifest(source):
            messages = source.beside(stem + MESSAGES) if stem + MESSAGES in names else None
        if messages is None:
            return cls(None, source)
        if not messages.file_name.endswith(MESSAGES):
            return cls(messages)
        manifest = source.beside(stem + _MANIFEST) if stem + _MANIFEST in names else None
        found = [name for name in names if name.endswith(COMPACTION) and _belongs(name, messages, names)]
        return cls(messages, manifest, tuple(source.beside(name) for name in found))

    def beside(self, source: Source) -> tuple[Source, ...]:
        """All of them but one."""
        every = (self.messages, self.manifest, *self.compactions)
        return tuple(file for file in every if file is not None and file.name != source.name)


def names_beside(source: Source) -> list[str]:
    """The names of all files in a file's folder."""
    above = source.above()
    return above.listing()[0] if above is not None else []


def stem_of(name: str) -> str:
    for ending in (MESSAGES, COMPACTION, _MANIFEST):
        if name.endswith(ending):
            return name[: -len(ending)]
    return name


def owner_of(compaction: Source) -> Source | None:
    """The messages whose compacted view a file is."""
    names = dict.fromkeys(names_beside(compaction))
    for name in names:
        if name.endswith(MESSAGES):
            messages = compaction.beside(name)
            if _belongs(compaction.file_name, messages, names):
                return messages
    return None


def _belongs(compaction: str, messages: Source, names: dict[str, None]) -> bool:
    """Whether a compacted view is that of some messages: by its name, else by what it says itself."""
    if stem_of(compaction) == stem_of(messages.file_name):
        return True
    if stem_of(compaction) + MESSAGES in names:
        return False
    stated = session_of(messages.beside(compaction))
    if stated:
        return stated == session_of(messages)
    return sum(name.endswith(MESSAGES) for name in names) == 1


_MARKS = (b'"messages"', b'"session_id"')


def session_of(source: Source) -> str:
    """The session that a file of messages names."""
    match seen(source):
        case {"sessionId": str(stated)}:
            return stated
        case _:
            return ""


def is_messages(source: Source) -> bool:
    """Whether a file holds the messages of a session, or its compacted view."""
    match seen(source):
        case {"messages": list(), "sessionId": str(), "agent": str()}:
            return True
        case {"messages": list(), "updated_at": str()} | {"messages": list(), "sessionId": str()}:
            return source.file_name.endswith((MESSAGES, COMPACTION))
        case _:
            return False


def is_manifest(source: Source) -> bool:
    match seen(source):
        case {"session_id": str(), "started_at": str(), "provider": str()} as manifest:
            return "messages" not in manifest and ("workspace_root" in manifest or "messages_path" in manifest)
        case _:
            return False


def seen(source: Source) -> Any:
    """The beginning of a file as a value; None where it cannot be read, or has not one of the names it should have."""
    try:
        if not any(mark in source.head() for mark in _MARKS):
            return None
        return source.glimpse()
    except (PalaverError, OSError):
        return None
