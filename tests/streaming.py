"""Streams for tests: recorded ones, and small ones written here."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from cassettes import SAMPLES, Recorded, recorded
from palaver.streams import FORMATS, assembler
from palaver.streams._contract import Assembled, Event
from palaver.streams.event_parsers import JsonElementParser, SseParser


def sse(*data: Any) -> bytes:
    """Data as events, with the name that its type gives; strings stand as they are."""
    return b"".join(_event(one) for one in data)


def _event(data: Any) -> bytes:
    if isinstance(data, str):
        return f"data: {data}\n\n".encode()
    name = f"event: {data['type']}\n" if isinstance(data, dict) and isinstance(data.get("type"), str) else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def parsed(chunks: Iterable[bytes], parser: SseParser | JsonElementParser | None = None) -> list[Event]:
    parser = parser or SseParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.close()


def assembled(wire_format: str, events: Iterable[Event]) -> Assembled:
    made = assembler(wire_format)
    for event in events:
        made.feed(event)
    return made.result()


def kinds(made: Assembled) -> list[str]:
    return [issue.type for issue in made.issues]


def streams(wire_format: str) -> list[Recorded]:
    return [call for call in recorded(wire_format) if call.stream] if SAMPLES.is_dir() else []


def all_streams() -> Iterator[tuple[str, Recorded]]:
    for wire_format in FORMATS:
        for call in streams(wire_format):
            yield wire_format, call


def without_unsaid(theirs: Any, ours: Any) -> Any:
    """What an SDK gives, without the fields that it fills with null itself because the stream never named them."""
    if isinstance(theirs, dict):
        ours = ours if isinstance(ours, dict) else {}
        return {
            name: without_unsaid(value, ours.get(name))
            for name, value in theirs.items()
            if value is not None or name in ours
        }
    if isinstance(theirs, list):
        ours = ours if isinstance(ours, list) else []
        return [without_unsaid(value, ours[at] if at < len(ours) else None) for at, value in enumerate(theirs)]
    return theirs
