"""The text of content that is no text: labels for pictures, recordings and files, JSON for what has no label.

A picture, a recording or a file is named by its address or its id; one that was sent as bytes by their hash, so that
two different ones stay two messages (`[image: sha256:0123456789abcdef]`). A file with a name has that name. `[image]`,
`[audio]`, `[video]` and `[file]` stand for bytes that the trace itself left out.
"""

import binascii
import hashlib
from typing import Any
from urllib.parse import unquote_to_bytes

from palaver.cook.pieces import json_text
from palaver.model.build import JsonObject

REDACTED = "[redacted]"
_MEDIA_KINDS = {
    **dict.fromkeys(("image", "image_url", "input_image", "output_image", "computer_screenshot"), "image"),
    **dict.fromkeys(("audio", "input_audio", "output_audio"), "audio"),
    **dict.fromkeys(("video", "video_url", "input_video"), "video"),
    **dict.fromkeys(("document", "file", "input_file"), "file"),
}
"""The labels for content that no format describes in full, by its type."""
_BYTE_FIELDS = ("data", "file_data")
_SOURCE_FIELDS = (
    *("url", "image_url", "video_url", "file_url", "file_id", *_BYTE_FIELDS, "source", "file", "input_audio"),
    *("image", "audio", "video"),
)
"""Fields in which such content holds its address, its id, its bytes, or an object with one of them."""
_MAX_ID_CHARACTERS = 256
_STANDARD_ALPHABET = str.maketrans("-_", "+/")


def label(kind: str, source: JsonObject) -> str:
    """Return a label such as `[image: https://…]`, by the address, the id or the hash of the bytes."""
    data: str = source.get("data") or ""
    if data.startswith("data:"):
        header, _, data = data.partition(",")
        content = _decoded(data) if header.endswith(";base64") else unquote_to_bytes(data)
    elif data and source.get("type") != "base64":
        return f"[{kind}: {data}]"
    else:
        content = _decoded(data)
    return f"[{kind}: sha256:{hashlib.sha256(content).hexdigest()[:16]}]" if content else f"[{kind}]"


def raw_text(raw: Any) -> str:
    """Return the text of content that the exchange has no block for."""
    match raw:
        case str():
            return raw
        case {"type": "text" | "input_text" | "output_text", "text": str(text)} | {"type": "logs", "logs": str(text)}:
            return text
        case {"type": "redacted_thinking"}:
            return REDACTED
        case (
            {"type": "document", "title": str(name)}
            | {"type": "input_file", "filename": str(name)}
            | {"type": "file", "file": {"filename": str(name)}}
        ) if name:
            return f"[file: {name}]"
        case {"type": str(kind)} if kind in _MEDIA_KINDS:
            return label(_MEDIA_KINDS[kind], _raw_source(raw))
        case _:
            return json_text(raw)


def raw_result_text(content: Any) -> str:
    """Return the text of a result that the exchange has no block for, each element of a list on a line of its own."""
    if isinstance(content, list):
        return "\n".join(map(raw_text, content))
    return "" if content is None else raw_text(content)


def _decoded(data: str) -> bytes:
    """Return the bytes of base64; empty if the trace left them out, and put dots or a remark in their place."""
    data = "".join(data.split()).rstrip("=").translate(_STANDARD_ALPHABET)
    try:
        return binascii.a2b_base64(data + "=" * (-len(data) % 4), strict_mode=True)
    except ValueError:
        return b""


def _raw_source(raw: Any, name: str = "") -> JsonObject:
    """Return the source in an object whose shape is unknown: an address, an id or bytes; {} if it has neither."""
    if isinstance(raw, str):
        is_address = "://" in raw[:32] or raw.startswith("data:") or len(raw) <= _MAX_ID_CHARACTERS
        return {"type": "url" if is_address and name not in _BYTE_FIELDS else "base64", "data": raw}
    if isinstance(raw, dict):
        for inner in _SOURCE_FIELDS:
            if found := _raw_source(raw.get(inner), inner):
                return found
    return {}
