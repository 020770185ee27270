"""Tools, the choice among them, and the ids and arguments of calls, in both of OpenAI's formats.

Chat nests a tool under its kind, Responses is flat. Tools that are not the caller's functions (a search that the
provider runs) are not part of the exchange; they are noted with their index. A custom tool takes free text: it becomes
a tool with a single string, `input`. The arguments of a call are a JSON string.
"""

import json
import math
from dataclasses import dataclass, field
from typing import Any

import orjson

from palaver.model.build import JsonObject
from palaver.wire._places import Pointers, tool_pointers
from palaver.wire._tool_calls import parse_object
from palaver.wire.openai._provider_data import CHAT, Fields, Writer, apply_notes, attach_notes, notes_for, shape

FREE_TEXT: JsonObject = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_MODES = ("auto", "none", "required")


def tools_from_wire(tools: list[Any], name: str) -> tuple[list[JsonObject], list[JsonObject]]:
    """Return the caller's tools, and all others with their indexes."""
    ours: list[JsonObject] = []
    others: list[JsonObject] = []
    for index, tool in enumerate(tools):
        found = tool_from_wire(tool, name)
        if found is None:
            others.append({"at": index, "tool": tool})
        else:
            ours.append(found)
    return ours, others


def tools_to_wire(request: JsonObject, others: Any, writer: Writer) -> list[Any]:
    """Return the tools, with the others of the notes at their indexes."""
    made: list[Any] = [
        tool_to_wire(tool, f"/tools/{index}", writer) for index, tool in enumerate(request.get("tools") or ())
    ]
    for other in others if are_other_tools(others) else ():
        made.insert(other["at"], other["tool"])
    return made


def tool_places(payload: JsonObject, name: str) -> Pointers:
    """Return where a payload has the tools of its request."""
    if isinstance(payload.get("tools"), list):
        return tool_pointers(payload["tools"], name, lambda tool: tool_from_wire(tool, name) is not None)
    return {"/tools": ("/functions",)} if name == CHAT else {}


def are_other_tools(noted: Any) -> bool:
    """Return whether these are tools that the exchange cannot express, with their indexes."""
    return (
        bool(noted)
        and isinstance(noted, list)
        and all(isinstance(other, dict) and other.keys() == {"at", "tool"} for other in noted)
    )


def tool_from_wire(tool: Any, name: str) -> JsonObject | None:
    if not isinstance(tool, dict):
        return None
    kind = tool.get("type")
    if kind not in ("function", "custom"):
        return None
    inner = tool.get(kind) if name == CHAT else tool
    match inner:
        case {"name": str(tool_name)} if tool_name:
            pass
        case _:
            return None
    initial: JsonObject = {}
    if kind == "custom":
        initial["type"] = "custom"
        parameters, strict = FREE_TEXT, False
    else:
        parameters, strict = inner.get("parameters"), inner.get("strict")
        if name == CHAT and strict is False:
            initial["shape"] = {"strict": "stated"}
        if name != CHAT and isinstance(parameters, dict) and isinstance(parameters.get("strict"), bool):
            # The seed dialect has `strict` inside the parameters, the API beside them.
            initial["shape"] = {"strict": "inside"} if "strict" not in inner else {"inside": parameters["strict"]}
            strict = parameters["strict"] if "strict" not in inner else strict
            parameters = {key: value for key, value in parameters.items() if key != "strict"}
    made = _build_tool(tool_name, inner.get("description"), parameters, is_strict=strict is True)
    trial = Writer(name, "seed")
    notes = notes_for(tool, lambda notes: _tool_fields(made, notes, trial), initial)
    return None if notes is None else attach_notes(made, name, notes)


def function_from_wire(function: Any) -> JsonObject | None:
    """Return the tool of an entry in Chat's legacy `functions`, which has no kind around it."""
    match function:
        case {"name": str(tool_name)} if tool_name:
            made = _build_tool(tool_name, function.get("description"), function.get("parameters"), is_strict=False)
            notes = notes_for(function, lambda _: _function_fields(made))
            return None if notes is None else attach_notes(made, CHAT, notes)
        case _:
            return None


def function_to_wire(tool: JsonObject, pointer: str, writer: Writer) -> JsonObject:
    writer.report_unwritten(tool, ("name", "description", "parameters", "strict"), pointer)
    if tool.get("strict", True):
        writer.losses.drop(f"{pointer}/strict", "functions in the older form cannot be strict")
    return apply_notes(*_function_fields(tool), writer.notes(tool))


