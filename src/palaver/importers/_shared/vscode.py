"""Where VS Code and the editors made from it keep what their extensions store, and what they remember for them."""

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

STATE = "state.vscdb"

_DRIVE = re.compile(r"/[A-Za-z]:(?:/|$)")

_EDITORS = (
    *("Code", "Code - Insiders", "Code - OSS", "VSCodium", "VSCodium - Insiders", "Cursor", "Windsurf"),
    *("Windsurf - Next", "Trae", "Kiro", "Antigravity", "Positron"),
)
_SERVERS = (
    *(".vscode-server", ".vscode-server-insiders", ".vscode-remote", ".vscodium-server", ".cursor-server"),
    *(".windsurf-server", ".trae-server", ".antigravity-server", ".positron-server"),
)
"""What an editor leaves on the machine that it is connected to: a server, a container, the Linux inside of Windows."""


def user_folders() -> list[Path]:
    """The `User` folder of every known editor, whether it is there or not."""
    found = [folder / editor / "User" for folder in _settings_folders() for editor in _EDITORS]
    if portable := os.environ.get("VSCODE_PORTABLE"):
        found.append(Path(portable) / "user-data" / "User")
    found += [Path.home() / server / "data" / "User" for server in _SERVERS]
    return found


def global_storage(*extensions: str) -> list[Path]:
    """Where extensions keep their files, in every known editor."""
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


def path_in(address: str) -> str:
    """The path that a `file:` address stands for, as it is on the machine it was written on; any other as it is."""
    if not address.lower().startswith("file:"):
        return address
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    path = unquote(parts.path)
    if parts.netloc and parts.netloc != "localhost":
        return f"//{parts.netloc}{path}"
    return without_slash(path)


def without_slash(path: str) -> str:
    """`/c:/folder` is `c:/folder` where it comes from."""
    return path[1:] if _DRIVE.match(path) else path


def remembered(state: Path, key: str) -> Any:
    """What an editor remembers under a key, whatever its case, in its `state.vscdb`; None where that cannot be read."""
    if not state.is_file():
        return None
    for mode in ("mode=ro", "mode=ro&immutable=1"):  # the second where the folder cannot be written to
        try:
            with closing(sqlite3.connect(f"{state.absolute().as_uri()}?{mode}", uri=True, timeout=1)) as connection:
                rows = connection.execute("SELECT value FROM ItemTable WHERE lower(key) = ?", [key.lower()]).fetchall()
        except sqlite3.Error:
            continue
        return next((value for (raw,) in rows if (value := _loaded(raw)) is not None), None)
    return None


def _loaded(raw: Any) -> Any:
    try:
        return orjson.loads(raw)
    except (TypeError, ValueError):
        return None
