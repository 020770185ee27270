"""What a person reads in a block: its words, each with what they are.

The words of a document are `text`, those a model did not mean for anybody are `thinking`, and what a tool was given or
gave back is `tool`. Bytes in base64 are nobody's words.
"""

from collections.abc import Iterator
from typing import Any, Literal

from palaver.model.build import JsonObject

Kind = Literal["text", "thinking", "tool"]

_LONGEST_WORD = 512


def block_texts(block: JsonObject) -> Iterator[tuple[Kind, str]]:
    """The words of one block, in order; nesting may be as deep as it likes."""
    stack: list[tuple[Kind, JsonObject]] = [("text", block)]
    while stack:
        kind, block = stack.pop()
        match block:
            case {"type": "text", "text": str(words)}:
                yield kind, words
            case {"type": "thinking", "thinking": str(words)}:
                yield "thinking", words
            case {"type": "code", "code": str(words)}:
                yield kind, words
            case {"type": "image"}:
                yield from _stated(kind, block, "alt_text")
            case {"type": "file"}:
                yield from _stated(kind, block, "name", "text")
            case {"type": "tool_use", "name": str(name)}:
                yield "tool", name
                yield from _inside("tool", block.get("input"))
            case {"type": "tool_result", "content": str(words)}:
                yield "tool", words
            case {"type": "tool_result", "content": list() as inner}:
                stack.extend(("tool", one) for one in reversed(inner) if isinstance(one, dict))
            case {"type": "opaque"}:
                yield from _inside(kind, block.get("raw"))
            case _:
                yield from _inside(kind, block)


def _stated(kind: Kind, block: JsonObject, *names: str) -> Iterator[tuple[Kind, str]]:
    for name in names:
        if isinstance(words := block.get(name), str):
            yield kind, words


def _inside(kind: Kind, value: Any) -> Iterator[tuple[Kind, str]]:
    for words in strings(value):
        yield kind, words


def strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value, in order, without recursion and without base64."""
    stack: list[Any] = [value]
    while stack:
        match stack.pop():
            case str(words):
                if not is_encoded(words):
                    yield words
            case {"type": "base64", "data": str()} as source:
                stack += [item for key, item in reversed(source.items()) if key not in {"type", "data"}]
            case dict() as fields:
                stack += reversed(fields.values())
            case list() as items:
                stack += reversed(items)
            case _:
                pass


def is_encoded(words: str) -> bool:
    """Whether a text is bytes in disguise: a `data:` address, or a run without any space that is longer than words."""
    if words.startswith("data:") and ";base64," in words[:200]:
        return True
    return len(words) > _LONGEST_WORD and len(words.split(maxsplit=1)) == 1
