"""Images and files: `data:` URLs and file ids in payloads, sources in blocks; what both of OpenAI's formats share."""

import re
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._notes import Writing

_DATA_URL = re.compile(r"data:([^,/]+/[^,]+?);base64,(.*)", re.DOTALL)
_UNKNOWN = "application/octet-stream"
_AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_AUDIO_TYPE = {short: media_type for media_type, short in _AUDIO.items()}


def source_from(url: str) -> JsonObject:
    """The source that a URL is, its bytes where it holds them."""
    if match := _DATA_URL.fullmatch(url):
        return build.source("base64", match[2], media_type=match[1])
    return build.source("url", url)


def url_to(block: JsonObject, at: str, writing: Writing) -> str:
    """The URL of an image or file whose bytes or address are known."""
    source: JsonObject = block["source"]
    writing.leave_out(source, {"type", "data", "media_type"}, f"{at}/source")
    media_type: str | None = source.get("media_type")
    if source["type"] == "url":
        if media_type is not None:
            writing.losses.drop(f"{at}/source/media_type", "an address is written without its media type")
        return source["data"]
    if media_type is None:
        writing.losses.change(f"{at}/source", "bytes need a media type here")
    return f"data:{media_type or _UNKNOWN};base64,{source['data']}"


def file_from(file: JsonObject) -> JsonObject | None:
    """The block of a file by its bytes, address or id; None where it has none of them."""
    match file:
        case {"file_data": str(data)}:
            found = _DATA_URL.fullmatch(data)
            source = build.source("base64", found[2], media_type=found[1]) if found else build.source("base64", data)
        case {"file_id": str(file_id)}:
            source = build.source("file", file_id)
        case {"file_url": str(url)}:
            source = build.source("url", url)
        case _:
            return None
    name = file.get("filename")
    return build.file(source=source, name=name if isinstance(name, str) else None)


def file_to(block: JsonObject, at: str, writing: Writing) -> JsonObject:
    """The fields of a file that has a source."""
    source: JsonObject = block["source"]
    made: JsonObject = {}
    if source["type"] == "base64":
        made["file_data"] = (
            source["data"] if _is_without_type(block) else url_to(_typed(block, at, writing), at, writing)
        )
    else:
        made["file_id" if source["type"] == "file" else "file_url"] = source["data"]
        writing.leave_out(source, {"type", "data"}, f"{at}/source")
    if block.get("name") is not None:
        made["filename"] = block["name"]
    return made


def _is_without_type(block: JsonObject) -> bool:
    return block["source"].get("media_type") is None and block.get("media_type") is None


def _typed(block: JsonObject, at: str, writing: Writing) -> JsonObject:
    """The block with the media type in its source."""
    if block.get("media_type") is None:
        return block
    writing.losses.drop(f"{at}/media_type", "the media type stands in the data")
    source = block["source"]
    if source.get("media_type") is not None:
        return block
    writing.losses.change(f"{at}/source", "the media type stands in the data")
    return {**block, "source": {**source, "media_type": block["media_type"]}}


def audio_from(audio: Any) -> JsonObject | None:
    """The block of an audio clip in a format that both sides know."""
    match audio:
        case {"data": str(data), "format": "wav" | "mp3" as short}:
            return build.file(source=build.source("base64", data, media_type=_AUDIO_TYPE[short]))
        case _:
            return None


def audio_to(block: JsonObject) -> JsonObject | None:
    """Its fields; None for what is no such clip."""
    source = block.get("source") or {}
    short = _AUDIO.get(source.get("media_type") or "")
    is_clip = source.get("type") == "base64" and short is not None and block.get("name") is None
    return {"data": source["data"], "format": short} if is_clip else None


def fenced(block: JsonObject) -> str:
    """Code as text."""
    fence = "```"
    while fence in block["code"]:
        fence += "`"
    return f"{fence}{block.get('language') or ''}\n{block['code']}\n{fence}"
