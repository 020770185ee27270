"""Tools and the choice among them: nested under their kind in Chat, flat in Responses.

What is no function of the caller's (a search that the provider runs) has no place in the exchange and is noted at its
index. A custom tool takes free text: it becomes a tool with one string, `input`.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire.openai._notes import CHAT, Fields, Writing, annotate, noted, shape, told

FREE_TEXT: JsonObject = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_MODES = ("auto", "none", "required")


def tools_from(tools: list[Any], name: str) -> tuple[list[JsonObject], list[JsonObject]]:
    """The caller's tools, and all others with their places."""
    ours: list[JsonObject] = []
    others: list[JsonObject] = []
    for index, tool in enumerate(tools):
        found = tool_from(tool, name)
        if found is None:
            others.append({"at": index, "tool": tool})
        else:
            ours.append(found)
    return ours, others


def tools_to(request: JsonObject, others: list[JsonObject], writing: Writing) -> list[Any]:
    made: list[Any] = [
        tool_to(tool, f"/tools/{index}", writing) for index, tool in enumerate(request.get("tools") or ())
    ]
    for other in others:
        made.insert(other["at"], other["tool"])
    return made


def tool_from(tool: Any, name: str) -> JsonObject | None:
    if not isinstance(tool, dict):
        return None
    kind = tool.get("type")
    if kind not in ("function", "custom"):
        return None
    inner = tool.get(kind) if name == CHAT else tool
    match inner:
        case {"name": str(called)} if called:
            pass
        case _:
            return None
    first: JsonObject = {}
    if kind == "custom":
        first["type"] = "custom"
        parameters, strict = FREE_TEXT, False
    else:
        parameters, strict = inner.get("parameters"), inner.get("strict")
        if name != CHAT and isinstance(parameters, dict) and isinstance(parameters.get("strict"), bool):
            # One specification puts it here; beside the parameters is where the API has it.
            first["shape"] = {"strict": "inside"} if "strict" not in inner else {"inside": parameters["strict"]}
            strict = parameters["strict"] if "strict" not in inner else strict
            parameters = {key: value for key, value in parameters.items() if key != "strict"}
    made = _tool(called, inner.get("description"), parameters, is_strict=strict is True)
    reading = Writing(name, "seed")
    notes = noted(tool, lambda notes: _tool_fields(made, notes, reading), first)
    return None if notes is None else annotate(made, name, notes)


def function_from(function: Any) -> JsonObject | None:
    """A tool in Chat's older form, without a kind around it."""
    match function:
        case {"name": str(called)} if called:
            made = _tool(called, function.get("description"), function.get("parameters"), is_strict=False)
            notes = noted(function, lambda _: _function_fields(made))
            return None if notes is None else annotate(made, CHAT, notes)
        case _:
            return None


def function_to(tool: JsonObject, at: str, writing: Writing) -> JsonObject:
    writing.leave_out(tool, ("name", "description", "parameters", "strict"), at)
    if tool.get("strict", True):
        writing.losses.drop(f"{at}/strict", "functions in the older form cannot be strict")
    return told(*_function_fields(tool), writing.notes(tool))


def _tool(called: str, description: Any, parameters: Any, *, is_strict: bool) -> JsonObject:
    made: JsonObject = {"name": called}
    if isinstance(description, str):
        made["description"] = description
    return made | {"parameters": parameters if isinstance(parameters, dict) else {}, "strict": is_strict}


def tool_to(tool: JsonObject, at: str, writing: Writing) -> JsonObject:
    writing.leave_out(tool, ("name", "description", "parameters", "strict"), at, {"type"})
    notes = writing.notes(tool)
    return told(*_tool_fields(tool, notes, writing), notes)


def is_custom(tool: JsonObject, writing: Writing) -> bool:
    kind = writing.notes(tool).get("type") or writing.sibling(tool).get("type")
    return kind == "custom" and tool["parameters"] == FREE_TEXT


def _tool_fields(tool: JsonObject, notes: JsonObject, writing: Writing) -> Fields:
    facts = shape(notes)
    is_free = notes.get("type") == "custom" or is_custom(tool, writing)
    said, filled = _function_fields(tool)
    if is_free:
        said.pop("parameters", None)
        filled = {}
    elif writing.dialect == "seed" and facts.get("strict") == "inside":
        said["parameters"] = {**tool["parameters"], "strict": tool.get("strict", True)}
    else:
        if writing.dialect == "seed" and "inside" in facts:
            said["parameters"] = {**tool["parameters"], "strict": facts["inside"]}
        if tool.get("strict", True):
            said["strict"] = True
        else:
            filled["strict"] = False
    kind = "custom" if is_free else "function"
    if writing.name == CHAT:
        return Fields({"type": kind, kind: said}, {kind: filled})
    return Fields({"type": kind, **said}, filled)


def _function_fields(tool: JsonObject) -> Fields:
    said = {key: tool[key] for key in ("name", "description") if tool.get(key) is not None}
    if tool["parameters"]:
        return Fields({**said, "parameters": tool["parameters"]}, {})
    return Fields(said, {"parameters": {}})


def choice_from(choice: Any) -> JsonObject | None:
    """Which tool is to be called; None where the exchange cannot say."""
    match choice:
        case str() if choice in _MODES:
            return {"type": choice}
        case {"type": "function" | "custom" as kind, **rest}:
            inner = rest.get(kind, rest)
            called = inner.get("name") if isinstance(inner, dict) else None
            return {"type": "specific", "name": called} if isinstance(called, str) and called else None
        case {"type": "allowed_tools", **rest}:
            inner = rest.get("allowed_tools", rest)
            mode = inner.get("mode") if isinstance(inner, dict) else None
            return {"type": mode} if mode in _MODES else None
        case {"name": str(called)} if called and choice.keys() == {"name"}:
            return {"type": "specific", "name": called}
        case _:
            return None


def choice_to(request: JsonObject, noted_choice: Any, writing: Writing) -> Any:
    """The choice as the format spells it: as it was noted while that still means the same."""
    choice: JsonObject = request["tool_choice"]
    writing.leave_out(choice, ("type", "name"), "/tool_choice")
    if choice_from(noted_choice) == choice:
        return noted_choice
    if choice["type"] != "specific":
        return choice["type"]
    called: str = choice["name"]
    is_free = any(tool["name"] == called and is_custom(tool, writing) for tool in request.get("tools") or ())
    kind = "custom" if is_free else "function"
    return {"type": kind, kind: {"name": called}} if writing.name == CHAT else {"type": kind, "name": called}
