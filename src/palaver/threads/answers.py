"""Answers of calls: content, metadata and token counts, the counts under the names of a message's `tokens`."""

import re
from typing import Any, NamedTuple

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.threads.call import Call
from palaver.threads.history import without_format_notes
from palaver.threads.plain_text import plain_answer
from palaver.wire import wire_format

_MAPPED_FIELDS = frozenset(
    {
        *("id", "object", "type", "role", "model", "usage", "choices", "output", "content", "candidates"),
        *("responseId", "modelVersion", "usageMetadata", "stop_reason", "stop_sequence", "error"),
    }
)
_NOT_SETTINGS = frozenset({"messages", "input", "contents", "system", "instructions", "tools", "model"})
"""Fields of a request that are no settings."""
_ECHOED_FIELDS = frozenset({"instructions", "tools", "tool_choice", "input"})
"""Fields of a response that repeat the request."""
_MAPPED_CHOICE_FIELDS = frozenset({"message", "index", "finish_reason"})
_MAPPED_MESSAGE_FIELDS = frozenset({"role", "content", "tool_calls", "refusal", "function_call"})
_NOTHING: tuple[Any, ...] = (None, [], {}, "")
_DRAWN_RESPONSE_ID = re.compile(r"resp_[0-9]{1,6}", re.ASCII)


class Answer(NamedTuple):
    content: list[JsonObject]
    number: int
    """The position among several answers to one request, in the order of their indexes."""
    metadata: JsonObject
    tokens: JsonObject | None


def answers_of(call: Call) -> list[Answer]:
    """Return the answer, or all of them in the order of their indexes if the request asked for several."""
    if call.response is None:
        return []
    found: list[Answer] = []
    for number, (index, payload) in enumerate(_payloads(call.response_wire, call.response)):
        metadata = _metadata(call, payload)
        if index is not None:
            metadata["completion_index"] = index
        found.append(
            Answer(_content(call.response_wire, payload), number, metadata, None if number else tokens_of(call))
        )
    return found


def _content(wire: str, payload: JsonObject) -> list[JsonObject]:
    content = plain_answer(wire, payload)
    if content is None:
        content = [without_format_notes(block) for block in wire_format(wire).response_from_wire(payload)["content"]]
    return content or [build.text("")]


def answering_model(call: Call) -> str | None:
    """Return the model that answered, else the requested one."""
    payload = call.response or {}
    for stated in (payload.get("model"), payload.get("modelVersion"), call.model, call.request.get("model")):
        if isinstance(stated, str) and stated:
            return stated
    return None


def platform_of(call: Call, name: str) -> JsonObject:
    """Return the platform of a call: the API's version, the model, and metadata of the conversation."""
    platform: JsonObject = {"name": name}
    if call.version:
        platform["version"] = call.version
    if model := answering_model(call) or call.platform.get("deployment"):
        platform["model"] = model
    return {**platform, "metadata": dict(call.platform)} if call.platform else platform


def failure_of(call: Call) -> tuple[list[JsonObject], JsonObject]:
    """Return content and metadata of the message for a call's error."""
    error = call.error or {}
    metadata: JsonObject = {"author_kind": "harness", "request_id": call.call_id, "error": error, **call.answer}
    if call.duration_ms is not None and call.duration_ms >= 0:
        metadata["duration_ms"] = call.duration_ms
    if call.helper:
        metadata["helper"] = call.helper
    return [build.text(str(error.get("message") or error.get("category") or ""))], metadata


def api_message_id(call: Call) -> str | None:
    """Return the provider's id of the answer, if it names this answer only."""
    payload = call.response or {}
    if _has_drawn_id(payload):
        return None
    for stated in (payload.get("id"), payload.get("responseId"), call.answer.get("api_message_id")):
        if isinstance(stated, str) and stated:
            return stated
    return None


def _has_drawn_id(payload: JsonObject) -> bool:
    """Return whether an answer is Ollama's, which draws its id from 999, or from a million: others have the same."""
    match payload:
        case {"system_fingerprint": "fp_ollama"}:
            return True
        case {"id": str(stated)}:
            return _DRAWN_RESPONSE_ID.fullmatch(stated) is not None
        case _:
            return False


def _payloads(wire: str, payload: JsonObject) -> list[tuple[int | None, JsonObject]]:
    """Return a payload for each answer with its index, in order; the index is None if there is only one answer."""
    field = {"openai-chat": "choices", "gemini": "candidates"}.get(wire, "")
    choices = payload.get(field)
    if not isinstance(choices, list) or len(choices) < 2:
        return [(None, payload)]
    indexes = [_stated_index(choice) for choice in choices]
    if len(set(indexes)) < len(indexes):
        indexes = list(range(len(choices)))
    rest = {key: value for key, value in payload.items() if key != field}
    in_order = sorted(range(len(choices)), key=indexes.__getitem__)
    return [(indexes[position], {**rest, field: [choices[position]]}) for position in in_order]


def _stated_index(choice: Any) -> int:
    """Return the index that a choice states, or 0, which Gemini leaves out."""
    match choice:
        case {"index": int(stated)} if stated > 0:
            return int(stated)
        case _:
            return 0


