"""Schemas as Markdown tables, for the documentation."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from palaver.model import SCHEMA_VERSION
from palaver.model.schemas import conversation_schema, usage_schema
from palaver.model.timestamps import TIMESTAMP_PATTERN

Schema = dict[str, Any]


def schema_tables() -> str:
    """Return the conversation schema as Markdown: one table per model."""
    opening = (
        f"# The Unified Conversation Schema {SCHEMA_VERSION}\n\n"
        f"The same in machine-readable form: `schema/conversation/{SCHEMA_VERSION}.json`. {_OPEN}\n"
    )
    return _tables(conversation_schema(), opening)


def usage_tables() -> str:
    """Return the schema of usage records as Markdown: one table per model."""
    schema = usage_schema()
    version = schema["$id"].rpartition(":")[2]
    opening = (
        f"# Usage records {version}\n\n"
        "What was used without a conversation: calls that a gateway logged without their words, sums that a platform "
        "reports.\nAn import keeps them in the archive, or writes them with `--usage FILE`; `palaver stats --usage` "
        f"counts them. The same\nin machine-readable form: `schema/usage/{version}.json`. {_OPEN}\n"
    )
    return _tables(schema, opening)


_OPEN = "A field that is not required may also be null. Objects are open: keys beyond the ones below are kept."


def _tables(schema: Schema, opening: str) -> str:
    definitions: dict[str, Schema] = {schema["title"]: schema, **schema["$defs"]}
    return "\n".join([opening, *(_section(name, definition) for name, definition in definitions.items())])


def _section(name: str, schema: Schema) -> str:
    heading = f"## {name}\n\n{schema['description']}\n\n"
    if "anyOf" in schema:
        return heading + "".join(f"* {_shape(branch)}\n" for branch in schema["anyOf"])
    rows = ["| field | shape | required | meaning |", "|---|---|---|---|"]
    required: list[str] = schema.get("required", [])
    for field, value in schema["properties"].items():
        cells = f"`{field}`", _shape(value), "yes" if field in required else "", value["description"]
        rows.append(row(*cells))
    return heading + "\n".join(rows) + "\n"


def fields_table(schema: Schema) -> str:
    """Return a closed schema as one table, with nested fields by their paths: `sources[].records.read`."""
    definitions = schema["$defs"]
    rows = ["| field | value | meaning |", "|---|---|---|"]
    for path, value, is_required in _fields(schema, definitions):
        shape = _shape(value, lambda name: _link_or_object(name, definitions))
        if not is_required:
            shape += ", may be missing"
        elif _is_nullable(value):
            shape += " or null"
        rows.append(row(f"`{path}`", shape, _meaning(value, definitions)))
    return "\n".join(rows) + "\n"


def row(*cells: str) -> str:
    """Return one line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _fields(
    schema: Schema, definitions: dict[str, Schema], prefix: str = "", above: tuple[str, ...] = ()
) -> Iterator[tuple[str, Schema, bool]]:
    required: list[str] = schema.get("required", [])
    for field, value in schema.get("properties", {}).items():
        path = prefix + field
        yield path, value, field in required
        for name, steps in _parts(value):
            if name not in above and not _is_document_model(name, definitions):
                yield from _fields(definitions[name], definitions, f"{path}{steps}.", (*above, name))


def _parts(value: Schema) -> Iterator[tuple[str, str]]:
    """Yield the models that a field's value consists of, each with the path steps that lead to it."""
    match value:
        case {"$ref": str(reference)}:
            yield reference.rpartition("/")[2], ""
        case {"anyOf": [*branches]}:
            for branch in branches:
                yield from _parts(branch)
        case {"items": dict(items)}:
            yield from ((name, f"[]{steps}") for name, steps in _parts(items))
        case {"additionalProperties": dict(values)}:
            yield from ((name, f".*{steps}") for name, steps in _parts(values))
        case _:
            pass


def _meaning(value: Schema, definitions: dict[str, Schema]) -> str:
    # Pydantic omits the description of a field if the model it refers to has the same one.
    return value["description"] if "description" in value else definitions[next(_parts(value))[0]]["description"]


def _link_or_object(name: str, definitions: dict[str, Schema]) -> str:
    return f"[{name}](schema.md#{name.lower()})" if _is_document_model(name, definitions) else "object"


def _is_document_model(name: str, definitions: dict[str, Schema]) -> bool:
    """Return whether a model belongs to the conversation document, which has a page of its own."""
    return definitions[name] == _document_definitions().get(name)


@cache
def _document_definitions() -> dict[str, Schema]:
    schema = conversation_schema()
    root = {key: schema[key] for key in ("description", "type", "properties", "required")}
    return {schema["title"]: root, **schema["$defs"]}


def _is_nullable(value: Schema) -> bool:
    return (
        {"type": "null"} in value.get("anyOf", []) or "null" in value.get("type", []) or None in value.get("enum", [])
    )


def _linked(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _shape(schema: Schema, name_part: Callable[[str], str] = _linked) -> str:
    """Describe the values of a field, except that it may be null."""
    match schema:
        case {"$ref": str(reference)}:
            return name_part(reference.rpartition("/")[2])
        case {"const": value}:
            return f"`{value}`"
        case {"enum": [*values]}:
            return ", ".join(f"`{value}`" for value in values if value is not None)
        case {"anyOf": [*branches]}:
            return " or ".join(_shape(branch, name_part) for branch in branches if branch != {"type": "null"})
        case {"type": [str(kind), "null"]}:
            return _shape({**schema, "type": kind}, name_part)
        case {"type": "array", "items": items}:
            return ("non-empty " if "minItems" in schema else "") + f"array of {_shape(items, name_part)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"map of names to {_shape(values, name_part)}"
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
