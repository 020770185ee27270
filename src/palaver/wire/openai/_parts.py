"""Content that both of OpenAI's formats share: images, files, audio, code and citations.

Images and files are `data:` URLs, addresses or file ids in a payload, and sources in a block. Citations are nested in
Chat and flat in Responses; both point into the text.
"""

import re
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._provider_data import CHAT, Writer

LocatedBlock = tuple[JsonObject, str]
"""A block and its JSON pointer."""

_DATA_URL = re.compile(r"data:([^,/]+/[^,]+?);base64,(.*)", re.DOTALL)
_UNKNOWN_MEDIA_TYPE = "application/octet-stream"
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_AUDIO_MEDIA_TYPES = {audio_format: media_type for media_type, audio_format in _AUDIO_FORMATS.items()}
_URL_CITATION_FIELDS = ("start_index", "end_index", "title", "url")
_CITATION_FIELDS = {
    "url_citation": _URL_CITATION_FIELDS,
    "file_citation": ("file_id", "filename", "index"),
    "container_file_citation": ("container_id", "file_id", "filename", "start_index", "end_index"),
    "file_path": ("file_id", "index"),
}
_NUMBER_FIELDS = ("start_index", "end_index", "index")


def source_from_url(url: str) -> JsonObject:
    """Return the source of a URL; the bytes themselves if it is a `data:` URL."""
    if match := _DATA_URL.fullmatch(url):
        return build.source("base64", match[2], media_type=match[1])
    return build.source("url", url)


def media_url(block: JsonObject, pointer: str, writer: Writer) -> str:
    """Return the URL of an image or file that has bytes or an address."""
    source: JsonObject = block["source"]
    writer.report_unwritten(source, {"type", "data", "media_type"}, f"{pointer}/source")
    media_type: str | None = source.get("media_type")
    if source["type"] == "url":
        if media_type is not None:
            writer.losses.drop(f"{pointer}/source/media_type", "a URL is written without its media type")
        return source["data"]
    if media_type is None:
        writer.losses.change(f"{pointer}/source", "bytes require a media type here")
    return f"data:{media_type or _UNKNOWN_MEDIA_TYPE};base64,{source['data']}"


def file_from_wire(file: JsonObject) -> JsonObject | None:
    """Return the block of a file that has bytes, an id or an address; None for any other."""
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


def file_to_wire(block: JsonObject, pointer: str, writer: Writer) -> JsonObject:
    """Return the wire fields of a file that has a source."""
    source: JsonObject = block["source"]
    made: JsonObject = {}
    if source["type"] == "base64":
        made["file_data"] = (
            source["data"]
            if _has_no_media_type(block)
            else media_url(_with_media_type(block, pointer, writer), pointer, writer)
        )
    else:
        made["file_id" if source["type"] == "file" else "file_url"] = source["data"]
        writer.report_unwritten(source, {"type", "data"}, f"{pointer}/source")
    if block.get("name") is not None:
        made["filename"] = block["name"]
    return made


def _has_no_media_type(block: JsonObject) -> bool:
    return block["source"].get("media_type") is None and block.get("media_type") is None


def _with_media_type(block: JsonObject, pointer: str, writer: Writer) -> JsonObject:
    """Return the block with its media type moved into the source."""
    if block.get("media_type") is None:
        return block
    writer.losses.drop(f"{pointer}/media_type", "the media type is part of the data URL")
    source = block["source"]
    if source.get("media_type") is not None:
        return block
    writer.losses.change(f"{pointer}/source", "the media type is part of the data URL")
    return {**block, "source": {**source, "media_type": block["media_type"]}}


def audio_from_wire(audio: Any) -> JsonObject | None:
    """Return the block of an audio clip; None if its format is unknown."""
    match audio:
        case {"data": str(data), "format": "wav" | "mp3" as audio_format}:
            return build.file(source=build.source("base64", data, media_type=_AUDIO_MEDIA_TYPES[audio_format]))
        case _:
            return None


def audio_to_wire(block: JsonObject) -> JsonObject | None:
    """Return the wire fields of a WAV or MP3 clip; None for any other block."""
    source = block.get("source") or {}
    audio_format = _AUDIO_FORMATS.get(source.get("media_type") or "")
    is_clip = source.get("type") == "base64" and audio_format is not None and block.get("name") is None
    return {"data": source["data"], "format": audio_format} if is_clip else None


def fenced_code(block: JsonObject) -> str:
    """Return a code block as fenced text."""
    fence = "```"
    while fence in block["code"]:
        fence += "`"
    return f"{fence}{block.get('language') or ''}\n{block['code']}\n{fence}"


def is_annotation_list(found: Any, name: str) -> bool:
    """Return whether this is a list of citations, all in the form of one format."""
    return isinstance(found, list) and all(
        isinstance(citation, dict) and annotation_for(citation, name) is citation for citation in found
    )


def annotation_for(citation: JsonObject, name: str) -> JsonObject | None:
    """Return a citation in the form of a format; None if that has no such citation."""
    kind = citation.get("type")
    nested = citation.get("url_citation")
    if kind == "url_citation" and isinstance(nested, dict) and _is_complete(nested, _URL_CITATION_FIELDS):
        return citation if name == CHAT else {"type": kind, **{key: nested[key] for key in _URL_CITATION_FIELDS}}
    if not isinstance(kind, str) or not _is_complete(citation, _CITATION_FIELDS.get(kind, ("",))):
        return None
    if name != CHAT:
        return citation
    return (
        {"type": kind, kind: {key: citation[key] for key in _URL_CITATION_FIELDS}} if kind == "url_citation" else None
    )


def annotations_to_wire(block: JsonObject, pointer: str, writer: Writer, offset: int = 0) -> list[JsonObject]:
    """Return the citations of a text that starts at an offset of the whole."""
    made: list[JsonObject] = []
    for index, citation in enumerate(block.get("citations") or ()):
        found = annotation_for(citation, writer.name)
        if found is None:
            writer.losses.drop(f"{pointer}/citations/{index}", "citations of this kind cannot be expressed")
            continue
        if found is not citation:
            writer.losses.change(f"{pointer}/citations/{index}", "citations have a different format here")
        made.append(_shift(found, offset) if offset else found)
    return made


def _shift(citation: JsonObject, offset: int) -> JsonObject:
    nested = citation.get("url_citation")
    if isinstance(nested, dict):
        return {**citation, "url_citation": _shift(nested, offset)}
    offsets = {key: citation[key] + offset for key in ("start_index", "end_index") if key in citation}
    return {**citation, **offsets}


def _is_complete(citation: JsonObject, names: tuple[str, ...]) -> bool:
    return all(type(citation.get(name)) is (int if name in _NUMBER_FIELDS else str) for name in names)
