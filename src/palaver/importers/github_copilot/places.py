"""Where Copilot's files are on this machine."""

import os
import sys
import tempfile
from pathlib import Path

from palaver.importers._shared.vscode import user_folders

_EXTENSIONS = ("github.copilot-chat", "GitHub.copilot-chat")


def locations() -> list[Path]:
    """Folders of chats in every known editor, of the command line, of JetBrains, and of Visual Studio."""
    found = [place for user in user_folders() for place in _of_editor(user)]
    home = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
    found += [home / name for name in ("session-state", "history-session-state", "jb")]
    if sys.platform == "win32":
        found.append(Path(tempfile.gettempdir()) / "VSGitHubCopilotLogs" / "traces")
    return found


def _of_editor(user: Path) -> list[Path]:
    """What an editor keeps of chats: by workspace, and without one."""
    storage = user / "globalStorage"
    found = [storage / name for name in ("emptyWindowChatSessions", "transferredChatSessions")]
    found += _of_extension(storage)
    try:
        workspaces = sorted((user / "workspaceStorage").iterdir())
    except OSError:
        return found
    for workspace in workspaces:
        found += [workspace / "chatSessions", *_of_extension(workspace)]
    return found


def _of_extension(storage: Path) -> list[Path]:
    return [storage / name / kind for name in _EXTENSIONS for kind in ("transcripts", "debug-logs")]
