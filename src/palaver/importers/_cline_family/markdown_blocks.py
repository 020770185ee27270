"""The text of one message in a Markdown export, taken apart into the content blocks that it was made of.

Blocks stand below each other without anything between them: what follows a `[Reasoning]` up to the next call is taken
for reasoning, and what follows a call for its last parameter, though an answer may be hidden there. A line that looks
like the beginning of a block is one, whoever wrote it. `[Image]` stays as text: the export does not hold the image.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson

from palaver.importers._cline_family.vocabulary import PARAMETERS, TOOLS, names_a_tool
from palaver.model.build import JsonObject

_NAMES = "|".join(sorted(frozenset[str]().union(*TOOLS.values())))
_RESULT = re.compile(rf"^\[Tool( \(Error\))?\]$|^(?=\[(?:{_NAMES})(?: [^\n]*)?\] Result:$)", re.MULTILINE)
_CALL = re.compile(r"^\[(?:Tool Use: ([^\]\n]+)|Reasoning)\]$", re.MULTILINE)
_ENVIRONMENT, _ENVIRONMENT_END = "<environment_details>", "</environment_details>"
_PARAMETER = re.compile(r"^([A-Z]\w*): ?", re.MULTILINE)


def user_blocks(text: str) -> list[JsonObject]:
    """The blocks of a user's turn: results of tools, words, and what the program adds at the end."""
    made: list[JsonObject] = []
    text, environment = _apart(text)
    for mark, piece in _pieces(_RESULT, text):
        if mark is not None and mark[0]:
            made.append({"type": "tool_result", "content": piece} | ({"is_error": True} if mark[1] else {}))
        elif piece:
            made.append(_text(piece))
    return [*made, _text(environment)] if environment else made


def answer_blocks(text: str, platform: str) -> list[JsonObject]:
    """The blocks of an answer: words, reasoning and calls."""
    made: list[JsonObject] = []
    for mark, piece in _pieces(_CALL, text):
        if mark is None:
            made += [_text(piece)] if piece else []
        elif mark[1]:
            made.append({"type": "tool_use", "name": mark[1], "input": _arguments(mark[1], piece, platform)})
        else:
            made += _reasoning(piece, platform)
    return made


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _pieces(marks: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str] | None, str]]:
    """What stands before the first mark, and every mark with what stands below it."""
    found = list(marks.finditer(text))
    starts = [mark.start() for mark in found]
    yield None, text[: starts[0]].removesuffix("\n") if found else text
    for mark, end in zip(found, [*starts[1:], len(text)][: len(found)], strict=True):
        body = text[mark.end() : end]
        yield mark, (body if end == len(text) else body.removesuffix("\n")).removeprefix("\n" if mark[0] else "")


def _apart(text: str) -> tuple[str, str]:
    """A turn without the program's own words at its end, and these."""
    start = text.rfind(_ENVIRONMENT) if text.rstrip().endswith(_ENVIRONMENT_END) else -1
    if start < 0 or (start and text[start - 1] != "\n"):
        return text, ""
    return text[:start].removesuffix("\n"), text[start:]


def _reasoning(text: str, platform: str) -> list[JsonObject]:
    """Reasoning; where a call follows that is written as tags, it is no part of it."""
    opened = _tags(platform).search(text)
    thought = text[: opened.start()].removesuffix("\n") if opened else text
    made = [{"type": "reasoning", "text": thought}]
    return [*made, _text(text[opened.start() :])] if opened else made


@cache
def _tags(platform: str) -> re.Pattern[str]:
    return re.compile(rf"^<({'|'.join(sorted(TOOLS[platform]))})>$", re.MULTILINE)


def _arguments(tool: str, text: str, platform: str) -> Any:
    """The parameters of a call; the text itself where it does not begin with one."""
    if not _PARAMETER.match(text):
        return text
    known = PARAMETERS[platform] if names_a_tool(tool) else None
    found: dict[str, str] = {}
    key, begun = "", 0
    for mark in _PARAMETER.finditer(text):
        name = mark[1][0].lower() + mark[1][1:]
        if name == key or name in found or (key and known is not None and name not in known):
            continue
        if key:
            found[key] = text[begun : mark.start()].removesuffix("\n")
        key, begun = name, mark.end()
    found[key] = text[begun:]
    return {name: _value(value) for name, value in found.items()}


def _value(text: str) -> Any:
    """A parameter's value; objects and lists are written as JSON."""
    if text.startswith(("{", "[")):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            pass
    return text
