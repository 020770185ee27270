"""Tools of a request to Anthropic, and which of them to call, both ways.

Tools that Anthropic runs or defines itself have no schema: they are kept in the request's `provider_data`, each with
its place in the list. A tool is strict only where the payload says so.
"""

from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.anthropic._kept import difference, keep, plain, report_rest, settle

_CHOICES = {"auto": "auto", "none": "none", "any": "required"}
_CHOSEN = {choice: word for word, choice in _CHOICES.items()}


def tools_from_wire(raw: Any) -> tuple[list[JsonObject], Any]:
    """The tools, and what else the payload has in their place."""
    if not isinstance(raw, list):
        return [], raw
    entries = cast("list[Any]", raw)
    read = [tool_from_wire(entry) for entry in entries]
    others = [[place, entries[place]] for place, tool in enumerate(read) if tool is None]
    return [tool for tool in read if tool], others


def tools_to_wire(tools: list[JsonObject], kept: Any, losses: Losses) -> list[Any]:
    """What was kept stands among the tools, where it stood."""
    written: list[Any] = [tool_to_wire(tool, f"/tools/{number}", losses) for number, tool in enumerate(tools)]
    for place, entry in cast("list[list[Any]]", kept) if isinstance(kept, list) else ():
        written.insert(place, entry)
    return written


def tool_from_wire(raw: Any) -> JsonObject | None:
    match raw:
        case {"name": str(name), "input_schema": dict(schema)} if name:
            tool: JsonObject = {"name": name}
            if isinstance(description := raw.get("description"), str):
                tool["description"] = description
            tool |= {"parameters": schema, "strict": raw.get("strict") is True}
            if kept := difference(raw, _made(tool, "", Losses())):
                keep(tool, kept)
            return tool
        case _:
            return None


def tool_to_wire(tool: JsonObject, pointer: str, losses: Losses) -> JsonObject:
    found = Losses()
    made = _made(tool, pointer, found)
    report_rest(tool, ("name", "description", "parameters", "strict"), pointer, losses)

    def says(raw: JsonObject) -> JsonObject:
        return plain(tool_from_wire(raw) or {})

    return settle(tool, made, says, pointer=pointer, found=found, losses=losses)


def choice_from_wire(raw: Any) -> tuple[JsonObject | None, Any]:
    """The choice, and what else was said with it."""
    match raw:
        case {"type": "tool", "name": str(name), **rest} if name:
            return {"type": "specific", "name": name}, rest
        case {"type": "auto" | "none" | "any" as word, **rest}:
            return {"type": _CHOICES[word]}, rest
        case _:
            return None, raw


def choice_to_wire(choice: JsonObject, kept: Any, losses: Losses) -> JsonObject:
    if choice["type"] == "specific":
        made: JsonObject = {"type": "tool", "name": choice["name"]}
    else:
        made = {"type": _CHOSEN[choice["type"]]}
    report_rest(choice, ("type", "name"), "/tool_choice", losses)
    return {**kept, **made} if isinstance(kept, dict) else made


def _made(tool: JsonObject, pointer: str, losses: Losses) -> JsonObject:
    made: JsonObject = {"name": tool["name"]}
    if tool.get("description") is not None:
        made["description"] = tool["description"]
    made["input_schema"] = tool["parameters"]
    if "type" not in tool["parameters"]:
        losses.change(f"{pointer}/parameters", "Anthropic needs the type of the input, which is an object")
        made["input_schema"] = {"type": "object", **tool["parameters"]}
    if tool.get("strict", True):
        made["strict"] = True
    return made
