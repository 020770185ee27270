"""What is attached to a request: files, folders, pictures, pasted code, and whatever else can be picked.

Newer entries have a `kind`, older ones flags, the oldest a list of `values`. What an entry is made of decides about its
block; its kind and all that a block has no place for stand on the block as `source_fields`.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.findings import UNKNOWN_BLOCK
from palaver.importers.github_copilot.sessions.binary import base64_of
from palaver.importers.github_copilot.sessions.kept import Note, rest_of, with_rest
from palaver.importers.github_copilot.sessions.kinds import ATTACHED_KINDS
from palaver.importers.github_copilot.sessions.uris import base_name, is_plain, lines_of, path_of, place_of
from palaver.model import build
from palaver.model.build import JsonObject

_VARIABLES = ("variables",)


def attachment_blocks(data: Any, note: Note) -> tuple[list[JsonObject], JsonObject]:
    """The blocks of a request's `variableData`, and what else stands in it."""
    if data is None:
        return [], {}
    if not isinstance(data, dict) or not isinstance((entries := data.get("variables")), list):
        return [_unknown("variableData", data, note)], {}
    return [block for entry in entries for block in _blocks(entry, note)], rest_of(data, _VARIABLES)


def _blocks(entry: Any, note: Note) -> Iterator[JsonObject]:
    if entry is None:
        return
    if not isinstance(entry, dict):
        yield _unknown("variable", entry, note)
        return
    kind = entry.get("kind")
    if kind is not None and (not isinstance(kind, str) or kind not in ATTACHED_KINDS):
        yield _unknown(kind if isinstance(kind, str) and kind else "variable", entry, note)
        return
    values = entry.get("values")
    if "value" not in entry and isinstance(values, list) and values:
        for index, value in enumerate(values):
            match value:
                case {"value": inner, **beside}:
                    yield _block({**_shared(entry, beside, is_first=index == 0), "value": inner})
                case _:
                    yield build.opaque(kind="variable", raw=value)
        return
    yield _block(entry)


def _shared(entry: JsonObject, beside: JsonObject, *, is_first: bool) -> JsonObject:
    """What is said about one of several values: the first one has all that is said about the entry."""
    shared = {name: item for name, item in entry.items() if name == "name" or (is_first and name != "values")}
    twice = {name: item for name, item in beside.items() if name in shared}
    return {**beside, **shared, **({"of_value": twice} if twice else {})}


def _block(entry: JsonObject) -> JsonObject:
    kind = entry.get("kind")
    if kind == "paste" and isinstance((code := entry.get("code")), str):
        return _pasted(entry, code)
    if isinstance(kind, str) and kind in {"tool", "toolset"}:
        return build.opaque(kind=kind, raw=entry)
    value = entry.get("value")
    name = entry.get("name") if isinstance(entry.get("name"), str) else None
    mapped = {"name"} if name is not None else set[str]()
    media_type = media if isinstance((media := entry.get("mimeType")), str) and media else None
    is_image = kind == "image" or bool(entry.get("isImage")) or (media_type or "").startswith("image/")
    if (encoded := base64_of(value)) is not None:
        mapped |= {"value", "mimeType"} if media_type else {"value"}
        where = build.source("base64", encoded, media_type=media_type)
        block = build.image(where, alt_text=name) if is_image else build.file(source=where, name=name)
        return with_rest(block, entry, mapped)
    if isinstance(value, str):
        if is_image and entry.get("isURL"):
            return with_rest(build.image(build.source("url", value), alt_text=name), entry, {*mapped, "value"})
        return with_rest(build.file(name=name, media_type=media_type, text=value), entry, {*mapped, "value"})
    match value:
        case {"problemMessage": str(text)} | {"value": str(text)}:
            path = path_of(value.get("filterUri") or value.get("uri"))
            where = build.source("url" if "://" in path else "file", path) if path else None
            return with_rest(build.file(source=where, name=name, text=text), entry, mapped)
        case None if name is not None:
            return with_rest(build.file(name=name), entry, mapped)
        case _:
            pass
    path, spanned = place_of(value)
    if path:
        return _of_place(entry, path, spanned, mapped, is_image=is_image)
    return build.opaque(kind=kind if isinstance(kind, str) and kind else "variable", raw=entry)


def _of_place(entry: JsonObject, path: str, spanned: Any, mapped: set[str], *, is_image: bool) -> JsonObject:
    value, name = entry["value"], entry["name"] if "name" in mapped else None
    is_address = "://" in path
    where = build.source("url" if is_address else "file", path)
    block = (
        build.image(where, alt_text=name)
        if is_image
        else build.file(source=where, name=name or base_name(path) or None)
    )
    fields = rest_of(entry, mapped | ({"value"} if is_plain(value) else set[str]()))
    if lines := lines_of(spanned):
        block["line_range"] = lines
    if fields:
        block["source_fields"] = fields
    return block


def _pasted(entry: JsonObject, code: str) -> JsonObject:
    mapped = {"code"}
    language = entry.get("language")
    if isinstance(language, str) and language:
        mapped.add("language")
    else:
        language = None
    path, spanned = place_of(entry.get("copiedFrom"))
    if not path and isinstance((named := entry.get("fileName")), str):
        path = named
    if entry.get("value") == code:
        mapped.add("value")
    block = build.code(code, language=language, file_path=path or None, line_range=lines_of(spanned))
    return with_rest(block, entry, mapped)


def _unknown(kind: str, raw: Any, note: Note) -> JsonObject:
    note(UNKNOWN_BLOCK, f"attachment {kind!r:.80}")
    return build.opaque(kind=kind, raw=raw)
