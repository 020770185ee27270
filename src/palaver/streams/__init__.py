"""Streamed API responses: split the bytes into events, and assemble the events into the response they encode."""

import importlib
from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, cast

from palaver.errors import UnrecognizedError

if TYPE_CHECKING:
    from palaver.streams._contract import Assembled, Assembler, AssemblerModule, Event

FORMATS = ("openai_chat", "openai_responses", "anthropic", "gemini")
_MAX_EVENTS_TO_RECOGNIZE = 8


def assembler(wire_format: str) -> "Assembler":
    """Return a new assembler for a format, by its name in `wire`."""
    return _module(wire_format).Assembler()


def assemble(wire_format: str, body: bytes | Iterable[bytes]) -> "Assembled":
    """Assemble the response from a recorded body; if there are several, the first, with the others in `following`."""
    from palaver.streams.event_parsers import events_of

    return assemble_events(wire_format, events_of(body))


def assemble_all(wire_format: str, body: bytes | Iterable[bytes]) -> "list[Assembled]":
    """Assemble every message of a recorded body, in order; nearly every body holds exactly one."""
    first = assemble(wire_format, body)
    return [first, *first.following]


def assemble_events(wire_format: str, events: "Iterable[Event]") -> "Assembled":
    """Assemble the response from its events, as `assemble` does from a body."""
    fed = assembler(wire_format)
    for event in events:
        fed.feed(event)
    return fed.result()


def assemble_in_one_pass(body: bytes) -> "tuple[str, Assembled] | None":
    """Return the format and the response of a stream that the fast path can read; None for any other stream."""
    from palaver.streams.anthropic import Assembler, read_in_one_pass

    if not (batches := read_in_one_pass(body)):
        return None
    _, _, first = batches[0]
    if first.keys() != {"type", "message"} or first["type"] != "message_start":
        return None
    fed = Assembler()
    return ("anthropic", fed.result()) if fed.feed_batches(batches) else None


def recognize(events: "Iterable[Event]") -> str | None:
    """Return the format that the first events show, or None."""
    from palaver.streams._event_data import DONE, Issues

    for event in islice(events, _MAX_EVENTS_TO_RECOGNIZE):
        if event.data.strip() == DONE:
            return "openai_chat"
        data = Issues().parse_object(event, 0) or {}
        if "type" not in data and event.name != "message":
            data["type"] = event.name
        for name in FORMATS:
            if _module(name).recognizes(data):
                return name
    return None


@cache
def _module(wire_format: str) -> "AssemblerModule":
    name = wire_format.replace("-", "_")
    if name not in FORMATS:
        raise UnrecognizedError(f"unknown stream format {wire_format!r}; known: {', '.join(FORMATS)}")
    return cast("AssemblerModule", importlib.import_module(f"{__name__}.{name}"))
