"""The products of the family: the ids of their extensions, and where each stores its tasks.

An editor extension stores in `<User>/globalStorage/<extension id>`, with tasks in `tasks/<id>` and, for Cline, an index
in `state/taskHistory.json`. The setting `customStoragePath` moves the storage of Roo Code and Kilo Code; no other
setting of the editor is used.

In JetBrains and on the command line, Cline stores in `~/.cline/data` (`CLINE_DIR` names its parent folder,
`CLINE_DATA_DIR` the folder itself), with newer sessions in `sessions` (or `CLINE_SESSION_DATA_DIR`); Kilo Code stores
in `~/.kilocode/globalStorage` and `~/.kilocode/cli/global`. Only the folders with tasks and sessions are searched: the
others hold caches, checkpoints and secrets.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from palaver.importers._shared.vscode import global_storage, user_folders
from palaver.model.build import JsonObject

_LARGEST_BYTES = 1 << 24
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*+"?)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*+[}\]])', re.DOTALL)
TASKS = "tasks"
TASK_HISTORY = "state/taskHistory.json"
SESSIONS = "sessions"


@dataclass(frozen=True, slots=True)
class Product:
    platform: str
    title: str
    extensions: tuple[str, ...]
    """Ids of its extensions, which are also the names of their folders."""
    homes: tuple[str, ...] = ()
    """Storage folders without an editor, relative to the home folder."""
    settings: tuple[str, ...] = ()
    """Editor settings that name another storage folder."""

    def locations(self) -> list[Path]:
        """Return where tasks and sessions may be on this machine; the paths need not exist."""
        found = [storage / name for storage in self._storages() for name in (TASKS, TASK_HISTORY)]
        if self.platform == "cline":
            found += [data / SESSIONS for data in _cline_data_folders()]
            if sessions := _path_from_environment("CLINE_SESSION_DATA_DIR"):
                found.append(sessions)
        return list(dict.fromkeys(found))

    def _storages(self) -> Iterator[Path]:
        yield from global_storage(*self.extensions)
        yield from (Path.home() / home for home in self.homes)
        yield from custom_storages(self.settings)
        if self.platform == "cline":
            yield from _cline_data_folders()


ROO_CODE = Product(
    "roo_code",
    "Roo Code",
    ("rooveterinaryinc.roo-cline", "rooveterinaryinc.roo-code-nightly"),
    settings=("roo-cline.customStoragePath", "roo-code-nightly.customStoragePath"),
)
CLINE = Product("cline", "Cline", ("saoudrizwan.claude-dev", "saoudrizwan.cline-nightly"), homes=(".cline/data",))
KILO_CODE = Product(
    "kilo_code",
    "Kilo Code",
    ("kilocode.kilo-code", "kilo code.kilo-code"),
    homes=(
        ".kilocode/globalStorage",
        ".kilocode/globalStorage/kilo code.kilo-code",
        ".kilocode/cli/global",
        ".kilocode/cli",
    ),
    settings=("kilo-code.customStoragePath",),
)
PRODUCTS = (ROO_CODE, CLINE, KILO_CODE)


def product_of_path(label: str) -> Product | None:
    """Return the product whose storage folder occurs in a path, the innermost if several, or None."""
    path = f"/{label.lower()}/".translate(_SLASHES)
    positions = [(path.rfind(name), product) for name, product in _FOLDER_NAMES]
    at, product = max(positions, key=lambda item: item[0])
    return product if at >= 0 else None


_SLASHES = str.maketrans("\\!", "//")
_FOLDER_NAMES = [
    (f"/{name}/".lower(), product) for product in PRODUCTS for name in (*product.extensions, *product.homes)
]


def _cline_data_folders() -> Iterator[Path]:
    """Yield Cline's data folders outside of editors: those in the environment, then the default."""
    if data := _path_from_environment("CLINE_DATA_DIR"):
        yield data
    if folder := _path_from_environment("CLINE_DIR"):
        yield folder / "data"
    yield Path.home() / ".cline" / "data"


def _path_from_environment(name: str) -> Path | None:
    value = os.environ.get(name, "").strip()
    return Path(value) if value else None


def custom_storages(names: Iterable[str]) -> dict[Path, Path]:
    """Return the folders in these settings, each with the `User` folder of the editor that sets it."""
    found: dict[Path, Path] = {}
    wanted = tuple(names)
    if wanted:
        for user in user_folders():
            for settings in _editor_settings(user):
                for name in wanted:
                    folder = settings.get(name)
                    if isinstance(folder, str) and "\0" not in folder and Path(folder).is_absolute():
                        found.setdefault(Path(folder), user)
    return found


def _editor_settings(user: Path) -> Iterator[JsonObject]:
    """Yield the settings of an editor: of the user, of each profile, and of the machine on a server."""
    if not user.is_dir():
        return
    profiles = sorted(user.glob("profiles/*/settings.json"))
    for path in (user / "settings.json", *profiles, user.parent / "Machine" / "settings.json"):
        settings = parse_relaxed_json(_read_text(path))
        if isinstance(settings, dict):
            yield settings


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            from palaver.sources.small_files import read_at_most

            return read_at_most(stream, _LARGEST_BYTES).decode("utf-8-sig", errors="replace")
    except OSError:
        return ""


def parse_relaxed_json(text: str) -> Any:
    """Parse JSON with comments and trailing commas; return None if it is invalid."""
    strict = _TRAILING_COMMA.sub(r"\1", _COMMENT.sub(r"\1", text))
    try:
        return orjson.loads(strict)
    except orjson.JSONDecodeError:
        return None
