"""The published JSON Schemas: generated from the models, committed under `schema/`, and read back for validation.

A wheel carries the files as `palaver/schema/`; a checkout has them in its root. Reading them does not import pydantic.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from palaver.errors import VersionError
from palaver.model import SCHEMA_VERSION

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from pydantic import BaseModel

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def published_schema(kind: str, version: str | None = None) -> Schema:
    """Return the committed schema of a kind of document, in its newest version unless `version` is given."""
    import json

    files = _files().get(kind)
    if files is None:
        raise VersionError(
            f"no schema of the kind {kind!r} is published; there are: {_comma_separated(published_kinds())}"
        )
    name = max(files, key=_version_key) if version is None else version
    if name not in files:
        versions = sorted(files, key=_version_key)
        raise VersionError(
            f"no version {name!r} of the {kind} schema is published; there are: {_comma_separated(versions)}"
        )
    return json.loads(files[name].read_text("utf-8"))


def published_kinds() -> list[str]:
    return sorted(_files())


def _files() -> dict[str, dict[str, Traversable]]:
    """Return every published file by kind and version."""
    from importlib.resources import files

    packaged = files("palaver").joinpath("schema")
    folder = packaged if packaged.is_dir() else Path(__file__).parents[3] / "schema"
    if not folder.is_dir():
        return {}
    found = {
        kind.name: {file.name.removesuffix(".json"): file for file in kind.iterdir() if _is_version_file(file.name)}
        for kind in folder.iterdir()
        if kind.is_dir()
    }
    return {kind: versions for kind, versions in found.items() if versions}


def _is_version_file(name: str) -> bool:
    return name.endswith(".json") and all(part.isdecimal() for part in name.removesuffix(".json").split("."))


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _comma_separated(names: list[str]) -> str:
    return ", ".join(names) or "none"


def conversation_schema() -> Schema:
    """Generate the JSON Schema of a conversation document."""
    from palaver.model.conversation import Conversation

    return _generate(Conversation, "conversation", SCHEMA_VERSION)


def exchange_schema() -> Schema:
    """Generate the JSON Schema of an API exchange."""
    from palaver.model.exchange import Exchange

    return _generate(Exchange, "exchange", Exchange.SCHEMA_VERSION)


def cooked_schema() -> Schema:
    """Generate the JSON Schema of a cooked file."""
    from palaver.model.cooked import Cooked

    return _generate(Cooked, "cooked", Cooked.SCHEMA_VERSION)


def usage_schema() -> Schema:
    """Generate the JSON Schema of a usage record."""
    from palaver.model.usage import UsageRecord

    return _generate(UsageRecord, "usage", UsageRecord.SCHEMA_VERSION)


def answer_schema(command: str) -> Schema:
    """Generate the JSON Schema of what a command prints with `--json`."""
    from palaver.model import json_output

    model = json_output.answer_model(command)
    return _generate(model, json_output.schema_kind(command), model.SCHEMA_VERSION)


def _generate(model: type[BaseModel], kind: str, version: str) -> Schema:
    from pydantic import TypeAdapter

    from palaver.model.blocks import Block

    raw = model.model_json_schema()
    definitions = {name: _clean(schema) for name, schema in raw.pop("$defs", {}).items()}
    definitions["Block"] = {
        "description": "One piece of a message; `type` says which.",
        "anyOf": TypeAdapter[Any](Block).json_schema()["oneOf"],
    }
    root = _clean(raw)
    return {
        "$schema": _DIALECT,
        "$id": f"urn:palaver:schema:{kind}:{version}",
        "title": model.__name__,
        **root,
        "$defs": {name: definitions[name] for name in _referenced_names(root, definitions)},
    }


def _clean(schema: Schema) -> Schema:
    """Return a schema without noise: titles derived from names, null defaults, keywords of other dialects."""
    if "discriminator" in schema:
        return {"$ref": "#/$defs/Block"}
    schema = _without_null_branch(schema)
    cleaned: Schema = {}
    if "description" in schema:
        cleaned["description"] = schema["description"]
    if "type" in schema and not schema.keys() & {"const", "enum"}:
        cleaned["type"] = schema["type"]
    for keyword, value in schema.items():
        match keyword, value:
            case ("title" | "default" | "type" | "description", _) | ("additionalProperties", True):
                pass
            case "properties", dict():
                cleaned[keyword] = {name: _clean(field) for name, field in cast("Schema", value).items()}
            case "anyOf", list():
                cleaned[keyword] = [_clean(branch) for branch in cast("list[Schema]", value)]
            case "items", dict():
                cleaned[keyword] = _clean(cast("Schema", value))
            case _:
                cleaned[keyword] = value
    return cleaned


def _without_null_branch(schema: Schema) -> Schema:
    """Rewrite `{anyOf: [X, null]}` as an X that allows null, unless X is a reference."""
    match schema:
        case {"anyOf": [{"type": str(kind), **branch}, {"type": "null"}], **rest}:
            nullable: Schema = {**rest, **branch, "type": [kind, "null"]}
            if "enum" in branch:
                nullable["enum"] = [*branch["enum"], None]
            return nullable
        case _:
            return schema


def _referenced_names(schema: Any, definitions: dict[str, Schema]) -> list[str]:
    """Return the names of all definitions reachable from a schema, in order of first use."""
    names: dict[str, None] = {}
    waiting: list[Any] = [schema]
    while waiting:
        match waiting.pop():
            case {"$ref": str(reference)} if (name := reference.rpartition("/")[2]) not in names:
                names[name] = None
                waiting.append(definitions[name])
            case dict() as branch:
                waiting.extend(reversed(branch.values()))
            case list() as branches:
                waiting.extend(reversed(branches))
            case _:
                pass
    return list(names)
