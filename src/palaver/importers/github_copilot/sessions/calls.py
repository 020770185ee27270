"""The blocks of calls: what was asked of a tool, and what it gave back."""

from typing import Any

from palaver.importers._shared.findings import MADE_CALL_ID
from palaver.importers.github_copilot.sessions.kept import Note, rest_of
from palaver.importers.github_copilot.sessions.results import Content, given_back, shown_output
from palaver.importers.github_copilot.sessions.tools import Call, bare_id
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._calls import arguments_from

_MAPPED = {
    (False, False): ("kind",),
    (False, True): ("kind", "toolId"),
    (True, False): ("kind", "toolCallId"),
    (True, True): ("kind", "toolCallId", "toolId"),
}
"""Fields of a part that its block says, by whether its id and its tool are those of the call."""


class CallBlocks:
    """Makes the blocks of one answer; `results` collects those that stand behind it."""

    def __init__(self, noted: Any, message_id: str, note: Note) -> None:
        self.results: list[JsonObject] = []
        self.unclaimed: JsonObject = dict(noted) if isinstance(noted, dict) else {}
        """What was noted as the result of a call that is nowhere."""
        self._bare: dict[str, str] | None = None
        self._message_id = message_id
        self._note = note
        self._made = 0

    def hidden(self, call: Call) -> JsonObject:
        """A call that the editor did not show."""
        block = build.tool_use(id=call.id, name=call.name, input=call.input)
        block["hidden"] = True
        if call.fields:
            block["source_fields"] = call.fields
        self._add_noted(call.id, call.id, {})
        return block

    def shown(self, part: JsonObject, call: Call | None) -> JsonObject:
        stated = part.get("toolCallId")
        tool = part.get("toolId")
        if call is not None:
            call_id, name = call.id, call.name
        else:
            call_id = stated if isinstance(stated, str) and stated else self._made_id()
            name = tool if isinstance(tool, str) and tool else "tool"
        fields = rest_of(part, _MAPPED[stated == call_id, tool == name])
        given = _input(part) if call is None else call.input
        block = build.tool_use(id=call_id, name=name, input=given)
        if part.get("presentation") == "hidden":
            block["hidden"] = True
        if not self._add_noted(call_id, stated, part):
            self._add_shown(call_id, part, fields)
        if call is not None and call.fields:
            fields["call"] = call.fields
        if fields:
            block["source_fields"] = fields
        return block

    def _made_id(self) -> str:
        self._made += 1
        made = f"{self._message_id}:call-{self._made}"
        self._note(MADE_CALL_ID, made)
        return made

    def _add_noted(self, call_id: str, stated: Any, part: JsonObject) -> bool:
        """Add the result that the extension noted."""
        key = self._key(call_id) or (self._key(stated) if isinstance(stated, str) else None)
        if key is None:
            return False
        value = self.unclaimed.pop(key)
        content, rest = given_back(value)
        self._add(call_id, content, part, rest)
        return True

    def _key(self, call_id: str) -> str | None:
        if call_id in self.unclaimed:
            return call_id
        if self._bare is None:
            self._bare = {bare_id(key): key for key in reversed(self.unclaimed)}
        key = self._bare.get(bare_id(call_id))
        return key if key in self.unclaimed else None

    def _add_shown(self, call_id: str, part: JsonObject, fields: JsonObject) -> None:
        """Add the result as the part shows it, and take it from the part's other fields."""
        match part.get("resultDetails"):
            case {"output": output, **rest} if (content := shown_output(output)) is not None:
                fields["resultDetails"] = rest
                self._add(call_id, content, part, {})
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
        self._add(call_id, text, part, {})

    def _add(self, call_id: str, content: Content, part: JsonObject, rest: JsonObject) -> None:
        metadata: JsonObject = _run_of(part)
        if rest:
            metadata["source_fields"] = rest
        is_error = _is_error(part) or rest.get("hasError") is True or rest.get("isError") is True
        self.results.append(
            build.tool_result(tool_use_id=call_id, content=content, is_error=is_error, metadata=metadata or None)
        )


def _input(part: JsonObject) -> JsonObject:
    """What a call was given, as far as the part itself says so."""
    match part.get("toolSpecificData"):
        case {"kind": "input", "rawInput": dict(given)} if given:
            return given
        case {"commandLine": {"original": str(command)}} | {"kind": "terminal", "command": str(command)}:
            return {"command": command}
        case {"kind": "simpleToolInvocation", "input": str(text)}:
            return arguments_from(text)
        case {"kind": "subagent", "prompt": str(prompt)}:
            return {"prompt": prompt}
        case _:
            pass
    match part.get("resultDetails"):
        case {"input": str(text)}:
            return arguments_from(text)
        case _:
            return {}


def _run_of(part: JsonObject) -> JsonObject:
    """How a command ended, where the part tells it."""
    metadata: JsonObject = {}
    match part.get("toolSpecificData"):
        case None:
            pass
        case {"terminalCommandState": dict(state)}:
            if type(code := state.get("exitCode")) is int:
                metadata["exit_code"] = code
            if isinstance(took := state.get("duration"), int | float) and not isinstance(took, bool) and took >= 0:
                metadata["duration_ms"] = took
        case _:
            pass
    return metadata


def _is_error(part: JsonObject) -> bool:
    if part.get("resultError"):
        return True
    details = part.get("resultDetails")
    return isinstance(details, dict) and details.get("isError") is True
