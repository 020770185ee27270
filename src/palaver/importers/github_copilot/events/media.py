"""What is attached to a prompt, and what a tool gave back beside its words: files, pictures, selections."""

from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject

_FILE_MAPPED = ("type", "path", "displayName", "mimeType", "assetId")
_BLOB_MAPPED = ("type", "data", "displayName", "mimeType", "assetId", "description")
_TYPES = ("file", "selection", "blob", "image", "resource")
_SELECTION_MAPPED = ("type", "text", "filePath")


def attachments(value: Any) -> list[JsonObject]:
    match value:
        case None:
            return []
        case list():
            return [_attachment(item) for item in value]
        case _:
            return [build.opaque(kind="attachments", raw=value)]


def _attachment(raw: Any) -> JsonObject:
    match raw:
        case {"type": "file", "path": str(path)}:
            block = build.file(
                source=_asset(raw) or build.source("file", path, media_type=_text(raw, "mimeType")),
                name=_text(raw, "displayName"),
            )
            if "source" in block and block["source"]["data"] != path:
                block["path"] = path
            return _with_rest(block, raw, _FILE_MAPPED)
        case {"type": "selection", "text": str(text)}:
            block = build.code(text, file_path=_text(raw, "filePath"), line_range=_lines(raw.get("selection")))
            return _with_rest(block, raw, _SELECTION_MAPPED)
        case {"type": "blob"}:
            return blob(raw)
        case {"type": str(kind)} if kind:
            return build.opaque(kind=f"attachment:{kind}", raw=raw)
        case _:
            return build.opaque(kind="attachment", raw=raw)


def blob(raw: JsonObject) -> JsonObject:
    """Bytes, or the asset that holds them; whole where they were left out."""
    data = raw.get("data")
    media_type = _text(raw, "mimeType")
    if isinstance(data, str):
        source = build.source("base64", data, media_type=media_type)
    elif (source := _asset(raw)) is None:
        return build.opaque(kind="omitted_binary", raw=raw)
    name = _text(raw, "displayName")
    if (media_type or "").startswith("image/") or raw.get("type") == "image":
        block = build.image(source, alt_text=_text(raw, "description") or name)
    else:
        block = build.file(source=source, name=name or _text(raw, "description"), media_type=media_type)
    return _with_rest(block, raw, _BLOB_MAPPED)


def binaries(value: Any) -> list[JsonObject]:
    """Pictures and files that a tool gave to the model."""
    if value is None:
        return []
    if not isinstance(value, list):
        return [build.opaque(kind="binaryResultsForLlm", raw=value)]
    return [
        blob(item) if isinstance(item, dict) else build.opaque(kind="binaryResultsForLlm", raw=item) for item in value
    ]


def _asset(raw: JsonObject) -> JsonObject | None:
    """Bytes that another event holds."""
    asset_id = raw.get("assetId")
    return build.source("file", asset_id, media_type=_text(raw, "mimeType")) if isinstance(asset_id, str) else None


def _lines(selection: Any) -> JsonObject | None:
    """The lines of a selection, which counts from 0."""
    match selection:
        case {"start": {"line": int(start)}, "end": {"line": int(end)}} if 0 <= start <= end:
            return {"start": start + 1, "end": end + 1}
        case _:
            return None


def _text(raw: JsonObject, name: str) -> str | None:
    return value if isinstance((value := raw.get(name)), str) and value else None


def _with_rest(block: JsonObject, raw: JsonObject, mapped: tuple[str, ...]) -> JsonObject:
    rest = {
        name: value
        for name, value in raw.items()
        if value is not None
        and (name not in mapped or not isinstance(value, str) or (name == "type" and value not in _TYPES))
    }
    if rest:
        block["source_fields"] = rest
    return block
