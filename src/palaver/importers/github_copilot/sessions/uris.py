"""Where something lies: URIs as VS Code writes them, places in files, and the lines they span."""

from typing import Any

from palaver.importers._shared.vscode import path_in, without_slash
from palaver.model.build import JsonObject

_NUMBERS = frozenset({"$mid", "_sep"})
_URI_FIELDS = frozenset({"$mid", "path", "scheme", "fsPath", "_sep", "external", "authority", "query", "fragment"})


def path_of(value: Any) -> str:
    """The path of a file, the address of anything else; empty where the value is no URI."""
    if isinstance(value, str):
        return path_in(value)
    if not isinstance(value, dict) or not isinstance((path := value.get("path")), str):
        return ""
    scheme = value.get("scheme")
    if not isinstance(scheme, str) or scheme in {"", "file"}:
        stated = value.get("fsPath")
        return stated if isinstance(stated, str) and stated else without_slash(path)
    external = value.get("external")
    return external if isinstance(external, str) and external else _address(scheme, path, value)


def _address(scheme: str, path: str, parts: JsonObject) -> str:
    authority, query, fragment = (
        part if isinstance(part := parts.get(name), str) else "" for name in ("authority", "query", "fragment")
    )
    begin = f"{scheme}://{authority}{path}" if authority or scheme != "untitled" else f"{scheme}:{path}"
    return f"{begin}{'?' if query else ''}{query}{'#' if fragment else ''}{fragment}"


def place_of(value: Any) -> tuple[str, Any]:
    """The path and the range of a URI, of a place in a file, or of a symbol; an empty path where it is none."""
    if not isinstance(value, dict):
        return "", None
    if "uri" in value:
        return path_of(value["uri"]), value.get("range")
    location = value.get("location")
    if isinstance(location, dict) and "uri" in location:
        return path_of(location["uri"]), location.get("range")
    return path_of(value), None


def is_plain(value: Any) -> bool:
    """Whether a value is a URI of which its path says everything."""
    if not isinstance(value, dict) or not value.keys() <= _URI_FIELDS:
        return False
    scheme = value.get("scheme")
    if scheme == "file" and (value.get("authority") or value.get("query") or value.get("fragment")):
        return False
    stated = value.get("fsPath")
    if stated is not None and stated != value.get("path") and _spelled(stated) != _spelled(value.get("path")):
        return False
    external = value.get("external")
    if external is not None and not (isinstance(scheme, str) and str(external).startswith(f"{scheme}:")):
        return False
    return not [name for name, item in value.items() if type(item) is not (int if name in _NUMBERS else str)]


def _spelled(path: Any) -> str:
    """A path in a spelling that all systems share."""
    return str(path).replace("\\", "/").lstrip("/").casefold()


def is_span(value: Any) -> bool:
    """Whether a value is a range, be it of characters or of lines."""
    return value is None or (isinstance(value, dict) and all(type(item) is int for item in value.values()))


def lines_of(value: Any) -> JsonObject | None:
    """The lines of a range, where it states them."""
    if not isinstance(value, dict):
        return None
    start, end = value.get("startLineNumber"), value.get("endLineNumber")
    return {"start": start, "end": end} if type(start) is int and type(end) is int and 1 <= start <= end else None


def base_name(path: str) -> str:
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
