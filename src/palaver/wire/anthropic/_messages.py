"""Messages of a request to Anthropic, read and written, and the two spellings of their content.

A single plain text is a string or a list of one block. Which of the two a payload uses, and whether its tool results
state `is_error` even if it is false, is saved once with the request if it is uniform, else with each message.
"""

from typing import Any, cast

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire._unwritten import prompt_role
from palaver.wire.anthropic._blocks import Context, block_from_wire, block_to_wire
from palaver.wire.anthropic._provider_data import (
    FORM,
    NAME,
    difference,
    is_foreign,
    own_data,
    report_unwritten,
    restore,
    store_own_data,
    without_fields,
)
from palaver.wire.anthropic._tools import CallIds


def message_from_wire(raw: Any, form: JsonObject, call_ids: CallIds) -> JsonObject:
    if not isinstance(raw, dict):
        block = build.opaque(kind="message", raw=raw)
        store_own_data(block, {})
        return {"role": "user", "content": [block]}
    raw = cast("JsonObject", raw)
    role = _role(raw)
    context = Context("assistant" if role == "assistant" else "user", states_errors="is_error" in form)
    content = raw.get("content")
    is_known = isinstance(content, str | list)
    message: JsonObject = {"role": role, "content": content_from_wire(content, context, call_ids) if is_known else []}
    saved = difference(raw, {"role": role, "content": content if is_known else []})
    if _spelling(content) == "list" and "content" not in form:
        saved[FORM] = {"content": "list"}
    if saved:
        store_own_data(message, saved)
    return message


def message_to_wire(message: JsonObject, pointer: str, context: Context, form: JsonObject, losses: Losses) -> list[Any]:
    """Return a list of the one message, or an empty list if none of its content can be written."""
    match message["content"]:
        case [{"type": "opaque", "kind": "message"} as block] if own_data(block) is not None:
            return [block["raw"]]
        case _:
            pass
    saved = own_data(message) or {}
    form = form | saved.get(FORM, {})
    role = "assistant" if message["role"] == "assistant" else "user"
    if is_foreign(message) or message.get("provider") not in {None, NAME}:
        context = context._replace(origin="foreign")
    context = context._replace(container=role, states_errors=form.get("is_error") == "stated")
    is_prompt = is_foreign(message) and prompt_role(message) == "system" and _is_text_only(message)
    report_unwritten(message, ("role", "content"), pointer, losses, carried=("role",) if is_prompt else ())
    pieces = content_to_wire(message["content"], f"{pointer}/content", context, losses)
    if message["content"] and not pieces:
        losses.drop(pointer, "no part of it can be written")
        return []
    writer_losses = Losses()
    if message["role"] == "tool" and any(block["type"] != "tool_result" for block in message["content"]):
        writer_losses.change(f"{pointer}/role", "only user and assistant messages are allowed")
    made: JsonObject = {
        "role": "system" if is_prompt else role,
        "content": spell_content(pieces, as_list=form.get("content") == "list"),
    }
    saved = without_fields(saved, {FORM, "content"} if pieces else {FORM})
    head = {"role": message["role"], "provider_data": {NAME: saved}}

    def parse(raw: JsonObject) -> JsonObject:
        return {"role": _role(raw)}

    return [restore(head, made, parse, pointer=pointer, writer_losses=writer_losses, losses=losses)]


def payload_form(payload: JsonObject) -> JsonObject:
    """Return the spellings that a payload uses throughout, where the format allows two."""
    form: JsonObject = {"system": "list"} if _spelling(payload.get("system")) == "list" else {}
    messages = [message for message in _as_list(payload.get("messages")) if isinstance(message, dict)]
    if {_spelling(message.get("content")) for message in messages} - {None} == {"list"}:
        form["content"] = "list"
    pieces = [piece for message in messages for piece in _as_list(message.get("content"))]
    results = [piece for piece in pieces if isinstance(piece, dict) and piece.get("type") == "tool_result"]
    successes = [piece for piece in results if piece.get("is_error") is not True]
    if successes and all(piece.get("is_error") is False for piece in successes):
        form["is_error"] = "stated"
    return form


def content_from_wire(raw: str | list[Any], context: Context, call_ids: CallIds) -> list[JsonObject]:
    return [build.text(raw)] if isinstance(raw, str) else [block_from_wire(piece, context, call_ids) for piece in raw]


def content_to_wire(blocks: list[JsonObject], pointer: str, context: Context, losses: Losses) -> list[Any]:
    return [
        piece
        for number, block in enumerate(blocks)
        for piece in block_to_wire(block, f"{pointer}/{number}", context, losses)
    ]


def spell_content(pieces: list[Any], *, as_list: bool) -> str | list[Any]:
    return pieces if as_list or _spelling(pieces) != "list" else pieces[0]["text"]


def _spelling(content: Any) -> str | None:
    """Return how a single plain text is written, as a string or a list; None for any other content."""
    match content:
        case str():
            return "string"
        case [{"type": "text", "text": str()} as piece] if len(piece) == 2:
            return "list"
        case _:
            return None


def _is_text_only(message: JsonObject) -> bool:
    return bool(message["content"]) and all(block["type"] == "text" for block in message["content"])


def _role(raw: JsonObject) -> str:
    return "assistant" if raw.get("role") == "assistant" else "user"


def _as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
