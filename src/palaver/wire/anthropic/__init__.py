"""Anthropic's Messages API: requests and responses, read into an exchange and written from it.

A message of role `system` keeps its place among the messages as one of the user; results of tools are the user's too.
A system prompt of several blocks stays a list. What an exchange need not say and a payload must is made up:
`max_tokens` (a loss), a response's `usage` and `id`; a made-up id is known again.
"""

import hashlib
import json
from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses, Written
from palaver.wire._errors import error
from palaver.wire.anthropic._blocks import Where
from palaver.wire.anthropic._calls import Names
from palaver.wire.anthropic._kept import (
    ABSENT,
    FORM,
    NAME,
    difference,
    is_foreign,
    keep,
    own,
    report_rest,
    settle,
    without,
)
from palaver.wire.anthropic._messages import (
    content_from_wire,
    form_of,
    message_from_wire,
    message_to_wire,
    pieces_of,
    spelled,
)
from palaver.wire.anthropic._settings import settings_from_wire, settings_to_wire
from palaver.wire.anthropic._tools import choice_from_wire, choice_to_wire, tools_from_wire, tools_to_wire
from palaver.wire.anthropic._usage import UNCOUNTED, finish_of, stop_of, usage_from_wire, usage_to_wire

name = NAME
provider = "anthropic"

_APART = frozenset({"system", "messages", "tools", "tool_choice"})
_SETTINGS = ("model", "thinking", "max_output_tokens", "sampling")
_MADE_UP = "msg_made_up_"


def request_from_wire(payload: JsonObject) -> JsonObject:
    settings = settings_from_wire(payload)
    rest = {key: value for key, value in payload.items() if key not in _APART}
    kept = difference(rest, settings_to_wire(settings, rest, Losses()))
    if form := form_of(payload):
        kept[FORM] = form
    request: JsonObject = {}
    system = payload.get("system")
    if isinstance(system, str) or (isinstance(system, list) and system):
        request["system"] = content_from_wire(cast("str | list[Any]", system), Where("system"), Names())
    elif "system" in payload:
        kept["system"] = system
    request["messages"] = []
    if isinstance(messages := payload.get("messages"), list):
        names = Names()
        request["messages"] = [message_from_wire(message, form, names) for message in cast("list[Any]", messages)]
    elif "messages" in payload:
        kept["messages"] = messages
    else:
        kept.setdefault(ABSENT, []).append("messages")
    request |= settings
    if "tools" in payload:
        tools, others = tools_from_wire(payload["tools"])
        if tools:
            request["tools"] = tools
        if others or not tools:
            kept["tools"] = others
    if "tool_choice" in payload:
        choice, others = choice_from_wire(payload["tool_choice"])
        if choice:
            request["tool_choice"] = choice
        if others or not choice:
            kept["tool_choice"] = others
    if kept:
        keep(request, kept)
    return request


def request_to_wire(request: JsonObject) -> Written:
    losses, found = Losses(), Losses()
    kept = own(request) or {}
    form = kept.get(FORM, {})
    where = Where("user", origin="foreign" if is_foreign(request) else "unknown")
    report_rest(request, _APART.union(_SETTINGS), "", losses)
    settings = {key: request[key] for key in _SETTINGS if request.get(key) is not None}
    beside = {"provider_data": {NAME: without(kept, {FORM, *_APART})}}
    made = settings_to_wire(settings, kept, found)
    payload = settle(settings | beside, made, settings_from_wire, pointer="", found=found, losses=losses)
    stated: JsonObject = {}
    if pieces := pieces_of(request.get("system") or [], "/system", where._replace(place="system"), losses):
        stated["system"] = spelled(pieces, as_list=form.get("system") == "list")
    if request["messages"] or "messages" not in {*kept, *kept.get(ABSENT, ())}:
        stated["messages"] = [
            written
            for number, message in enumerate(request["messages"])
            for written in message_to_wire(message, f"/messages/{number}", where, form, losses)
        ]
    if request.get("tools") or isinstance(kept.get("tools"), list):
        stated["tools"] = tools_to_wire(request.get("tools") or [], kept.get("tools"), losses)
    if choice := request.get("tool_choice"):
        stated["tool_choice"] = choice_to_wire(choice, kept.get("tool_choice"), losses)
    others = {key: kept[key] for key in _APART if key in kept and not request.get(key)}
    return Written(payload | others | stated, losses.found)


def response_from_wire(payload: JsonObject) -> JsonObject:
    content = payload.get("content")
    pieces = cast("list[Any]", content) if isinstance(content, list) else []
    response: JsonObject = {"content": content_from_wire(pieces, Where("response"), Names()), **_ending(payload)}
    made: JsonObject = {**_head(response, Losses()), "content": pieces, "usage": UNCOUNTED}
    if isinstance(usage := payload.get("usage"), dict):
        made["usage"] = usage
        if counted := usage_from_wire(cast("JsonObject", usage)):
            response["usage"] = counted
    if "id" not in payload or str(payload["id"]).startswith(_MADE_UP):
        made["id"] = _made_up_id(payload)
    if kept := difference(payload, made):
        keep(response, kept)
    return response


def response_to_wire(response: JsonObject) -> Written:
    losses, found = Losses(), Losses()
    report_rest(response, ("content", "finish_reason", "usage", "model"), "", losses)
    where = Where("response", origin="foreign" if is_foreign(response) else "unknown")
    made = _head(response, found)
    made["content"] = pieces_of(response["content"], "/content", where, losses)
    made["usage"] = usage_to_wire(response.get("usage"), losses)
    kept = without(own(response) or {}, {key for key in ("content", "usage") if response.get(key)})
    ending = {key: response[key] for key in ("finish_reason", "model") if response.get(key) is not None}
    beside = {"provider_data": {NAME: kept}}
    payload = settle(ending | beside, made, _ending, pointer="", found=found, losses=losses)
    if "id" not in payload and "id" not in kept.get(ABSENT, ()):
        payload["id"] = _made_up_id(payload)
    return Written(payload, losses.found)


def error_from_wire(payload: JsonObject, status: int | None = None) -> JsonObject | None:
    if payload.get("type") != "error":
        return None
    match payload.get("error"):
        case {"message": str(message), **beside}:
            word = str(beside.get("type"))
            if "prompt is too long" in message:
                word = "context_length_exceeded"
            elif "credit balance is too low" in message:
                word = "billing_error"
        case other:
            word, message, beside = "", str(other), other
    rest = {key: value for key, value in payload.items() if key not in {"type", "error"}}
    return error(message, (word,), status, provider_data={NAME: {"error": beside, **rest}})


def _head(response: JsonObject, losses: Losses) -> JsonObject:
    return {
        "type": "message",
        "role": "assistant",
        "model": response.get("model") or "",
        "stop_reason": stop_of(response["finish_reason"], losses),
        "stop_sequence": None,
    }


def _ending(payload: JsonObject) -> JsonObject:
    ending: JsonObject = {"finish_reason": finish_of(payload)}
    if isinstance(model := payload.get("model"), str) and model:
        ending["model"] = model
    return ending


def _made_up_id(payload: JsonObject) -> str:
    """The same for the same response."""
    rest = {key: value for key, value in payload.items() if key != "id"}
    return _MADE_UP + hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:24]
