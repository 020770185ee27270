"""Calls of tools: as the parts of an answer show them, joined with the calls as the model made them.

A part has no arguments; the extension notes them in rounds, and the results beside these. A part's id may be that of
the call, or the same without a suffix, or one of its own: then the first call left of the same tool is meant.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from palaver.importers.github_copilot.sessions.kept import rest_of
from palaver.model.build import JsonObject
from palaver.wire.openai._calls import arguments_from

_SUFFIX = "__vscode-"
_CALL_FIELDS = frozenset({"id", "name", "arguments"})
_OTHER_NAMES = {
    "searchcodebase": "semanticsearch",
    "findfiles": "filesearch",
    "findtextinfiles": "grepsearch",
    "listdirectory": "listdir",
    "insertedit": "inserteditintofile",
    "replacestring": "replacestringinfile",
    "multireplacestring": "multireplacestringinfile",
    "editnotebook": "editnotebookfile",
    "findtestfiles": "testsearch",
    "getsearchresults": "getsearchviewresults",
    "runtests1": "runtests",
    "vscodefetchwebpageinternal": "fetchwebpage",
}
"""The names of built-in tools that the editor and the model spell with different words."""


@dataclass(slots=True)
class Call:
    """A call as the model made it."""

    id: str
    name: str
    input: JsonObject
    fields: JsonObject
    """What else was noted about it."""
    is_shown: bool = False


@dataclass(slots=True)
class Round:
    """One step of the model: what it thought and said, and the calls that it made."""

    fields: JsonObject
    """Those of the source, from which all else is taken away."""
    text: str = ""
    thought: str = ""
    calls: list[Call] = field(default_factory=list[Call])


def rounds_of(values: Any) -> list[Round]:
    """The rounds of an answer; what is none stays where it was."""
    return [_round(value) for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _round(value: JsonObject) -> Round:
    found = Round(value)
    if isinstance((text := value.get("response")), str):
        found.text = text
    match value.get("thinking"):
        case {"text": str(text)}:
            found.thought = text
        case {"text": list(texts)}:
            found.thought = joined(texts)
        case _:
            pass
    if isinstance((calls := value.get("toolCalls")), list):
        left: list[Any] = []
        for call in calls:
            if (
                isinstance(call, dict)
                and isinstance((name := call.get("id")), str)
                and isinstance((tool := call.get("name")), str)
                and name
            ):
                rest = {} if call.keys() == _CALL_FIELDS else rest_of(call, _CALL_FIELDS)
                found.calls.append(Call(name, tool, arguments_from(call.get("arguments")), rest))
            else:
                left.append(call)
        if left:
            value["toolCalls"] = left
        else:
            del value["toolCalls"]
    return found


def joined(texts: Any) -> str:
    """A text that comes as one or in pieces."""
    if isinstance(texts, list):
        return "".join(text for text in texts if isinstance(text, str))
    return texts if isinstance(texts, str) else ""


def join(invocations: list[JsonObject], calls: list[Call]) -> dict[int, Call]:
    """The call that each invocation shows, by the invocation's place; one that shows none is left out."""
    found: dict[int, Call] = {}
    for spelled in (str, bare_id):
        by_id = {spelled(call.id): call for call in reversed(calls) if not call.is_shown}
        for index, part in enumerate(invocations):
            if index not in found and isinstance((name := part.get("toolCallId")), str):
                _take(found, index, by_id.pop(spelled(name), None))
        if len(found) == len(invocations):
            return found
    waiting: defaultdict[str, deque[Call]] = defaultdict(deque)
    for call in calls:
        if not call.is_shown:
            waiting[bare_name(call.name)].append(call)
    for index, part in enumerate(invocations):
        # What an agent's agent did is in no round of this answer.
        if index in found or part.get("subAgentInvocationId") or not isinstance((name := part.get("toolId")), str):
            continue
        if queue := waiting.get(bare_name(name)):
            _take(found, index, queue.popleft())
    return found


def _take(found: dict[int, Call], index: int, call: Call | None) -> None:
    if call is not None:
        call.is_shown = True
        found[index] = call


def bare_id(name: str) -> str:
    begin, mark, number = name.rpartition(_SUFFIX)
    return begin if mark and number.isdecimal() else name


@lru_cache(maxsize=1 << 10)
def bare_name(name: str) -> str:
    """The name of a tool in a spelling that the editor and the model share."""
    plain = "".join(filter(str.isalnum, name.removeprefix("copilot_"))).lower()
    return _OTHER_NAMES.get(plain, plain)
