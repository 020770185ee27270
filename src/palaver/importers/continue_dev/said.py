"""What somebody said in a prompt, and the cutting of a prompt at its marks."""

import re
from collections.abc import Iterator
from typing import NamedTuple


class Said(NamedTuple):
    role: str
    """system, user, assistant, tool or thinking."""
    text: str


def pieces(prompt: str, marks: re.Pattern[str], start: int = 0) -> Iterator[tuple[re.Match[str], str]]:
    """Every mark from a place on, with the text between it and the next one."""
    found = list(marks.finditer(prompt, start))
    ends = [mark.start() for mark in found[1:]]
    for mark, end in zip(found, [*ends, len(prompt)], strict=True):
        yield mark, prompt[mark.end() : end]


def without_open_answer(said: list[Said]) -> list[Said]:
    """The same without the mark at the end that asks the model to go on."""
    if said and said[-1] == Said("assistant", ""):
        return said[:-1]
    return said


def with_system_first(said: list[Said]) -> list[Said]:
    """The same where a system message is written like a user's: it is the first of two of these in a row."""
    if [role for role, _ in said[:2]] == ["user", "user"]:
        return [Said("system", said[0].text), *said[1:]]
    return said
