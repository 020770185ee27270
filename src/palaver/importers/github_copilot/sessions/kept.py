"""What has no place of its own: fields of the source that stay under their names."""

from collections.abc import Callable, Collection, Container
from typing import Any

from palaver.importers.github_copilot.sessions.kinds import OWN_NAMES
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind

Note = Callable[[FindingKind, str], None]
"""Told of a finding, with words for it."""

_NUMBERS = (bool, int, float)
_OURS = build.METADATA | OWN_NAMES


def says_nothing(value: Any) -> bool:
    """Whether a value is null or empty; a zero and a no say something."""
    return not value and type(value) not in _NUMBERS


def rest_of(fields: JsonObject, mapped: Collection[str]) -> JsonObject:
    """The fields that are not mapped, without those that say nothing."""
    rest = fields.copy()
    for name in mapped:
        rest.pop(name, None)
    if all(rest.values()):
        return rest
    return {name: value for name, value in rest.items() if value or type(value) in _NUMBERS}


def keep(metadata: JsonObject, fields: JsonObject, mapped: Container[str]) -> None:
    """Put what is not mapped into metadata; a field with a name of ours stands in `source_fields`."""
    for name, value in fields.items():
        if name in mapped or not (value or type(value) in _NUMBERS):
            continue
        if name in _OURS or name in metadata:
            metadata.setdefault("source_fields", {})[name] = value
        else:
            metadata[name] = value


def with_rest(block: JsonObject, fields: JsonObject, mapped: Collection[str]) -> JsonObject:
    """A block with what it has no place for."""
    if rest := rest_of(fields, mapped):
        block["source_fields"] = rest
    return block
