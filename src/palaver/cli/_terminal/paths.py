"""Paths in a terminal: shortened in the middle to fit a line, and quoted to be pasted into a shell."""

import os
import shlex
import subprocess
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from palaver.cli._terminal.words import display_path, escaped_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions

_ELLIPSIS = "…"
_SEPARATOR = os.sep


class PathLine:
    """A path on one line, shortened in the middle where the terminal is too narrow."""

    def __init__(self, path: str | os.PathLike[str], *, before: str = "", after: str = "", style: str = "dim") -> None:
        self._before, self._path, self._after, self._style = before, display_path(path), after, style

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        width = options.max_width - cell_len(self._before) - cell_len(self._after)
        path = shortened_path(self._path, width)
        yield Text(f"{self._before}{path}{self._after}", self._style, no_wrap=True, overflow="ellipsis")


def shortened_path(path: str, width: int) -> str:
    """Return a path with names in its middle replaced by `…`, so that it fits the width.

    Whole names are kept as far as possible: the last ones first, since they identify the file, then the first ones.
    """
    if cell_len(path) <= width:
        return path
    names = path.split(_SEPARATOR)
    head, tail = names[:1], names[-1:]
    middle = names[1:-1]
    while middle:
        longer = _SEPARATOR.join([*head, _ELLIPSIS, middle[-1], *tail])
        if cell_len(longer) > width:
            break
        tail.insert(0, middle.pop())
    while middle:
        longer = _SEPARATOR.join([*head, middle[0], _ELLIPSIS, *tail])
        if cell_len(longer) > width:
            break
        head.append(middle.pop(0))
    for shortened in (_SEPARATOR.join([*head, _ELLIPSIS, *tail]), _SEPARATOR.join([_ELLIPSIS, *tail])):
        if cell_len(shortened) <= width:
            return shortened
    return _cut_in_the_middle(names[-1], width)


def _cut_in_the_middle(name: str, width: int) -> str:
    while name and cell_len(name) >= width:
        middle = len(name) // 2
        name = name[:middle] + name[middle + 1 :]
    middle = len(name) // 2
    return f"{name[:middle]}{_ELLIPSIS}{name[middle:]}"


def shell_path(path: str | os.PathLike[str]) -> str:
    """Return a path as one word of a command line, with an unquoted `~` for the home folder except on Windows."""
    text = os.fspath(path)
    if os.name == "nt":
        return escaped_line(subprocess.list2cmdline([text]))
    home = os.path.expanduser("~").rstrip(os.sep)  # noqa: PTH111 - unlike `Path.home`, it never raises
    if home and text.startswith(home + os.sep):
        return escaped_line(f"~{_SEPARATOR}{_quoted(text[len(home) + 1 :])}")
    return escaped_line(_quoted(text))


def _quoted(path: str) -> str:
    """Quote only the names that need it, so that the others stay readable."""
    return _SEPARATOR.join(shlex.quote(name) if name else "" for name in path.split(_SEPARATOR))
