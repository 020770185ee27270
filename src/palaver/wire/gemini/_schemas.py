"""Gemini's own schemas, a dialect of OpenAPI with types in capitals, converted to JSON Schema."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire.gemini._provider_data import camel

_NUMBER_KEYWORDS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_VALUE_KEYWORDS = frozenset({"default", "example", "const", "enum", "required", "propertyOrdering"})


def json_schema(schema: Any) -> Any:
    """Convert one of Gemini's OpenAPI schemas, in either spelling, to JSON Schema."""
    if not isinstance(schema, dict):
        return schema
    converted: JsonObject = {}
    for key, value in schema.items():
        key = camel(key)
        match key, value:
            case _, None if key not in _VALUE_KEYWORDS:
                continue
            case "type", str():
                converted[key] = value.lower()
            case "properties" | "defs" | "$defs", dict():
                converted[key] = {name: json_schema(inner) for name, inner in value.items()}
            case _, str() if key in _NUMBER_KEYWORDS and value.isdecimal():
                converted[key] = int(value)
            case _, list() if key not in _VALUE_KEYWORDS:
                converted[key] = [json_schema(inner) for inner in value]
            case _, dict() if key not in _VALUE_KEYWORDS:
                converted[key] = json_schema(value)
            case _:
                converted[key] = value
    return _convert_nullable(converted)


def _convert_nullable(schema: JsonObject) -> JsonObject:
    """Replace OpenAPI's `nullable` by a null type."""
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
