"""Tools of a Gemini request, and the choice among them (`toolConfig`).

Functions are declared in groups, with server tools between them. An exchange has only the functions; the other tools
stay in `provider_data`. Unless there is nothing but a single group, `as_written.tools` holds the form of the list: for
each entry, the number of its functions, and whether it has others.

Parameters are written as `parametersJsonSchema`, which takes any JSON Schema. `parameters`, an OpenAPI schema with
types in capitals, is converted to JSON Schema; the original is kept if it differs.
"""

from collections.abc import Iterator
from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.gemini._provider_data import (
    FieldReader,
    ProviderData,
    is_list,
    is_object,
    is_text,
    is_text_list,
    key_of,
    report_unwritten,
    snake,
)
from palaver.wire.gemini._schemas import json_schema

_GROUP = "functionDeclarations"
_NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}
_MODE = ("toolConfig", "functionCallingConfig", "mode")
_WIRE_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "specific": "ANY"}
_CHOICES = {"AUTO": "auto", "NONE": "none", "ANY": "required", "VALIDATED": "auto"}


def tools_from_wire(payload: FieldReader) -> JsonObject:
    """Return an object with the request's `tools`; empty if there are no functions."""
    entries = payload.take("tools", has_functions)
    if entries is None:
        return {}
    tools: list[JsonObject] = []
    others: list[JsonObject] = []
    layout: list[JsonObject] = []
    for entry in entries:
        key = group_key(entry)
        form: JsonObject = {}
        if key is not None:
            tools += map(_tool_from_wire, entry[key])
            form[key] = len(entry[key])
        layout.append(form)
        if rest := {name: value for name, value in entry.items() if name not in form}:
            form["others"] = True
            others.append(rest)
    if layout != [{_GROUP: len(tools)}]:
        payload.remember("tools", layout)
    if others:
        payload.keep("tools", others)
    return {"tools": tools}


def tools_to_wire(tools: list[JsonObject], saved: ProviderData, losses: Losses) -> list[JsonObject]:
    declared = iter([_tool_to_wire(tool, f"/tools/{position}", losses) for position, tool in enumerate(tools)])
    kept: Any = saved.extra.get("tools")
    others = iter(kept if isinstance(kept, list) else [])
    entries = [_fill_entry(form, declared, others) for form in saved.original("tools") or ()]
    remaining = list(declared)
    if entries or remaining:
        entries += [*others, *([{_GROUP: remaining}] if remaining else [])]
    return entries


def choice_from_wire(payload: FieldReader) -> JsonObject:
    """Return an object with the request's `tool_choice`; empty if the payload has none."""
    config = payload.inner("toolConfig")
    calling = config.inner("functionCallingConfig") if config else None
    if calling is None:
        return {}
    mode = calling.take("mode", lambda value: is_text(value) and value.upper() in _CHOICES)
    if mode is None:
        return {}
    kind = _CHOICES[mode.upper()]
    choice: JsonObject = {"type": kind}
    if kind == "required" and (only := calling.take("allowedFunctionNames", _is_single_name)):
        choice = {"type": "specific", "name": only[0]}
    if mode.upper() != _WIRE_MODES[kind]:
        calling.keep("mode", mode)
    elif mode != _WIRE_MODES[kind]:
        calling.remember("mode", mode)
    return {"tool_choice": choice}


def choice_to_wire(request: JsonObject, saved: ProviderData, losses: Losses) -> JsonObject | None:
    choice = request.get("tool_choice")
    if not choice:
        if is_text(mode := saved.stated(*_MODE)) and mode.upper() in _CHOICES:
            saved.discard(*_MODE)
        return None
    kind = choice["type"]
    report_unwritten(choice, frozenset({"type", "name"}), "/tool_choice", losses)
    mode = _WIRE_MODES[kind]
    original = saved.stated(*_MODE) or saved.original("mode")
    if is_text(original) and _CHOICES.get(original.upper()) == _CHOICES[mode]:
        mode = original
    calling: JsonObject = {"mode": mode}
    if kind == "specific":
        calling["allowedFunctionNames"] = [choice["name"]]
    return saved.spell({"functionCallingConfig": saved.spell(calling)})


def group_key(entry: JsonObject) -> str | None:
    """Return the key of an entry's functions; None if it declares none, or what is there is malformed."""
    key = key_of(entry, _GROUP)
    return key if key is not None and all(map(_is_declaration, entry[key])) else None


def has_functions(value: Any) -> bool:
    """Return whether a list has functions to take; malformed lists are kept whole."""
    if not is_list(value) or not all(map(is_object, value)):
        return False
    groups = [entry[key] for entry in value if (key := key_of(entry, _GROUP)) is not None]
    return all(map(is_list, groups)) and any(group and all(map(_is_declaration, group)) for group in groups)


def _is_declaration(value: Any) -> bool:
    return is_object(value) and is_text(value.get("name")) and bool(value["name"])


def _is_single_name(value: Any) -> bool:
    return is_text_list(value) and len(value) == 1 and bool(value[0])


def _fill_entry(form: JsonObject, declared: Iterator[JsonObject], others: Iterator[JsonObject]) -> JsonObject:
    """Return an entry of the list of tools: as many of the functions, and another tool, as its form has."""
    entry = dict(next(others, {})) if form.get("others") else {}
    for key in (_GROUP, snake(_GROUP)):
        if key in form:
            entry[key] = [function for _, function in zip(range(form[key]), declared, strict=False)]
    return entry


def _tool_from_wire(declaration: JsonObject) -> JsonObject:
    fields = FieldReader(declaration)
    tool: JsonObject = {"name": fields.take("name", is_text)}
    if (description := fields.take("description", is_text)) is not None:
        tool["description"] = description
    tool["parameters"] = _parameters(fields)
    return tool | {"strict": False} | fields.provider_data()


def _parameters(fields: FieldReader) -> JsonObject:
    if (schema := fields.take("parametersJsonSchema", is_object)) is not None:
        return schema
    schema = fields.expect("parameters", is_object)
    if schema is None:
        return dict(_NO_PARAMETERS)
    converted = json_schema(schema)
    fields.remember("parameters", True if converted == schema else schema)
    return converted


def _tool_to_wire(tool: JsonObject, pointer: str, losses: Losses) -> JsonObject:
    report_unwritten(tool, frozenset({"name", "description", "parameters", "strict"}), pointer, losses)
    if tool.get("strict"):
        losses.drop(f"{pointer}/strict", "Gemini has no strict functions")
    saved = ProviderData(tool)
    declaration: JsonObject = {"name": tool["name"]}
    if tool.get("description") is not None:
        declaration["description"] = tool["description"]
    schema, original = tool["parameters"], saved.original("parameters")
    if original is True:
        declaration["parameters"] = schema
    elif is_object(original) and json_schema(original) == schema:
        declaration["parameters"] = original
    elif schema != _NO_PARAMETERS or not saved.lacks("parameters"):
        declaration["parametersJsonSchema"] = schema
    return saved.complete(saved.spell(declaration))
