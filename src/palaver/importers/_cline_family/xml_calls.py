"""Tool calls that stand in the model's text as tags: one scan from left to right, by the products' own rules.

It looks like XML and is none: there are no attributes and no entities, only known names count, and whatever stands
between the tags of a parameter is its value.
"""

import re
from dataclasses import dataclass
from functools import cache

from palaver.importers._cline_family.vocabulary import PARAMETERS, TOOLS

_WHOLE_FILES = frozenset({"write_to_file", "new_rule"})
"""Tools whose `content` may hold its own closing tag: the last one before the call's end counts."""


@dataclass(slots=True)
class TextCall:
    """A call, as it stands in a text."""

    name: str
    input: dict[str, str]
    rest: str = ""
    """What stands between its tags beside the parameters."""
    is_partial: bool = False
    """The text ends within it."""


Piece = str | TextCall


def pieces(text: str, platform: str) -> list[Piece]:
    """Prose and calls, in order; prose is trimmed, and left out where nothing remains."""
    if "<" not in text:
        return [text] if text else []
    opening = _tools(platform)
    found: list[Piece] = []
    start = 0
    while opened := opening.search(text, start):
        _add_prose(found, text[start : opened.start()])
        call, start = _call(text, opened[1], opened.end(), platform)
        found.append(call)
    if not start:
        return [text] if text else []
    _add_prose(found, text[start:])
    return found


def _add_prose(found: list[Piece], text: str) -> None:
    if prose := text.strip():
        found.append(prose)


def _call(text: str, name: str, at: int, platform: str) -> tuple[TextCall, int]:
    """The call whose opening tag ends at a place, and the place behind its closing tag."""
    call = TextCall(name, {})
    closing = f"</{name}>"
    parameter = _parameters(platform)
    between: list[str] = []
    end = 0
    while True:
        opened = parameter.match(text, at + text.startswith("\n", at))  # mostly it follows at once
        if opened is None:
            if 0 <= end < at:  # it was not looked for yet, or stood within a value
                end = text.find(closing, at)
            opened = parameter.search(text, at, end if end >= 0 else len(text))
        if opened is None:
            break
        between.append(text[at : opened.start()])
        key = opened[1]
        value, at, is_closed = _value(text, key, opened.end(), name)
        if key in call.input:
            between.append(call.input[key])  # the last one counts, and none is lost
        call.input[key] = value
        if not is_closed:
            call.is_partial = True
            return _with_rest(call, between), len(text)
    call.is_partial = end < 0
    between.append(text[at:] if end < 0 else text[at:end])
    return _with_rest(call, between), len(text) if end < 0 else end + len(closing)


def _value(text: str, key: str, start: int, tool: str) -> tuple[str, int, bool]:
    """A parameter's value, the place behind it, and whether it is closed."""
    closing = f"</{key}>"
    end = text.find(closing, start)
    if key == "content" and tool in _WHOLE_FILES and end >= 0:
        behind = text.find(f"</{tool}>", end)
        end = text.rfind(closing, start, behind if behind >= 0 else len(text))
    if end < 0:
        return _trimmed(key, text[start:]), len(text), False
    return _trimmed(key, text[start:end]), end + len(closing), True


def _trimmed(key: str, value: str) -> str:
    """The value without the white space around it; a file's content loses one line break at either end only."""
    return value.removeprefix("\n").removesuffix("\n") if key == "content" else value.strip()


def _with_rest(call: TextCall, between: list[str]) -> TextCall:
    call.rest = "\n".join(filter(None, map(str.strip, between)))
    return call


@cache
def _tools(platform: str) -> re.Pattern[str]:
    return _tags(TOOLS[platform])


@cache
def _parameters(platform: str) -> re.Pattern[str]:
    return _tags(PARAMETERS[platform])


def _tags(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"<({'|'.join(sorted(names, key=len, reverse=True))})>")
