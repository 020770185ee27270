"""Recognition of SDK sessions and their files: `<id>.messages.json`, the manifest `<id>.json`, `<id>.compaction.json`.

All files of a session are in one folder, including those of its agents, which have messages only. Paths stated in a
manifest may be those of another machine, so only files in the same folder are considered.
"""

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.contract import Match
from palaver.sources.source import Source

MESSAGES = ".messages.json"
COMPACTION = ".compaction.json"
_MANIFEST = ".json"
is_session_id = re.compile(r"([0-9]{13})_[A-Za-z0-9_-]+").fullmatch
"""Match ids as the product generates them: epoch milliseconds and a random suffix."""


FORM = "session"


_HOOK_LOG = "hooks.jsonl"


_REQUIRED_NAMES = (b'"messages"', b'"session_id"')


def recognize_session(source: Source) -> Match:
    if source.is_folder:
        return Match.no()
    if source.suffix != ".json":
        is_log = source.file_name.endswith(_HOOK_LOG) and any(name.endswith(MESSAGES) for name in names_beside(source))
        return Match.no("Cline's log of what its hooks saw") if is_log else Match.no()
    if is_messages(source):
        if not source.file_name.endswith(COMPACTION):
            return _match("messages of a session of the Cline SDK", source)
        owner = messages_of_view(source)
        if owner is not None and is_messages(owner):
            return Match.no(f"what a model was sent of {owner.file_name}")
        return _match("a compacted view of a session of the Cline SDK", source)
    if is_manifest(source):
        messages = SessionFiles.of(source).messages
        if messages is not None and is_messages(messages):
            return Match.no(f"the manifest of {messages.file_name}")
        return _match("the manifest of a session of the Cline SDK", source)
    return _match_damaged(source)


def _match_damaged(source: Source) -> Match:
    """Match a file that is too damaged to be recognized by content, in a folder named like a session."""
    folder = PurePath(source.label.replace("!", "/")).parent.name
    name = source.file_name
    if not is_session_id(folder) or not (name.endswith((MESSAGES, COMPACTION)) or stem_of(name) == folder):
        return Match.no()
    files = SessionFiles.of(source)
    owner = messages_of_view(source) if name.endswith(COMPACTION) else source.sibling(stem_of(name) + MESSAGES)
    if owner is not None and owner.file_name != name and is_messages(owner):
        return Match.no(f"a damaged file beside {owner.file_name}")
    members = tuple(file.name.rpartition("/")[2] for file in files.beside(source))
    return Match.maybe("a damaged file in the folder of a session of the Cline SDK", members, FORM)


def _match(reason: str, source: Source) -> Match:
    beside = SessionFiles.of(source).beside(source)
    members = tuple(file.name.rpartition("/")[2] for file in beside)
    return Match.yes(reason, members, FORM, source.size_bytes + sum(file.size_bytes for file in beside))


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The files of one session; `messages` may be a compacted view if nothing else is left."""

    messages: Source | None
    manifest: Source | None = None
    compactions: tuple[Source, ...] = ()

    @classmethod
    def of(cls, source: Source) -> "SessionFiles":
        """Return the files of the session that a file belongs to."""
        names = dict.fromkeys(names_beside(source))
        stem = stem_of(source.file_name)
        if source.file_name.endswith(COMPACTION):
            return cls(source)
        messages: Source | None = source
        if is_manifest(source):
            messages = source.sibling(stem + MESSAGES) if stem + MESSAGES in names else None
        if messages is None:
            return cls(None, source)
        if not messages.file_name.endswith(MESSAGES):
            return cls(messages)
        manifest = source.sibling(stem + _MANIFEST) if stem + _MANIFEST in names else None
        found = [name for name in names if name.endswith(COMPACTION) and _is_view_of(name, messages, names)]
        return cls(messages, manifest, tuple(source.sibling(name) for name in found))

    def beside(self, source: Source) -> tuple[Source, ...]:
        """Return all files except the given one."""
        every = (self.messages, self.manifest, *self.compactions)
        return tuple(file for file in every if file is not None and file.name != source.name)


def names_beside(source: Source) -> list[str]:
    """Return the names of all files in the folder of a file."""
    above = source.parent_folder()
    return above.listing()[0] if above is not None else []


def stem_of(name: str) -> str:
    for ending in (MESSAGES, COMPACTION, _MANIFEST):
        if name.endswith(ending):
            return name[: -len(ending)]
    return name


def messages_of_view(view: Source) -> Source | None:
    """Return the messages file that a compacted view belongs to, or None."""
    names = dict.fromkeys(names_beside(view))
    for name in names:
        if name.endswith(MESSAGES):
            messages = view.sibling(name)
            if _is_view_of(view.file_name, messages, names):
                return messages
    return None


def _is_view_of(view: str, messages: Source, names: dict[str, None]) -> bool:
    """Return whether a compacted view belongs to a messages file: by name, else by its stated session id."""
    if stem_of(view) == stem_of(messages.file_name):
        return True
    if stem_of(view) + MESSAGES in names:
        return False
    stated = stated_session_id(messages.sibling(view))
    if stated:
        return stated == stated_session_id(messages)
    return sum(name.endswith(MESSAGES) for name in names) == 1


def stated_session_id(source: Source) -> str:
    """Return the session id stated in a messages file, or ""."""
    match file_head(source):
        case {"sessionId": str(stated)}:
            return stated
        case _:
            return ""


def is_messages(source: Source) -> bool:
    """Return whether a file holds the messages of a session or a compacted view of them."""
    match file_head(source):
        case {"messages": list(), "sessionId": str(), "agent": str()}:
            return True
        case {"messages": list(), "updated_at": str()} | {"messages": list(), "sessionId": str()}:
            return source.file_name.endswith((MESSAGES, COMPACTION))
        case _:
            return False


def is_manifest(source: Source) -> bool:
    match file_head(source):
        case {"session_id": str(), "started_at": str(), "provider": str()} as manifest:
            return "messages" not in manifest and ("workspace_root" in manifest or "messages_path" in manifest)
        case _:
            return False


def file_head(source: Source) -> Any:
    """Parse the beginning of a file; return None if it is unreadable or contains none of the expected names."""
    try:
        if not any(name in source.head() for name in _REQUIRED_NAMES):
            return None
        return source.parsed_head()
    except (PalaverError, OSError):
        return None
