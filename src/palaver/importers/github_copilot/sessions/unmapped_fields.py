"""Source fields without a counterpart in the model, which are preserved under their own names."""

from collections.abc import Callable, Collection, Container
from typing import Any

from palaver.importers.github_copilot.sessions.kinds import OWN_NAMES
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind

Note = Callable[[FindingKind, str], None]
"""Records a finding with a message."""

_NUMERIC_TYPES = (bool, int, float)
_RESERVED_NAMES = build.METADATA | OWN_NAMES


def is_blank(value: Any) -> bool:
    """Return whether a value is null or empty; zero and False are not blank."""
    return not value and type(value) not in _NUMERIC_TYPES


def unmapped_fields(fields: JsonObject, mapped: Collection[str]) -> JsonObject:
    """Return the fields that are neither mapped nor blank."""
    rest = fields.copy()
    for name in mapped:
        rest.pop(name, None)
    if all(rest.values()):
        return rest
    return {name: value for name, value in rest.items() if value or type(value) in _NUMERIC_TYPES}


def add_unmapped(metadata: JsonObject, fields: JsonObject, mapped: Container[str]) -> None:
    """Add unmapped fields to metadata; one with a reserved name goes into its `source_fields`."""
    for name, value in fields.items():
        if name in mapped or not (value or type(value) in _NUMERIC_TYPES):
            continue
        if name in _RESERVED_NAMES or name in metadata:
            metadata.setdefault("source_fields", {})[name] = value
        else:
            metadata[name] = value


def with_unmapped(block: JsonObject, fields: JsonObject, mapped: Collection[str]) -> JsonObject:
    """Return a block with the unmapped fields in its `source_fields`."""
    if rest := unmapped_fields(fields, mapped):
        block["source_fields"] = rest
    return block
