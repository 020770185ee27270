"""Content blocks, attachments and files of a message, into UCS blocks.

Blocks that are of our types already pass through with all their fields; where a value in one is of a wrong type, the
validation keeps the block whole. Ids of tool calls, which are often absent, are given by `calls.py`.
"""

from collections.abc import Callable
from typing import Any

from palaver.importers._shared.findings import UNKNOWN_BLOCK
from palaver.importers.claude_ai.reading import take_list, take_text, with_fields
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind

Note = Callable[[FindingKind, str], None]

_AS_THEY_ARE = frozenset({"text", "thinking"})
KNOWN = frozenset({"token_budget", "voice_note", "injected_prompt_block", "flag"})
"""Blocks that are the site's own business: kept whole, and nothing to remark."""
FILE_NAMES = frozenset({"type", "source", "name", "media_type", "text", "source_fields"})
"""What a `file` block has of its own: a source's field of the same name stands apart."""
_IMAGE_NAMES = frozenset({"type", "source", "alt_text", "source_fields"})


def content(fields: JsonObject, note: Note) -> list[JsonObject]:
    """Take a message's content out of its fields; `text` stays among them if it says more. Never empty."""
    made = _blocks(fields.pop("content", None), note)
    if text := take_text(fields, "text"):
        if all(one["type"] == "text" and one.get("text") == "" for one in made):
            made = [{**(made[0] if made else {}), **build.text(text)}, *made[1:]]
        elif not any(text in said for one in made if isinstance(said := _said(one), str)):
            fields["text"] = text
    made += map(_attachment, take_list(fields, "attachments"))
    made += _files(fields)
    return made or [build.text("")]


def _blocks(raw: Any, note: Note) -> list[JsonObject]:
    match raw:
        case list():
            return [_block(one, note) for one in raw]
        case str():
            return [build.text(raw)]
        case None:
            return []
        case _:
            return [build.opaque(kind="content", raw=raw)]


def _block(raw: Any, note: Note) -> JsonObject:
    if isinstance(raw, str):
        return build.text(raw)
    kind = raw.get("type") if isinstance(raw, dict) else None
    if not isinstance(kind, str):
        kind = ""
    if kind in _AS_THEY_ARE:
        return raw
    if (make := _REBUILT.get(kind)) and (made := make(raw, note)):
        return made
    if kind not in KNOWN:
        note(UNKNOWN_BLOCK, f"block {kind!r}")
    return build.opaque(kind=kind or "block", raw=raw)


def _tool_use(raw: JsonObject, _note: Note) -> JsonObject:
    if raw.get("input") is None:
        raw["input"] = {}
    return raw


def _tool_result(raw: JsonObject, note: Note) -> JsonObject:
    if not isinstance(raw.get("content"), str):
        raw["content"] = _blocks(raw.get("content"), note) or ""
    if raw.get("is_error") is None:
        raw["is_error"] = False
    return raw


def _image(raw: JsonObject, _note: Note) -> JsonObject | None:
    rest = {name: value for name, value in raw.items() if name not in {"type", "source"}}
    match raw:
        case {"source": {"type": "base64", "data": str()}}:
            return raw
        case {"source": {"type": "url", "url": str(address), **source}}:
            made = build.image({**source, **build.source("url", address)})
        case {"source": {"type": "file", "file_uuid": str(file_id), **source}}:
            made = build.image({**source, **build.source("file", file_id)})
        case {"file_uuid": str(file_id)} if "source" not in raw:
            made = build.image(build.source("file", file_id))
        case _:
            return None
    return with_fields(made, rest, _IMAGE_NAMES)


def _knowledge(raw: JsonObject, _note: Note) -> JsonObject:
    """A page or document that a search found; only `kind` tells it from what the user attached."""
    fields = {name: value for name, value in raw.items() if name != "type"}
    address = take_text(fields, "url")
    made = build.file(
        source=None if address is None else build.source("url", address),
        name=take_text(fields, "title"),
        text=take_text(fields, "text"),
    )
    return with_fields({**made, "kind": "knowledge"}, fields, FILE_NAMES | {"kind"})


_REBUILT: dict[str, Callable[[JsonObject, Note], JsonObject | None]] = {
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _image,
    "knowledge": _knowledge,
}


def _said(made: JsonObject) -> Any:
    return made.get("text") if made["type"] == "text" else made.get("thinking")


def _attachment(raw: Any) -> JsonObject:
    """A file whose text was taken out of it and sent as part of the message."""
    if not isinstance(raw, dict):
        return build.opaque(kind="attachment", raw=raw)
    kind = raw.get("file_type")
    made = build.file(
        name=take_text(raw, "file_name"),
        media_type=raw.pop("file_type") if isinstance(kind, str) and "/" in kind else None,
        text=take_text(raw, "extracted_content"),
    )
    return with_fields(made, raw, FILE_NAMES)


def _files(fields: JsonObject) -> list[JsonObject]:
    """Files that lie on the server. The same one may stand in both lists, with more fields in the second."""
    listed = [_file(raw) for raw in take_list(fields, "files")]
    known = {made["source"]["data"]: made for made in listed if "source" in made}
    for made in map(_file, take_list(fields, "files_v2")):
        first = known.get(made["source"]["data"]) if "source" in made else None
        if first is not None and all(made[name] == value for name, value in first.items() if name in made):
            first.update(made)
        else:
            listed.append(made)
    return listed


def _file(raw: Any) -> JsonObject:
    if not isinstance(raw, dict):
        return build.opaque(kind="file", raw=raw)
    file_id = take_text(raw, "file_uuid")
    made = build.file(
        source=None if file_id is None else build.source("file", file_id), name=take_text(raw, "file_name")
    )
    return with_fields(made, raw, FILE_NAMES)
