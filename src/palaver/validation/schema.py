"""The schema stage: whether a document is valid against the published schema and, if not, where and why.

Well-known errors get the code of a rule, the others a code made from the schema keyword. The sentences about ids,
times, content and roles come from the mapping specification's own checks.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import jsonschema_rs

from palaver.model.rules import Path
from palaver.model.schemas import published_schema
from palaver.model.timestamps import TIMESTAMP_PATTERN

_MAX_SHOWN = 60


@dataclass(frozen=True, slots=True)
class SchemaError:
    pointer: str
    keyword: str
    message: str
    path: tuple[str | int, ...] = ()
    value: Any = None
    """The value at the path."""
    missing: str = ""
    """The required key that is missing."""


def is_valid(document: Any, kind: str = "conversation") -> bool:
    return _validator(kind).is_valid(document)


def all_valid(documents: Sequence[Any], kind: str = "conversation") -> bool:
    """Return whether all documents are valid; faster than checking each."""
    return _validator_of_many(kind).is_valid(documents)


def schema_errors(document: Any, kind: str = "conversation") -> Iterator[SchemaError]:
    """Yield every error with its JSON pointer and a sentence."""
    yield from _errors(_validator(kind), document, (), kind)


def _errors(
    validator: Any, instance: Any, above: tuple[str | int, ...], kind: str, depth: int = 0
) -> Iterator[SchemaError]:
    try:
        found = list(validator.iter_errors(instance))
    except ValueError as error:  # nested too deeply, or not Unicode
        yield SchemaError(json_pointer(above), "depth", f"cannot be judged: {error}", above, instance)
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
        yield SchemaError(json_pointer(path), keyword, _sentence(keyword, error), path, error.instance, missing)


def json_pointer(path: tuple[str | int, ...]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _branch(kind: str, schema_path: list[str | int], instance: Any) -> str | None:
    """Return the alternative of a union that the instance is meant to be, as a JSON pointer into the schema."""
    schema = published_schema(kind)
    node: Any = schema
    for part in schema_path:
        node = node[part]
    for index, alternative in enumerate(node):
        schema_location = (*schema_path, index)
        target = alternative
        if "$ref" in alternative:
            schema_location = tuple(alternative["$ref"].removeprefix("#/").split("/"))
            target = schema["$defs"][schema_location[-1]]
        constant = target.get("properties", {}).get("type", {}).get("const")
        if constant is not None and isinstance(instance, dict) and instance.get("type") == constant:
            return json_pointer(schema_location)
        if constant is None and instance is not None and target.get("type") in {_json_type(instance), "object"}:
            return json_pointer(schema_location)
    return None


def _json_type(value: Any) -> str:
    return {"dict": "object", "list": "array", "str": "string"}.get(type(value).__name__, "")


def _sentence(keyword: str, error: Any) -> str:
    shown = repr(error.instance)
    if len(shown) > _MAX_SHOWN:
        shown = f"{shown[:_MAX_SHOWN]}…"
    match keyword:
        case "required":
            return f"{error.kind.property} is missing"
        case "pattern" if error.kind.pattern == TIMESTAMP_PATTERN:
            return f"{shown} is not a time of the form YYYY-MM-DDTHH:MM:SS.mmmZ"
        case "minimum":
            return f"{shown} is less than {error.kind.limit}"
        case "maximum":
            return f"{shown} is more than {error.kind.limit}"
        case "enum":
            options = ", ".join(json.dumps(option) for option in error.kind.options)
            return f"{shown} is not one of {options}"
        case "type":
            wanted = str(error.message).rpartition(" is not of type")[2].lstrip("s").strip().replace('"', "")
            return f"{shown} should be {wanted.replace(', ', ' or ')}"
        case "anyOf" | "oneOf":
            type_name = error.instance.get("type") if isinstance(error.instance, dict) else None
            return f"{shown} does not match any known structure" + (
                f": there is no type {type_name!r}" if type_name else ""
            )
        case _:
            message = str(error.message)
            return message if len(message) < 4 * _MAX_SHOWN else f"{message[: 4 * _MAX_SHOWN]}…"


@cache
def _validator(kind: str) -> Any:
    return jsonschema_rs.validator_for(published_schema(kind))


@cache
def _validator_of_many(kind: str) -> Any:
    return jsonschema_rs.validator_for({"type": "array", "items": published_schema(kind)})


@cache
def _branch_validator(kind: str, branch: str) -> Any:
    return jsonschema_rs.validator_for({"$ref": f"#{branch}", "$defs": published_schema(kind)["$defs"]})


class SchemaFault(NamedTuple):
    code: str
    message: str


def describe_error(error: SchemaError, kind: str = "conversation") -> SchemaFault:
    """Return the code of an error, and a sentence that makes sense without its pointer."""
    path = (*error.path, error.missing) if error.missing else error.path
    value = None if error.missing else error.value
    known = None
    if kind == "conversation":
        known = _conversation_fault(path, value, error.keyword)
    elif kind == "exchange":
        known = _exchange_fault(path, value)
    return known or SchemaFault(f"schema-{_kebab(error.keyword)}", error.message)


def _conversation_fault(path: Path, value: Any, keyword: str) -> SchemaFault | None:
    match path:
        case ("conversation_id",) if not value:
            return SchemaFault("missing-conversation-id", "Missing conversation_id")
        case ("platform",) | ("platform", "name") if not value:
            return SchemaFault("missing-platform-name", "Missing platform name")
        case ("messages",) if not value:
            return SchemaFault("no-messages", "No messages found")
        case ("schema_version",):
            message = "Missing schema_version" if value is None else f"{_shorten(value)} is not a version of the schema"
            return SchemaFault("schema-version", message)
        case ("messages", int(index), "timestamp") if not value:
            return SchemaFault("missing-timestamp", f"Message {index} missing timestamp")
        case ("messages", int(index), "message_id") if not value:
            return SchemaFault("missing-message-id", f"Message {index} missing message_id")
        case ("messages", int(index), "content") if not value:
            return SchemaFault("empty-content", f"Message {index} has empty content")
        case ("messages", int(index), "role"):
            return SchemaFault("invalid-role", f"Message {index} has invalid role: {_shorten(value)}")
        case ("messages", int(index), "tokens", *inner) if keyword == "minimum":
            name = " ".join(map(str, inner))
            return SchemaFault("negative-tokens", f"Message {index} has negative {name}: {value}")
        case _:
            return None


def _exchange_fault(path: Path, value: Any) -> SchemaFault | None:
    match path:
        case ("request", "messages") if not value:
            return SchemaFault("exchange-without-messages", "The request has no messages")
        case ("request", "model"):
            return SchemaFault("exchange-without-model", "The request does not name a model")
        case ("response", "finish_reason"):
            return SchemaFault("exchange-bad-finish-reason", f"The response ended with {_shorten(value)}")
        case _:
            return None


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else "null" if value is None else repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _kebab(keyword: str) -> str:
    """Turn `minItems` into `min-items`."""
    return re.sub("[A-Z]", lambda capital: f"-{capital[0].lower()}", keyword.lstrip("$"))
