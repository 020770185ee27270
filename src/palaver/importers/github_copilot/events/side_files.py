"""Files next to a session's log: its workspace, its plan, and files that are not part of the conversation."""

from datetime import date, datetime
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.side_files import read_side_file
from palaver.importers.github_copilot.events.recognition import side_file_names
from palaver.importers.github_copilot.events.session import Session
from palaver.model.build import JsonObject
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.run import Run
from palaver.sources.small_files import UNREADABLE_SETTINGS, UNREADABLE_SIDE_FILE, count_file, json_document
from palaver.sources.source import Source

_MAX_PLAN_BYTES = 1 << 24
_MAX_VALUES = 10_000


def add_side_files(source: Source, sessions: dict[str, Session], run: Run) -> None:
    """Add the workspace, plan and VS Code metadata to the first session of a log, and count all other files."""
    names = side_file_names(source)
    folder = source.parent_folder()
    if not names or folder is None:
        return
    folders = folder.listing()[1]
    custom: JsonObject = {}
    files = 0
    for name in names:
        file = source.sibling(name)
        match name:
            case "workspace.yaml":
                files += _add_workspace(file, custom, run)
            case "vscode.metadata.json" | "vscode.requests.metadata.json":
                key = "vscode" if name == "vscode.metadata.json" else "vscode_requests"
                for value in json_document(file, run):
                    files += 1
                    if value or value == 0:
                        custom[key] = value if isinstance(value, dict) or key != "vscode" else {"value": value}
            case "plan.md":
                files += _add_plan(file, custom, run)
            case _:
                for other in source.files_below(name) if name in folders else [file]:
                    count_file(other, run)
                    run.skipped("side-file")
    if sessions:
        session = next(iter(sessions.values()))
        session.custom.update(custom)
        session.conversation_records += files
    else:
        run.skipped("no-conversation", files)


def link_saved_chat(source: Source, sessions: dict[str, Session]) -> None:
    """Name the saved chat that a VS Code transcript duplicates, if it still exists.

    Usage counts in the saved chat, so the transcript's token counts are dropped.
    """
    for session in sessions.values():
        if session.main.platform_metadata.get("kept_as") != "transcript":
            continue
        folder = source.parent_folder()
        for _ in range(2):
            folder = folder.parent_folder() if folder is not None else None
        if folder is not None:
            for name in (f"chatSessions/{session.session_id}.jsonl", f"chatSessions/{session.session_id}.json"):
                if _exists(folder, name):
                    session.main.platform_metadata["chat_session_file"] = name
                    _drop_token_counts(session)
                    break


def _drop_token_counts(session: Session) -> None:
    for conversation in session.conversations():
        for message in conversation.messages:
            if (tokens := message.pop("tokens", None)) is not None:
                message["metadata"].setdefault("usage", tokens)


def _exists(folder: Source, name: str) -> bool:
    try:
        return Source(folder.folder, name).exists()
    except (PalaverError, OSError, ValueError):
        return False


def _add_workspace(file: Source, custom: JsonObject, run: Run) -> int:
    count_file(file, run)
    value = _json_value(read_side_file(file))
    if not isinstance(value, dict):
        run.note(UNREADABLE_SETTINGS, file.name, kept=False)
        run.skipped("unreadable-settings")
        return 0
    custom["workspace"] = value
    return 1


def _add_plan(file: Source, custom: JsonObject, run: Run) -> int:
    count_file(file, run)
    try:
        with file.open() as stream:
            text = stream.read(_MAX_PLAN_BYTES).decode(errors="replace")
    except (PalaverError, OSError) as error:
        run.note(UNREADABLE_SIDE_FILE, file.name, str(error), kept=False)
        run.skipped("unreadable-side-file")
        return 0
    if text:
        custom["plan"] = text
    return 1


def _json_value(value: Any) -> Any:
    """Return a YAML value as JSON, or None if it is recursive or too large."""
    left = _MAX_VALUES

    def convert(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0 or depth > 20:
            raise ValueError
        match value:
            case datetime() | date():
                return normalize_timestamp(value)
            case dict():
                return {str(key): convert(item, depth + 1) for key, item in value.items()}
            case list() | tuple() | set():
                return [convert(item, depth + 1) for item in value]
            case None | bool() | int() | float() | str():
                return value
            case _:
                return str(value)

    try:
        return convert(value, 0)
    except ValueError:
        return None
