"""The content of a message as blocks: words, pictures, thoughts written between `<think>` and `</think>`."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver.model import build
from palaver.model.build import JsonObject

Block = build.Block

_OPENS, _CLOSES = "<think>", "</think>"


def content_blocks(content: Any) -> list[Block]:
    """The blocks of a `content`, which is a text, a list of parts, or whatever a damaged file has there."""
    if isinstance(content, str):
        return [build.text(content)] if content else []
    if content is None:
        return []
    if isinstance(content, list):
        return [_part(part) for part in content]
    return [build.opaque(kind="content", raw=content)]


def plain_text(blocks: list[Block]) -> str:
    """The words in some blocks, as Continue itself joins them."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    return texts[0] if len(texts) == 1 else "\n".join(texts)


def texts_in(blocks: list[Block]) -> Iterator[str]:
    """Every text that some blocks show."""
    for block in blocks:
        field = _SHOWN.get(block["type"])
        shown = block.get(field) if field else None
        if isinstance(shown, str):
            yield shown
        elif isinstance(shown, list):
            yield from texts_in(shown)
        elif isinstance(shown, dict) and isinstance(shown.get("data"), str):
            yield shown["data"]


_SHOWN = {
    "text": "text",
    "file": "text",
    "thinking": "thinking",
    "code": "code",
    "image": "source",
    "tool_result": "content",
}
"""By the type of a block, the field with what it shows."""


class Thought(NamedTuple):
    thinking: str | None
    """What stands between the marks, or behind the first where the other is missing; None without any."""
    said: str


def without_thoughts(text: str) -> Thought:
    """A text with the thoughts that it begins with taken out."""
    begun = text.lstrip()
    if not begun.startswith(_OPENS):
        return Thought(None, text)
    thinking, _, said = begun[len(_OPENS) :].partition(_CLOSES)
    return Thought(thinking, said)


def _part(part: Any) -> Block:
    match part:
        case str():
            return build.text(part)
        case {"type": "text", "text": str(text), **rest}:
            return _with(build.text(text), rest)
        case {"type": "imageUrl", "imageUrl": {"url": str(url), **beside}, **rest}:
            return _with(build.image(_picture(url)), {**rest, **({"imageUrl": beside} if beside else {})})
        case {"type": str(kind)} if kind:
            return build.opaque(kind=kind, raw=part)
        case _:
            return build.opaque(kind="part", raw=part)


def _picture(url: str) -> JsonObject:
    """Where a picture is: mostly in the address itself."""
    kind, comma, data = url.partition(",")
    if comma and kind.startswith("data:") and kind.endswith(";base64"):
        return build.source("base64", data, media_type=kind[len("data:") : -len(";base64")] or None)
    return build.source("url", url)


def _with(block: Block, rest: JsonObject) -> Block:
    if rest:
        block["source_fields"] = rest
    return block
