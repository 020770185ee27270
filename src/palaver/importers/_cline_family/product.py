"""The products of the family: what their extensions are called, and where each of them keeps its tasks.

An extension of an editor stores in `<User>/globalStorage/<extension id>`; below that are `tasks/<id>` and, of Cline,
`state/taskHistory.json`. Roo Code and Kilo Code store elsewhere when their setting `customStoragePath` says so. In
JetBrains and on the command line Cline stores in `~/.cline/data` (`CLINE_DIR` names the folder around that,
`CLINE_DATA_DIR` the folder itself), its newer sessions in `sessions` there (or in `CLINE_SESSION_DATA_DIR`); Kilo Code
in `~/.kilocode/globalStorage` and `~/.kilocode/cli/global`. Only the folders with tasks and sessions are looked
through: beside them are caches, checkpoints and secrets.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from palaver.importers._cline_family.state import custom_storages
from palaver.importers._shared.vscode import global_storage

TASKS = "tasks"
HISTORY = "state/taskHistory.json"
SESSIONS = "sessions"


@dataclass(frozen=True, slots=True)
class Product:
    platform: str
    title: str
    extensions: tuple[str, ...]
    """The ids of its extensions, which are also the names of their folders."""
    homes: tuple[str, ...] = ()
    """Folders of the user in which it stores without an editor."""
    settings: tuple[str, ...] = ()
    """Settings of an editor that name another folder to store in."""

    def locations(self) -> list[Path]:
        """Where it keeps tasks and sessions on this machine, whether they are there or not."""
        found = [storage / name for storage in self._storages() for name in (TASKS, HISTORY)]
        if self.platform == "cline":
            found += [data / SESSIONS for data in _cline_data()]
            if sessions := _environment("CLINE_SESSION_DATA_DIR"):
                found.append(sessions)
        return list(dict.fromkeys(found))

    def _storages(self) -> Iterator[Path]:
        yield from global_storage(*self.extensions)
        yield from (Path.home() / home for home in self.homes)
        yield from custom_storages(self.settings)
        if self.platform == "cline":
            yield from _cline_data()


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
    """The product that stores in a folder that a path leads through; the innermost one where there are several."""
    path = f"/{label.lower()}/".translate(_SLASHES)
    places = [(path.rfind(mark), product) for mark, product in _MARKS]
    at, product = max(places, key=lambda place: place[0])
    return product if at >= 0 else None


_SLASHES = str.maketrans("\\!", "//")
_MARKS = [(f"/{name}/".lower(), product) for product in PRODUCTS for name in (*product.extensions, *product.homes)]


def _cline_data() -> Iterator[Path]:
    """Where Cline stores without an editor: where the environment says, and where it stored before that was said."""
    if data := _environment("CLINE_DATA_DIR"):
        yield data
    if folder := _environment("CLINE_DIR"):
        yield folder / "data"
    yield Path.home() / ".cline" / "data"


def _environment(name: str) -> Path | None:
    named = os.environ.get(name, "").strip()
    return Path(named) if named else None
