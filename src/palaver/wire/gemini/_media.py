"""Pictures and files: bytes in `inlineData`, addresses and names of stored files in `fileData`.

A media type of `image/*` makes it a picture; where none is stated, the ending of the address does.
"""

import re

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.gemini._fields import Fields, Kept, drop_others, is_text

_PICTURE = re.compile(r"\.(png|jpe?g|gif|webp|bmp|heic|heif|avif|svg|tiff?)$", re.IGNORECASE)
_DATA_URL = re.compile(r"data:(?P<media_type>[\w.+/-]*)(;[\w=.+-]+)*;base64,(?P<data>.*)", re.DOTALL)
_FIRST_BYTES = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}


def media_block(part: Fields, kind: str) -> JsonObject:
    """A part that holds `inlineData` or `fileData`, as its kind says."""
    inner = part.inner(kind)
    assert inner is not None
    media_type = inner.take("mimeType", is_text)
    if kind == "inlineData":
        data = inner.take("data", is_text)
        source = build.source("base64", data, media_type=media_type)
    else:
        data = inner.take("fileUri", is_text)
        source = build.source("url" if "://" in data else "file", data, media_type=media_type)
    if _is_picture(source):
        return build.image(source)
    return build.file(source=source, name=inner.take("displayName", is_text))


def media_part(block: JsonObject, pointer: str, kept: Kept, losses: Losses) -> JsonObject | None:
    """The part of a picture or file; None where it has neither bytes nor an address."""
    stated = block.get("source")
    if stated is None:
        return None
    source, why = _source(block, stated)
    drop_others(stated, frozenset({"type", "media_type", "data"}), f"{pointer}/source", losses)
    if why:
        losses.change(f"{pointer}/source", why)
    if block.get("media_type") is not None:
        losses.change(f"{pointer}/media_type", "Gemini states it with the source alone")
    if (block["type"] == "image") != _is_picture(source):
        losses.change(pointer, "Gemini tells pictures from files by their media type alone")
    media: JsonObject = {} if source.get("media_type") is None else {"mimeType": source["media_type"]}
    if block["type"] == "file" and block.get("name") is not None:
        media["displayName"] = block["name"]
    if source["type"] == "base64":
        return kept.spell({"inlineData": kept.spell({**media, "data": source["data"]})})
    return kept.spell({"fileData": kept.spell({**media, "fileUri": source["data"]})})


def _source(block: JsonObject, stated: JsonObject) -> tuple[JsonObject, str]:
    """What is written as the source, and why it is not the one that was stated."""
    kind, data = stated["type"], stated["data"]
    media_type = stated.get("media_type")
    why = ""
    if kind == "url" and (inline := _DATA_URL.fullmatch(data)):
        kind, data, media_type = "base64", inline["data"], media_type or inline["media_type"] or None
        why = "an address that holds the bytes is written as bytes"
    elif kind == "url" and "://" not in data:
        why = "Gemini reads an address without a scheme as a file's name"
    elif kind == "file" and "://" in data:
        why = "Gemini reads a file's name with a scheme as an address"
    if media_type is None and (media_type := block.get("media_type") or _guessed(block, kind, data)):
        why = why or "Gemini needs the media type beside the bytes"
    return build.source(kind, data, media_type=media_type), why


def _guessed(block: JsonObject, kind: str, data: str) -> str | None:
    """Bytes of a picture without a media type would be taken for a file."""
    if kind != "base64" or block["type"] != "image":
        return None
    return next((known for first, known in _FIRST_BYTES.items() if data.startswith(first)), "image/png")


def _is_picture(source: JsonObject) -> bool:
    if (media_type := source.get("media_type")) is not None:
        return media_type.startswith("image/")
    return source["type"] != "base64" and bool(_PICTURE.search(re.split("[?#]", source["data"], maxsplit=1)[0]))
