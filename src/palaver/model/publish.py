"""The published JSON Schemas: generated from the models, committed under `schema/`, read back by whoever validates.

A wheel carries the files as `palaver/schema/`; a checkout has them at its top. Reading them imports no pydantic.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from palaver.errors import VersionError
from palaver.model import SCHEMA_VERSION
from palaver.model.timestamps import TIMESTAMP_PATTERN

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def published(kind: str, version: str | None = None) -> Schema:
    """The committed schema of a kind of document, in its newest version unless one is named."""
    import json

    files = _files().get(kind)
    if files is None:
        raise VersionError(f"no schema of the kind {kind!r} is published; there are: {_listed(kinds())}")
    name = max(files, key=_numbers) if version is None else version
    if name not in files:
        versions = sorted(files, key=_numbers)
        raise VersionError(f"no version {name!r} of the {kind} schema is published; there are: {_listed(versions)}")
    return json.loads(files[name].read_text("utf-8"))


def kinds() -> list[str]:
    return sorted(_files())


def _files() -> dict[str, dict[str, Traversable]]:
    """Every published file by kind and version."""
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


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def conversation_schema() -> Schema:
    """JSON Schema of a conversation document, made from the models."""
    from pydantic import TypeAdapter

    from palaver.model.blocks import Block
    from palaver.model.conversation import Conversation

    raw = Conversation.model_json_schema()
    definitions = {name: _clean(schema) for name, schema in raw.pop("$defs").items()}
    definitions["Block"] = {
        "description": "One piece of a message; `type` says which.",
        "anyOf": TypeAdapter[Any](Block).json_schema()["oneOf"],
    }
    root = _clean(raw)
    return {
        "$schema": _DIALECT,
        "$id": f"urn:palaver:schema:conversation:{SCHEMA_VERSION}",
        "title": "Conversation",
        **root,
        "$defs": {name: definitions[name] for name in _named_in(root, definitions)},
    }


def _clean(schema: Schema) -> Schema:
    """A schema without what says nothing: titles made of names, null defaults, keywords of other dialects."""
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
    """`{anyOf: [X, null]}` as X that also allows null, where X is no reference."""
    match schema:
        case {"anyOf": [{"type": str(kind), **branch}, {"type": "null"}], **rest}:
            nullable: Schema = {**rest, **branch, "type": [kind, "null"]}
            if "enum" in branch:
                nullable["enum"] = [*branch["enum"], None]
            return nullable
        case _:
            return schema


def _named_in(schema: Any, definitions: dict[str, Schema]) -> list[str]:
    """Names of all definitions that a schema leads to, in the order they are met."""
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


def schema_tables() -> str:
    """The conversation schema as Markdown: one table per model."""
    schema = conversation_schema()
    definitions: dict[str, Schema] = {schema["title"]: schema, **schema["$defs"]}
    opening = (
        f"# The Unified Conversation Schema {SCHEMA_VERSION}\n\n"
        f"The same in machine-readable form: `schema/conversation/{SCHEMA_VERSION}.json`. "
        "A field that is not required may also be null. Objects are open: keys beyond the ones below are kept.\n"
    )
    return "\n".join([opening, *(_section(name, definition) for name, definition in definitions.items())])


def _section(name: str, schema: Schema) -> str:
    heading = f"## {name}\n\n{schema['description']}\n\n"
    if "anyOf" in schema:
        return heading + "".join(f"* {_shape(branch)}\n" for branch in schema["anyOf"])
    rows = ["| field | shape | required | meaning |", "|---|---|---|---|"]
    required: list[str] = schema.get("required", [])
    for field, value in schema["properties"].items():
        cells = f"`{field}`", _shape(value), "yes" if field in required else "", value["description"]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return heading + "\n".join(rows) + "\n"


def _shape(schema: Schema) -> str:
    """A field's values in words; null goes without saying."""
    match schema:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"const": value}:
            return f"`{value}`"
        case {"enum": [*values]}:
            return ", ".join(f"`{value}`" for value in values if value is not None)
        case {"anyOf": [*branches]}:
            return " or ".join(_shape(branch) for branch in branches if branch != {"type": "null"})
        case {"type": [str(kind), "null"]}:
            return _shape({**schema, "type": kind})
        case {"type": "array", "items": items}:
            return ("non-empty " if "minItems" in schema else "") + f"array of {_shape(items)}"
        case {"pattern": pattern} if pattern == TIMESTAMP_PATTERN:
            return "UTC time `YYYY-MM-DDTHH:MM:SS.mmmZ`"
        case {"type": "string"}:
            text = "non-empty string" if "minLength" in schema else "string"
            return f"{text} `{schema['pattern']}`" if "pattern" in schema else text
        case {"type": str(kind)}:
            least = f" ≥ {schema['minimum']}" if "minimum" in schema else ""
            return kind + least + (f", ≤ {schema['maximum']}" if "maximum" in schema else "")
        case _:
            return "any JSON value"
