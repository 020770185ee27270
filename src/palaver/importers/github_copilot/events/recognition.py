"""Recognition of event logs: by the envelope of their first lines, else by their location.

An event is `{"type": "user.message", "data": {…}, "id", "timestamp", "parentId"}`. Its type is a known one; an unknown
type must contain a dot, and all other fields must be present.
"""

import re
from typing import Any

import orjson

from palaver.errors import PalaverError
from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.events.event_types import KNOWN_TYPES
from palaver.sources.source import Source

LOG, PARTITIONS, HISTORY = "events:log", "events:partitions", "events:history"

_BLANK = b"\xef\xbb\xbf\0 \t\r\n"
_MAX_LINES = 40
_LONG_FIRST_LINE = re.compile(rb'\{\s*"type"\s*:\s*"([a-z_]+(?:\.[a-z_]+)+|abort)"\s*,\s*"data"\s*:\s*\{')
_is_partition = re.compile(r"partition-([0-9]+)\.jsonl").fullmatch
_is_history_name = re.compile(r"session_.+_[0-9]+\.json").fullmatch
_SIDE_FILES = frozenset(
    {
        *("workspace.yaml", "vscode.metadata.json", "vscode.requests.metadata.json", "plan.md", "checkpoints", "files"),
        *("research", "rewind-snapshots", "session.db", "session.db-wal", "session.db-shm"),
    }
)
"""Files and folders next to a session's log, besides `inuse.<process>.lock`."""


def recognize(source: Source) -> Match:
    if source.is_folder:
        return _folder(source)
    head = source.head().lstrip(_BLANK)
    if is_log(head):
        return Match.yes("events with a type and data", side_file_names(source), LOG)
    if source.suffix == ".json":
        return _history(source, head)
    return _by_location(source)


def is_log(head: bytes) -> bool:
    """Whether one of the first lines is an event, or the only one starts like one."""
    if b'"type"' not in head or b'"data"' not in head:
        return False
    for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]:
        if b'"data"' not in line:
            continue
        try:
            value = orjson.loads(line.strip(_BLANK))
        except orjson.JSONDecodeError:
            continue
        if is_event(value):
            return True
    return b"\n" not in head and _LONG_FIRST_LINE.match(head) is not None


def is_event(value: Any) -> bool:
    match value:
        case {"type": str(kind), "data": dict()}:
            if kind in KNOWN_TYPES:
                return "timestamp" in value or "id" in value
            return "." in kind and "timestamp" in value and "id" in value and "parentId" in value
        case _:
            return False


def partitions(folder: Source) -> list[str]:
    """Return the names of the partitions in a folder, by number."""
    found = [(int(named[1]), name) for name in folder.listing()[0] if (named := _is_partition(name))]
    return [name for _, name in sorted(found)]


def side_file_names(source: Source) -> tuple[str, ...]:
    """Return the names of a session's files and folders next to its log."""
    if source.file_name != "events.jsonl" or (folder := source.parent_folder()) is None:
        return ()
    try:
        names = [name for names in folder.listing() for name in names]
    except (PalaverError, OSError):
        return ()
    return tuple(
        name for name in names if name in _SIDE_FILES or (name.startswith("inuse.") and name.endswith(".lock"))
    )


def _folder(source: Source) -> Match:
    """Match a JetBrains conversation: a folder of consecutive partitions, any of which may be empty."""
    names = partitions(source)
    if not names:
        return Match.no()
    files = [Source(source.folder, name) for name in names]
    is_own = any(is_log(file.head().lstrip(_BLANK)) for file in files)
    if not is_own and _parent_names(files[0])[-2:-1] != ["jb"]:
        return Match.no()
    size_bytes = sum(file.size_bytes for file in files)
    return Match.yes("partitions of a conversation", tuple(names), PARTITIONS, size_bytes)


def _history(source: Source, head: bytes) -> Match:
    if b'"chatMessages"' in head or b'"timeline"' in head:
        match source.parsed_head():
            case {"chatMessages": list(), "sessionId": _} | {"chatMessages": list(), "timeline": _}:
                return Match.yes("a session with `chatMessages`", form=HISTORY)
            case {"timeline": list(), "sessionId": _, "startTime": _}:
                return Match.yes("a session with a `timeline`", form=HISTORY)
            case _:
                pass
    if _parent_names(source)[-1:] == ["history-session-state"] and _is_history_name(source.file_name):
        return Match.maybe("a damaged file named like a session", form=HISTORY)
    return Match.no()


def _by_location(source: Source) -> Match:
    """Match an empty or damaged file where an event log is expected."""
    if source.suffix != ".jsonl":
        return Match.no()
    folders = _parent_names(source)
    is_log_location = (
        folders[-1:] == ["session-state"]
        or (folders[-1:] == ["transcripts"] and "copilot" in "".join(folders[-2:-1]).lower())
        or (source.file_name == "events.jsonl" and folders[-2:-1] == ["session-state"])
        or (_is_partition(source.file_name) is not None and folders[-2:-1] == ["jb"])
    )
    return (
        Match.maybe("a file where logs of events are", side_file_names(source), LOG) if is_log_location else Match.no()
    )


def _parent_names(source: Source) -> list[str]:
    """Return the names of the folders around a file, innermost last."""
    return re.split(r"[/\\!]", source.label)[:-1]
