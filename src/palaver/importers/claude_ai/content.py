"""Content, attachments and files of a message as UCS blocks, and the pairing of tool calls with results.

Blocks that already have a UCS type pass through with all their fields; if a value in one has a wrong type, validation
keeps the block whole.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from palaver.importers._shared.findings import MADE_CALL_ID, UNKNOWN_BLOCK
from palaver.importers.claude_ai.export import add_fields, take_list, take_text
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind

Note = Callable[[FindingKind, str], None]

_UNCHANGED = frozenset({"text", "thinking"})
OPAQUE_KINDS = frozenset({"token_budget", "voice_note", "injected_prompt_block", "flag"})
"""Block types internal to the site, which are kept whole without a finding."""
FILE_FIELDS = frozenset({"type", "source", "name", "media_type", "text", "source_fields"})
"""Fields of a `file` block; source fields of the same names go to `source_fields`."""
_IMAGE_FIELDS = frozenset({"type", "source", "alt_text", "source_fields"})


def message_blocks(fields: JsonObject, note: Note) -> list[JsonObject]:
    """Take a message's content out of its fields as blocks, at least one; `text` stays there if it holds more."""
    blocks = _blocks(fields.pop("content", None), note)
    if text := take_text(fields, "text"):
        if all(block["type"] == "text" and block.get("text") == "" for block in blocks):
            blocks = [{**(blocks[0] if blocks else {}), **build.text(text)}, *blocks[1:]]
        elif not any(text in shown for block in blocks if isinstance(shown := _block_text(block), str)):
            fields["text"] = text
    blocks += map(_attachment, take_list(fields, "attachments"))
    blocks += _files(fields)
    return blocks or [build.text("")]


def _blocks(raw: Any, note: Note) -> list[JsonObject]:
    match raw:
        case list():
            return [_block(item, note) for item in raw]
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
    if kind in _UNCHANGED:
        return raw
    if (make := _REBUILT.get(kind)) and (block := make(raw, note)):
        return block
    if kind not in OPAQUE_KINDS:
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
            block = build.image({**source, **build.source("url", address)})
        case {"source": {"type": "file", "file_uuid": str(file_id), **source}}:
            block = build.image({**source, **build.source("file", file_id)})
        case {"file_uuid": str(file_id)} if "source" not in raw:
            block = build.image(build.source("file", file_id))
        case _:
            return None
    return add_fields(block, rest, _IMAGE_FIELDS)


def _knowledge(raw: JsonObject, _note: Note) -> JsonObject:
    """Build the block of a page or document found by a search; `kind` distinguishes it from the user's files."""
    fields = {name: value for name, value in raw.items() if name != "type"}
    address = take_text(fields, "url")
    block = build.file(
        source=None if address is None else build.source("url", address),
        name=take_text(fields, "title"),
        text=take_text(fields, "text"),
    )
    return add_fields({**block, "kind": "knowledge"}, fields, FILE_FIELDS | {"kind"})


_REBUILT: dict[str, Callable[[JsonObject, Note], JsonObject | None]] = {
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _image,
    "knowledge": _knowledge,
}


def _block_text(block: JsonObject) -> Any:
    return block.get("text") if block["type"] == "text" else block.get("thinking")


def _attachment(raw: Any) -> JsonObject:
    """Build the block of a file whose extracted text was sent as part of the message."""
    if not isinstance(raw, dict):
        return build.opaque(kind="attachment", raw=raw)
    kind = raw.get("file_type")
    block = build.file(
        name=take_text(raw, "file_name"),
        media_type=raw.pop("file_type") if isinstance(kind, str) and "/" in kind else None,
        text=take_text(raw, "extracted_content"),
    )
    return add_fields(block, raw, FILE_FIELDS)


def _files(fields: JsonObject) -> list[JsonObject]:
    """Build the blocks of files on the server, which may be in both lists, with more fields in the second."""
    listed = [_file(raw) for raw in take_list(fields, "files")]
    known = {block["source"]["data"]: block for block in listed if "source" in block}
    for block in map(_file, take_list(fields, "files_v2")):
        first = known.get(block["source"]["data"]) if "source" in block else None
        if first is not None and all(block[name] == value for name, value in first.items() if name in block):
            first.update(block)
        else:
            listed.append(block)
    return listed


def _file(raw: Any) -> JsonObject:
    if not isinstance(raw, dict):
        return build.opaque(kind="file", raw=raw)
    file_id = take_text(raw, "file_uuid")
    block = build.file(
        source=None if file_id is None else build.source("file", file_id), name=take_text(raw, "file_name")
    )
    return add_fields(block, raw, FILE_FIELDS)


@dataclass(slots=True, eq=False)
class _Call:
    block: JsonObject
    has_own_id: bool
    """Whether the id comes from the source."""


def pair_tool_calls(messages: Iterable[JsonObject], note: Callable[[FindingKind, str], None]) -> None:
    """Give calls and results without ids generated ones, so that every result names its call.

    Exports often omit the ids; results then belong to the first waiting call of the same name. A message with a result
    whose call is nowhere is marked `context_incomplete`.
    """
    waiting: list[_Call] = []
    results: list[tuple[JsonObject, JsonObject]] = []
    calls: list[_Call] = []
    for message in messages:
        made_id = f"{message['message_id']}:tool-"
        blocks = [block for block in message["content"] if block["type"] in {"tool_use", "tool_result"}]
        for number, block in enumerate(blocks):
            if block["type"] == "tool_use":
                has_own_id = _take_id(block, "id")
                if not has_own_id:
                    block["id"] = f"{made_id}{number}"
                    note(MADE_CALL_ID, f"message {message['message_id']}: the call of {block.get('name')!r}")
                calls.append(_Call(block, has_own_id))
                waiting.append(calls[-1])
                continue
            results.append((message, block))
            has_own_id = _take_id(block, "tool_use_id")
            call = _matching_call(waiting, block, has_own_id=has_own_id)
            if call is not None:
                waiting.remove(call)
            if has_own_id:
                if call is not None:
                    call.block["id"] = block["tool_use_id"]
                continue
            if call is None or call.has_own_id:
                note(MADE_CALL_ID, f"message {message['message_id']}: the result of {block.get('name')!r}")
            block["tool_use_id"] = call.block["id"] if call else f"{made_id}{number}"
    call_ids = {call.block["id"] for call in calls}
    for message, result in results:
        if result["tool_use_id"] not in call_ids:
            message.setdefault("metadata", {})["context_incomplete"] = True


def _take_id(block: JsonObject, name: str) -> bool:
    value = block.pop(name, None)
    if isinstance(value, str) and value:
        block[name] = value
        return True
    if value is not None:
        block["source_fields"] = {name: value}
    return False


def _matching_call(waiting: list[_Call], result: JsonObject, *, has_own_id: bool) -> _Call | None:
    """Return the first waiting call that a result can belong to, or None."""
    if has_own_id:
        for call in waiting:
            if call.block["id"] == result["tool_use_id"]:
                return call
    name = result.get("name")
    for call in waiting:
        if (name is None or name == call.block.get("name")) and not (has_own_id and call.has_own_id):
            return call
    return None
