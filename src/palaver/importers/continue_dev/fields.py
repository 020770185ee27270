"""Fields of the source that have no place of their own: kept under their own names, ours apart."""

from collections.abc import Container

from palaver.model import build
from palaver.model.build import JsonObject

OURS = frozenset(
    {
        *build.METADATA,
        *("source_fields", "more_source_fields", "role_inferred", "thinking_items", "call_states", "completed_at"),
        *("tool_usage", "more_tool_usage", "feedback", "interaction", "recovered_from", "event", "model_config"),
        "index_title",
    }
)
"""Names that the importer itself gives; a source's field of the same name goes to `source_fields`."""


def kept(fields: JsonObject, mapped: Container[str]) -> JsonObject:
    """The fields that are mapped nowhere, ready for the metadata of whatever they belong to; nulls say nothing."""
    own: JsonObject = {}
    ours: JsonObject = {}
    for name, value in fields.items():
        if value is not None and name not in mapped:
            (ours if name in OURS else own)[name] = value
    if ours:
        own["source_fields"] = ours
    return own


def add_fields(metadata: JsonObject, fields: JsonObject) -> None:
    """Add fields to some metadata, of which other items of the same message may have had fields of the same names."""
    if not fields:
        return
    ours = fields.pop("source_fields", {})
    taken = {name: value for name, value in fields.items() if metadata.setdefault(name, value) != value}
    if beside := {**ours, **taken}:
        first = metadata.setdefault("source_fields", {})
        if more := {name: value for name, value in beside.items() if first.setdefault(name, value) != value}:
            metadata.setdefault("more_source_fields", []).append(more)


def text_of(fields: JsonObject, name: str) -> str:
    """A text that may be missing, or be something else."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""
