"""Anthropic's Messages API: requests and responses, read into an exchange and written from it.

A message with role `system` stays where it is among the messages and becomes a user message; so do tool results. A
system prompt of several blocks stays a list. Fields that a payload requires and an exchange may lack are made up:
`max_tokens` (reported as a loss), and a response's `usage` and `id`. A made-up id is recognized when it is read again.

Anthropic counts cached tokens apart from `input_tokens`, includes thinking in `output_tokens` and states no total. The
exchange has one count for tokens written to the cache and read from it; the split is kept in `provider_data`.
"""

import hashlib
import json
from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire._alternatives import drop_alternatives
from palaver.wire._contract import Losses, Written
from palaver.wire._errors import exchange_error
from palaver.wire.anthropic._blocks import Context
from palaver.wire.anthropic._messages import (
    content_from_wire,
    content_to_wire,
    message_from_wire,
    message_to_wire,
    payload_form,
    spell_content,
)
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
from palaver.wire.anthropic._settings import settings_from_wire, settings_to_wire
from palaver.wire.anthropic._tools import CallIds, choice_from_wire, choice_to_wire, tools_from_wire, tools_to_wire

name = NAME
provider = "anthropic"

_SEPARATE_FIELDS = frozenset({"system", "messages", "tools", "tool_choice"})
_SETTINGS = ("model", "thinking", "max_output_tokens", "sampling")
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
_CACHE = ("cache_creation_input_tokens", "cache_read_input_tokens")
_COUNTS = ("input_tokens", "output_tokens", "thinking_tokens", "cached_tokens")
_UNCOUNTED: JsonObject = {"input_tokens": 0, "output_tokens": 0}
"""The usage written for a response whose tokens were not counted: the API requires one."""


def request_from_wire(payload: JsonObject) -> JsonObject:
    settings = settings_from_wire(payload)
    rest = {key: value for key, value in payload.items() if key not in _SEPARATE_FIELDS}
    saved = difference(rest, settings_to_wire(settings, rest, Losses()))
    if form := payload_form(payload):
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
    request |= settings
    if "tools" in payload:
        tools, others = tools_from_wire(payload["tools"])
        if tools:
            request["tools"] = tools
        if others or not tools:
            saved["tools"] = others
    if "tool_choice" in payload:
        choice, others = choice_from_wire(payload["tool_choice"])
        if choice:
            request["tool_choice"] = choice
        if others or not choice:
            saved["tool_choice"] = others
    if saved:
        store_own_data(request, saved)
    return request


def request_to_wire(request: JsonObject) -> Written:
    losses, writer_losses = Losses(), Losses()
    saved = own_data(request) or {}
    form = saved.get(FORM, {})
    context = Context("user", origin="foreign" if is_foreign(request) else "unknown")
    report_unwritten(request, _SEPARATE_FIELDS.union(_SETTINGS), "", losses)
    settings = {key: request[key] for key in _SETTINGS if request.get(key) is not None}
    made = settings_to_wire(settings, saved, writer_losses)
    settings["provider_data"] = {NAME: without_fields(saved, {FORM, *_SEPARATE_FIELDS})}
    payload = restore(settings, made, settings_from_wire, pointer="", writer_losses=writer_losses, losses=losses)
    stated: JsonObject = {}
    if pieces := content_to_wire(request.get("system") or [], "/system", context._replace(container="system"), losses):
        stated["system"] = spell_content(pieces, as_list=form.get("system") == "list")
    if request["messages"] or "messages" not in {*saved, *saved.get(ABSENT, ())}:
        stated["messages"] = [
            written
            for number, message in enumerate(request["messages"])
            for written in message_to_wire(message, f"/messages/{number}", context, form, losses)
        ]
    if request.get("tools") or isinstance(saved.get("tools"), list):
        stated["tools"] = tools_to_wire(request.get("tools") or [], saved.get("tools"), losses)
    if choice := request.get("tool_choice"):
        stated["tool_choice"] = choice_to_wire(choice, saved.get("tool_choice"), losses)
    others = {key: saved[key] for key in _SEPARATE_FIELDS if key in saved and not request.get(key)}
    return Written(payload | others | stated, losses.found)


