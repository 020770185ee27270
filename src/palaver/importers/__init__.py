"""One platform, one module: the registry that finds them by their names.

A module (or package) in this folder whose name has no leading underscore is an importer, and holds it as
`IMPORTER`. Packages from elsewhere join through the entry point group `palaver.importers`.
"""

import importlib
import pkgutil
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from palaver.errors import UnrecognizedError

if TYPE_CHECKING:
    from palaver.importers._contract import Description, Importer, Match
    from palaver.sources.source import Source

ENTRY_POINTS = "palaver.importers"


def platforms() -> list[str]:
    """Every importer's platform, from names alone: nothing is imported."""
    own = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    return sorted({*own, *(point.name for point in _others())})


@cache
def _others() -> tuple[EntryPoint, ...]:
    """Looking through all that is installed takes as long as looking at ten thousand files."""
    return tuple(entry_points(group=ENTRY_POINTS))


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
    from palaver.importers._contract import Describing, Description

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
