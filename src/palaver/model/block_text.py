"""The text that a person reads in a block, with its kind.

Text of a document is `text`, a model's reasoning is `thinking`, and the input and output of tools is `tool`. Base64
data is left out.
"""

from collections.abc import Iterator
from typing import Any, Literal

from palaver.model.build import JsonObject

Kind = Literal["text", "thinking", "tool"]

_MAX_WORD_LENGTH = 512


def block_texts(block: JsonObject) -> Iterator[tuple[Kind, str]]:
    """Yield the texts of a block in order, at any depth of nesting."""
    stack: list[tuple[Kind, JsonObject]] = [("text", block)]
    while stack:
        kind, block = stack.pop()
        match block:
            case {"type": "text", "text": str(text)}:
                yield kind, text
            case {"type": "thinking", "thinking": str(text)}:
                yield "thinking", text
            case {"type": "code", "code": str(text)}:
                yield kind, text
            case {"type": "image"}:
                yield from _stated(kind, block, "alt_text")
            case {"type": "file"}:
                yield from _stated(kind, block, "name", "text")
            case {"type": "tool_use", "name": str(name)}:
                yield "tool", name
                yield from _inside("tool", block.get("input"))
            case {"type": "tool_result", "content": str(text)}:
                yield "tool", text
            case {"type": "tool_result", "content": list() as inner}:
                stack.extend(("tool", child) for child in reversed(inner) if isinstance(child, dict))
            case {"type": "opaque"}:
                yield from _inside(kind, block.get("raw"))
            case _:
                yield from _inside(kind, block)


def _stated(kind: Kind, block: JsonObject, *names: str) -> Iterator[tuple[Kind, str]]:
    for name in names:
        if isinstance(text := block.get(name), str):
            yield kind, text


def _inside(kind: Kind, value: Any) -> Iterator[tuple[Kind, str]]:
    for text in strings(value):
        yield kind, text


def strings(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value in order, without recursion; base64 data is left out."""
    stack: list[Any] = [value]
    while stack:
        match stack.pop():
            case str(text):
                if not is_encoded(text):
                    yield text
            case {"type": "base64", "data": str()} as source:
                stack += [item for key, item in reversed(source.items()) if key not in {"type", "data"}]
            case dict() as fields:
                stack += reversed(fields.values())
            case list() as items:
                stack += reversed(items)
            case _:
                pass


def is_encoded(text: str) -> bool:
    """Return whether a text is encoded bytes: a `data:` URL, or longer than any word and without a space."""
    if text.startswith("data:") and ";base64," in text[:200]:
        return True
    return len(text) > _MAX_WORD_LENGTH and len(text.split(maxsplit=1)) == 1
