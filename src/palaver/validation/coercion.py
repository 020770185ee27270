"""The conversions that the level `lenient` makes before schema validation: only unambiguous spellings."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, cast

from palaver.errors import ContentError
from palaver.model import SCHEMA_VERSION
from palaver.model.build import JsonObject
from palaver.model.rules import Fault, Path
from palaver.model.timestamps import is_canonical, normalize_timestamp

_ROLES = {
    **dict.fromkeys(("human", "person"), "user"),
    **dict.fromkeys(("ai", "agent", "bot", "model"), "assistant"),
    **dict.fromkeys(("developer",), "system"),
    **dict.fromkeys(("function_call",), "function"),
}
_KNOWN_ROLES = {"user", "assistant", "system", "tool", "function"}
_MAX_SHOWN = 40


def coerce_document(document: JsonObject) -> tuple[JsonObject, list[Fault]]:
    """Return a copy with everything converted that safely can be, and a fault per conversion."""
    coerced = dict(document)
    faults: list[Fault] = []
    if "schema_version" not in coerced:
        coerced["schema_version"] = SCHEMA_VERSION
        faults.append(Fault(("schema_version",), f"A missing schema_version became {SCHEMA_VERSION!r}"))
    if isinstance(platform := coerced.get("platform"), str) and platform:
        coerced["platform"] = {"name": platform}
        faults.append(Fault(("platform",), f"{platform!r:.40} became the name of a platform"))
    _convert(coerced, ("conversation_id",), _int_to_text, faults)
    for name in ("created_at", "updated_at"):
        _convert(coerced, (name,), _to_timestamp, faults)
    _convert(coerced, ("tags",), _text_to_list, faults)
    if isinstance(messages := coerced.get("messages"), list):
        coerced["messages"] = [
            _coerce_message(message, ("messages", index), faults) for index, message in enumerate(messages)
        ]
    return coerced, faults


def _coerce_message(message: Any, path: Path, faults: list[Fault]) -> Any:
    if not isinstance(message, dict):
        return message
    coerced = dict(message)
    for name in ("message_id", "parent_message_id"):
        _convert(coerced, (*path, name), _int_to_text, faults)
    _convert(coerced, (*path, "role"), _to_role, faults)
    _convert(coerced, (*path, "timestamp"), _to_timestamp, faults)
    _convert(coerced, (*path, "content"), _to_blocks, faults)
    if isinstance(content := coerced.get("content"), list):
        coerced["content"] = [
            _coerce_block(block, (*path, "content", number), faults) for number, block in enumerate(content)
        ]
    if isinstance(tokens := coerced.get("tokens"), dict):
        coerced["tokens"] = dict(tokens)
        for name in tokens:
            if name.endswith("_tokens"):
                _convert(coerced["tokens"], (*path, "tokens", name), _text_to_int, faults)
    return coerced


def _coerce_block(block: Any, path: Path, faults: list[Fault]) -> Any:
    match block:
        case {"type": "tool_result"} if block.get("is_error") is None:
            faults.append(Fault((*path, "is_error"), "A missing is_error became false"))
            return {**block, "is_error": False}
        case _:
            return block


def _convert(holder: JsonObject, path: Path, convert: Callable[[Any], Iterator[Any]], faults: list[Fault]) -> None:
    name = path[-1]
    if isinstance(name, str) and name in holder:
        value = holder[name]
        for converted in convert(value):
            holder[name] = converted
            faults.append(Fault(path, f"{_shorten(value)} became {_shorten(converted)}"))


def _int_to_text(value: Any) -> Iterator[str]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield str(value)


def _text_to_int(value: Any) -> Iterator[int]:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        yield int(value)


def _to_timestamp(value: Any) -> Iterator[str]:
    if value is not None and not isinstance(value, bool) and not (isinstance(value, str) and is_canonical(value)):
        with suppress(ValueError):
            if (time := normalize_timestamp(value)) != value:
                yield time


def _to_role(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value not in _KNOWN_ROLES:
        word = value.strip().lower()
        if (role := _ROLES.get(word, word)) in _KNOWN_ROLES:
            yield role


def _to_blocks(value: Any) -> Iterator[list[JsonObject]]:
    if value is not None and not (isinstance(value, list) and all(isinstance(block, dict) for block in value)):
        with suppress(ContentError):
            yield normalize_content(value)


def _text_to_list(value: Any) -> Iterator[list[str]]:
    if isinstance(value, str):
        yield [value]


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def normalize_content(content: object) -> list[dict[str, Any]]:
    """Return message content of any shape as a list of blocks.

    Strings become text blocks, a single block becomes a list, and an object with `content` is unwrapped, except a
    tool_result that names its call: unwrapping it would lose the call.
    """
    while isinstance(content, dict) and content.get("content") is not None and not _is_tool_result(content):
        content = content["content"]
    match content:
        case str():
            return [{"type": "text", "text": content}]
        case list():
            return _normalize_blocks(content)
        case {"type": str(kind)} if kind:
            return [cast("dict[str, Any]", content)]
        case dict():
            raise ContentError("cannot read message content: an object with neither content nor type")
        case _:
            raise ContentError(
                f"cannot read message content: {_json_type_name(content)} instead of text, a list or an object"
            )


def _is_tool_result(content: dict[Any, Any]) -> bool:
    return content.get("type") == "tool_result" and "tool_use_id" in content


def _normalize_blocks(content: list[Any]) -> list[dict[str, Any]]:
    if all(isinstance(block, dict) for block in content):
        return content
    return [_normalize_block(block, index) for index, block in enumerate(content)]


def _normalize_block(block: object, index: int) -> dict[str, Any]:
    match block:
        case dict():
            return cast("dict[str, Any]", block)
        case str():
            return {"type": "text", "text": block}
        case _:
            raise ContentError(
                f"cannot read message content: {_json_type_name(block)} at position {index} instead of a block"
            )


def _json_type_name(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return f"a value of type {type(value).__name__}"
