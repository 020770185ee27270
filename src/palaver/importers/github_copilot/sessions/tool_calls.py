"""Tool calls of an answer as blocks: the parts that the editor shows, matched with the calls that the model made.

A part has no arguments; the extension records them in rounds, and the results beside these. A part's id may be that of
the call, the same without a suffix, or unrelated: then the first unmatched call of the same tool is meant.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from palaver.importers._shared.findings import MADE_CALL_ID
from palaver.importers.github_copilot.sessions.tool_results import Content, displayed_output, recorded_result
from palaver.importers.github_copilot.sessions.unmapped_fields import Note, unmapped_fields
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._tools import parse_arguments

_SUFFIX = "__vscode-"
_CALL_FIELDS = frozenset({"id", "name", "arguments"})
_TOOL_ALIASES = {
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
"""Built-in tools whose names differ in the editor (key) and the model (value)."""


_MAPPED_PART_FIELDS = {
    (False, False): ("kind",),
    (False, True): ("kind", "toolId"),
    (True, False): ("kind", "toolCallId"),
    (True, True): ("kind", "toolCallId", "toolId"),
}
"""Part fields that its block expresses, by whether its id and its tool are those of the call."""


@dataclass(slots=True)
class Call:
    """A call as the model made it."""

    id: str
    name: str
    input: JsonObject
    fields: JsonObject
    """Its other fields."""
    is_shown: bool = False


@dataclass(slots=True)
class Round:
    """One response of the model: its text, its reasoning, and the calls that it made."""

    fields: JsonObject
    """Source fields; what becomes a block is removed from them."""
    text: str = ""
    thought: str = ""
    calls: list[Call] = field(default_factory=list[Call])


class CallBlocks:
    """Builds the call blocks of one answer; `results` collects the blocks for the message after it."""

    def __init__(self, recorded: Any, message_id: str, note: Note) -> None:
        self.results: list[JsonObject] = []
        self.unclaimed: JsonObject = dict(recorded) if isinstance(recorded, dict) else {}
        """Recorded results that belong to no call."""
        self._keys_by_base_id: dict[str, str] | None = None
        self._message_id = message_id
        self._note = note
        self._new_ids = 0

    def hidden_call(self, call: Call) -> JsonObject:
        """Return the block of a call that the editor did not show."""
        block = build.tool_use(id=call.id, name=call.name, input=call.input)
        block["hidden"] = True
        if call.fields:
            block["source_fields"] = call.fields
        self._add_recorded_result(call.id, call.id, {})
        return block

    def shown_call(self, part: JsonObject, call: Call | None) -> JsonObject:
        part_id = part.get("toolCallId")
        tool = part.get("toolId")
        if call is not None:
            call_id, name = call.id, call.name
        else:
            call_id = part_id if isinstance(part_id, str) and part_id else self._new_id()
            name = tool if isinstance(tool, str) and tool else "tool"
        fields = unmapped_fields(part, _MAPPED_PART_FIELDS[part_id == call_id, tool == name])
        arguments = _displayed_input(part) if call is None else call.input
        block = build.tool_use(id=call_id, name=name, input=arguments)
        if part.get("presentation") == "hidden":
            block["hidden"] = True
        if not self._add_recorded_result(call_id, part_id, part):
            self._add_displayed_result(call_id, part, fields)
        if call is not None and call.fields:
            fields["call"] = call.fields
        if fields:
            block["source_fields"] = fields
        return block

    def _new_id(self) -> str:
        self._new_ids += 1
        new_id = f"{self._message_id}:call-{self._new_ids}"
        self._note(MADE_CALL_ID, new_id)
        return new_id

    def _add_recorded_result(self, call_id: str, part_id: Any, part: JsonObject) -> bool:
        """Add the result that the extension recorded; return False if there is none."""
        key = self._key(call_id) or (self._key(part_id) if isinstance(part_id, str) else None)
        if key is None:
            return False
        value = self.unclaimed.pop(key)
        content, rest = recorded_result(value)
        self._add_result(call_id, content, part, rest)
        return True

    def _key(self, call_id: str) -> str | None:
        if call_id in self.unclaimed:
            return call_id
        if self._keys_by_base_id is None:
            self._keys_by_base_id = {base_call_id(key): key for key in reversed(self.unclaimed)}
        key = self._keys_by_base_id.get(base_call_id(call_id))
        return key if key in self.unclaimed else None

    def _add_displayed_result(self, call_id: str, part: JsonObject, fields: JsonObject) -> None:
        """Add the result that the part shows, and remove it from the part's other fields."""
        match part.get("resultDetails"):
            case {"output": output, **rest} if (content := displayed_output(output)) is not None:
                fields["resultDetails"] = rest
                self._add_result(call_id, content, part, {})
                return
            case _:
                pass
        match part.get("toolSpecificData"):
            case {"terminalCommandOutput": {"text": str(text), **rest}, **data}:
                fields["toolSpecificData"] = {**data, "terminalCommandOutput": rest} if rest else data
            case {"kind": "simpleToolInvocation", "output": str(text), **data}:
                fields["toolSpecificData"] = {"kind": "simpleToolInvocation", **data}
            case {"kind": "subagent", "result": str(text), **data}:
                fields["toolSpecificData"] = {"kind": "subagent", **data}
            case _:
                text = part.get("resultError")
                if not isinstance(text, str) or not text:
                    return
        self._add_result(call_id, text, part, {})

    def _add_result(self, call_id: str, content: Content, part: JsonObject, rest: JsonObject) -> None:
        metadata: JsonObject = _terminal_outcome(part)
        if rest:
            metadata["source_fields"] = rest
        is_error = _is_error(part) or rest.get("hasError") is True or rest.get("isError") is True
        self.results.append(
            build.tool_result(tool_use_id=call_id, content=content, is_error=is_error, metadata=metadata or None)
        )


