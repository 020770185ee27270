"""Content blocks of the API history as UCS blocks; fields without a counterpart go to `source_fields`."""

from typing import Any

from palaver.importers._cline_family.tool_calls import MESSAGE_PARAMETERS, mcp_parts
from palaver.model import build
from palaver.model.build import JsonObject


def with_unmapped(block: JsonObject, raw: JsonObject, *mapped: str) -> JsonObject:
    """Add the unmapped, non-empty fields of the raw block as `source_fields`."""
    rest = {name: value for name, value in raw.items() if name not in mapped and value not in _EMPTY}
    if rest:
        block["source_fields"] = rest
    return block


_EMPTY: tuple[Any, ...] = (None, "", [], {})


def block_of(raw: Any) -> JsonObject:
    """Return the block for a raw block that is neither a call nor a result; opaque for an unknown shape."""
    if isinstance(raw, dict) and raw.get("type") == "text" and isinstance((text := raw.get("text")), str):
        return raw if len(raw) == 2 else with_unmapped(build.text(text), raw, "type", "text")
    match raw:
        case str():
            return build.text(raw)
        case {"type": "reasoning"}:
            return reasoning(raw) or build.opaque(kind="reasoning", raw=raw)
        case {"type": "thinking", "thinking": str(text)}:
            return _thought(text, raw)
        case {"type": "redacted_thinking", "data": str(data)}:
            return with_unmapped(build.thinking("", redacted_data=data), raw, "type", "data")
        case {"type": "image", "source": dict(source)}:
            return _image(raw, source)
        case {"type": "document", "source": dict(source)}:
            return _document(raw, source)
        case {"type": str(kind)} if kind:
            return build.opaque(kind=kind, raw=raw)
        case _:
            return build.opaque(kind="block", raw=raw)


def reasoning(raw: JsonObject) -> JsonObject | None:
    """Return the block for OpenAI-style reasoning (text, summary or encrypted), or None for another shape."""
    text, summary, encrypted = raw.get("text"), raw.get("summary"), raw.get("encrypted_content")
    text_parts = [text] if isinstance(text, str) and text else _summary(summary)
    if text_parts is None:
        return None
    mapped_fields = ["type", *(("text",) if isinstance(text, str) else ("summary",))]
    if isinstance(encrypted, str):
        mapped_fields.append("encrypted_content")
    block = build.thinking(
        "\n\n".join(text_parts), redacted_data=encrypted if isinstance(encrypted, str) and encrypted else None
    )
    return with_unmapped(block, raw, *mapped_fields)


def _summary(summary: Any) -> list[str] | None:
    """Return the paragraphs of a summary, or None for another shape."""
    if summary is None:
        return []
    if isinstance(summary, str):
        return [summary]
    if not isinstance(summary, list):
        return None
    text_parts: list[str] = []
    for piece in summary:
        match piece:
            case {"text": str(text), **rest} if rest.keys() <= {"type"}:
                text_parts.append(text)
            case str():
                text_parts.append(piece)
            case _:
                return None
    return text_parts


def _thought(text: str, raw: JsonObject) -> JsonObject:
    signature = raw.get("signature")
    if not isinstance(signature, str):
        return with_unmapped(build.thinking(text), raw, "type", "thinking")
    return with_unmapped(build.thinking(text, signature=signature or None), raw, "type", "thinking", "signature")


def _image(raw: JsonObject, source: JsonObject) -> JsonObject:
    image_source = _source(source)
    if image_source is None:
        return build.opaque(kind="image", raw=raw)
    return with_unmapped(build.image(image_source), raw, "type", "source")


def _document(raw: JsonObject, source: JsonObject) -> JsonObject:
    title = raw.get("title")
    name = title if isinstance(title, str) else None
    mapped_fields = ("type", "source", "title") if name else ("type", "source")
    match source:
        case {"type": "text", "data": str(text), **rest} if rest.keys() <= {"media_type"}:
            media_type = rest.get("media_type")
            block = build.file(name=name, media_type=media_type if isinstance(media_type, str) else None, text=text)
            return with_unmapped(block, raw, *mapped_fields)
        case _:
            file_source = _source(source)
            if file_source is None:
                return build.opaque(kind="document", raw=raw)
            return with_unmapped(build.file(source=file_source, name=name), raw, *mapped_fields)


def _source(source: JsonObject) -> JsonObject | None:
    """Return the UCS source for an Anthropic source, or None for an unknown shape."""
    match source:
        case {"type": "base64", "data": str(data)} if type(source.get("media_type")) in {str, type(None)}:
            rest = {name: value for name, value in source.items() if name not in {"type", "data", "media_type"}}
            return {**rest, **build.source("base64", data, media_type=source.get("media_type"))}
        case {"type": "url", "url": str(url)}:
            rest = {name: value for name, value in source.items() if name not in {"type", "url", "data"}}
            if type(rest.get("media_type")) not in {str, type(None)} or "data" in source:
                return None
            return {**rest, **build.source("url", url)}
        case _:
            return None


def image_from_url(url: str) -> JsonObject:
    """Return the block for an image given as a `data:` or other URL, as in rows of the UI log."""
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        return build.image(build.source("base64", data, media_type=head.removeprefix("data:")))
    return build.image(build.source("url", url))


_CALL_FIELDS = ("type", "id", "name", "input")
"""The fields of a call; one without others is passed on unchanged."""


def call_blocks(*, call_id: str, name: str, arguments: JsonObject, raw: JsonObject | None = None) -> list[JsonObject]:
    """Return the block of a call, after a text block with the text that it addresses to the user, if any."""
    is_whole = raw is not None and tuple(raw) == _CALL_FIELDS and raw["id"] is call_id and raw["input"] is arguments
    if raw is not None and is_whole and raw["name"] is name and name not in MESSAGE_PARAMETERS and not mcp_parts(name):
        return [raw]
    blocks: list[JsonObject] = []
    parameter = MESSAGE_PARAMETERS.get(name)
    if parameter and isinstance((text := arguments.get(parameter)), str):
        arguments = {key: value for key, value in arguments.items() if key != parameter}
        if text:
            blocks.append(build.text(text))
    block = build.tool_use(id=call_id, name=name, input=arguments)
    if server := mcp_parts(name):
        block["metadata"] = server
    if raw:
        mapped_fields = ["type", "input", *(key for key in ("id", "name") if isinstance(raw.get(key), str))]
        if len(raw) > len(mapped_fields):
            block = with_unmapped(block, raw, *mapped_fields)
    blocks.append(block)
    return blocks


def result_content(raw: Any) -> tuple[str | list[JsonObject], str]:
    """Return the content of a result, and its text."""
    if isinstance(raw, str):
        return raw, raw
    match raw:
        case None:
            return "", ""
        case list():
            blocks = [block_of(piece) for piece in raw]
            texts = [block["text"] for block in blocks if block["type"] == "text"]
            return blocks or "", "\n".join(texts)
        case _:
            return [build.opaque(kind="content", raw=raw)], ""
