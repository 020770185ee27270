"""Calls of tools: as the parts of an answer show them, joined with the calls as the model made them.

A part has no arguments; the extension notes them in rounds, and the results beside these. A part's id may be that of
the call, or the same without a suffix, or one of its own: then the first call left of the same tool is meant.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from palaver.importers.github_copilot.sessions.kept import rest_of
from palaver.wire._openai_calls import arguments_from

Json = dict[str, Any]

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
    input: Json
    fields: Json
    """What else was noted about it."""
    is_shown: bool = False


@dataclass(slots=True)
class Round:
    """One step of the model: what it thought and said, and the calls that it made."""

    fields: Json
    """Those of the source, from which all else is taken away."""
    text: str = ""
    thought: str = ""
    calls: list[Call] = field(default_factory=list[Call])


def rounds_of(values: Any) -> list[Round]:
    """The rounds of an answer; what is none stays where it was."""
    return [_round(value) for value in values if type(value) is dict] if type(values) is list else []


def _round(value: Json) -> Round:
    found = Round(value)
    if type(text := value.get("response")) is str:
        found.text = text
    match value.get("thinking"):
        case {"text": str(text)}:
            found.thought = text
        case {"text": list(texts)}:
            found.thought = joined(texts)
        case _:
            pass
    if type(calls := value.get("toolCalls")) is list:
        left: list[Any] = []
        for call in calls:
            if (
                type(call) is dict
                and type(name := call.get("id")) is str
                and type(tool := call.get("name")) is str
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
    if type(texts) is list:
        return "".join(text for text in texts if type(text) is str)
    return texts if type(texts) is str else ""


def join(invocations: list[Json], calls: list[Call]) -> dict[int, Call]:
    """The call that each invocation shows, by the invocation's place; one that shows none is left out."""
    found: dict[int, Call] = {}
    for spelled in (str, bare_id):
        by_id = {spelled(call.id): call for call in reversed(calls) if not call.is_shown}
        for index, part in enumerate(invocations):
            if index not in found and type(name := part.get("toolCallId")) is str:
                _take(found, index, by_id.pop(spelled(name), None))
        if len(found) == len(invocations):
            return found
    waiting: defaultdict[str, deque[Call]] = defaultdict(deque)
    for call in calls:
        if not call.is_shown:
            waiting[bare_name(call.name)].append(call)
    for index, part in enumerate(invocations):
        # What an agent's agent did is in no round of this answer.
        if index in found or part.get("subAgentInvocationId") or type(name := part.get("toolId")) is not str:
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
