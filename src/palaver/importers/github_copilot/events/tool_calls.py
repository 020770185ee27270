"""Handlers for tool calls by the model or the user, and for their results."""

from typing import Any

import orjson

from palaver.importers._shared.findings import MADE_CALL_ID
from palaver.importers.github_copilot.events.content import tool_result
from palaver.importers.github_copilot.events.session import (
    INTO_MESSAGE,
    MAPPED,
    Call,
    Conversation,
    Disposition,
    Session,
    keep_unmapped,
)
from palaver.model import build
from palaver.model.build import JsonObject

_REQUEST_MAPPED = {"toolCallId", "name", "arguments"}
_START_MAPPED = frozenset({"toolCallId", "toolName", "arguments"})
_COMPLETE_MAPPED = frozenset({"toolCallId", "success", "result", "error"})


def tool_uses(session: Session, event: JsonObject, requests: Any) -> list[JsonObject]:
    """Return the calls of an answer as blocks, and register them with the session."""
    if not isinstance(requests, list):
        return [build.opaque(kind="toolRequests", raw=requests)]
    found: list[JsonObject] = []
    for number, request in enumerate(requests):
        if not isinstance(request, dict):
            found.append(build.opaque(kind="toolRequest", raw=request))
            continue
        call_id = _call_id(session, event, request, number)
        block = _tool_use(call_id, request.get("name"), request.get("arguments"))
        rest = {
            name: value
            for name, value in request.items()
            if value is not None
            and (name not in _REQUEST_MAPPED or (name == "toolCallId" and not isinstance(value, str)))
            and not (name == "type" and value == "function")
        }
        if rest:
            block["source_fields"] = rest
        found.append(block)
        if (known := session.calls.get(call_id)) is None or known.block is None or known.is_answered:
            call = Call(session.main, "", None, block)
            session.add_call(call_id, call, has_made_id=call_id != request.get("toolCallId"))
    return found


def execution_start(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Add to the call in the answer; JetBrains has no other record of a call, so it becomes a message."""
    call_id = data.get("toolCallId")
    known = conversation.session.calls.get(call_id) if isinstance(call_id, str) else None
    if known is None:
        _append_call(conversation, event, data, "assistant", "model")
        return MAPPED
    if known.block is None or "execution" in known.block:
        conversation.append_opaque(event, data)
        return MAPPED
    block = known.block
    execution: JsonObject = {}
    if time := conversation.observe_time(event):
        execution["started_at"] = time
    if (name := data.get("toolName")) is not None and name != block["name"]:
        execution["toolName"] = name
    if (given := data.get("arguments")) is not None and parse_input(given) != block["input"]:
        execution["arguments"] = given
    requested = block.get("source_fields", {})
    for name, value in data.items():
        if name not in _START_MAPPED and value is not None and requested.get(name) != value:
            execution[name] = value
    block["execution"] = execution
    return INTO_MESSAGE


def user_requested(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    conversation.open_answer = None
    _append_call(conversation, event, data, "user", "human")
    return MAPPED


def _append_call(
    conversation: Conversation, event: JsonObject, data: JsonObject, role: build.Role, author: str
) -> None:
    session = conversation.session
    call_id = _call_id(session, event, data, 0)
    block = _tool_use(call_id, data.get("toolName"), data.get("arguments"))
    metadata: JsonObject = {"author_kind": author}
    if author == "model":
        conversation.open_answer = None
        conversation.attach_turn(metadata)
        model = data.get("model") or conversation.model
        if isinstance(model, str) and model:
            metadata["model_override"] = model
    keep_unmapped(metadata, data, _START_MAPPED)
    if (raw_id := data.get("toolCallId")) is not None and not isinstance(raw_id, str):
        metadata["toolCallId"] = raw_id
    message = conversation.append(event, role, [block], metadata)
    if author == "model":
        block["execution"] = {"started_at": message["timestamp"]}
    call = Call(conversation, message["message_id"], message, block)
    session.add_call(call_id, call, has_made_id=call_id != data.get("toolCallId"))


def execution_complete(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    session = conversation.session
    call_id = data.get("toolCallId")
    metadata: JsonObject = {"author_kind": "tool"}
    if not isinstance(call_id, str) or not call_id:
        if call_id is not None:
            metadata["toolCallId"] = call_id
        call_id = session.nameless_calls.popleft() if session.nameless_calls else ""
    conversation.pieces.pop(("result", call_id), None)
    if call := session.calls.get(call_id):
        call.is_answered = True
    else:
        metadata["context_incomplete"] = True  # the call is not in the log
    keep_unmapped(metadata, data, _COMPLETE_MAPPED)
    conversation.open_answer = None
    conversation.append(event, "tool", [tool_result(call_id, data)], metadata)
    return MAPPED


def _call_id(session: Session, event: JsonObject, raw: JsonObject, number: int) -> str:
    call_id = raw.get("toolCallId")
    if isinstance(call_id, str) and call_id:
        return call_id
    session.note(MADE_CALL_ID)
    own = event.get("id")
    return f"{own if isinstance(own, str) and own else len(session.calls)}-call-{number}"


def _tool_use(call_id: str, name: Any, given: Any) -> JsonObject:
    block = build.tool_use(id=call_id, name=name if isinstance(name, str) else "", input=parse_input(given))
    if name is not None and not isinstance(name, str):
        block["stated_name"] = name
    return block


def parse_input(given: Any) -> JsonObject:
    """Return a call's arguments, which VS Code writes as text; anything but an object goes under `raw`."""
    if isinstance(given, dict):
        return given
    if given is None or given == "":
        return {}
    if isinstance(given, str) and given.startswith("{"):
        try:
            parsed = orjson.loads(given)
        except orjson.JSONDecodeError:
            return {"raw": given}
        if isinstance(parsed, dict):
            return parsed
    return {"raw": given}
