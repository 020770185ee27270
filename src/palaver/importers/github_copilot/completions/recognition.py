"""Recognition of completion telemetry by its first records, and of how a file stores its records."""

from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from itertools import islice
from typing import Any, Literal, cast

from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.completions.events import (
    FLAT,
    event_of,
    is_completion_event,
    is_probably_flat,
    is_surely_flat,
)
from palaver.importers.github_copilot.raw_records import has_object_per_line
from palaver.model.build import JsonObject
from palaver.sources.damage import BOM, SPACE
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.source import Source

Layout = Literal["lines", "array", "events"]

_BLANK = BOM + SPACE + b"\0"
_MAX_RECORDS = 12
_HALLMARKS = (
    *(b"ghostText.", b"solution.", b'engine.prompt"', b'engine.completion"', b"completion."),
    *(b'"promptContext"', b'"completionIndex"', b'"completion"'),
)


def recognize(source: Source) -> Match:
    head = source.head()
    if not any(hallmark in head for hallmark in _HALLMARKS):
        return Match.no()
    form = f"completions:{layout_of(source)}"
    found = Match.no()
    for record in islice(head_records(source), _MAX_RECORDS):
        event = event_of(record)
        if event is None or not is_completion_event(event):
            continue
        if event.kind != FLAT:
            return Match.yes("telemetry of completions", form=form)
        if is_surely_flat(record):
            return Match.yes("completions with what was before them", form=form)
        if is_probably_flat(record):
            found = Match.maybe("what may be completions", form=form)
    return found


def layout_of(source: Source) -> Layout:
    if source.head().lstrip(_BLANK).startswith(b"["):
        return "array" if not _has_batch_per_line(source.head()) else "lines"
    match source.parsed_head():
        case {"events": list()}:
            return "lines" if has_object_per_line(source.head()) else "events"
        case _:
            return "lines"


def records_of(value: Any) -> list[Any]:
    """Return the records in a value, which may be a batch."""
    match value:
        case list():
            return cast("list[Any]", value)
        case {"events": list(events)} if "name" not in value:
            return cast("list[Any]", events)
        case _:
            return [value]


def head_records(source: Source) -> Iterator[JsonObject]:
    """Yield the records at the beginning of a file, as far as they can be parsed."""
    yield from _objects(source.parsed_head())
    for line in islice(BytesIO(source.head()), 1, _MAX_RECORDS):
        with suppress(*NOT_JSON):
            yield from _objects(parse(line))


def _objects(value: Any) -> Iterator[JsonObject]:
    yield from (cast("JsonObject", record) for record in records_of(value) if isinstance(record, dict))


def _has_batch_per_line(head: bytes) -> bool:
    """Return whether each line is an array, as batch senders write them."""
    first, newline, rest = head.lstrip(_BLANK).partition(b"\n")
    return bool(newline) and first.rstrip().endswith(b"]") and rest.lstrip(SPACE).startswith(b"[")