def _displayed_input(part: JsonObject) -> JsonObject:
    """Return the arguments of a call as far as the part shows them."""
    match part.get("toolSpecificData"):
        case {"kind": "input", "rawInput": dict(arguments)} if arguments:
            return arguments
        case {"commandLine": {"original": str(command)}} | {"kind": "terminal", "command": str(command)}:
            return {"command": command}
        case {"kind": "simpleToolInvocation", "input": str(text)}:
            return parse_arguments(text)
        case {"kind": "subagent", "prompt": str(prompt)}:
            return {"prompt": prompt}
        case _:
            pass
    match part.get("resultDetails"):
        case {"input": str(text)}:
            return parse_arguments(text)
        case _:
            return {}


def _terminal_outcome(part: JsonObject) -> JsonObject:
    """Return exit code and duration of a command, where the part has them."""
    metadata: JsonObject = {}
    match part.get("toolSpecificData"):
        case None:
            pass
        case {"terminalCommandState": dict(state)}:
            if type(code := state.get("exitCode")) is int:
                metadata["exit_code"] = code
            if (
                isinstance(duration_ms := state.get("duration"), int | float)
                and not isinstance(duration_ms, bool)
                and duration_ms >= 0
            ):
                metadata["duration_ms"] = duration_ms
        case _:
            pass
    return metadata


def _is_error(part: JsonObject) -> bool:
    if part.get("resultError"):
        return True
    details = part.get("resultDetails")
    return isinstance(details, dict) and details.get("isError") is True


def rounds_of(values: Any) -> list[Round]:
    """Return the rounds of an answer, skipping values that are not objects."""
    return [_model_round(value) for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _model_round(value: JsonObject) -> Round:
    found = Round(value)
    if isinstance((text := value.get("response")), str):
        found.text = text
    match value.get("thinking"):
        case {"text": str(text)}:
            found.thought = text
        case {"text": list(texts)}:
            found.thought = joined_text(texts)
        case _:
            pass
    if isinstance((calls := value.get("toolCalls")), list):
        malformed: list[Any] = []
        for call in calls:
            if (
                isinstance(call, dict)
                and isinstance((name := call.get("id")), str)
                and isinstance((tool := call.get("name")), str)
                and name
            ):
                rest = {} if call.keys() == _CALL_FIELDS else unmapped_fields(call, _CALL_FIELDS)
                found.calls.append(Call(name, tool, parse_arguments(call.get("arguments")), rest))
            else:
                malformed.append(call)
        if malformed:
            value["toolCalls"] = malformed
        else:
            del value["toolCalls"]
    return found


def joined_text(texts: Any) -> str:
    """Return a text that is given as a string or as a list of pieces."""
    if isinstance(texts, list):
        return "".join(text for text in texts if isinstance(text, str))
    return texts if isinstance(texts, str) else ""


def match_calls(invocations: list[JsonObject], calls: list[Call]) -> dict[int, Call]:
    """Return the call that each invocation shows, by the invocation's index; unmatched invocations are left out."""
    found: dict[int, Call] = {}
    for key_of in (str, base_call_id):
        by_id = {key_of(call.id): call for call in reversed(calls) if not call.is_shown}
        for index, part in enumerate(invocations):
            if index not in found and isinstance((name := part.get("toolCallId")), str):
                _assign(found, index, by_id.pop(key_of(name), None))
        if len(found) == len(invocations):
            return found
    unshown: defaultdict[str, deque[Call]] = defaultdict(deque)
    for call in calls:
        if not call.is_shown:
            unshown[normalized_tool_name(call.name)].append(call)
    for index, part in enumerate(invocations):
        # Calls of subagents are in no round of this answer.
        if index in found or part.get("subAgentInvocationId") or not isinstance((name := part.get("toolId")), str):
            continue
        if queue := unshown.get(normalized_tool_name(name)):
            _assign(found, index, queue.popleft())
    return found


def _assign(found: dict[int, Call], index: int, call: Call | None) -> None:
    if call is not None:
        call.is_shown = True
        found[index] = call


def base_call_id(name: str) -> str:
    begin, suffix, number = name.rpartition(_SUFFIX)
    return begin if suffix and number.isdecimal() else name


@lru_cache(maxsize=1 << 10)
def normalized_tool_name(name: str) -> str:
    """Return the name of a tool in a spelling that the editor and the model share."""
    plain = "".join(filter(str.isalnum, name.removeprefix("copilot_"))).lower()
    return _TOOL_ALIASES.get(plain, plain)
