"""Images and documents of Anthropic's format, read and written.

An image is JPEG, PNG, GIF or WebP in base64, a URL or the id of an uploaded file; a document is a PDF in the same three
ways, or plain text. A document made of blocks is read as its text; the blocks are kept in `provider_data`.
"""

import base64
import binascii
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Losses

_IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF = "application/pdf"
_PLAIN = "text/plain"
_FOREIGN_FILE = "the file is stored at another provider"
_BASE64_PREFIXES = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi0": _PDF,
}
"""Media types by the first characters of their base64, for sources that do not state one."""


def image_from_wire(raw: JsonObject) -> JsonObject | None:
    source = _source_from_wire(raw.get("source"))
    return build.image(source) if source else None


def document_from_wire(raw: JsonObject) -> JsonObject | None:
    title = raw.get("title")
    name = title if isinstance(title, str) else None
    match raw.get("source"):
        case {"type": "text", "data": str(text)}:
            return build.file(name=name, media_type=_PLAIN, text=text)
        case {"type": "content", "content": content} if text := _document_text(content):
            return build.file(name=name, media_type=_PLAIN, text=text)
        case raw_source:
            source = _source_from_wire(raw_source)
            return build.file(source=source, name=name) if source else None


def image_to_wire(block: JsonObject, pointer: str, losses: Losses, *, is_foreign: bool) -> JsonObject | None:
    source = _inline_source(block["source"], pointer, losses)
    if source["type"] == "file" and is_foreign:
        losses.drop(pointer, _FOREIGN_FILE)
        return None
    kind = _media_type(source, None, pointer, losses)
    if source["type"] == "base64" and kind not in _IMAGE_TYPES:
        losses.drop(pointer, f"Anthropic takes JPEG, PNG, GIF and WebP, not {kind or 'an image of an unknown kind'}")
        return None
    return {"type": "image", "source": _source_to_wire(source, kind, pointer, losses)}


def document_to_wire(block: JsonObject, pointer: str, losses: Losses, *, is_foreign: bool) -> JsonObject | None:
    text, stated = block.get("text"), block.get("media_type")
    if block.get("source") is None:
        if text is None:
            losses.drop(pointer, "only its name is known")
            return None
        if stated is None:
            losses.change(pointer, "Anthropic treats every text as plain text")
        elif stated != _PLAIN:
            losses.change(f"{pointer}/media_type", "Anthropic treats every text as plain text")
        return _document(block, {"type": "text", "media_type": _PLAIN, "data": text})
    source = _inline_source(block["source"], pointer, losses)
    if source["type"] == "file" and is_foreign:
        losses.drop(pointer, _FOREIGN_FILE)
        return None
    if stated is not None:
        losses.drop(f"{pointer}/media_type", "only a document with bytes can have one")
    if text is not None:
        losses.drop(f"{pointer}/text", "a document has either bytes or text, not both")
    kind = _media_type(source, stated, pointer, losses)
    if kind in _IMAGE_TYPES:
        losses.change(pointer, "an image file is written as an image")
        return {"type": "image", "source": _source_to_wire(source, kind, pointer, losses)}
    if source["type"] == "base64" and kind and kind.startswith("text/"):
        if (decoded := _decoded(source["data"])) is not None:
            losses.change(pointer, f"{kind} is written as plain text")
            return _document(block, {"type": "text", "media_type": _PLAIN, "data": decoded})
        kind = f"{kind} that is not UTF-8"
    if kind != _PDF and (kind or source["type"] == "base64"):
        losses.drop(pointer, f"Anthropic takes PDF, plain text and images, not {kind or 'bytes of an unknown kind'}")
        return None
    return _document(block, _source_to_wire(source, kind, pointer, losses))


def _document(block: JsonObject, source: JsonObject) -> JsonObject:
    made = {"type": "document", "source": source}
    return made if block.get("name") is None else {**made, "title": block["name"]}


def _source_from_wire(raw: Any) -> JsonObject | None:
    match raw:
        case {"type": "base64", "data": str(data), "media_type": str(media_type)}:
            return build.source("base64", data, media_type=media_type)
        case {"type": "url", "url": str(url)}:
            return build.source("url", url)
        case {"type": "file", "file_id": str(file_id)}:
            return build.source("file", file_id)
        case _:
            return None


def _source_to_wire(source: JsonObject, kind: str | None, pointer: str, losses: Losses) -> JsonObject:
    if source["type"] == "base64":
        return {"type": "base64", "media_type": kind, "data": source["data"]}
    if source.get("media_type") is not None:
        losses.drop(f"{pointer}/source/media_type", "Anthropic detects it")
    key = "url" if source["type"] == "url" else "file_id"
    return {"type": source["type"], key: source["data"]}


def _inline_source(source: JsonObject, pointer: str, losses: Losses) -> JsonObject:
    """Return a base64 source for a `data:` URL, and any other source unchanged."""
    head, comma, data = source["data"].partition(",")
    if source["type"] != "url" or not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return source
    losses.change(f"{pointer}/source", "a data URL is written as bytes")
    media_type = head[len("data:") :].partition(";")[0] or source.get("media_type")
    return build.source("base64", data, media_type=media_type)


def _media_type(source: JsonObject, stated: str | None, pointer: str, losses: Losses) -> str | None:
    if (media_type := source.get("media_type")) is not None:
        return media_type
    if source["type"] != "base64":
        return stated
    guessed = stated or next(
        (kind for prefix, kind in _BASE64_PREFIXES.items() if source["data"].startswith(prefix)), None
    )
    if guessed:
        losses.change(f"{pointer}/source", "Anthropic needs the media type beside the bytes")
    return guessed


def _document_text(content: Any) -> str:
    match content:
        case str():
            return content
        case list():
            return "\n".join(piece["text"] for piece in content if _is_text(piece))
        case _:
            return ""


def _is_text(piece: Any) -> bool:
    match piece:
        case {"type": "text", "text": str()}:
            return True
        case _:
            return False


def _decoded(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
