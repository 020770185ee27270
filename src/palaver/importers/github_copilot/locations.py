"""Locations of Copilot's files on this machine."""

import os
import sys
import tempfile
from pathlib import Path

from palaver.importers._shared.vscode import user_folders

_EXTENSIONS = ("github.copilot-chat", "GitHub.copilot-chat")


def locations() -> list[Path]:
    """Return the chat folders of every known editor, the command line, JetBrains and Visual Studio."""
    found = [folder for user in user_folders() for folder in _editor_folders(user)]
    home = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
    found += [home / name for name in ("session-state", "history-session-state", "jb")]
    if sys.platform == "win32":
        found.append(Path(tempfile.gettempdir()) / "VSGitHubCopilotLogs" / "traces")
    return found


def _editor_folders(user: Path) -> list[Path]:
    """Return the chat folders of an editor, with and without a workspace."""
    storage = user / "globalStorage"
    found = [storage / name for name in ("emptyWindowChatSessions", "transferredChatSessions")]
    found += _extension_folders(storage)
    try:
        workspaces = sorted((user / "workspaceStorage").iterdir())
    except OSError:
        return found
    for workspace in workspaces:
        found += [workspace / "chatSessions", *_extension_folders(workspace)]
    return found


def _extension_folders(storage: Path) -> list[Path]:
    return [storage / name / kind for name in _EXTENSIONS for kind in ("transcripts", "debug-logs")]
