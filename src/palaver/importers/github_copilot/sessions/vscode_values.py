"""Values that VS Code writes into JSON: URIs, ranges, and bytes in the encodings of several versions."""

from base64 import b64encode
from typing import Any

from palaver.importers._shared.vscode import path_from_uri, strip_drive_slash
from palaver.model.build import JsonObject

_INTEGER_FIELDS = frozenset({"$mid", "_sep"})
_URI_FIELDS = frozenset({"$mid", "path", "scheme", "fsPath", "_sep", "external", "authority", "query", "fragment"})


def path_of(value: Any) -> str:
    """Return the path of a file, or the URI of anything else; empty if the value is not a URI."""
    if isinstance(value, str):
        return path_from_uri(value)
    if not isinstance(value, dict) or not isinstance((path := value.get("path")), str):
        return ""
    scheme = value.get("scheme")
    if not isinstance(scheme, str) or scheme in {"", "file"}:
        fs_path = value.get("fsPath")
        return fs_path if isinstance(fs_path, str) and fs_path else strip_drive_slash(path)
    external = value.get("external")
    return external if isinstance(external, str) and external else _uri_text(scheme, path, value)


def _uri_text(scheme: str, path: str, parts: JsonObject) -> str:
    authority, query, fragment = (
        part if isinstance(part := parts.get(name), str) else "" for name in ("authority", "query", "fragment")
    )
    base = f"{scheme}://{authority}{path}" if authority or scheme != "untitled" else f"{scheme}:{path}"
    return f"{base}{'?' if query else ''}{query}{'#' if fragment else ''}{fragment}"


def location_of(value: Any) -> tuple[str, Any]:
    """Return the path and the range of a URI, a location or a symbol; an empty path for anything else."""
    if not isinstance(value, dict):
        return "", None
    if "uri" in value:
        return path_of(value["uri"]), value.get("range")
    location = value.get("location")
    if isinstance(location, dict) and "uri" in location:
        return path_of(location["uri"]), location.get("range")
    return path_of(value), None


def is_plain_uri(value: Any) -> bool:
    """Return whether a value is a URI that its path alone describes completely."""
    if not isinstance(value, dict) or not value.keys() <= _URI_FIELDS:
        return False
    scheme = value.get("scheme")
    if scheme == "file" and (value.get("authority") or value.get("query") or value.get("fragment")):
        return False
    fs_path = value.get("fsPath")
    if (
        fs_path is not None
        and fs_path != value.get("path")
        and _normalized_path(fs_path) != _normalized_path(value.get("path"))
    ):
        return False
    external = value.get("external")
    if external is not None and not (isinstance(scheme, str) and str(external).startswith(f"{scheme}:")):
        return False
    return not [name for name, item in value.items() if type(item) is not (int if name in _INTEGER_FIELDS else str)]


def _normalized_path(path: Any) -> str:
    """Normalize a path so that spellings of different systems compare equal."""
    return str(path).replace("\\", "/").lstrip("/").casefold()


def is_range(value: Any) -> bool:
    """Return whether a value is absent or a range, of characters or lines."""
    return value is None or (isinstance(value, dict) and all(type(item) is int for item in value.values()))


def line_range_of(value: Any) -> JsonObject | None:
    """Return the lines of a range, if it states them."""
    if not isinstance(value, dict):
        return None
    start, end = value.get("startLineNumber"), value.get("endLineNumber")
    return {"start": start, "end": end} if type(start) is int and type(end) is int and 1 <= start <= end else None


def base_name(path: str) -> str:
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]


def base64_of(value: Any) -> str | None:
    """Return bytes as base64; None if the value is not one of their encodings."""
    if isinstance(value, dict) and "path" in value:  # a file URI, by far the most common
        return None
    match value:
        case {"$base64": str(encoded)} if len(value) == 1:
            return encoded
        case {"type": "Buffer", "data": list(numbers)} if len(value) == 2:
            return _encode_numbers(numbers)
        case list(numbers):
            return _encode_numbers(numbers)
        case {"0": int()}:  # a byte array serialized as an object
            return _encode_numbers([value.get(str(index)) for index in range(len(value))])
        case _:
            return None


def _encode_numbers(numbers: list[Any]) -> str | None:
    if not numbers:
        return None
    try:
        return b64encode(bytes(numbers)).decode()
    except (TypeError, ValueError):
        return None
