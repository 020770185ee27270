"""The registry of exporters, one module per format.

A module in this folder whose name has no leading underscore defines an exporter as `EXPORTER`. Other packages register
theirs in the entry point group `palaver.exporters`.
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
    """Return the names of all formats, without importing an exporter."""
    own = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    others = [point.name for point in entry_points(group=ENTRY_POINTS)]
    return sorted({*own, *others})


@cache
def exporter(name: str) -> "Exporter":
    """Return the exporter of a format, by name."""
    for module in pkgutil.iter_modules(__path__):
        if module.name == name and not name.startswith("_"):
            return importlib.import_module(f"{__name__}.{name}").EXPORTER
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            loaded = point.load()
            return getattr(loaded, "EXPORTER", loaded)
    raise OptionError(f"there is no format {name!r}; known: {', '.join(formats())}")


def endings() -> dict[str, str]:
    """Return the format of every file name ending that an exporter writes."""
    found: dict[str, str] = {}
    for name in formats():
        # An exporter of another distribution may be older than `other_suffixes` is.
        for suffix in (exporter(name).suffix, *getattr(exporter(name), "other_suffixes", ())):
            found.setdefault(suffix, name)
    return found
