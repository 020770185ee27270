"""What `--json` prints: one command, one module; the registry finds them by their names.

A module in this folder whose name has no leading underscore holds the answer of the command of that name as `ANSWER`
(`import_` is the answer of `palaver import`, `quarantine_retry` would be that of `palaver quarantine retry`). Its
schema is published as the kind `<command>-answer`, unless it has a name of its own.
"""

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palaver.model.answers._answer import Answer

_PUBLISHED = "-answer"
_OWN_NAMES = {"validate": "report"}


def commands() -> list[str]:
    """Every command with an answer, from names alone: nothing is imported."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    return sorted(name.rstrip("_").replace("_", " ") for name in names)


def answer(command: str) -> "type[Answer]":
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_") and module.name.rstrip("_").replace("_", " ") == command:
            return importlib.import_module(f"{__name__}.{module.name}").ANSWER
    raise LookupError(f"no module of {__name__} holds the answer of {command!r}")


def kind(command: str) -> str:
    """The kind under which the schema of a command's answer is published."""
    return _OWN_NAMES.get(command) or command.replace(" ", "-") + _PUBLISHED
