"""The prompt of a request: its text and its attachments (files, folders, images, pasted code and others).

Newer attachments have a `kind`, older ones flags, the oldest a list of `values`. The shape of an attachment decides its
block type; its kind and every field the block cannot express are in the block's `source_fields`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from palaver.importers._shared.findings import UNKNOWN_BLOCK
from palaver.importers.github_copilot.sessions.kinds import ATTACHED_KINDS
from palaver.importers.github_copilot.sessions.unmapped_fields import Note, unmapped_fields, with_unmapped
from palaver.importers.github_copilot.sessions.vscode_values import (
    base64_of,
    base_name,
    is_plain_uri,
    is_range,
    line_range_of,
    location_of,
    path_of,
)
from palaver.model import build
from palaver.model.build import JsonObject

_VARIABLES = ("variables",)


RENDERED_FIELDS = ("renderedUserMessage", "renderedGlobalContext")
"""The prompt as the extension rendered it for the model."""
_TEXT = ("text",)
_TEXT_FIELDS = frozenset({"kind", "text", "range", "editorRange"})


@dataclass(slots=True)
class Prompt:
    blocks: list[JsonObject]
    text: str
    fields: JsonObject
    """Other fields of the message and its attachments, and the rendered prompt."""
    is_typed: bool


def prompt_of(request: JsonObject, note: Note) -> Prompt:
    blocks, text, rest = _message_text(request.get("message"), note)
    attached, extra = attachment_blocks(request.get("variableData"), note)
    blocks += attached
    fields: JsonObject = {}
    if rest:
        fields["message"] = rest
    if extra:
        fields["variableData"] = extra
    result = request.get("result")
    if isinstance(result, dict) and isinstance((result_metadata := result.get("metadata")), dict):
        for name in RENDERED_FIELDS:
            if (rendered := result_metadata.get(name)) and not _repeats_text(rendered, text):
                fields[name] = rendered
    return Prompt(blocks or [build.text("")], text, fields, _is_typed(request))


def is_hidden(request: JsonObject) -> bool:
    return request.get("hiddenFromTranscript") is True or request.get("requestHiddenFromTranscript") is True


def _is_typed(request: JsonObject) -> bool:
    """Return whether a person wrote the prompt, rather than the editor on their behalf."""
    if request.get("isSystemInitiated") is True or is_hidden(request):
        return False
    return not (isinstance((origin := request.get("requestSource")), str) and origin)


def _message_text(message: Any, note: Note) -> tuple[list[JsonObject], str, JsonObject]:
    """Return the text of a message as blocks, the text itself, and the other fields."""
    match message:
        case None:
            return [], "", {}
        case str():
            return [build.text(message)], message, {}
        case {"text": str(text)}:
            return [build.text(text)] if text else [], text, _extra_message_fields(message, text)
        case {"parts": list(parts)} if text := _joined_part_texts(parts):
            return [build.text(text)], text, unmapped_fields(message, ())
        case _:
            note(UNKNOWN_BLOCK, "message")
            return [build.opaque(kind="message", raw=message)], "", {}


def _extra_message_fields(message: JsonObject, text: str) -> JsonObject:
    """Return the other fields of a message, without parts that only repeat its text."""
    rest = unmapped_fields(message, _TEXT)
    parts = rest.get("parts")
    if isinstance(parts, list):
        if own_parts := [part for part in parts if not _is_repeated(part, text)]:
            rest["parts"] = own_parts
        else:
            del rest["parts"]
    return rest


def _is_repeated(part: Any, text: str) -> bool:
    if not isinstance(part, dict) or part.get("kind") != "text" or not isinstance((piece := part.get("text")), str):
        return False
    return (
        part.keys() <= _TEXT_FIELDS
        and is_range(part.get("range"))
        and is_range(part.get("editorRange"))
        and piece in text
    )


def _joined_part_texts(parts: list[Any]) -> str:
    pieces = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _repeats_text(rendered: Any, text: str) -> bool:
    """Return whether a rendered prompt only repeats the text, apart from cache markers."""
    if not isinstance(rendered, list):
        return False
    texts: list[str] = []
    for part in rendered:
        match part:
            case {"type": 1, "text": str(piece)} if len(part) == 2:
                texts.append(piece)
            case {"type": 3, "cacheType": "ephemeral"} if len(part) == 2:
                pass
            case _:
                return False
    return "".join(texts) == text


def attachment_blocks(data: Any, note: Note) -> tuple[list[JsonObject], JsonObject]:
    """Return the blocks of a request's `variableData`, and its other fields."""
    if data is None:
        return [], {}
    if not isinstance(data, dict) or not isinstance((entries := data.get("variables")), list):
        return [_unknown_attachment("variableData", data, note)], {}
    return [block for entry in entries for block in _entry_blocks(entry, note)], unmapped_fields(data, _VARIABLES)


