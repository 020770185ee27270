"""Streams: bytes as they arrive, cut into events, and put together to the response they stand for."""

import importlib
from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, cast

from palaver.errors import UnrecognizedError

if TYPE_CHECKING:
    from palaver.streams._contract import Assembled, Assembler, AssemblerModule, Event

FORMATS = ("openai_chat", "openai_responses", "anthropic", "gemini")
_EVENTS_LOOKED_AT = 8


def assembler(wire_format: str) -> "Assembler":
    """A new assembler of one format, by the name that the format has in `wire`."""
    return _module(wire_format).Assembler()


def assemble(wire_format: str, body: bytes | Iterable[bytes]) -> "Assembled":
    """What a recorded body stands for."""
    from palaver.streams.sse import events_of

    return assemble_events(wire_format, events_of(body))


def assemble_events(wire_format: str, events: "Iterable[Event]") -> "Assembled":
    made = assembler(wire_format)
    for event in events:
        made.feed(event)
    return made.result()


def assemble_together(body: bytes) -> "tuple[str, Assembled] | None":
    """The format of a stream and what it stands for, if it is one that can be read at once."""
    from palaver.streams.anthropic import Assembler
    from palaver.streams.together import read_together

    if not (events := read_together(body)):
        return None
    _, _, first = events[0]
    if first.keys() != {"type", "message"} or first["type"] != "message_start":
        return None
    made = Assembler()
    return ("anthropic", made.result()) if made.feed_together(events) else None


def recognize(events: "Iterable[Event]") -> str | None:
    """The format, from the first events; None where none of them tells."""
    from palaver.streams._reading import DONE, Issues

    for event in islice(events, _EVENTS_LOOKED_AT):
        if event.data.strip() == DONE:
            return "openai_chat"
        data = Issues().parsed(event, 0) or {}
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
        raise UnrecognizedError(f"there are no streams of format {wire_format!r}; known: {', '.join(FORMATS)}")
    return cast("AssemblerModule", importlib.import_module(f"{__name__}.{name}"))
