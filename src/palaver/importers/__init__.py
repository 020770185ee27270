"""The registry of importers: one module for each platform, found by name.

Every module or package in this folder whose name has no leading underscore defines an importer as `IMPORTER`. Other
distributions add importers through the entry point group `palaver.importers`.
"""

import importlib
import pkgutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from palaver.errors import UnrecognizedError
from palaver.sources.match import Claim, Match

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from palaver.importers._shared.contract import Description, Importer
    from palaver.sources.source import Source

ENTRY_POINTS = "palaver.importers"


def platforms() -> list[str]:
    """Return the platforms of all importers, from file names and entry points: no importer is loaded."""
    own = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    return sorted({*own, *(point.name for point in _external_importers())})


@cache
def _external_importers() -> "tuple[EntryPoint, ...]":
    """Return the importers of other distributions; `entry_points` takes as long as looking at ten thousand files."""
    if not any(map(_may_have_importers, sys.path)):
        return ()
    from importlib.metadata import entry_points

    return tuple(entry_points(group=ENTRY_POINTS))


def _may_have_importers(folder: str) -> bool:
    """Return whether a distribution in this folder may have importers; True for a ZIP, which is not searched."""
    try:
        distributions = [path for path in Path(folder).iterdir() if path.suffix in {".dist-info", ".egg-info"}]
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(_declares_importers(path / "entry_points.txt") for path in distributions)


def _declares_importers(path: Path) -> bool:
    try:
        return ENTRY_POINTS.encode() in path.read_bytes()
    except OSError:
        return False


@cache
def importer(platform: str) -> "Importer":
    for module in pkgutil.iter_modules(__path__):
        if module.name == platform and not platform.startswith("_"):
            return importlib.import_module(f"{__name__}.{platform}").IMPORTER
    for point in _external_importers():
        if point.name == platform:
            loaded = point.load()
            return getattr(loaded, "IMPORTER", loaded)
    raise UnrecognizedError(f"there is no importer {platform!r}; known: {', '.join(platforms())}")


def revision(platform: str) -> int:
    """Return the revision of an importer, or 0 for a platform that has none in this installation."""
    try:
        # An importer of another distribution may be older than revisions are.
        return getattr(importer(platform), "revision", 1)
    except UnrecognizedError:
        return 0


def locations() -> dict[str, list[Path]]:
    """Return the existing locations of each platform's files on this machine."""
    return {platform: [path for path in importer(platform).locations() if path.exists()] for platform in platforms()}


def load_all_modules(platform: str) -> None:
    """Import every module of an importer, and the modules that importers share.

    This registers all finding kinds, which are defined next to the code that uses them.
    """
    package = importlib.import_module(type(importer(platform)).__module__)
    shared = [module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("_")]
    for parent in (package, *(importlib.import_module(f"{__name__}.{name}") for name in shared)):
        for module in pkgutil.walk_packages(getattr(parent, "__path__", ()), f"{parent.__name__}."):
            importlib.import_module(module.name)


def description(platform: str) -> "Description":
    """Return an importer's description of its documents; an empty one if it has none, or for an unknown platform."""
    from palaver.importers._shared.contract import Description, HasDescription

    if platform in platforms():
        known = importer(platform)
        if isinstance(known, HasDescription):
            return known.describes()
    return Description()


def reopening(platform: str, conversation_id: str, project: str | None, sources: list[str]) -> str | None:
    """Return the command that resumes a conversation, or its address on the web; None if neither is known."""
    from palaver.importers._shared.contract import HasReopening

    known = importer(platform) if platform in platforms() else None
    files = [Path(source) for source in sources]
    return known.reopening(conversation_id, project, files) if isinstance(known, HasReopening) else None


def match_importers(source: "Source", among: list[str] | None = None) -> dict[str, Match]:
    """Ask each importer whether it reads a source."""
    return {platform: importer(platform).recognizes(source) for platform in among or platforms()}


def winner(judgements: dict[str, Match], label: str) -> Claim | None:
    """Return the claim of the only `yes`, or else of the only `maybe`; None without any. Several are an error."""
    for verdict in ("yes", "maybe"):
        claims = [Claim(platform, match) for platform, match in judgements.items() if match.verdict == verdict]
        if len(claims) == 1:
            return claims[0]
        if claims:
            names = " and ".join(platform for platform, _ in claims)
            raise UnrecognizedError(f"{label} is claimed by {names}: say which with `palaver import PLATFORM {label}`")
    return None
