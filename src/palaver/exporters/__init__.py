"""One format, one module: the registry that finds them by their names.

A module in this folder whose name has no leading underscore is an exporter, and holds it as `EXPORTER`. Packages from
elsewhere join through the entry point group `palaver.exporters`.
"""

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from palaver.errors import OptionError

if TYPE_CHECKING:
    from palaver.exporters._contract import Exporter

ENTRY_POINTS = "palaver.exporters"


def formats() -> list[str]:
    """Every exporter's format, from names alone: nothing is imported."""
    own = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    others = [point.name for point in entry_points(group=ENTRY_POINTS)]
    return sorted({*own, *others})


@cache
def exporter(name: str) -> "Exporter":
    for module in pkgutil.iter_modules(__path__):
        if module.name == name and not name.startswith("_"):
            return importlib.import_module(f"{__name__}.{name}").EXPORTER
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            loaded = point.load()
            return getattr(loaded, "EXPORTER", loaded)
    raise OptionError(f"there is no format {name!r}; known: {', '.join(formats())}")
