"""What lies beside the log of a session: its workspace, its plan, and files that are not part of the conversation."""

from datetime import date, datetime
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.side_files import side_value
from palaver.importers.github_copilot.events.recognition import beside
from palaver.importers.github_copilot.events.session import Session
from palaver.model.build import JsonObject
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import UNREADABLE_SIDE_FILE, counted, json_document

_LARGEST_PLAN_BYTES = 1 << 24
_MOST_VALUES = 10_000


def add_side_files(source: Source, sessions: dict[str, Session], run: Run) -> None:
    """Add what is beside a log to the session that it is the log of, and count the rest."""
    names = beside(source)
    folder = source.above()
    if not names or folder is None:
        return
    folders = folder.listing()[1]
    custom: JsonObject = {}
    files = 0
    for name in names:
        file = source.beside(name)
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
                for other in source.under(name) if name in folders else [file]:
                    counted(other, run)
                    run.skipped("side-file")
    if sessions:
        session = next(iter(sessions.values()))
        session.custom.update(custom)
        session.facts += files
    else:
        run.skipped("no-conversation", files)


def chat_session_beside(source: Source, sessions: dict[str, Session]) -> None:
    """Name the saved chat of which a transcript of VS Code is another account, where that is still there.

    What was used counts there, and not once more.
    """
    for session in sessions.values():
        if session.main.facts.get("kept_as") != "transcript":
            continue
        folder = source.above()
        for _ in range(2):
            folder = folder.above() if folder is not None else None
        if folder is not None:
            for name in (f"chatSessions/{session.session_id}.jsonl", f"chatSessions/{session.session_id}.json"):
                if _is_there(folder, name):
                    session.main.facts["chat_session_file"] = name
                    _count_nothing(session)
                    break


def _count_nothing(session: Session) -> None:
    for conversation in session.all():
        for message in conversation.messages:
            if (tokens := message.pop("tokens", None)) is not None:
                message["metadata"].setdefault("usage", tokens)


def _is_there(folder: Source, name: str) -> bool:
    try:
        return Source(folder.folder, name).exists()
    except (PalaverError, OSError, ValueError):
        return False


def _add_workspace(file: Source, custom: JsonObject, run: Run) -> int:
    counted(file, run)
    value = _plain(side_value(file))
    if not isinstance(value, dict):
        run.note(UNREADABLE_SIDE_FILE, file.name, kept=False)
        run.skipped("unreadable-side-file")
        return 0
    custom["workspace"] = value
    return 1


def _add_plan(file: Source, custom: JsonObject, run: Run) -> int:
    counted(file, run)
    try:
        with file.open() as stream:
            text = stream.read(_LARGEST_PLAN_BYTES).decode(errors="replace")
    except (PalaverError, OSError) as error:
        run.note(UNREADABLE_SIDE_FILE, file.name, str(error), kept=False)
        run.skipped("unreadable-side-file")
        return 0
    if text:
        custom["plan"] = text
    return 1


def _plain(value: Any) -> Any:
    """A value of YAML as one of JSON; None where it repeats itself without end, or is too large."""
    left = _MOST_VALUES

    def copied(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0 or depth > 20:
            raise ValueError
        match value:
            case datetime() | date():
                return normalize_timestamp(value)
            case dict():
                return {str(key): copied(item, depth + 1) for key, item in value.items()}
            case list() | tuple() | set():
                return [copied(item, depth + 1) for item in value]
            case None | bool() | int() | float() | str():
                return value
            case _:
                return str(value)

    try:
        return copied(value, 0)
    except ValueError:
        return None
