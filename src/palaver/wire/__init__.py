"""Wire formats of the providers, and the registry that finds them by name.

A package with private modules only is one format (`anthropic`); in a package with public modules, each of these is one
(`openai/chat.py` is `openai-chat`).
"""

import importlib
import pkgutil
from functools import cache
from typing import cast

from palaver.errors import UnrecognizedError
from palaver.wire._contract import Loss, WireFormat, Written

__all__ = ["Loss", "WireFormat", "Written", "formats", "wire_format"]


def formats() -> list[str]:
    """Return the name of every format, as the command line spells it, without importing any."""
    return sorted(_modules())


@cache
def wire_format(name: str) -> WireFormat:
    """Import a format by the name that the command line has for it."""
    module = _modules().get(name)
    if module is None:
        raise UnrecognizedError(f"unknown wire format {name!r}; known: {', '.join(formats())}")
    return cast("WireFormat", importlib.import_module(f"{__name__}.{module}"))


@cache
def _modules() -> dict[str, str]:
    """Return the module of each format by its name, relative to this package."""
    found: dict[str, str] = {}
    for package in _public_names(*__path__):
        inner = _public_names(*(f"{folder}/{package}" for folder in __path__))
        found |= {f"{package}-{module}": f"{package}.{module}" for module in inner} or {package: package}
    return found


def _public_names(*folders: str) -> list[str]:
    return [module.name for module in pkgutil.iter_modules(folders) if not module.name.startswith("_")]
