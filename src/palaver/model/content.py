"""Message content of any shape, made into a list of blocks."""

from typing import Any, cast

from palaver.errors import ContentError


def normalize_content(content: object) -> list[dict[str, Any]]:
    """A list as it is, with bare strings made into text blocks; a string as one text block; a block in a list.

    An object with `content` gives what its content gives. A tool_result that names its call is a block although it has
    `content`: unwrapping it would lose the call.
    """
    while isinstance(content, dict) and content.get("content") is not None and not _is_tool_result(content):
        content = content["content"]
    match content:
        case str():
            return [{"type": "text", "text": content}]
        case list():
            return _blocks(content)
        case {"type": str(kind)} if kind:
            return [cast("dict[str, Any]", content)]
        case dict():
            raise ContentError("cannot read message content: an object with neither content nor type")
        case _:
            raise ContentError(f"cannot read message content: {_kind(content)} instead of text, a list or an object")


def _is_tool_result(content: dict[Any, Any]) -> bool:
    return content.get("type") == "tool_result" and "tool_use_id" in content


def _blocks(content: list[Any]) -> list[dict[str, Any]]:
    if all(isinstance(block, dict) for block in content):
        return content
    return [_block(block, index) for index, block in enumerate(content)]


def _block(block: object, index: int) -> dict[str, Any]:
    match block:
        case dict():
            return cast("dict[str, Any]", block)
        case str():
            return {"type": "text", "text": block}
        case _:
            raise ContentError(f"cannot read message content: {_kind(block)} at position {index} instead of a block")


def _kind(value: object) -> str:
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