def _entry_blocks(entry: Any, note: Note) -> Iterator[JsonObject]:
    if entry is None:
        return
    if not isinstance(entry, dict):
        yield _unknown_attachment("variable", entry, note)
        return
    kind = entry.get("kind")
    if kind is not None and (not isinstance(kind, str) or kind not in ATTACHED_KINDS):
        yield _unknown_attachment(kind if isinstance(kind, str) and kind else "variable", entry, note)
        return
    values = entry.get("values")
    if "value" not in entry and isinstance(values, list) and values:
        for index, value in enumerate(values):
            match value:
                case {"value": inner, **extra}:
                    yield _entry_block({**_value_entry(entry, extra, is_first=index == 0), "value": inner})
                case _:
                    yield build.opaque(kind="variable", raw=value)
        return
    yield _entry_block(entry)


def _value_entry(entry: JsonObject, extra: JsonObject, *, is_first: bool) -> JsonObject:
    """Return the entry for one of several values; the first one gets all fields of the original entry."""
    shared = {name: item for name, item in entry.items() if name == "name" or (is_first and name != "values")}
    duplicates = {name: item for name, item in extra.items() if name in shared}
    return {**extra, **shared, **({"of_value": duplicates} if duplicates else {})}


def _entry_block(entry: JsonObject) -> JsonObject:
    kind = entry.get("kind")
    if kind == "paste" and isinstance((code := entry.get("code")), str):
        return _pasted_code(entry, code)
    if isinstance(kind, str) and kind in {"tool", "toolset"}:
        return build.opaque(kind=kind, raw=entry)
    value = entry.get("value")
    name = entry.get("name") if isinstance(entry.get("name"), str) else None
    mapped = {"name"} if name is not None else set[str]()
    media_type = media if isinstance((media := entry.get("mimeType")), str) and media else None
    is_image = kind == "image" or bool(entry.get("isImage")) or (media_type or "").startswith("image/")
    if (encoded := base64_of(value)) is not None:
        mapped |= {"value", "mimeType"} if media_type else {"value"}
        source = build.source("base64", encoded, media_type=media_type)
        block = build.image(source, alt_text=name) if is_image else build.file(source=source, name=name)
        return with_unmapped(block, entry, mapped)
    if isinstance(value, str):
        if is_image and entry.get("isURL"):
            return with_unmapped(build.image(build.source("url", value), alt_text=name), entry, {*mapped, "value"})
        return with_unmapped(build.file(name=name, media_type=media_type, text=value), entry, {*mapped, "value"})
    match value:
        case {"problemMessage": str(text)} | {"value": str(text)}:
            path = path_of(value.get("filterUri") or value.get("uri"))
            source = build.source("url" if "://" in path else "file", path) if path else None
            return with_unmapped(build.file(source=source, name=name, text=text), entry, mapped)
        case None if name is not None:
            return with_unmapped(build.file(name=name), entry, mapped)
        case _:
            pass
    path, text_range = location_of(value)
    if path:
        return _located_block(entry, path, text_range, mapped, is_image=is_image)
    return build.opaque(kind=kind if isinstance(kind, str) and kind else "variable", raw=entry)


def _located_block(entry: JsonObject, path: str, text_range: Any, mapped: set[str], *, is_image: bool) -> JsonObject:
    value, name = entry["value"], entry["name"] if "name" in mapped else None
    is_address = "://" in path
    source = build.source("url" if is_address else "file", path)
    block = (
        build.image(source, alt_text=name)
        if is_image
        else build.file(source=source, name=name or base_name(path) or None)
    )
    fields = unmapped_fields(entry, mapped | ({"value"} if is_plain_uri(value) else set[str]()))
    if lines := line_range_of(text_range):
        block["line_range"] = lines
    if fields:
        block["source_fields"] = fields
    return block


def _pasted_code(entry: JsonObject, code: str) -> JsonObject:
    mapped = {"code"}
    language = entry.get("language")
    if isinstance(language, str) and language:
        mapped.add("language")
    else:
        language = None
    path, text_range = location_of(entry.get("copiedFrom"))
    if not path and isinstance((file_name := entry.get("fileName")), str):
        path = file_name
    if entry.get("value") == code:
        mapped.add("value")
    block = build.code(code, language=language, file_path=path or None, line_range=line_range_of(text_range))
    return with_unmapped(block, entry, mapped)


def _unknown_attachment(kind: str, raw: Any, note: Note) -> JsonObject:
    note(UNKNOWN_BLOCK, f"attachment {kind!r:.80}")
    return build.opaque(kind=kind, raw=raw)
