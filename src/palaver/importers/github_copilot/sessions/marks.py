"""Marks that the editor puts in place of values that are too long to save."""

import re
from collections.abc import Callable
from typing import Any

from palaver.importers.github_copilot.sessions.noticed import TRUNCATED_VALUE
from palaver.model.text import strings
from palaver.sources.run import Run

_HINT = b": value truncated for persistence"
_is_mark = re.compile(r"\[[^:\]]+: value truncated for persistence").match


def note_marks(value: Any, raw: bytes, run: Run, where: str | Callable[[], str]) -> None:
    """Tell of the marks in a record; its bytes say fast that there are none."""
    if _HINT not in raw:
        return
    place = where if isinstance(where, str) else where()
    for text in strings(value):
        if mark := _is_mark(text):
            run.note(TRUNCATED_VALUE, place, text[: mark.end() + 40], kept=False)
