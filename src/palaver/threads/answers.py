"""What came back: the answer's messages, its token counts, and what else its payload says."""

from typing import Any, NamedTuple

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.threads.call import Call
from palaver.threads.history import plain
from palaver.threads.plainly import plain_answer
from palaver.threads.tokens import tokens_of
from palaver.wire import wire_format

_MAPPED = frozenset(
    {
        *("id", "object", "type", "role", "model", "usage", "choices", "output", "content", "candidates"),
        *("responseId", "modelVersion", "usageMetadata", "stop_reason", "stop_sequence", "error"),
    }
)
_APART = frozenset({"messages", "input", "contents", "system", "instructions", "tools", "model"})
"""Fields of a request that are not its settings."""
_ECHOED = frozenset({"instructions", "tools", "tool_choice", "input"})
"""Fields of a response that repeat the request."""
_OF_CHOICE = frozenset({"message", "index", "finish_reason"})
_OF_MESSAGE = frozenset({"role", "content", "tool_calls", "refusal", "function_call"})
_NOTHING: tuple[Any, ...] = (None, [], {}, "")


class Answer(NamedTuple):
    content: list[JsonObject]
    number: int
    """Which of several answers to the same request, from 0."""
    metadata: JsonObject
    tokens: JsonObject | None


def answers_of(call: Call) -> list[Answer]:
    """The answer, and further ones where several were asked for."""
    payload = call.response
    if payload is None:
        return []
    payloads = [payload, *_further(call.wire, payload)]
    return [
        Answer(
            _content(call.wire, one),
            number,
            _about(call, one),
            tokens_of(call) if number == 0 else None,
        )
        for number, one in enumerate(payloads)
    ]


def _content(wire: str, payload: JsonObject) -> list[JsonObject]:
    content = plain_answer(wire, payload)
    if content is None:
        content = [plain(block) for block in wire_format(wire).response_from_wire(payload)["content"]]
    return content or [build.text("")]


def answered_by(call: Call) -> str | None:
    """The model that answered, else the one that was asked for."""
    payload = call.response or {}
    for stated in (payload.get("model"), payload.get("modelVersion"), call.model, call.request.get("model")):
        if isinstance(stated, str) and stated:
            return stated
    return None


def platform_of(call: Call, name: str) -> JsonObject:
    """What a call says of the platform: the API's version, the model, and what holds for the conversation."""
    told: JsonObject = {"name": name}
    if call.version:
        told["version"] = call.version
    if model := answered_by(call) or call.platform.get("deployment"):
        told["model"] = model
    return {**told, "metadata": dict(call.platform)} if call.platform else told


def failure_of(call: Call) -> tuple[list[JsonObject], JsonObject]:
    """What the service said instead of an answer, and what is said of that."""
    error = call.error or {}
    metadata: JsonObject = {"author_kind": "harness", "request_id": call.call_id, "error": error, **call.answer}
    if call.duration_ms is not None and call.duration_ms >= 0:
        metadata["duration_ms"] = call.duration_ms
    return [build.text(str(error.get("message") or error.get("category") or ""))], metadata


def api_id(call: Call) -> str | None:
    """The provider's id of the answer."""
    payload = call.response or {}
    for stated in (payload.get("id"), payload.get("responseId"), call.answer.get("api_message_id")):
        if isinstance(stated, str) and stated:
            return stated
    return None


def _further(wire: str, payload: JsonObject) -> list[JsonObject]:
    field = {"openai-chat": "choices", "gemini": "candidates"}.get(wire, "")
    choices = payload.get(field)
    if not isinstance(choices, list):
        return []
    rest = {key: value for key, value in payload.items() if key not in {field, "usage", "usageMetadata"}}
    return [{**rest, field: [choice]} for choice in choices[1:]]


def _about(call: Call, payload: JsonObject) -> JsonObject:
    about: JsonObject = {"author_kind": "model", "request_id": call.call_id}
    facts: dict[str, Any] = {
        "api_message_id": api_id(call),
        "stop_reason": _stopped(call.wire, payload),
        "model_override": answered_by(call),
        "duration_ms": call.duration_ms if call.duration_ms is not None and call.duration_ms >= 0 else None,
        "answer_cut": call.is_answer_cut or None,
        "helper": call.helper or None,
        "request": _settings(call),
        "response": _unmapped(call, payload),
        **_of_choice(call.wire, payload),
    }
    about |= {name: value for name, value in facts.items() if value not in _NOTHING}
    return {**about, **{name: value for name, value in call.answer.items() if name not in about}}


def _stopped(wire: str, payload: JsonObject) -> str | None:
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
    """What was asked for beside the messages, in the source's own words."""
    return {key: value for key, value in call.request.items() if key not in _APART and value not in _NOTHING}


def _unmapped(call: Call, payload: JsonObject) -> JsonObject:
    asked = call.request
    return {
        key: value
        for key, value in payload.items()
        if key not in _MAPPED and value not in _NOTHING and not (key in _ECHOED and asked.get(key, value) == value)
    }


def _of_choice(wire: str, payload: JsonObject) -> JsonObject:
    """What stands beside the message of a choice, and in it beside its words."""
    choices = payload.get("choices") if wire == "openai-chat" else None
    if not isinstance(choices, list) or not choices or not isinstance(choice := choices[0], dict):
        return {}
    about = {key: value for key, value in choice.items() if key not in _OF_CHOICE}
    if isinstance(message := choice.get("message"), dict):
        about |= {key: value for key, value in message.items() if key not in _OF_MESSAGE}
    return about
