"""Gemini: bodies of `generateContent`, as the Gemini API and Vertex AI have them.

Both spellings are read, camelCase and the snake_case of the SDK's dumps; camelCase is written, unless the payload was
read in the other one. The model stands in the URL and not in the body: a reader may be told it, and `unknown` stands
for one that nobody told. What is written names it in `model`.

Role `model` is the assistant and `function` is `tool`; function responses from `user` stay the user's. Signatures of
thoughts can be on any part and mean something to Gemini alone: they stand in `provider_data` of the block, and the
`signature` of a thinking block is another provider's.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire import _errors
from palaver.wire._contract import Losses, Written
from palaver.wire.gemini._blocks import PartWriter
from palaver.wire.gemini._fields import NAME, Fields, Kept, drop_others, is_count, is_list, is_object, is_text
from palaver.wire.gemini._pairs import paired
from palaver.wire.gemini._parts import blocks, kind_of
from palaver.wire.gemini._settings import generation_config, read_choice, read_generation, tool_config
from palaver.wire.gemini._tools import read_tools, written_tools
from palaver.wire.gemini._turns import parts_of, read_turn, written_turn

name = NAME
provider = "google"

UNKNOWN_MODEL = "unknown"
_REQUEST = frozenset(
    {"system", "messages", "model", "thinking", "tools", "tool_choice", "max_output_tokens", "sampling"}
)
_RESPONSE = frozenset({"content", "finish_reason", "usage", "model"})
_COUNTS = {
    "input_tokens": "promptTokenCount",
    "output_tokens": "candidatesTokenCount",
    "thinking_tokens": "thoughtsTokenCount",
    "cached_tokens": "cachedContentTokenCount",
    "total_tokens": "totalTokenCount",
}
_FINISH_WORDS = {
    "stop": "STOP",
    "tool_use": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "error": "OTHER",
    "unknown": None,
}
_FINISH_OF_WORD = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"),
    **dict.fromkeys(("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER"), "content_filter"),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"), "error"),
    **dict.fromkeys(("MALFORMED_RESPONSE", "LANGUAGE", "NO_IMAGE", "OTHER"), "error"),
}


def request_from_wire(payload: JsonObject, model: str = "") -> JsonObject:
    """`model` is the one that the URL names; a model in the payload stands before it."""
    fields = Fields(payload)
    request: JsonObject = {"model": fields.expect("model", lambda value: is_text(value) and bool(value)) or model}
    request["model"] = request["model"] or UNKNOWN_MODEL
    system = _system(fields)
    contents = _contents(fields)
    pairs = paired([system, *map(parts_of, contents)], kind_of)
    if system:
        request["system"] = blocks(system, 0, pairs)
    request["messages"] = [read_turn(content, turn, pairs) for turn, content in enumerate(contents, 1)]
    request |= read_tools(fields) | read_choice(fields) | read_generation(fields, request["model"])
    return request | fields.beside()


def request_to_wire(request: JsonObject) -> Written:
    losses = Losses()
    kept = Kept(request)
    drop_others(request, _REQUEST, "", losses)
    system, messages = request.get("system") or [], request["messages"]
    writer = PartWriter(_names_in([system, *(message["content"] for message in messages)]), losses)
    payload: JsonObject = {} if kept.lacks("model") else {"model": request["model"]}
    if system:
        payload["systemInstruction"] = _system_instruction(writer.parts(system, "/system"), kept)
    contents = [written_turn(message, f"/messages/{position}", writer) for position, message in enumerate(messages)]
    if contents or not kept.lacks("contents"):
        payload["contents"] = contents[0] if kept.original("single") and len(contents) == 1 else contents
    if tools := written_tools(request.get("tools") or [], kept, losses):
        payload["tools"] = tools
    if (choice := tool_config(request, kept, losses)) is not None:
        payload["toolConfig"] = choice
    if config := generation_config(request, kept, losses):
        payload["generationConfig"] = config
    return Written(kept.complete(kept.spell(payload)), losses.found)


def response_from_wire(payload: JsonObject) -> JsonObject:
    """The first candidate is the answer; the others stand in `provider_data`."""
    fields = Fields(payload)
    candidate = fields.first("candidates")
    if candidate is None:
        fields.expect("candidates", lambda _: False)
        response: JsonObject = {"content": [], "finish_reason": _finish_without_answer(payload)}
    else:
        response = _answer(candidate)
    stated = fields.take("usageMetadata", lambda value: is_object(value) and bool(value))
    if stated is not None:
        response["usage"] = _usage(Fields(stated))
    if (model := fields.take("modelVersion", is_text)) is not None:
        response["model"] = model
    return response | fields.beside()


def response_to_wire(response: JsonObject) -> Written:
    losses = Losses()
    kept = Kept(response)
    drop_others(response, _RESPONSE, "", losses)
    payload: JsonObject = {}
    reason = response["finish_reason"]
    if response["content"] or not kept.lacks("candidates") or reason != _finish_without_answer(kept.left):
        payload["candidates"] = [_candidate(response, kept, losses)]
    if usage := _usage_metadata(response.get("usage") or {}, losses):
        payload["usageMetadata"] = usage
    if response.get("model") is not None:
        payload["modelVersion"] = response["model"]
    return Written(kept.complete(kept.spell(payload)), losses.found)


def error_from_wire(payload: JsonObject, status: int | None = None) -> JsonObject | None:
    stated = payload.get("error")
    if not isinstance(stated, dict):
        return None
    listed = stated.get("details")
    details = [detail for detail in listed if isinstance(detail, dict)] if isinstance(listed, list) else []
    words = [detail["reason"] for detail in details if isinstance(detail.get("reason"), str)]
    if isinstance(stated.get("status"), str):
        words.append(stated["status"])
    message = stated["message"] if isinstance(stated.get("message"), str) else ""
    if "exceeds the maximum number of tokens" in message:
        words.insert(0, "context_length_exceeded")
    waits = [detail["retryDelay"] for detail in details if isinstance(detail.get("retryDelay"), str)]
    code = stated.get("code")
    return _errors.error(
        message,
        tuple("invalid_api_key" if word == "API_KEY_INVALID" else word for word in words),
        status or (code if is_count(code) else None),
        retry_after_ms=_errors.wait_ms({"retry-after": waits[0]}) if waits else None,
        provider_data={NAME: rest} if (rest := {key: stated[key] for key in stated if key != "message"}) else None,
    )


def _system(fields: Fields) -> list[Any]:
    """The parts of the system instruction; SDKs also take a text for it."""
    if (text := fields.take("systemInstruction", is_text)) is not None:
        fields.remember("systemInstruction", "string")
        return [{"text": text}]
    inner = fields.inner("systemInstruction")
    return (inner.take("parts", lambda value: is_list(value) and bool(value)) or []) if inner else []


def _system_instruction(parts: list[Any], kept: Kept) -> Any:
    match parts:
        case [{"text": text}] if kept.original("systemInstruction") == "string" and parts == [{"text": text}]:
            return text
        case _:
            return {"parts": parts}


def _contents(fields: Fields) -> list[Any]:
    """The turns; SDKs also take a single one."""
    single = fields.take("contents", lambda value: is_text(value) or is_object(value))
    if single is not None:
        fields.remember("single", value=True)
        return [single]
    return fields.expect("contents", is_list) or []


def _names_in(contents: list[list[JsonObject]]) -> dict[str, str]:
    return {block["id"]: block["name"] for content in contents for block in content if block["type"] == "tool_use"}


def _answer(candidate: Fields) -> JsonObject:
    content = candidate.inner("content")
    parts = content.expect("parts", is_list) if content else candidate.expect("content", lambda _: False)
    if content:
        content.expect("role", lambda value: value == "model")
    candidate.expect("index", lambda value: is_count(value) and value == 0)
    made = blocks(parts or [], 0, paired([parts or []], kind_of))
    word = candidate.take("finishReason", is_text)
    reason = _finish_reason(word, made)
    if word != _FINISH_WORDS[reason]:
        candidate.remember("finishReason", word)
    return {"content": made, "finish_reason": reason}


def _candidate(response: JsonObject, kept: Kept, losses: Losses) -> JsonObject:
    parts = PartWriter(_names_in([response["content"]]), losses).parts(response["content"], "/content")
    content: JsonObject = {}
    if parts or not kept.lacks("parts"):
        content["parts"] = parts
    if not kept.lacks("role"):
        content["role"] = "model"
    candidate: JsonObject = {"content": content} if parts or not kept.lacks("content") else {}
    reason = response["finish_reason"]
    word = kept.original("finishReason")
    if word is None or _finish_reason(word, response["content"]) != reason:
        word = _FINISH_WORDS[reason]
        if _finish_reason(word, response["content"]) != reason:
            losses.change("/finish_reason", "Gemini tells calls of functions from other ends by the parts alone")
    if word is not None:
        candidate["finishReason"] = word
    if not kept.lacks("index"):
        candidate["index"] = 0
    return kept.spell(candidate)


def _finish_reason(word: str | None, content: list[JsonObject]) -> str:
    reason = _FINISH_OF_WORD.get(word or "", "unknown")
    return "tool_use" if reason == "stop" and any(block["type"] == "tool_use" for block in content) else reason


def _finish_without_answer(payload: JsonObject) -> str:
    """A prompt that was blocked has no candidates."""
    feedback = Fields(payload).inner("promptFeedback")
    return "content_filter" if feedback and feedback.take("blockReason", is_text) else "unknown"


def _usage(stated: Fields) -> JsonObject:
    """Gemini counts cached tokens among those of the prompt, and thoughts apart from the candidates."""
    usage = {
        name: stated.take(field, _is_count_or_null)
        for name, field in _COUNTS.items()
        if stated.holds(field, _is_count_or_null)
    }
    return usage | stated.beside()


def _usage_metadata(usage: JsonObject, losses: Losses) -> JsonObject:
    drop_others(usage, frozenset(_COUNTS), "/usage", losses)
    kept = Kept(usage)
    return kept.complete(kept.spell({field: usage[name] for name, field in _COUNTS.items() if name in usage}))


def _is_count_or_null(value: Any) -> bool:
    return value is None or is_count(value)
