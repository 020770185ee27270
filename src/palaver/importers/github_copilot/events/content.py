"""Content blocks: attachments of prompts, binary data, and tool results."""

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
    """Return an image or file block for inline bytes or an asset id; an opaque block if the bytes were omitted."""
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


def binary_results(value: Any) -> list[JsonObject]:
    """Return the images and files that a tool gave to the model."""
    if value is None:
        return []
    if not isinstance(value, list):
        return [build.opaque(kind="binaryResultsForLlm", raw=value)]
    return [
        blob(item) if isinstance(item, dict) else build.opaque(kind="binaryResultsForLlm", raw=item) for item in value
    ]


def _asset(raw: JsonObject) -> JsonObject | None:
    """Return a reference to bytes in a `session.binary_asset` event, or None."""
    asset_id = raw.get("assetId")
    return build.source("file", asset_id, media_type=_text(raw, "mimeType")) if isinstance(asset_id, str) else None


def _lines(selection: Any) -> JsonObject | None:
    """Return the line range of a selection, counted from 1; the source counts from 0."""
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


def tool_result(call_id: str, data: JsonObject) -> JsonObject:
    success, error, result = data.get("success"), data.get("error"), data.get("result")
    metadata: JsonObject = {}
    content = _content(result, metadata)
    is_error = success is False or (success is None and isinstance(error, dict))
    if success is not None and not isinstance(success, bool):
        metadata["success"] = success
    match error:
        case None:
            pass
        case {"message": str(message), **rest} if not content:
            content = message
            if rest:
                metadata["error"] = rest
        case _:
            metadata["error"] = error
    return build.tool_result(tool_use_id=call_id, content=content, is_error=is_error, metadata=metadata or None)


def _content(result: Any, metadata: JsonObject) -> str | list[JsonObject]:
    match result:
        case None:
            return ""
        case str():
            return result
        case {"content": str(content)}:
            return _cli_content(content, result, metadata)
        case {"result": list(values)}:
            metadata.update({name: value for name, value in result.items() if name != "result" and value is not None})
            return _jetbrains_content(values)
        case _:
            return [build.opaque(kind="result", raw=result)]


def _cli_content(content: str, result: JsonObject, metadata: JsonObject) -> str | list[JsonObject]:
    """Return what the model got; what the user was shown is kept if it differs."""
    binaries: list[JsonObject] = []
    for name, value in result.items():
        if name == "content" or value is None:
            continue
        if name == "binaryResultsForLlm":
            binaries = binary_results(value)
        elif name == "contents":
            _keep_contents(value, content, metadata)
        elif name != "detailedContent" or value != content:
            metadata[name] = value
    return [build.text(content), *binaries] if binaries else content


def _keep_contents(contents: Any, content: str, metadata: JsonObject) -> None:
    """Keep typed parts and their exit code, unless they only repeat the text."""
    match contents:
        case [{"type": "text", "text": str(text)} as only] if text == content and len(only) == 2:
            return
        case list():
            for part in contents:
                match part:
                    case {"exitCode": int(code)} if type(code) is int:
                        metadata["exit_code"] = code
                    case _:
                        pass
        case _:
            pass
    metadata["contents"] = contents


def _jetbrains_content(values: list[Any]) -> str | list[JsonObject]:
    match values:
        case [{"type": "text", "value": str(only), **rest}] if not rest:
            return only
        case _:
            return [_value(value) for value in values]


def _value(value: Any) -> JsonObject:
    match value:
        case {"type": "text", "value": str(text), **rest} if not rest:
            return build.text(text)
        case _:
            return build.opaque(kind="result", raw=value)
