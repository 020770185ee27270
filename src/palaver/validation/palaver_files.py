"""Recognition of palaver's own files by how they begin, even if the rest is invalid."""

from typing import Any, Literal, NamedTuple

from palaver.sources.source import Source

_DOCUMENT_KEYS = {"conversation_id", "messages", "platform"}
_COOKED_KEYS = {"messages", "tools", "requests"}


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
    return PalaverFile("cooked", "whole", "a cooked trace") if _is_cooked(value, source) else None


def _is_cooked(value: dict[str, Any], source: Source) -> bool:
    """Return whether a value is a cooked file; of a long one only the first messages are seen, with ids like `m0`."""
    if value.keys() == _COOKED_KEYS:
        return True
    match value:
        case {"messages": [{"id": str(name), "role": str(), "content": _, "tool_calls": _}, *_]}:
            return name.startswith("m") and source.suffix == ".json"
        case _:
            return False
