"""The schema stage: is a document what the published schema says, and if not, where and why."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema_rs

from palaver.model.publish import published
from palaver.model.timestamps import TIMESTAMP_PATTERN

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class SchemaError:
    pointer: str
    keyword: str
    message: str
    path: tuple[str | int, ...] = ()
    value: Any = None
    """What stands there."""
    missing: str = ""
    """The key that should be there and is not."""


def is_valid(document: Any, kind: str = "conversation") -> bool:
    return _validator(kind).is_valid(document)


def are_valid(documents: Sequence[Any], kind: str = "conversation") -> bool:
    """Whether all of them are, in less time than one by one."""
    return _validator_of_many(kind).is_valid(documents)


def schema_errors(document: Any, kind: str = "conversation") -> Iterator[SchemaError]:
    """Every fault with its JSON pointer and a sentence."""
    yield from _errors(_validator(kind), document, (), kind)


def _errors(
    validator: Any, instance: Any, above: tuple[str | int, ...], kind: str, depth: int = 0
) -> Iterator[SchemaError]:
    try:
        found = list(validator.iter_errors(instance))
    except ValueError as error:  # nested too deeply, or no Unicode
        yield SchemaError(pointer(above), "depth", f"cannot be judged: {error}", above, instance)
        return
    for error in found:
        path = (*above, *error.instance_path)
        keyword = str(error.schema_path[-1]) if error.schema_path else ""
        if error.schema_path and error.schema_path[-1] in {"anyOf", "oneOf"} and depth < 50:
            branch = _branch(kind, error.schema_path, error.instance)
            if branch is not None:
                yield from _errors(_branch_validator(kind, branch), error.instance, path, kind, depth + 1)
                continue
        missing = str(error.kind.property) if keyword == "required" else ""
        yield SchemaError(pointer(path), keyword, _sentence(keyword, error), path, error.instance, missing)


def pointer(path: tuple[str | int, ...]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _branch(kind: str, schema_path: list[str | int], instance: Any) -> str | None:
    """Which alternative of a union the instance means to be, as a JSON pointer into the schema."""
    schema = published(kind)
    node: Any = schema
    for part in schema_path:
        node = node[part]
    for index, alternative in enumerate(node):
        place = (*schema_path, index)
        target = alternative
        if "$ref" in alternative:
            place = tuple(alternative["$ref"].removeprefix("#/").split("/"))
            target = schema["$defs"][place[-1]]
        constant = target.get("properties", {}).get("type", {}).get("const")
        if constant is not None and isinstance(instance, dict) and instance.get("type") == constant:
            return pointer(place)
        if constant is None and instance is not None and target.get("type") in {_json_type(instance), "object"}:
            return pointer(place)
    return None


def _json_type(value: Any) -> str:
    return {"dict": "object", "list": "array", "str": "string"}.get(type(value).__name__, "")


def _sentence(keyword: str, error: Any) -> str:
    shown = repr(error.instance)
    if len(shown) > _SHOWN:
        shown = f"{shown[:_SHOWN]}…"
    match keyword:
        case "required":
            return f"{error.kind.property} is missing"
        case "pattern" if error.kind.pattern == TIMESTAMP_PATTERN:
            return f"{shown} is no time in the form YYYY-MM-DDTHH:MM:SS.mmmZ"
        case "minimum":
            return f"{shown} is less than {error.kind.limit}"
        case "maximum":
            return f"{shown} is more than {error.kind.limit}"
        case "enum":
            options = ", ".join(json.dumps(option) for option in error.kind.options)
            return f"{shown} is none of {options}"
        case "type":
            wanted = str(error.message).rpartition(" is not of type")[2].lstrip("s").strip().replace('"', "")
            return f"{shown} should be {wanted.replace(', ', ' or ')}"
        case "anyOf" | "oneOf":
            named = error.instance.get("type") if isinstance(error.instance, dict) else None
            return f"{shown} is none of the known shapes" + (f": there is no type {named!r}" if named else "")
        case _:
            message = str(error.message)
            return message if len(message) < 4 * _SHOWN else f"{message[: 4 * _SHOWN]}…"


@cache
def _validator(kind: str) -> Any:
    return jsonschema_rs.validator_for(published(kind))


@cache
def _validator_of_many(kind: str) -> Any:
    return jsonschema_rs.validator_for({"type": "array", "items": published(kind)})


@cache
def _branch_validator(kind: str, branch: str) -> Any:
    return jsonschema_rs.validator_for({"$ref": f"#{branch}", "$defs": published(kind)["$defs"]})
