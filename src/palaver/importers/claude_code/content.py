"""Content blocks of the Messages API as Claude Code writes them, into UCS blocks.

A block that already is one passes through untouched; only what differs is rebuilt; anything unknown is kept whole.
"""

from typing import Any

from palaver.importers._shared.findings import UNKNOWN_BLOCK
from palaver.importers.claude_code.reading import Reading
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.sources.run import Run


def block(raw: Any) -> JsonObject:
    """One block; tool calls and results get their ids from the caller."""
    if not isinstance(raw, dict):
        return build.text(raw) if isinstance(raw, str) else build.opaque(kind="block", raw=raw)
    kind = raw.get("type")
    if not isinstance(kind, str):
        return build.opaque(kind="block", raw=raw)
    if kind in _AS_THEY_ARE:
        return raw
    make = _REBUILT.get(kind)
    return make(raw) if make else build.opaque(kind=kind or "block", raw=raw)


def note_unknown(made: JsonObject, run: Run, reading: Reading) -> None:
    if made["type"] == "opaque":
        run.note(UNKNOWN_BLOCK, reading.where(), f"block {made['kind']!r}")


def blocks(content: Any) -> list[JsonObject]:
    """The blocks of a message's content, which is a string, a list, or damage; never empty."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        for index, raw in enumerate(content):
            if isinstance(raw, dict) and raw.get("type") == "tool_result":
                tool_result(raw)
            else:
                content[index] = block(raw)
        return content or [build.text("")]
    if content is None:
        return [build.text("")]
    return [build.opaque(kind="content", raw=content)]


def tool_result(raw: JsonObject) -> JsonObject:
    content = raw.get("content")
    if isinstance(content, str):
        if "is_error" not in raw or raw["is_error"] is None:
            raw["is_error"] = False
        return raw
    if isinstance(content, list):
        for index, item in enumerate(content):
            if not isinstance(item, dict) or item.get("type") != "text":
                content[index] = block(item)
        if not content:
            raw["content"] = ""
    else:
        raw["content"] = "" if content is None else [build.opaque(kind="content", raw=content)]
    if raw.get("is_error") is None:
        raw["is_error"] = False
    return raw


def result_text(result: JsonObject) -> str:
    """The text of a tool result, in one string."""
    content = result.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(item["text"] for item in content if isinstance(item.get("text"), str))
    return ""


def plain_text(content: list[JsonObject]) -> str:
    """The text blocks of a message, in one string."""
    if len(content) == 1 and isinstance((text := content[0].get("text")), str):
        return text
    return "\n".join(
        block["text"] for block in content if block.get("type") == "text" and isinstance(block.get("text"), str)
    )


def _redacted(raw: JsonObject) -> JsonObject:
    rest = {key: value for key, value in raw.items() if key not in {"type", "data"}}
    return {**rest, **build.thinking("", redacted_data=raw.get("data"))}


def _image(raw: JsonObject) -> JsonObject:
    match raw.get("source"):
        case {"type": "base64"}:
            return raw
        case {"type": "url", "url": str(url), **rest}:
            return {**raw, "source": {**rest, "type": "url", "data": url}}
        case {"type": "file", "file_id": str(file_id), **rest}:
            return {**raw, "source": {**rest, "type": "file", "data": file_id}}
        case _:
            return build.opaque(kind="image", raw=raw)


def _document(raw: JsonObject) -> JsonObject:
    rest = {key: value for key, value in raw.items() if key not in {"type", "source", "title"}}
    match raw.get("source"):
        case {"type": "text", "data": str(text), **source}:
            made = build.file(name=raw.get("title"), media_type=source.get("media_type"), text=text)
        case {"type": "base64", "data": str(data), **source}:
            media_type = source.get("media_type")
            made = build.file(
                source={"type": "base64", "media_type": media_type, "data": data},
                name=raw.get("title"),
                media_type=media_type,
            )
        case {"type": "url", "url": str(url), **source}:
            made = build.file(source={**source, "type": "url", "data": url}, name=raw.get("title"))
        case {"type": "file", "file_id": str(file_id), **source}:
            made = build.file(source={**source, "type": "file", "data": file_id}, name=raw.get("title"))
        case _:
            return build.opaque(kind="document", raw=raw)
    return {**rest, **made}


_AS_THEY_ARE = frozenset({"text", "tool_use", "thinking"})
_REBUILT = {
    "tool_result": tool_result,
    "redacted_thinking": _redacted,
    "image": _image,
    "document": _document,
}
