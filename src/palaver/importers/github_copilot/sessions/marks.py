"""Marks that the editor puts in place of values that are too long to save."""

import re
from typing import Any

from palaver.importers.github_copilot.sessions.noticed import TRUNCATED_VALUE
from palaver.model.text import strings
from palaver.sources.run import Run

HINT = b": value truncated for persistence"
"""What is in the bytes of every record with a mark."""
_is_mark = re.compile(r"\[[^:\]]+: value truncated for persistence").match


def note_marks(value: Any, run: Run, where: str) -> None:
    """Tell of the marks in a record. Those in whose bytes there is no hint of any need not be asked."""
    for text in strings(value):
        if mark := _is_mark(text):
            run.note(TRUNCATED_VALUE, where, text[: mark.end() + 40], kept=False)
