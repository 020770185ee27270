"""The folders in which VS Code and its forks store the data of extensions, and their state database."""

import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson

STATE_FILE = "state.vscdb"

_DRIVE = re.compile(r"/[A-Za-z]:(?:/|$)")

_EDITORS = (
    *("Code", "Code - Insiders", "Code - OSS", "VSCodium", "VSCodium - Insiders", "Cursor", "Windsurf"),
    *("Windsurf - Next", "Trae", "Kiro", "Antigravity", "Positron"),
)
_SERVERS = (
    *(".vscode-server", ".vscode-server-insiders", ".vscode-remote", ".vscodium-server", ".cursor-server"),
    *(".windsurf-server", ".trae-server", ".antigravity-server", ".positron-server"),
)
"""Folders of the server part on a machine that an editor connects to: a remote host, a container, WSL."""


def user_folders() -> list[Path]:
    """Return the `User` folder of every known editor, whether it exists or not."""
    found = [folder / editor / "User" for folder in _settings_folders() for editor in _EDITORS]
    if portable := os.environ.get("VSCODE_PORTABLE"):
        found.append(Path(portable) / "user-data" / "User")
    found += [Path.home() / server / "data" / "User" for server in _SERVERS]
    return found


def global_storage(*extensions: str) -> list[Path]:
    """Return the storage folders of some extensions in every known editor."""
    return [folder / "globalStorage" / extension for folder in user_folders() for extension in extensions]


def _settings_folders() -> Iterator[Path]:
    if sys.platform == "win32":
        roaming = os.environ.get("APPDATA")
        yield Path(roaming) if roaming else Path.home() / "AppData" / "Roaming"
    elif sys.platform == "darwin":
        yield Path.home() / "Library" / "Application Support"
    else:
        configured = os.environ.get("XDG_CONFIG_HOME")
        yield Path(configured) if configured else Path.home() / ".config"


def path_from_uri(uri: str) -> str:
    """Return the path of a `file:` URI, as spelled on the machine that wrote it; any other text unchanged."""
    if not uri.lower().startswith("file:"):
        return uri
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    path = unquote(parts.path)
    if parts.netloc and parts.netloc != "localhost":
        return f"//{parts.netloc}{path}"
    return strip_drive_slash(path)


def strip_drive_slash(path: str) -> str:
    """Remove the slash before a drive letter: `/c:/folder` is `c:/folder` on Windows."""
    return path[1:] if _DRIVE.match(path) else path


def read_state(state: Path, key: str) -> Any:
    """Return the value of a key, in any case, in an editor's `state.vscdb`; None if it cannot be read."""
    if not state.is_file():
        return None
    for mode in ("mode=ro", "mode=ro&immutable=1"):  # the second for a folder that is not writable
        try:
            with closing(sqlite3.connect(f"{state.absolute().as_uri()}?{mode}", uri=True, timeout=1)) as connection:
                rows = connection.execute("SELECT value FROM ItemTable WHERE lower(key) = ?", [key.lower()]).fetchall()
        except sqlite3.Error:
            continue
        return next((value for (raw,) in rows if (value := _parse_json(raw)) is not None), None)
    return None


def _parse_json(raw: Any) -> Any:
    try:
        return orjson.loads(raw)
    except (TypeError, ValueError):
        return None
