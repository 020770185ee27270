"""One platform, one module: the registry that finds them by their names.

A module (or package) in this folder whose name has no leading underscore is an importer, and holds it as
`IMPORTER`. Packages from elsewhere join through the entry point group `palaver.importers`.
"""

import importlib
import pkgutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from palaver.errors import UnrecognizedError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from palaver.importers._shared.contract import Description, Importer, Match
    from palaver.sources.source import Source

ENTRY_POINTS = "palaver.importers"


def platforms() -> list[str]:
    """Every importer's platform, from names alone: nothing is imported."""
    own = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    return sorted({*own, *(point.name for point in _others())})


@cache
def _others() -> "tuple[EntryPoint, ...]":
    """Importers of other packages; asking Python for them takes as long as looking at ten thousand files."""
    if not any(map(_names_importers, sys.path)):
        return ()
    from importlib.metadata import entry_points

    return tuple(entry_points(group=ENTRY_POINTS))


def _names_importers(place: str) -> bool:
    """Whether a package that is installed there may have importers; of what is no folder, such as a ZIP, any may."""
    try:
        described = [path for path in Path(place).iterdir() if path.suffix in {".dist-info", ".egg-info"}]
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(_names_them(path / "entry_points.txt") for path in described)


def _names_them(path: Path) -> bool:
    try:
        return ENTRY_POINTS.encode() in path.read_bytes()
    except OSError:
        return False


@cache
def importer(platform: str) -> "Importer":
    for module in pkgutil.iter_modules(__path__):
        if module.name == platform and not platform.startswith("_"):
            return importlib.import_module(f"{__name__}.{platform}").IMPORTER
    for point in _others():
        if point.name == platform:
            loaded = point.load()
            return getattr(loaded, "IMPORTER", loaded)
    raise UnrecognizedError(f"there is no importer {platform!r}; known: {', '.join(platforms())}")


def locations() -> dict[str, list[Path]]:
    """Where each platform keeps its files on this machine: those that exist."""
    return {platform: [path for path in importer(platform).locations() if path.exists()] for platform in platforms()}


def load_whole(platform: str) -> None:
    """Import every module of an importer, and those that importers share.

    Kinds of findings are declared beside the code that notices them.
    """
    package = importlib.import_module(type(importer(platform)).__module__)
    shared = [module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("_")]
    for room in (package, *(importlib.import_module(f"{__name__}.{name}") for name in shared)):
        for module in pkgutil.walk_packages(getattr(room, "__path__", ()), f"{room.__name__}."):
            importlib.import_module(module.name)


def description(platform: str) -> "Description":
    """What an importer says of its documents; nothing where it has nothing to say, or nobody reads the platform."""
    from palaver.importers._shared.contract import Describing, Description

    if platform in platforms():
        known = importer(platform)
        if isinstance(known, Describing):
            return known.describes()
    return Description()


def judge(source: "Source", among: list[str] | None = None) -> "dict[str, Match]":
    """Ask each importer about a source."""
    return {platform: importer(platform).recognizes(source) for platform in among or platforms()}


def winner(judgements: "dict[str, Match]", label: str) -> "tuple[str, Match] | None":
    """Exactly one `yes` wins; without any, a single `maybe`; several are an error that names the way out."""
    for verdict in ("yes", "maybe"):
        claims = [(platform, match) for platform, match in judgements.items() if match.verdict == verdict]
        if len(claims) == 1:
            return claims[0]
        if claims:
            names = " and ".join(platform for platform, _ in claims)
            raise UnrecognizedError(f"{label} is claimed by {names}: say which with `palaver import PLATFORM {label}`")
    return None
