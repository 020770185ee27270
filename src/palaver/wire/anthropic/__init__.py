"""Anthropic's Messages API: requests and responses, read into an exchange and written from it.

A message with role `system` stays where it is among the messages and becomes a user message; so do tool results, those
in a row as one. A system prompt of several blocks stays a list. Fields that a payload requires and an exchange may lack
are made up: `max_tokens`, and a response's `usage` and `id`. A made-up id is recognized when it is read again.
"""

import hashlib
import json
from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire._answers import drop_alternatives
from palaver.wire._checks import takes_payload, takes_request, takes_response
from palaver.wire._contract import Losses, Written
from palaver.wire._errors import exchange_error
from palaver.wire._tool_calls import join_results
from palaver.wire.anthropic._blocks import Context
from palaver.wire.anthropic._messages import (
    content_from_wire,
    content_to_wire,
    message_from_wire,
    message_to_wire,
    payload_form,
    spell_content,
)
from palaver.wire.anthropic._places import payload_places
from palaver.wire.anthropic._provider_data import (
    ABSENT,
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
from palaver.wire.anthropic._settings import (
    nested_settings_from_wire,
    nested_settings_to_wire,
    settings_from_wire,
    settings_to_wire,
)
from palaver.wire.anthropic._tools import CallIds, choice_from_wire, choice_to_wire, tools_from_wire, tools_to_wire
from palaver.wire.anthropic._usage import usage_from_wire, usage_to_wire

name = NAME
provider = "anthropic"

_SEPARATE_FIELDS = frozenset({"system", "messages", "tools", "tool_choice"})
_SETTINGS = ("model", "thinking", "max_output_tokens", "sampling", "stream", "service_tier")
_NESTED = ("output_format", "user", "parallel_tool_calls")
_RESPONSE = ("content", "finish_reason", "alternatives", "usage", "model", "response_id", "service_tier")
_OUTCOME = ("finish_reason", "model", "response_id")
_MADE_UP_ID_PREFIX = "msg_made_up_"
_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_use",
    "refusal": "content_filter",
}
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_use": "tool_use", "content_filter": "refusal"}


@takes_payload
def request_from_wire(payload: JsonObject) -> JsonObject:
    nested, rest = nested_settings_from_wire(payload)
    settings = settings_from_wire(payload)
    saved = difference(without_fields(rest, _SEPARATE_FIELDS), settings_to_wire(settings, rest, Losses()))
    form = payload_form(payload)
    if "output_format" in nested and "output_format" in payload and "output_format" not in rest:
        form["output_format"] = "beta"
    if form:
        saved[FORM] = form
    request: JsonObject = {}
    system = payload.get("system")
    if isinstance(system, str) or (isinstance(system, list) and system):
        request["system"] = content_from_wire(cast("str | list[Any]", system), Context("system"), CallIds())
    elif "system" in payload:
        saved["system"] = system
    request["messages"] = []
    if isinstance(messages := payload.get("messages"), list):
        call_ids = CallIds()
        request["messages"] = [message_from_wire(message, form, call_ids) for message in cast("list[Any]", messages)]
    elif "messages" in payload:
        saved["messages"] = messages
    else:
        saved.setdefault(ABSENT, []).append("messages")
    request |= settings | nested
    if "tools" in payload:
        tools, others = tools_from_wire(payload["tools"])
        if tools:
            request["tools"] = tools
        if others or not tools:
            saved["tools"] = others
    if "tool_choice" in payload:
        chosen, others = choice_from_wire(payload["tool_choice"])
        request |= chosen
        if others or not chosen:
            saved["tool_choice"] = others
    if saved:
        store_own_data(request, saved)
    return request


@takes_request
def request_to_wire(request: JsonObject) -> Written:
    losses, writer_losses = Losses(), Losses()
    saved = own_data(request) or {}
    form = saved.get(FORM, {})
    context = Context("user", origin="foreign" if is_foreign(request) else "unknown")
    report_unwritten(request, _SEPARATE_FIELDS.union(_SETTINGS, _NESTED), "", losses)
    settings = {key: request[key] for key in _SETTINGS if request.get(key) is not None}
    made = settings_to_wire(settings, saved, writer_losses)
    settings["provider_data"] = {NAME: without_fields(saved, {FORM, *_SEPARATE_FIELDS})}
    payload = restore(settings, made, settings_from_wire, pointer="", writer_losses=writer_losses, losses=losses)
    payload = nested_settings_to_wire(request, payload, losses, is_beta=form.get("output_format") == "beta")
    stated: JsonObject = {}
    if pieces := content_to_wire(request.get("system") or [], "/system", context._replace(container="system"), losses):
        stated["system"] = spell_content(pieces, as_list=form.get("system") == "list")
    if request["messages"] or "messages" not in {*saved, *saved.get(ABSENT, ())}:
        turns = (
            (message, message_to_wire(message, f"/messages/{number}", context, form, losses))
            for number, message in enumerate(request["messages"])
        )
        stated["messages"] = join_results(turns, "content")
    if request.get("tools") or isinstance(saved.get("tools"), list):
        stated["tools"] = tools_to_wire(request.get("tools") or [], saved.get("tools"), losses)
    if (choice := choice_to_wire(request, saved.get("tool_choice"), losses)) is not None:
        stated["tool_choice"] = choice
    others = {key: saved[key] for key in _SEPARATE_FIELDS if key in saved and not request.get(key)}
    return Written(payload | others | stated, losses.found)


