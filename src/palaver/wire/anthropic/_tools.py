"""Tools of a request to Anthropic, the choice among them, and the ids and input of calls.

Tools that Anthropic runs or defines itself have no schema: they are kept in the request's `provider_data`, each with
its index in the list. A tool is strict only if the payload says so.
"""

import json
from dataclasses import dataclass, field
from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire._tool_calls import parse_object
from palaver.wire.anthropic._provider_data import (
    difference,
    report_unwritten,
    restore,
    store_own_data,
    without_provider_data,
)

_IS_SINGLE = "disable_parallel_tool_use"
_CHOICES = {"auto": "auto", "none": "none", "any": "required"}
_WIRE_CHOICES = {choice: word for word, choice in _CHOICES.items()}


def tools_from_wire(raw: Any) -> tuple[list[JsonObject], Any]:
    """Return the caller's tools, and the other entries with their indexes; the raw value if it is not a list."""
    if not isinstance(raw, list):
        return [], raw
    entries = cast("list[Any]", raw)
    read = [tool_from_wire(entry) for entry in entries]
    others = [[index, entries[index]] for index, tool in enumerate(read) if tool is None]
    return [tool for tool in read if tool], others


def tools_to_wire(tools: list[JsonObject], saved: Any, losses: Losses) -> list[Any]:
    """Return the tools, with the saved other entries inserted at their indexes."""
    written: list[Any] = [tool_to_wire(tool, f"/tools/{number}", losses) for number, tool in enumerate(tools)]
    for index, entry in cast("list[list[Any]]", saved) if isinstance(saved, list) else ():
        written.insert(index, entry)
    return written


def tool_from_wire(raw: Any) -> JsonObject | None:
    match raw:
        case {"name": str(name), "input_schema": dict(schema)} if name:
            tool: JsonObject = {"name": name}
            if isinstance(description := raw.get("description"), str):
                tool["description"] = description
            tool |= {"parameters": schema, "strict": raw.get("strict") is True}
            if saved := difference(raw, _build_tool(tool, "", Losses())):
                store_own_data(tool, saved)
            return tool
        case _:
            return None


def tool_to_wire(tool: JsonObject, pointer: str, losses: Losses) -> JsonObject:
    writer_losses = Losses()
    made = _build_tool(tool, pointer, writer_losses)
    report_unwritten(tool, ("name", "description", "parameters", "strict"), pointer, losses)

    def parse(raw: JsonObject) -> JsonObject:
        return without_provider_data(tool_from_wire(raw) or {})

    return restore(tool, made, parse, pointer=pointer, writer_losses=writer_losses, losses=losses)


def choice_from_wire(raw: Any) -> tuple[JsonObject, Any]:
    """Return the fields of a request that the choice sets, and the rest; the raw value if there are none."""
    match raw:
        case {"type": "tool", "name": str(name), **rest} if name:
            settings: JsonObject = {"tool_choice": {"type": "specific", "name": name}}
        case {"type": "auto" | "none" | "any" as word, **rest}:
            settings = {"tool_choice": {"type": _CHOICES[word]}}
        case _:
            return {}, raw
    if isinstance(rest.get(_IS_SINGLE), bool) and raw["type"] != "none":
        settings["parallel_tool_calls"] = not rest.pop(_IS_SINGLE)
    return settings, rest


def choice_to_wire(request: JsonObject, saved: Any, losses: Losses) -> JsonObject | None:
    """Return the choice, which also says whether several tools may be called at once; None if there is none."""
    choice, is_parallel = request.get("tool_choice"), request.get("parallel_tool_calls")
    if not choice:
        if is_parallel is not False:
            return None
        if not request.get("tools"):
            losses.drop("/parallel_tool_calls", "Anthropic states it in the tool choice, but there are no tools")
            return None
        choice = {"type": "auto"}
    report_unwritten(choice, ("type", "name"), "/tool_choice", losses)
    if choice["type"] == "specific":
        made: JsonObject = {"type": "tool", "name": choice["name"]}
    else:
        made = {"type": _WIRE_CHOICES[choice["type"]]}
    if is_parallel is not None and choice["type"] != "none":
        made[_IS_SINGLE] = not is_parallel
    elif is_parallel is False:
        losses.drop("/parallel_tool_calls", "Anthropic cannot express it if no tool may be called")
    return {**saved, **made} if isinstance(saved, dict) else made


def _build_tool(tool: JsonObject, pointer: str, losses: Losses) -> JsonObject:
    made: JsonObject = {"name": tool["name"]}
    if tool.get("description") is not None:
        made["description"] = tool["description"]
    made["input_schema"] = tool["parameters"]
    if "type" not in tool["parameters"]:
        losses.change(f"{pointer}/parameters", "Anthropic requires an input of type object")
        made["input_schema"] = {"type": "object", **tool["parameters"]}
    if tool.get("strict", True):
        made["strict"] = True
    return made


@dataclass(slots=True)
class CallIds:
    """The ids of the calls in one payload: makes up missing ones, and matches results without an id in order."""

    unanswered: list[str] = field(default_factory=list[str])
    used: set[str] = field(default_factory=set[str])
    count: int = 0

    def register_call(self, stated: Any) -> str:
        self.count += 1
        call_id = stated if isinstance(stated, str) else self._new_id()
        self.used.add(call_id)
        self.unanswered.append(call_id)
        return call_id

    def match_result(self, stated: Any) -> str:
        if isinstance(stated, str):
            if stated in self.unanswered:
                self.unanswered.remove(stated)
            return stated
        return self.unanswered.pop(0) if self.unanswered else self._new_id()

    def _new_id(self) -> str:
        number = self.count
        while (call_id := f"call_{number}") in self.used:
            number += 1
        return call_id


def parse_input(raw: Any) -> JsonObject:
    """Return a call's arguments as an object; any other value goes under the key `raw`."""
    if isinstance(raw, dict):
        return cast("JsonObject", raw)
    if raw is None or raw == "":  # streams leave a call without arguments like this
        return {}
    if isinstance(raw, str):
        parsed = parse_object(raw)
        return {"raw": raw} if parsed is None else parsed
    return {"raw": json.dumps(raw, ensure_ascii=False)}
