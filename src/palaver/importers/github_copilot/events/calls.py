"""Calls of tools: by the model, by the user, and what came of them."""

from typing import Any

import orjson

from palaver.importers._shared.findings import MADE_CALL_ID
from palaver.importers.github_copilot.events.conversation import Conversation, keep_rest
from palaver.importers.github_copilot.events.disposition import INTO_MESSAGE, MAPPED, Disposition
from palaver.importers.github_copilot.events.results import tool_result
from palaver.importers.github_copilot.events.session import Call, Session
from palaver.model import build
from palaver.model.build import JsonObject

_REQUEST_MAPPED = {"toolCallId", "name", "arguments"}
_START_MAPPED = frozenset({"toolCallId", "toolName", "arguments"})
_COMPLETE_MAPPED = frozenset({"toolCallId", "success", "result", "error"})


def tool_uses(session: Session, event: JsonObject, requests: Any) -> list[JsonObject]:
    """The calls of an answer; they are known by their ids from here on."""
    if not isinstance(requests, list):
        return [build.opaque(kind="toolRequests", raw=requests)]
    found: list[JsonObject] = []
    for number, request in enumerate(requests):
        if not isinstance(request, dict):
            found.append(build.opaque(kind="toolRequest", raw=request))
            continue
        call_id = _named(session, event, request, number)
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
            session.remember(call_id, call, has_made_id=call_id != request.get("toolCallId"))
    return found


def start(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """A start adds to the call that the answer holds; in JetBrains it is the call."""
    call_id = data.get("toolCallId")
    known = conversation.session.calls.get(call_id) if isinstance(call_id, str) else None
    if known is None:
        _append_call(conversation, event, data, "assistant", "model")
        return MAPPED
    if known.block is None or "execution" in known.block:
        conversation.keep_whole(event, data)
        return MAPPED
    block = known.block
    execution: JsonObject = {}
    if time := conversation.seen_at(event):
        execution["started_at"] = time
    if (name := data.get("toolName")) is not None and name != block["name"]:
        execution["toolName"] = name
    if (given := data.get("arguments")) is not None and given_input(given) != block["input"]:
        execution["arguments"] = given
    told = block.get("source_fields", {})
    for name, value in data.items():
        if name not in _START_MAPPED and value is not None and told.get(name) != value:
            execution[name] = value
    block["execution"] = execution
    return INTO_MESSAGE


def asked_by_user(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    conversation.answer = None
    _append_call(conversation, event, data, "user", "human")
    return MAPPED


def _append_call(
    conversation: Conversation, event: JsonObject, data: JsonObject, role: build.Role, author: str
) -> None:
    session = conversation.session
    call_id = _named(session, event, data, 0)
    block = _tool_use(call_id, data.get("toolName"), data.get("arguments"))
    metadata: JsonObject = {"author_kind": author}
    if author == "model":
        conversation.answer = None
        conversation.take_turn(metadata)
        model = data.get("model") or conversation.model
        if isinstance(model, str) and model:
            metadata["model_override"] = model
    keep_rest(metadata, data, _START_MAPPED)
    if (stated := data.get("toolCallId")) is not None and not isinstance(stated, str):
        metadata["toolCallId"] = stated
    message = conversation.append(event, role, [block], metadata)
    if author == "model":
        block["execution"] = {"started_at": message["timestamp"]}
    call = Call(conversation, message["message_id"], message, block)
    session.remember(call_id, call, has_made_id=call_id != data.get("toolCallId"))


def complete(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
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
        metadata["context_incomplete"] = True  # nothing tells of the call
    keep_rest(metadata, data, _COMPLETE_MAPPED)
    conversation.answer = None
    conversation.append(event, "tool", [tool_result(call_id, data)], metadata)
    return MAPPED


def _named(session: Session, event: JsonObject, raw: JsonObject, number: int) -> str:
    call_id = raw.get("toolCallId")
    if isinstance(call_id, str) and call_id:
        return call_id
    session.note(MADE_CALL_ID)
    own = event.get("id")
    return f"{own if isinstance(own, str) and own else len(session.calls)}-call-{number}"


def _tool_use(call_id: str, name: Any, given: Any) -> JsonObject:
    block = build.tool_use(id=call_id, name=name if isinstance(name, str) else "", input=given_input(given))
    if name is not None and not isinstance(name, str):
        block["stated_name"] = name
    return block


def given_input(given: Any) -> JsonObject:
    """A call's arguments, which VS Code writes as text; what is no object is kept under `raw`."""
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
