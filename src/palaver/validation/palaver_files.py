"""Recognition of palaver's own files by how they begin, even if the rest is invalid."""

from typing import Any, Literal, NamedTuple

from palaver.sources.source import Source

_DOCUMENT_KEYS = {"conversation_id", "messages", "platform"}
_COOKED_KEYS = {"messages", "tools", "requests"}
_COOKED_MESSAGE_KEYS = {"id", "role", "content", "tool_calls", "tool_use_id", "is_error"}


class PalaverFile(NamedTuple):
    kind: Literal["ucs", "exchange", "cooked", "usage"]
    form: Literal["lines", "array", "whole"]
    reason: str


def identify_palaver_file(source: Source) -> PalaverFile | None:
    """Return the kind and form of a file written by palaver, or None for any other file."""
    value: Any = source.parsed_head()
    form: Literal["lines", "array"] = "lines"
    if isinstance(value, list):
        value, form = next((item for item in value if isinstance(item, dict)), None), "array"
    if not isinstance(value, dict):
        return None
    if "schema_version" in value:
        if "exchange_id" in value or isinstance(value.get("request"), dict):
            return PalaverFile("exchange", form, "API exchanges")
        if "usage_id" in value and "conversation_id" not in value:
            return PalaverFile("usage", form, "usage records")
        if not _DOCUMENT_KEYS.isdisjoint(value):
            return PalaverFile("ucs", form, "conversation documents")
    return PalaverFile("cooked", "whole", "a cooked trace") if _is_cooked(value) else None


def _is_cooked(value: dict[str, Any]) -> bool:
    """Return whether a value is a cooked file; of a long one only the first messages are seen, or part of the first."""
    if value.keys() == _COOKED_KEYS:
        return True
    match value:
        case {"messages": [{"id": "m0", "role": str()} as first, *_]}:
            return value.keys() <= _COOKED_KEYS and first.keys() <= _COOKED_MESSAGE_KEYS
        case _:
            return False
