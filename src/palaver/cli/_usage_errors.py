"""Mistakes on the command line in palaver's own words: one line that says what is wrong and where to read on."""

import re
from typing import Any

_REWORDED = (
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"Input should be greater than or equal to "), "must be at least "),
    (re.compile(r"Input should be less than or equal to "), "must be at most "),
    (re.compile(r"Input should be a valid (?:integer|int).*"), "must be a whole number"),
    (re.compile(r"Input should be a valid number.*"), "must be a number"),
    (re.compile(r"Input should be "), "must be "),
)
"""What typer's validation says, and what palaver says instead."""


def is_help(error: Any) -> bool:
    """Return whether typer answers with the help text, because a group of commands was called without one."""
    return type(error).__name__ == "NoArgsIsHelpError"


def usage_sentence(error: Any) -> str:
    """Return what was wrong with the command line, and what was meant or which `--help` explains it."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "palaver"
    what = _what(error).rstrip(".")
    return what if what.endswith("?") else f"{what}: see `{command} --help`"


def _what(error: Any) -> str:
    match type(error).__name__:
        case "MissingParameter":
            return f"missing {_parameter(error)}"
        case "BadParameter":
            return f"{_parameter(error)} {_reworded(error.message)}".strip()
        case "NoSuchOption":
            meant = " or ".join(sorted(error.possibilities or ()))
            return f"unknown option {error.option_name}{f': did you mean {meant}?' * bool(meant)}"
        case _:
            return _reworded(_decapitalized(error.format_message()))


def _parameter(error: Any) -> str:
    """Return an option as it is typed, or the name of an argument."""
    if error.param is None:
        return ""
    names: list[str] = error.param.opts
    return names[0] if error.param.param_type_name == "option" else error.param.metavar or error.param.name.upper()


def _reworded(message: str) -> str:
    for pattern, words in _REWORDED:
        message = pattern.sub(words, message)
    return message


def _decapitalized(message: str) -> str:
    message = message.replace("No such command", "unknown command").replace(". Did you mean", ": did you mean")
    message = re.sub(r"Got unexpected extra argument\(s\) \((.*)\)", r"unexpected argument '\1'", message)
    message = re.sub(r"Option '(.*)' requires an argument", r"\1 needs a value", message)
    return message[:1].lower() + message[1:]
