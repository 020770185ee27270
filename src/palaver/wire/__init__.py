"""Provider formats, in both directions; the registry finds them by their names.

A package of private modules is one format (`anthropic`); of a package with public modules, each of these is one
(`openai/chat.py` is `openai-chat`).
"""

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, cast

from palaver.errors import UnrecognizedError

if TYPE_CHECKING:
    from palaver.wire._contract import WireFormat


def formats() -> list[str]:
    """Return every format as the command line names it, from names alone: nothing is imported."""
    return sorted(_modules())


@cache
def wire_format(name: str) -> "WireFormat":
    """Import the format that the command line calls by this name."""
    module = _modules().get(name)
    if module is None:
        raise UnrecognizedError(f"there is no wire format {name!r}; known: {', '.join(formats())}")
    return cast("WireFormat", importlib.import_module(f"{__name__}.{module}"))


@cache
def _modules() -> dict[str, str]:
    """Return the module of each format, relative to this package."""
    found: dict[str, str] = {}
    for package in _public_names(*__path__):
        inner = _public_names(*(f"{folder}/{package}" for folder in __path__))
        found |= {f"{package}-{module}": f"{package}.{module}" for module in inner} or {package: package}
    return found


def _public_names(*folders: str) -> list[str]:
    return [module.name for module in pkgutil.iter_modules(folders) if not module.name.startswith("_")]
