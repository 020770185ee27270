"""Images and files among the parts of a Gemini content, read into blocks and written from them.

They are bytes in `inlineData`, or URLs and names of stored files in `fileData`. A media type of `image/*` makes it an
image; without a media type, the file extension of the URL decides.
"""

import re

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.gemini._provider_data import (
    FieldReader,
    ProviderData,
    is_text,
    report_unwritten,
)

_IMAGE_EXTENSION = re.compile(r"\.(png|jpe?g|gif|webp|bmp|heic|heif|avif|svg|tiff?)$", re.IGNORECASE)
_DATA_URL = re.compile(r"data:(?P<media_type>[\w.+/-]*)(;[\w=.+-]+)*;base64,(?P<data>.*)", re.DOTALL)
_IMAGE_PREFIXES = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}


def media_from_wire(part: FieldReader, kind: str) -> JsonObject:
    """Return the block of a part; `kind` is the field that it has, `inlineData` or `fileData`."""
    inner = part.inner(kind)
    assert inner is not None
    media_type = inner.take("mimeType", is_text)
    if kind == "inlineData":
        data = inner.take("data", is_text)
        source = build.source("base64", data, media_type=media_type)
    else:
        data = inner.take("fileUri", is_text)
        source = build.source("url" if "://" in data else "file", data, media_type=media_type)
    if _is_image(source):
        return build.image(source)
    return build.file(source=source, name=inner.take("displayName", is_text))


def media_to_wire(block: JsonObject, pointer: str, saved: ProviderData, losses: Losses) -> JsonObject | None:
    """Return the part of an image or file; None if it has neither bytes nor a URL."""
    stated = block.get("source")
    if stated is None:
        return None
    source, reason = _written_source(block, stated)
    report_unwritten(stated, frozenset({"type", "media_type", "data"}), f"{pointer}/source", losses)
    if reason:
        losses.change(f"{pointer}/source", reason)
    if block.get("media_type") is not None:
        losses.change(f"{pointer}/media_type", "Gemini states it only with a source")
    if (block["type"] == "image") != _is_image(source):
        losses.change(pointer, "Gemini distinguishes images from files by media type only")
    media: JsonObject = {} if source.get("media_type") is None else {"mimeType": source["media_type"]}
    if block["type"] == "file" and block.get("name") is not None:
        media["displayName"] = block["name"]
    if source["type"] == "base64":
        return saved.spell({"inlineData": saved.spell({**media, "data": source["data"]})})
    return saved.spell({"fileData": saved.spell({**media, "fileUri": source["data"]})})


def _written_source(block: JsonObject, stated: JsonObject) -> tuple[JsonObject, str]:
    """Return the source to write, and why it differs from the block's own; an empty reason if it does not."""
    kind, data = stated["type"], stated["data"]
    media_type = stated.get("media_type")
    reason = ""
    if kind == "url" and (inline := _DATA_URL.fullmatch(data)):
        kind, data, media_type = "base64", inline["data"], media_type or inline["media_type"] or None
        reason = "a data URL is written as bytes"
    elif kind == "url" and "://" not in data:
        reason = "Gemini reads an address without a scheme as a file's name"
    elif kind == "file" and "://" in data:
        reason = "Gemini reads a file's name with a scheme as an address"
    if media_type is None and (media_type := block.get("media_type") or _guess_media_type(block, kind, data)):
        reason = reason or "Gemini needs the media type beside the bytes"
    return build.source(kind, data, media_type=media_type), reason


def _guess_media_type(block: JsonObject, kind: str, data: str) -> str | None:
    """Guess the media type of an image from its bytes: without one, it would be read as a file."""
    if kind != "base64" or block["type"] != "image":
        return None
    return next((known for prefix, known in _IMAGE_PREFIXES.items() if data.startswith(prefix)), "image/png")


def _is_image(source: JsonObject) -> bool:
    if (media_type := source.get("media_type")) is not None:
        return media_type.startswith("image/")
    return source["type"] != "base64" and bool(_IMAGE_EXTENSION.search(re.split("[?#]", source["data"], maxsplit=1)[0]))
