"""Attributes as names with plain values, whichever way they are written."""

from typing import Any, cast

from palaver.importers.github_copilot.spans.secrets import discreet
from palaver.model.build import JsonObject

_DEEPEST = 32


def attributes_of(listed: Any) -> tuple[JsonObject, list[Any]]:
    """OTLP's list of keys and values as an object, and what could not be read of it."""
    if isinstance(listed, dict):
        return cast("JsonObject", listed), []
    if not isinstance(listed, list):
        return {}, [] if listed is None else [listed]
    found: JsonObject = {}
    unread: list[Any] = []
    for entry in cast("list[Any]", listed):
        match entry:
            case {"key": str(key), "value": dict(value)} if key not in found:
                found[key] = value_of(value)
            case _:
                unread.append(entry)
    return found, unread


def value_of(value: JsonObject, depth: int = 0) -> Any:
    """The value that an OTLP value wraps; what is none stays as it is."""
    if len(value) != 1 or depth > _DEEPEST:
        return value
    match value:
        case {"stringValue": str() as plain} | {"boolValue": bool() as plain} | {"doubleValue": float() as plain}:
            return plain
        case {"intValue": int() as plain}:
            return plain
        case {"intValue": str(digits)} if digits.removeprefix("-").isascii() and digits.removeprefix("-").isdigit():
            return int(digits) if len(digits) < 19 else digits
        case {"arrayValue": {"values": list(values)}}:
            return [value_of(one, depth + 1) if isinstance(one, dict) else one for one in values]
        case {"kvlistValue": {"values": list(values)}}:
            if all(isinstance(one, dict) and isinstance(one.get("key"), str) for one in values):
                return {
                    one["key"]: value_of(held, depth + 1) if isinstance(held := one.get("value"), dict) else held
                    for one in values
                }
            return value
        case _:
            return value


def plain_attributes(attributes: JsonObject) -> JsonObject:
    """Attributes that are an object already; some writers wrap the values nevertheless."""
    return {name: value_of(value) if isinstance(value, dict) else value for name, value in attributes.items()}


def resource_of(resource: Any) -> JsonObject:
    """What is said of the program; JavaScript's objects have it under names of their own, as pairs."""
    if not isinstance(resource, dict):
        return {}
    for name in ("attributes", "_attributes", "_memoizedAttributes", "_rawAttributes"):
        match resource.get(name):
            case [{"key": _}, *_] as listed:
                return discreet(attributes_of(listed)[0])
            case [[_, _], *_] as pairs:
                return discreet({pair[0]: pair[1] for pair in pairs if _is_pair(pair)})
            case {**held} if held:
                return discreet(held)
            case _:
                pass
    return {}


def _is_pair(pair: Any) -> bool:
    match pair:
        case [str(), str() | int() | float() | bool() | list()]:
            return True
        case _:
            return False
