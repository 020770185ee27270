"""Content of history items as blocks: text, images, and thinking wherever an item holds it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver.importers.continue_dev.fields import text_of, unmapped_fields
from palaver.model import build
from palaver.model.build import JsonObject

Block = build.Block
_OPENS, _CLOSES = "<think>", "</think>"
_HIDDEN_REASONING = "internal reasoning is hidden due to safety reasons"
"""Placeholder that Continue shows when the provider encrypted the reasoning."""
_MAPPED_THINKING_FIELDS = frozenset({"role", "content", "signature", "redactedThinking", "metadata"})


def content_blocks(content: Any) -> list[Block]:
    """Return the blocks of a `content`, which is a text, a list of parts, or anything else in a damaged file."""
    if isinstance(content, str):
        return [build.text(content)] if content else []
    if content is None:
        return []
    if isinstance(content, list):
        return [_part_block(part) for part in content]
    return [build.opaque(kind="content", raw=content)]


def plain_text(blocks: list[Block]) -> str:
    """Join the text blocks as Continue itself does."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    return texts[0] if len(texts) == 1 else "\n".join(texts)


def block_texts(blocks: list[Block]) -> Iterator[str]:
    """Yield every text in the blocks, and the data of images."""
    for block in blocks:
        field = _TEXT_FIELDS.get(block["type"])
        value = block.get(field) if field else None
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from block_texts(value)
        elif isinstance(value, dict) and isinstance(value.get("data"), str):
            yield value["data"]


_TEXT_FIELDS = {
    "text": "text",
    "file": "text",
    "thinking": "thinking",
    "code": "code",
    "image": "source",
    "tool_result": "content",
}
"""Field that holds the text, by block type."""


class SplitText(NamedTuple):
    thinking: str | None
    """Text between the tags, or after the opening tag if the closing one is missing; None without tags."""
    text: str


def split_thinking(text: str) -> SplitText:
    """Separate leading thinking, between `<think>` and `</think>`, from the text after it."""
    trimmed = text.lstrip()
    if not trimmed.startswith(_OPENS):
        return SplitText(None, text)
    thinking, _, answer = trimmed[len(_OPENS) :].partition(_CLOSES)
    return SplitText(thinking, answer)


def _part_block(part: Any) -> Block:
    match part:
        case str():
            return build.text(part)
        case {"type": "text", "text": str(text), **rest}:
            return _with_source_fields(build.text(text), rest)
        case {"type": "imageUrl", "imageUrl": {"url": str(url), **details}, **rest}:
            source_fields = {**rest, "imageUrl": details} if details else rest
            return _with_source_fields(build.image(_image_source(url)), source_fields)
        case {"type": str(kind)} if kind:
            return build.opaque(kind=kind, raw=part)
        case _:
            return build.opaque(kind="part", raw=part)


def _image_source(url: str) -> JsonObject:
    """Return the source of an image, which is mostly a data URL."""
    kind, comma, data = url.partition(",")
    if comma and kind.startswith("data:") and kind.endswith(";base64"):
        return build.source("base64", data, media_type=kind[len("data:") : -len(";base64")] or None)
    return build.source("url", url)


def _with_source_fields(block: Block, rest: JsonObject) -> Block:
    if rest:
        block["source_fields"] = rest
    return block


def is_placeholder(item: JsonObject, message: JsonObject) -> bool:
    """Return whether an answer was started but left empty."""
    return (
        message.get("content") in ("", None, [])
        and message.keys() <= {"id", "role", "content"}
        and all(name in {"message", "isGatheringContext"} or value in (None, [], "") for name, value in item.items())
    )


def thinking_item(item: JsonObject, message: JsonObject) -> tuple[list[build.Block], JsonObject]:
    """Return the blocks of a thinking item, and its unmapped fields."""
    unmapped = unmapped_fields(message, _MAPPED_THINKING_FIELDS)
    redacted = text_of(message, "redactedThinking")
    metadata = message.get("metadata")
    if isinstance(metadata, dict):
        rest = dict(metadata)
        if not redacted and (redacted := text_of(rest, "encrypted_content")):
            del rest["encrypted_content"]
        metadata = rest or None
    if metadata is not None:
        unmapped["metadata"] = metadata
    if redacted and isinstance((details := unmapped.get("reasoning_details")), list):
        repeated = {"type": "encrypted_content", "encrypted_content": redacted}
        unmapped["reasoning_details"] = [detail for detail in details if detail != repeated]
    for name in ("signature", "redactedThinking"):
        if message.get(name) is not None and not isinstance(message[name], str):
            unmapped[name] = message[name]
    blocks = content_blocks(message.get("content"))
    text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    others = [block for block in blocks if block["type"] != "text"]
    if redacted and text == _HIDDEN_REASONING:
        text = ""
    signature = text_of(message, "signature")
    thoughts = [*_reasoning_blocks(item, [{"thinking": text}]), *others]
    if text or signature or redacted:
        thoughts.insert(0, build.thinking(text, signature=signature or None, redacted_data=redacted or None))
    return thoughts, unmapped


def _reasoning_blocks(item: JsonObject, before: list[build.Block]) -> list[build.Block]:
    """Return the thinking in an item's `reasoning` field, unless an earlier block has it."""
    reasoning = item.get("reasoning")
    text = text_of(reasoning, "text") if isinstance(reasoning, dict) else ""
    return [build.thinking(text)] if text and not any(block.get("thinking") == text for block in before) else []


def answer_blocks(item: JsonObject, message: JsonObject, before: list[build.Block]) -> list[build.Block]:
    """Return the thinking and text of an answer, to follow blocks made from earlier items."""
    content = message.get("content")
    blocks = _reasoning_blocks(item, before)
    if isinstance(content, str) and (thought := split_thinking(content)).thinking is not None:
        blocks.append(build.thinking(thought.thinking))
        content = thought.text
    return [*blocks, *content_blocks(content)]
