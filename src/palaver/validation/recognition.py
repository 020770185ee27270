"""Files of palaver's own documents, known by how they begin: also when what follows is not as it should be."""

from typing import Any, Literal, NamedTuple

from palaver.sources.source import Source

_DOCUMENT_KEYS = {"conversation_id", "messages", "platform"}
_COOKED_KEYS = {"messages", "tools", "requests"}


class OwnForm(NamedTuple):
    kind: Literal["ucs", "exchange", "cooked", "usage"]
    form: Literal["lines", "array", "whole"]
    reason: str


def own_form(source: Source) -> OwnForm | None:
    """What a file holds and how, if it is palaver's own."""
    value: Any = source.glimpse()
    form: Literal["lines", "array"] = "lines"
    if isinstance(value, list):
        value, form = next((item for item in value if isinstance(item, dict)), None), "array"
    if not isinstance(value, dict):
        return None
    if "schema_version" in value:
        if "exchange_id" in value or isinstance(value.get("request"), dict):
            return OwnForm("exchange", form, "API exchanges")
        if "usage_id" in value and "conversation_id" not in value:
            return OwnForm("usage", form, "usage records")
        if not _DOCUMENT_KEYS.isdisjoint(value):
            return OwnForm("ucs", form, "conversation documents")
    return OwnForm("cooked", "whole", "a cooked trace") if _is_cooked(value, source) else None


def _is_cooked(value: dict[str, Any], source: Source) -> bool:
    """Of a long one only the messages are seen at first; those have ids that nobody else gives."""
    if value.keys() == _COOKED_KEYS:
        return True
    match value:
        case {"messages": [{"id": str(name), "role": str(), "content": _, "tool_calls": _}, *_]}:
            return name.startswith("m") and source.suffix == ".json"
        case _:
            return False
