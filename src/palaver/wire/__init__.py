"""Provider formats, one module each, in both directions; the registry finds them by their names."""

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, cast

from palaver.errors import UnrecognizedError

if TYPE_CHECKING:
    from palaver.wire._contract import WireFormat


def formats() -> list[str]:
    """Every format as the command line names it, from names alone: nothing is imported."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    return sorted(name.replace("_", "-") for name in names)


@cache
def wire_format(name: str) -> "WireFormat":
    if name not in formats():
        raise UnrecognizedError(f"there is no wire format {name!r}; known: {', '.join(formats())}")
    return cast("WireFormat", importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))
