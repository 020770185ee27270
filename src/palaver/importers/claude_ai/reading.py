"""What the readers of an export's parts share: the ids that were given, times, fields taken by their types."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from palaver.importers._shared.exports import Copies
from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP
from palaver.model.build import JsonObject
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.elements import JsonElements
from palaver.sources.run import Run
from palaver.sources.source import Source

PLATFORM = "claude_ai"


class Span(NamedTuple):
    created_at: str
    updated_at: str
    is_inferred: bool
    """Whether the source does not say when it began."""


class Reading:
    """One reading of a file or of a folder of them."""

    source: Source

    def __init__(self, run: Run) -> None:
        self.run = run
        self.copies = Copies(run)

    def span(self, fields: JsonObject, times: Iterable[str], where: str) -> Span:
        """Take the times of a conversation out of its fields; what it does not say, the times in it do."""
        created_at = self.time(fields, "created_at", where)
        updated_at = self.time(fields, "updated_at", where)
        known = sorted(times)
        if is_inferred := created_at is None:
            created_at = known[0] if known else updated_at or self.source.written_at()
            if "created_at" not in fields:
                self.run.note(INFERRED_TIMESTAMP, where)
        return Span(created_at, updated_at or max([created_at, *known]), is_inferred)

    def time(self, fields: JsonObject, name: str, where: str) -> str | None:
        """Take a time out of some fields; one that cannot be read stays there."""
        value = fields.pop(name, None)
        if value is None:
            return None
        try:
            return normalize_timestamp(value)
        except ValueError as error:
            fields[name] = value
            self.run.note(BAD_TIMESTAMP, where, f"{name}: {error}")
            return None


def take_text(fields: JsonObject, name: str) -> str | None:
    """Take a text out of some fields; anything else than a text or null stays there."""
    value = fields.pop(name, None)
    if value is None or isinstance(value, str):
        return value
    fields[name] = value
    return None


def take_list(fields: JsonObject, name: str) -> list[Any]:
    """Take a list out of some fields; anything else than a list or null stays there."""
    value = fields.pop(name, None)
    if value is None or isinstance(value, list):
        return value or []
    fields[name] = value
    return []


def with_fields(made: JsonObject, fields: JsonObject, own_names: frozenset[str]) -> JsonObject:
    """Add a source's own fields to what was made of others; those with names of ours stand apart."""
    for name, value in fields.items():
        if name in own_names:
            made.setdefault("source_fields", {})[name] = value
        else:
            made[name] = value
    return made


def bytes_of(value: Any, elements: JsonElements) -> bytes:
    """A part of the current element as bytes, to be set aside."""
    try:
        return json.dumps(value).encode()
    except RecursionError:
        return elements.raw