def response_from_wire(payload: JsonObject) -> JsonObject:
    content = payload.get("content")
    pieces = cast("list[Any]", content) if isinstance(content, list) else []
    response: JsonObject = {
        "content": content_from_wire(pieces, Context("response"), CallIds()),
        **_parse_outcome(payload),
    }
    made: JsonObject = {**_response_fields(response, Losses()), "content": pieces, "usage": _UNCOUNTED}
    if isinstance(usage := payload.get("usage"), dict):
        made["usage"] = usage
        if counted := _usage_from_wire(cast("JsonObject", usage)):
            response["usage"] = counted
    if "id" not in payload or str(payload["id"]).startswith(_MADE_UP_ID_PREFIX):
        made["id"] = _made_up_id(payload)
    if saved := difference(payload, made):
        store_own_data(response, saved)
    return response


def response_to_wire(response: JsonObject) -> Written:
    losses, writer_losses = Losses(), Losses()
    report_unwritten(response, ("content", "finish_reason", "alternatives", "usage", "model"), "", losses)
    drop_alternatives(response, losses, "Anthropic gives one answer, and has no place for another")
    context = Context("response", origin="foreign" if is_foreign(response) else "unknown")
    made = _response_fields(response, writer_losses)
    made["content"] = content_to_wire(response["content"], "/content", context, losses)
    made["usage"] = _usage_to_wire(response.get("usage"), losses)
    saved = without_fields(own_data(response) or {}, {key for key in ("content", "usage") if response.get(key)})
    outcome = {key: response[key] for key in ("finish_reason", "model") if response.get(key) is not None}
    outcome["provider_data"] = {NAME: saved}
    payload = restore(outcome, made, _parse_outcome, pointer="", writer_losses=writer_losses, losses=losses)
    if "id" not in payload and "id" not in saved.get(ABSENT, ()):
        payload["id"] = _made_up_id(payload)
    return Written(payload, losses.found)


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
    return {
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
        losses.change("/finish_reason", "Anthropic has no word for it")
    return _STOP_REASONS.get(finish)


def _usage_from_wire(raw: JsonObject) -> JsonObject | None:
    if raw == _UNCOUNTED:
        return None
    usage = _parse_counts(raw)
    if saved := difference(raw, _build_usage(usage, Losses())):
        store_own_data(usage, saved)
    return usage


def _usage_to_wire(usage: JsonObject | None, losses: Losses) -> JsonObject:
    if usage is None:
        return dict(_UNCOUNTED)
    writer_losses = Losses()
    made = _build_usage(usage, writer_losses)
    report_unwritten(usage, _COUNTS, "/usage", losses)
    written = restore(usage, made, _parse_counts, pointer="/usage", writer_losses=writer_losses, losses=losses)
    if written == _UNCOUNTED:
        losses.drop("/usage", "an answer that cost nothing is one that nobody counted")
    return written


def _parse_counts(raw: JsonObject) -> JsonObject:
    usage: JsonObject = {name: raw[name] for name in ("input_tokens", "output_tokens") if _is_count(raw.get(name, ""))}
    match raw.get("output_tokens_details"), usage.get("output_tokens"):
        case {"thinking_tokens": thinking}, int(output) if type(thinking) is int and 0 <= thinking <= output:
            usage |= {"output_tokens": output - thinking, "thinking_tokens": thinking}
        case _:
            pass
    cached = [raw[name] for name in _CACHE if _is_count(raw.get(name, ""))]
    if cached:
        known = [count for count in cached if count is not None]
        usage["cached_tokens"] = sum(known) if known else None
    return usage


def _build_usage(usage: JsonObject, losses: Losses) -> JsonObject:
    made: JsonObject = {}
    for name in ("input_tokens", "output_tokens"):
        if (count := usage.get(name)) is None:
            losses.change(f"/usage/{name}" if name in usage else "/usage", "Anthropic always counts; 0 stands for it")
        made[name] = count or 0
    cached, thinking, total = usage.get("cached_tokens"), usage.get("thinking_tokens"), usage.get("total_tokens")
    if cached and total == sum(made.values()) + (thinking or 0) and cached <= made["input_tokens"]:
        losses.change("/usage/input_tokens", "Anthropic counts cached tokens apart")
        made["input_tokens"] -= cached
    if thinking is not None:
        made["output_tokens"] += thinking
        made["output_tokens_details"] = {"thinking_tokens": thinking}
    elif "thinking_tokens" in usage:
        losses.drop("/usage/thinking_tokens", "Anthropic leaves out what it does not count")
    if "cached_tokens" in usage:
        made["cache_read_input_tokens"] = cached
    return made


def _is_count(value: Any) -> bool:
    """Return whether this is a count, or the null of a provider that does not know it."""
    return value is None or (type(value) is int and value >= 0)
