"""Debug logs of VS Code: one entry a line, with what a person typed, what the model answered, and what tools did."""

from collections.abc import Iterator

from palaver.errors import PalaverError
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.github_copilot.spans.debug_entries import Entry, entry_of
from palaver.importers.github_copilot.spans.debug_session import Session
from palaver.importers.github_copilot.spans.noticed import BAD_SPAN
from palaver.model.build import JsonObject
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

_MAIN = "main.jsonl"
_SPOKEN = ("user_message", "agent_response", "tool_call")


def read_debug(source: Source, run: Run) -> Iterator[JsonObject]:
    """A conversation for each session of the log; mostly it is one."""
    parent = _parent(source)
    is_saved = _is_saved(source)
    sessions: dict[str, Session] = {}
    with source.open() as stream:
        lines = JsonLines(stream, run)
        for line in lines:
            if not isinstance(line, dict):
                run.quarantined(NOT_AN_OBJECT, lines.raw, lines.where())
                continue
            try:
                entry = entry_of(line, lines.where())
            except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other lines
                run.quarantined(UNFORESEEN, lines.raw, lines.where(), f"{type(error).__name__}: {error}")
                continue
            if entry is None:
                run.quarantined(BAD_SPAN, lines.raw, lines.where())
            elif is_saved and entry.kind in _SPOKEN:
                run.skipped("saved-chat-exists")
            else:
                run.mapped()
                _session(sessions, entry, parent).add(entry)
    for session in sessions.values():
        yield from session.told(run, source.written_at())


def _session(sessions: dict[str, Session], entry: Entry, parent: str) -> Session:
    if entry.session not in sessions:
        sessions[entry.session] = Session(entry.session, parent if parent != entry.session else "")
    return sessions[entry.session]


def _parent(source: Source) -> str:
    """The session that started what a log tells of; empty for a person's own."""
    folder = source.above()
    if source.file_name == _MAIN or folder is None or not source.beside(_MAIN).exists():
        return ""
    return _name_of(folder)


def _is_saved(source: Source) -> bool:
    """Whether the chat, or its transcript, lies where the editor keeps it beside debug logs."""
    folder = source.above()
    logs = folder.above() if folder is not None and source.file_name == _MAIN else None
    extension = logs.above() if logs is not None else None
    if folder is None or extension is None:
        return False
    name = _name_of(folder)
    places = [(extension, "transcripts", ".jsonl")]
    if (workspace := extension.above()) is not None:
        places += [(workspace, "chatSessions", ".jsonl"), (workspace, "chatSessions", ".json")]
    return any(_is_there(around, inside, f"{name}{suffix}") for around, inside, suffix in places)


def _is_there(around: Source, inside: str, name: str) -> bool:
    try:
        return name in around.within(inside).listing()[0]
    except (PalaverError, OSError):
        return False


def _name_of(folder: Source) -> str:
    return folder.label.replace("\\", "/").rstrip("/").rpartition("/")[2]
