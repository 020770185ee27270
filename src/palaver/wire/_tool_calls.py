"""Calls of tools and their results, as far as formats share them.

Arguments may be JSON within a text. Of results that answer the calls of one turn, some formats have a message for each,
others one for all.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from palaver.model.build import JsonObject


def parse_object(text: Any) -> JsonObject | None:
    """Return the object that a text encodes, with integers of any size; None for anything else."""
    if not isinstance(text, str | bytes):
        return None
    try:
        parsed = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def are_results(message: JsonObject) -> bool:
    """Return whether a message comes from tools, and holds results alone."""
    content = message["content"]
    return message["role"] == "tool" and bool(content) and all(block["type"] == "tool_result" for block in content)


def join_results(turns: Iterable[tuple[JsonObject, list[Any]]], field: str) -> list[Any]:
    """Return the written messages of all turns; results in a row are one message, with the lists in `field` joined."""
    made: list[Any] = []
    takes_more = False
    for message, entries in turns:
        is_result = are_results(message)
        match made[-1:], entries:
            case [[dict() as last], [dict() as entry]] if takes_more and is_result and last.keys() == entry.keys():
                made[-1] = {**last, field: [*last[field], *entry[field]]}
            case _:
                made += entries
        takes_more = is_result
    return made