def _build_tool(tool_name: str, description: Any, parameters: Any, *, is_strict: bool) -> JsonObject:
    made: JsonObject = {"name": tool_name}
    if isinstance(description, str):
        made["description"] = description
    return made | {"parameters": parameters if isinstance(parameters, dict) else {}, "strict": is_strict}


def tool_to_wire(tool: JsonObject, pointer: str, writer: Writer) -> JsonObject:
    writer.report_unwritten(tool, ("name", "description", "parameters", "strict"), pointer, {"type"})
    notes = writer.notes(tool)
    return apply_notes(*_tool_fields(tool, notes, writer), notes)


def is_custom(tool: JsonObject, writer: Writer) -> bool:
    kind = writer.notes(tool).get("type") or writer.sibling_notes(tool).get("type")
    return kind == "custom" and tool["parameters"] == FREE_TEXT


def _tool_fields(tool: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
    form = shape(notes)
    is_custom_tool = notes.get("type") == "custom" or is_custom(tool, writer)
    known, defaults = _function_fields(tool)
    if is_custom_tool:
        known.pop("parameters", None)
        defaults = {}
    elif writer.dialect == "seed" and form.get("strict") == "inside":
        known["parameters"] = {**tool["parameters"], "strict": tool.get("strict", True)}
    else:
        if writer.dialect == "seed" and "inside" in form:
            known["parameters"] = {**tool["parameters"], "strict": form["inside"]}
        if tool.get("strict", True):
            known["strict"] = True
        elif writer.name != CHAT:
            defaults["strict"] = False
        elif form.get("strict") == "stated":
            known["strict"] = False
    kind = "custom" if is_custom_tool else "function"
    if writer.name == CHAT:
        return Fields({"type": kind, kind: known}, {kind: defaults})
    return Fields({"type": kind, **known}, defaults)


def _function_fields(tool: JsonObject) -> Fields:
    known = {key: tool[key] for key in ("name", "description") if tool.get(key) is not None}
    if tool["parameters"]:
        return Fields({**known, "parameters": tool["parameters"]}, {})
    return Fields(known, {"parameters": {}})


def choice_from_wire(choice: Any) -> JsonObject | None:
    """Return the tool choice; None if the exchange cannot express it."""
    match choice:
        case str() if choice in _MODES:
            return {"type": choice}
        case {"type": "function" | "custom" as kind, **rest}:
            inner = rest.get(kind, rest)
            tool_name = inner.get("name") if isinstance(inner, dict) else None
            return {"type": "specific", "name": tool_name} if isinstance(tool_name, str) and tool_name else None
        case {"type": "allowed_tools", **rest}:
            inner = rest.get("allowed_tools", rest)
            mode = inner.get("mode") if isinstance(inner, dict) else None
            return {"type": mode} if mode in _MODES else None
        case {"name": str(tool_name)} if tool_name and choice.keys() == {"name"}:
            return {"type": "specific", "name": tool_name}
        case _:
            return None


def is_allowed_tools(choice: Any) -> bool:
    """Return whether this is a choice with a list of tools, which the exchange cannot express."""
    return isinstance(choice, dict) and choice.get("type") == "allowed_tools"


def choice_to_wire(request: JsonObject, writer: Writer, saved_choice: Any = None) -> Any:
    """Return the choice in the format's spelling: the one that either format noted if it still means the same."""
    choice: JsonObject = request["tool_choice"]
    writer.report_unwritten(choice, ("type", "name"), "/tool_choice")
    if choice_from_wire(saved_choice) == choice:
        return saved_choice
    other = writer.sibling_notes(request).get("tool_choice")
    if isinstance(other, dict) and is_allowed_tools(other) and choice_from_wire(other) == choice:
        return _allowed_tools(other, writer.name)
    if choice["type"] != "specific":
        return choice["type"]
    tool_name: str = choice["name"]
    is_custom_tool = any(tool["name"] == tool_name and is_custom(tool, writer) for tool in request.get("tools") or ())
    kind = "custom" if is_custom_tool else "function"
    return {"type": kind, kind: {"name": tool_name}} if writer.name == CHAT else {"type": kind, "name": tool_name}


def _allowed_tools(choice: JsonObject, name: str) -> JsonObject:
    """Return a choice with a list of tools in the form of a format: nested in Chat, flat in Responses."""
    inner = choice.get("allowed_tools", choice)
    tools = [_spelled_tool(tool, name) for tool in inner.get("tools") or ()]
    spelled = {"mode": inner.get("mode"), "tools": tools}
    return {"type": "allowed_tools", **({"allowed_tools": spelled} if name == CHAT else spelled)}


def _spelled_tool(tool: Any, name: str) -> Any:
    match tool:
        case {"type": "function" | "custom" as kind, "name": str(tool_name)} if name == CHAT:
            return {"type": kind, kind: {"name": tool_name}}
        case {"type": "function" | "custom" as kind, **rest} if name != CHAT and isinstance(rest.get(kind), dict):
            return {"type": kind, **rest[kind]}
        case _:
            return tool


def parse_arguments(value: Any) -> JsonObject:
    """Return a call's input; a text that is not a JSON object goes under the key `raw`."""
    if isinstance(value, dict):
        return value
    if not value:
        return {}
    parsed = parse_object(value)
    return {"raw": value} if parsed is None else parsed


def arguments_fields(block: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
    """Return the `arguments` of a call: the original string if it still means the same, a default for empty input."""
    given: JsonObject = block["input"]
    if shape(notes).get("arguments") == "object":
        return Fields({"arguments": given}, {})
    sibling = writer.sibling_notes(block)
    nested = sibling.get("function")
    for candidate in (notes, sibling, nested if isinstance(nested, dict) else {}):
        original = candidate.get("arguments")
        if isinstance(original, str) and parse_arguments(original) == given:
            return Fields({"arguments": original}, {}) if given else Fields({}, {"arguments": original})
    return Fields({"arguments": _compact(given)}, {}) if given else Fields({}, {"arguments": "{}"})


def _compact(given: JsonObject) -> str:
    try:
        return orjson.dumps(given).decode()
    except TypeError:  # integers beyond 64 bits, lone surrogates
        return json.dumps(_without_nan(given), separators=(",", ":"))


def _without_nan(value: Any) -> Any:
    """Return a value with null for NaN and the infinities, which JSON does not have."""
    match value:
        case dict():
            return {key: _without_nan(inner) for key, inner in value.items()}
        case list():
            return [_without_nan(inner) for inner in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def arguments_notes(value: Any) -> JsonObject:
    """Return the notes that decide how arguments are written: some servers send an object."""
    return {"shape": {"arguments": "object"}} if isinstance(value, dict) else {}


def is_free_text(block: JsonObject, writer: Writer) -> bool:
    """Return whether a call's input is the text of a custom tool, in either of OpenAI's formats."""
    kind = writer.notes(block).get("type") or writer.sibling_notes(block).get("type")
    free = block["input"]
    return kind in ("custom", "custom_tool_call") and free.keys() == {"input"} and isinstance(free["input"], str)


@dataclass(slots=True)
class CallIds:
    """Makes up ids for calls without one, and matches results without an id to the oldest unanswered call."""

    payload_ids: set[str]
    """Every call id in the payload."""
    _open: dict[str, str] = field(default_factory=dict[str, str])
    """The names of unanswered calls by id, oldest first."""
    _count: int = 0

    def register_call(self, call_id: Any, name: str) -> tuple[str, bool]:
        """Return the id of a call, and whether it was made up."""
        is_made_up = not isinstance(call_id, str) or not call_id
        given = self._new_id() if is_made_up else call_id
        self._count += 1
        self._open.setdefault(given, name)
        return given, is_made_up

    def match_result(self, call_id: Any, name: str | None = None) -> tuple[str, bool]:
        """Return the id of the call that a result answers, and whether it was matched without an id."""
        if isinstance(call_id, str) and call_id:
            self._open.pop(call_id, None)
            return call_id, False
        same_name = (open_id for open_id, tool_name in self._open.items() if tool_name == name)
        found = next(same_name, None) or next(iter(self._open), None)
        if found is not None:
            del self._open[found]
            return found, True
        given = self._new_id()
        self._count += 1
        return given, True

    def _new_id(self) -> str:
        made = f"call_{self._count}"
        while made in self.payload_ids:
            made += "_"
        return made