@takes_payload
def response_from_wire(payload: JsonObject) -> JsonObject:
    content = payload.get("content")
    pieces = cast("list[Any]", content) if isinstance(content, list) else []
    response: JsonObject = {
        "content": content_from_wire(pieces, Context("response"), CallIds()),
        **_parse_outcome(payload),
    }
    made: JsonObject = {**_response_fields(response, Losses()), "content": pieces}
    response |= usage_from_wire(payload.get("usage"))
    made["usage"] = payload["usage"] if isinstance(payload.get("usage"), dict) else usage_to_wire({}, Losses())
    if "response_id" not in response:
        made["id"] = _made_up_id(payload)
    if saved := difference(payload, made):
        store_own_data(response, saved)
    return response


@takes_response
def response_to_wire(response: JsonObject) -> Written:
    losses, writer_losses = Losses(), Losses()
    report_unwritten(response, _RESPONSE, "", losses)
    drop_alternatives(response, losses, "Anthropic returns one answer only")
    context = Context("response", origin="foreign" if is_foreign(response) else "unknown")
    made = _response_fields(response, writer_losses)
    made["content"] = content_to_wire(response["content"], "/content", context, losses)
    made["usage"] = usage_to_wire(response, losses)
    saved = without_fields(own_data(response) or {}, {key for key in ("content", "usage") if response.get(key)})
    outcome = {key: response[key] for key in _OUTCOME if response.get(key) is not None}
    outcome["provider_data"] = {NAME: saved}
    payload = restore(outcome, made, _parse_outcome, pointer="", writer_losses=writer_losses, losses=losses)
    if "id" not in payload and "id" not in saved.get(ABSENT, ()):
        payload["id"] = _made_up_id(payload)
    return Written(payload, losses.found)


places = payload_places


@takes_payload
def error_from_wire(payload: JsonObject, status: int | None = None) -> JsonObject | None:
    if payload.get("type") != "error":
        return None
    match payload.get("error"):
        case {"message": str(message), **details}:
            code = str(details.get("type"))
            if "prompt is too long" in message:
                code = "context_length_exceeded"
            elif "credit balance is too low" in message:
                code = "billing_error"
        case other:
            code, message, details = "", str(other), other
    rest = {key: value for key, value in payload.items() if key not in {"type", "error"}}
    return exchange_error(message, (code,), status, provider_data={NAME: {"error": details, **rest}})


def _response_fields(response: JsonObject, losses: Losses) -> JsonObject:
    made_id = {} if response.get("response_id") is None else {"id": response["response_id"]}
    return {
        **made_id,
        "type": "message",
        "role": "assistant",
        "model": response.get("model") or "",
        "stop_reason": _stop_reason(response["finish_reason"], losses),
        "stop_sequence": None,
    }


def _parse_outcome(payload: JsonObject) -> JsonObject:
    outcome: JsonObject = {"finish_reason": _finish_reason(payload)}
    if isinstance(model := payload.get("model"), str) and model:
        outcome["model"] = model
    match payload.get("id"):
        case str(stated) if stated and not stated.startswith(_MADE_UP_ID_PREFIX):
            outcome["response_id"] = stated
        case _:
            pass
    return outcome


def _made_up_id(payload: JsonObject) -> str:
    """Derive an id from the payload, so that equal responses get equal ids."""
    rest = {key: value for key, value in payload.items() if key != "id"}
    return _MADE_UP_ID_PREFIX + hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:24]


def _finish_reason(payload: JsonObject) -> str:
    if payload.get("type") == "error":
        return "error"
    stop = payload.get("stop_reason")
    return _FINISH_REASONS.get(stop, "unknown") if isinstance(stop, str) else "unknown"


def _stop_reason(finish: str, losses: Losses) -> str | None:
    if finish == "error":
        losses.change("/finish_reason", "Anthropic cannot express it")
    return _STOP_REASONS.get(finish)
