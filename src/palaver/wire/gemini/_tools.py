"""Tools of a Gemini request: functions, declared in groups, and tools of the server between them.

An exchange has the functions alone. Where they do not stand in one group by themselves, `as_written.tools` holds the
whole list with the number of functions in place of each group.

Parameters are written as `parametersJsonSchema`, which takes any JSON Schema. `parameters`, an OpenAPI schema with
types in capitals, is read into JSON Schema and kept beside it where that differs.
"""

from collections.abc import Iterator
from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.gemini._fields import Fields, Kept, camel, drop_others, is_list, is_object, is_text, key_of

_GROUP = "functionDeclarations"
_NOTHING: JsonObject = {"type": "object", "properties": {}}
_NUMBERS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_VALUES = frozenset({"default", "example", "const", "enum", "required", "propertyOrdering"})


def read_tools(payload: Fields) -> JsonObject:
    """The request's `tools`."""
    entries = payload.take("tools", _has_functions)
    if entries is None:
        return {}
    tools: list[JsonObject] = []
    layout: list[JsonObject] = []
    for entry in entries:
        layout.append(dict(entry))
        key = key_of(entry, _GROUP)
        if key is not None and all(map(_is_declaration, entry[key])):
            tools += map(_tool, entry[key])
            layout[-1][key] = len(entry[key])
    if layout != [{_GROUP: len(tools)}]:
        payload.remember("tools", layout)
    return {"tools": tools}


def written_tools(tools: list[JsonObject], kept: Kept, losses: Losses) -> list[JsonObject]:
    declared = iter([_declaration(tool, f"/tools/{position}", losses) for position, tool in enumerate(tools)])
    entries = [_filled(entry, declared) for entry in kept.original("tools") or ()]
    if further := list(declared):
        others = kept.left.get("tools")
        entries += [*(others if isinstance(others, list) else ()), {_GROUP: further}]
    return entries


def _has_functions(value: Any) -> bool:
    """Whether there is a function to take; odd lists are left as they are."""
    if not is_list(value) or not all(map(is_object, value)):
        return False
    groups = [entry[key] for entry in value if (key := key_of(entry, _GROUP)) is not None]
    return all(map(is_list, groups)) and any(group and all(map(_is_declaration, group)) for group in groups)


def _is_declaration(value: Any) -> bool:
    return is_object(value) and is_text(value.get("name")) and bool(value["name"])


def _filled(entry: JsonObject, declared: Iterator[JsonObject]) -> JsonObject:
    key = key_of(entry, _GROUP)
    if key is None or isinstance(entry[key], list):
        return entry
    return entry | {key: [function for _, function in zip(range(entry[key]), declared, strict=False)]}


def _tool(declaration: JsonObject) -> JsonObject:
    fields = Fields(declaration)
    tool: JsonObject = {"name": fields.take("name", is_text)}
    if (description := fields.take("description", is_text)) is not None:
        tool["description"] = description
    tool["parameters"] = _parameters(fields)
    return tool | {"strict": False} | fields.beside()


def _parameters(fields: Fields) -> JsonObject:
    if (schema := fields.take("parametersJsonSchema", is_object)) is not None:
        return schema
    schema = fields.expect("parameters", is_object)
    if schema is None:
        return dict(_NOTHING)
    read = json_schema(schema)
    fields.remember("parameters", True if read == schema else schema)
    return read


def _declaration(tool: JsonObject, pointer: str, losses: Losses) -> JsonObject:
    drop_others(tool, frozenset({"name", "description", "parameters", "strict"}), pointer, losses)
    if tool.get("strict"):
        losses.drop(f"{pointer}/strict", "Gemini has no strict functions")
    kept = Kept(tool)
    made: JsonObject = {"name": tool["name"]}
    if tool.get("description") is not None:
        made["description"] = tool["description"]
    schema, original = tool["parameters"], kept.original("parameters")
    if original is True:
        made["parameters"] = schema
    elif is_object(original) and json_schema(original) == schema:
        made["parameters"] = original
    elif schema != _NOTHING or not kept.lacks("parameters"):
        made["parametersJsonSchema"] = schema
    return kept.complete(kept.spell(made))


def json_schema(schema: Any) -> Any:
    """An OpenAPI schema as Gemini has it, in either spelling, as JSON Schema."""
    if not isinstance(schema, dict):
        return schema
    read: JsonObject = {}
    for key, value in schema.items():
        key = camel(key)
        match key, value:
            case _, None if key not in _VALUES:
                continue
            case "type", str():
                read[key] = value.lower()
            case "properties" | "defs" | "$defs", dict():
                read[key] = {name: json_schema(inner) for name, inner in value.items()}
            case _, str() if key in _NUMBERS and value.isdecimal():
                read[key] = int(value)
            case _, list() if key not in _VALUES:
                read[key] = [json_schema(inner) for inner in value]
            case _, dict() if key not in _VALUES:
                read[key] = json_schema(value)
            case _:
                read[key] = value
    return _nullable(read)


def _nullable(schema: JsonObject) -> JsonObject:
    """OpenAPI says beside the type that there may be nothing, JSON Schema within it."""
    match schema:
        case {"nullable": True, "type": str(kind)}:
            schema["type"] = [kind, "null"]
        case {"nullable": True, "anyOf": list(kinds)}:
            schema["anyOf"] = [*kinds, {"type": "null"}]
        case {"nullable": False}:
            pass
        case _:
            return schema
    del schema["nullable"]
    return schema