def _metadata(call: Call, payload: JsonObject) -> JsonObject:
    metadata: JsonObject = {"author_kind": "model", "request_id": call.call_id}
    optional: dict[str, Any] = {
        "api_message_id": api_message_id(call),
        "stop_reason": _stop_reason(call.response_wire, payload),
        "model_override": answering_model(call),
        "duration_ms": call.duration_ms if call.duration_ms is not None and call.duration_ms >= 0 else None,
        "answer_cut": call.is_answer_cut or None,
        "helper": call.helper or None,
        "request": _settings(call),
        "response": _unmapped(call, payload),
        **_choice_fields(call.response_wire, payload),
    }
    metadata |= {name: value for name, value in optional.items() if value not in _NOTHING}
    return {**metadata, **{name: value for name, value in call.answer.items() if name not in metadata}}


def _stop_reason(wire: str, payload: JsonObject) -> str | None:
    stated: Any = None
    match wire, payload:
        case "openai-chat", {"choices": [{"finish_reason": stated}, *_]}:
            pass
        case "anthropic", {"stop_reason": stated}:
            pass
        case "gemini", {"candidates": [{"finishReason": stated}, *_]}:
            pass
        case "openai-responses", {"incomplete_details": {"reason": stated}}:
            pass
        case "openai-responses", {"status": stated}:
            pass
        case _:
            return None
    return stated if isinstance(stated, str) else None


def _settings(call: Call) -> JsonObject:
    """Return the settings of a request, as the source spells them."""
    return {key: value for key, value in call.request.items() if key not in _NOT_SETTINGS and value not in _NOTHING}


def _unmapped(call: Call, payload: JsonObject) -> JsonObject:
    request = call.request
    return {
        key: value
        for key, value in payload.items()
        if (key not in _MAPPED_FIELDS or (key == "id" and _has_drawn_id(payload)))
        and value not in _NOTHING
        and not (key in _ECHOED_FIELDS and request.get(key, value) == value)
    }


def _choice_fields(wire: str, payload: JsonObject) -> JsonObject:
    """Return the unmapped fields of the first choice and of its message."""
    choices = payload.get("choices") if wire == "openai-chat" else None
    if not isinstance(choices, list) or not choices or not isinstance(choice := choices[0], dict):
        return {}
    fields = {key: value for key, value in choice.items() if key not in _MAPPED_CHOICE_FIELDS}
    if isinstance(message := choice.get("message"), dict):
        fields |= {key: value for key, value in message.items() if key not in _MAPPED_MESSAGE_FIELDS}
    return fields


_FieldPath = tuple[str, ...]

_TOKEN_PATHS: dict[str, dict[str, tuple[_FieldPath, ...]]] = {
    "openai": {
        "input_tokens": (("prompt_tokens",), ("input_tokens",)),
        "output_tokens": (("completion_tokens",), ("output_tokens",)),
        "cache_read_input_tokens": (
            ("prompt_tokens_details", "cached_tokens"),
            ("input_tokens_details", "cached_tokens"),
        ),
        "thinking_tokens": (
            ("completion_tokens_details", "reasoning_tokens"),
            ("output_tokens_details", "reasoning_tokens"),
        ),
    },
    "anthropic": {
        "input_tokens": (("input_tokens",),),
        "output_tokens": (("output_tokens",),),
        "cache_creation_input_tokens": (("cache_creation_input_tokens",),),
        "cache_read_input_tokens": (("cache_read_input_tokens",),),
        "thinking_tokens": (("output_tokens_details", "thinking_tokens"),),
    },
    "gemini": {
        "input_tokens": (("promptTokenCount",),),
        "output_tokens": (("candidatesTokenCount",),),
        "cache_read_input_tokens": (("cachedContentTokenCount",),),
        "thinking_tokens": (("thoughtsTokenCount",),),
    },
}
_MAPPED_USAGE_FIELDS = {
    wire: frozenset({path[0] for paths in names.values() for path in paths} | {"cache_creation", "service_tier"})
    for wire, names in _TOKEN_PATHS.items()
}
_CACHE_LIFETIMES = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


def stated_tokens(call: Call) -> JsonObject:
    """Return the token counts of the payload."""
    payload = call.response or {}
    usage = payload.get("usageMetadata" if call.response_wire == "gemini" else "usage")
    return _named_counts(usage, call.response_wire.partition("-")[0]) if isinstance(usage, dict) else {}


def tokens_of(call: Call) -> JsonObject | None:
    """Return the token counts of the payload, with gaps filled from the log's own counts."""
    tokens = stated_tokens(call)
    for name, count in (call.usage or {}).items():
        if tokens.get(name) is None:
            tokens[name] = count
    return tokens or None


def _named_counts(usage: JsonObject, wire: str) -> JsonObject:
    """Return counts under the names of the schema; fields without such a name keep their own."""
    tokens: JsonObject = {}
    for ours, paths in _TOKEN_PATHS[wire].items():
        for path in paths:
            if _is_count(count := _value_at(usage, path)):
                tokens[ours] = count
                break
    if isinstance(written := usage.get("cache_creation"), dict):
        tokens["cache_creation"] = {name: written[name] for name in _CACHE_LIFETIMES if _is_count(written.get(name))}
    if isinstance(tier := usage.get("service_tier"), str):
        tokens["service_tier"] = tier
    taken = _MAPPED_USAGE_FIELDS[wire]
    return tokens | {name: value for name, value in usage.items() if name not in taken and value is not None}


def _value_at(usage: JsonObject, path: _FieldPath) -> Any:
    value: Any = usage
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0
