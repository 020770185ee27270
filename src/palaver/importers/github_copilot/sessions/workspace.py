"""The folder that a session is about, which the editor names in a file of its own."""

from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.side_files import side_value
from palaver.importers._shared.vscode import path_in
from palaver.sources.source import Source

_SESSIONS = "chatSessions"
_FILE = "workspace.json"


def workspace_of(source: Source) -> str:
    """The path or address of the workspace whose sessions lie around a file; empty where none is known."""
    try:
        folder = source.above()
        if folder is None or folder.label.replace("\\", "/").rpartition("/")[2].rpartition("!")[2] != _SESSIONS:
            return ""
        storage = folder.above()
        return side_value(storage.beside(_FILE), _named) if storage else ""
    except (PalaverError, OSError):
        return ""


def _named(value: Any) -> str:
    match value:
        case {"folder": str(address)} | {"workspace": str(address)}:
            return path_in(address)
        case _:
            return ""
