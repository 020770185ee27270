"""Messages of a request to Anthropic, both ways, and the two spellings of their content.

One plain text is a string or a list of one block. Which of the two a payload uses, and whether its results of tools say
`is_error` where it is false, is kept once for the request where it is the same throughout, else with each message.
"""

from typing import Any, cast

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.anthropic._blocks import Where, block_from_wire, block_to_wire
from palaver.wire.anthropic._calls import Names
from palaver.wire.anthropic._kept import FORM, NAME, difference, is_foreign, keep, own, report_rest, settle, without


def message_from_wire(raw: Any, form: JsonObject, names: Names) -> JsonObject:
    if not isinstance(raw, dict):
        block = build.opaque(kind="message", raw=raw)
        keep(block, {})
        return {"role": "user", "content": [block]}
    raw = cast("JsonObject", raw)
    role = _role(raw)
    where = Where("assistant" if role == "assistant" else "user", states_errors="is_error" in form)
    content = raw.get("content")
    is_known = isinstance(content, str | list)
    message: JsonObject = {"role": role, "content": content_from_wire(content, where, names) if is_known else []}
    kept = difference(raw, {"role": role, "content": content if is_known else []})
    if _spelling(content) == "list" and "content" not in form:
        kept[FORM] = {"content": "list"}
    if kept:
        keep(message, kept)
    return message


def message_to_wire(message: JsonObject, pointer: str, where: Where, form: JsonObject, losses: Losses) -> list[Any]:
    """The message, or nothing where nothing of it can be written."""
    match message["content"]:
        case [{"type": "opaque", "kind": "message"} as block] if own(block) is not None:
            return [block["raw"]]
        case _:
            pass
    kept = own(message) or {}
    form = form | kept.get(FORM, {})
    role = "assistant" if message["role"] == "assistant" else "user"
    if is_foreign(message) or message.get("provider") not in {None, NAME}:
        where = where._replace(origin="foreign")
    where = where._replace(place=role, states_errors=form.get("is_error") == "stated")
    report_rest(message, ("role", "content"), pointer, losses)
    pieces = pieces_of(message["content"], f"{pointer}/content", where, losses)
    if message["content"] and not pieces:
        losses.drop(pointer, "nothing of it can be written")
        return []
    found = Losses()
    if message["role"] == "tool":
        found.change(f"{pointer}/role", "results of tools are the user's")
    made: JsonObject = {"role": role, "content": spelled(pieces, as_list=form.get("content") == "list")}
    kept = without(kept, {FORM, "content"} if pieces else {FORM})
    head = {"role": message["role"], "provider_data": {NAME: kept}}

    def says(raw: JsonObject) -> JsonObject:
        return {"role": _role(raw)}

    return [settle(head, made, says, pointer=pointer, found=found, losses=losses)]


def form_of(payload: JsonObject) -> JsonObject:
    """How a payload spells what can be spelled in two ways, as far as it always does the same."""
    form: JsonObject = {"system": "list"} if _spelling(payload.get("system")) == "list" else {}
    messages = [message for message in _listed(payload.get("messages")) if isinstance(message, dict)]
    if {_spelling(message.get("content")) for message in messages} - {None} == {"list"}:
        form["content"] = "list"
    pieces = [piece for message in messages for piece in _listed(message.get("content"))]
    results = [piece for piece in pieces if isinstance(piece, dict) and piece.get("type") == "tool_result"]
    unfailed = [piece for piece in results if piece.get("is_error") is not True]
    if unfailed and all(piece.get("is_error") is False for piece in unfailed):
        form["is_error"] = "stated"
    return form


def content_from_wire(raw: str | list[Any], where: Where, names: Names) -> list[JsonObject]:
    return [build.text(raw)] if isinstance(raw, str) else [block_from_wire(piece, where, names) for piece in raw]


def pieces_of(blocks: list[JsonObject], pointer: str, where: Where, losses: Losses) -> list[Any]:
    return [
        piece
        for number, block in enumerate(blocks)
        for piece in block_to_wire(block, f"{pointer}/{number}", where, losses)
    ]


def spelled(pieces: list[Any], *, as_list: bool) -> str | list[Any]:
    return pieces if as_list or _spelling(pieces) != "list" else pieces[0]["text"]


def _spelling(content: Any) -> str | None:
    """Whether one plain text is a string or a list; None where it is something else."""
    match content:
        case str():
            return "string"
        case [{"type": "text", "text": str()} as piece] if len(piece) == 2:
            return "list"
        case _:
            return None


def _role(raw: JsonObject) -> str:
    return "assistant" if raw.get("role") == "assistant" else "user"


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
