"""Formats of payloads, told by their shape: which wire format a body is in, or that it is no conversation at all.

Behind one gateway stand models of many providers. Older completions (`prompt`, `text`) are made into chat, of which
they are the simplest case; embeddings, images and other services of the same API are no conversations.
"""

import re
from typing import Any, Literal

from palaver.model.build import JsonObject
from palaver.wire import wire_format

Kind = Literal["openai-chat", "openai-responses", "anthropic", "gemini", "completions"]

_ANTHROPIC_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking"}
_ITEMS = {"message", "function_call", "function_call_output", "reasoning", "item_reference"}
_OTHER_SERVICE = re.compile(
    r"/(?:embeddings|images|audio|moderations|files|batches|fine_tuning|vector_stores|rerank)(?:[/?]|$)|/models(?:[?]|$)"
    r"|embeddings?_create|images?generations?_create|transcriptions?_create|translations?_create|speech_create",
    re.IGNORECASE,
)
_FOR_WORDS = re.compile(
    r"/chat/completions|/completions|/responses|/messages|:\w*generateContent|ChatCompletions", re.IGNORECASE
)


def request_kind(body: Any) -> Kind | None:
    """The format of a request; None where the body is none that a model answers in words."""
    match body:
        case {"contents": list() | dict()}:
            return "gemini"
        case {"messages": list() as messages}:
            return "anthropic" if _is_anthropic(body, messages) else "openai-chat"
        case {"input": [dict(), *_]}:
            return "openai-responses"
        case {"input": str() | list()} | {"previous_response_id": str()}:
            return "openai-responses"
        case {"prompt": str()}:
            return "completions"
        case {"prompt": [str(), *_]}:
            return "completions"
        case _:
            return None


def response_kind(body: Any) -> Kind | None:
    match body:
        case {"choices": [{"text": str(), **choice}, *_]} if "message" not in choice:
            return "completions"
        case {"choices": list()}:
            return "openai-chat"
        case {"candidates": list()}:
            return "gemini"
        case {"output": list()} | {"object": "response"}:
            return "openai-responses"
        case {"type": "message"} | {"role": "assistant", "content": list()}:
            return "anthropic"
        case {"content": [{"type": str()}, *_], "stop_reason": _}:
            return "anthropic"
        case {"object": "chat.completion"} | {"prompt_filter_results": list()}:
            return "openai-chat"
        case _:
            return None


def is_other_service(request: Any, response: Any, place: str) -> bool:
    """Whether a call that could be one of Responses is one for embeddings, images or the like.

    `place` is the address, or the name of the operation.
    """
    match request:
        case {"input": [{"role": _} | {"type": _}, *_]} | {"messages": _} | {"contents": _}:
            return False
        case {"previous_response_id": _}:
            return False
        case _:
            pass
    match response:
        case {"object": "list"} | {"data": [{"embedding": _} | {"url": _} | {"b64_json": _}, *_]}:
            return True
        case dict() if response_kind(response) is not None:
            return False
        case _:
            return _OTHER_SERVICE.search(place) is not None


def is_for_words(place: str) -> bool:
    """Whether the address is one at which models answer in words."""
    return _FOR_WORDS.search(place) is not None


def is_of_a_model(path: str) -> bool:
    """Whether the path of an address is one of Azure OpenAI's, or of another model's."""
    return "/openai/" in path or is_for_words(path) or _OTHER_SERVICE.search(path) is not None


def has_messages(request: JsonObject) -> bool:
    return any(request.get(name) for name in ("messages", "input", "contents", "instructions", "system"))


def is_spoken(value: Any, depth: int = 3) -> bool:
    """Whether somebody speaks in a value that is in no format we know."""
    match value:
        case {"role": str(), **rest} if "content" in rest or "parts" in rest:
            return True
        case dict() if depth:
            return any(is_spoken(item, depth - 1) for item in value.values())
        case list() if depth:
            return any(is_spoken(item, depth - 1) for item in value)
        case str():
            return '"role' in value
        case _:
            return False


def in_format(kind: Kind, wanted: Kind, response: JsonObject) -> JsonObject:
    """An answer in the format of its request: where a gateway translates, the two may differ."""
    if kind == wanted:
        return response
    return wire_format(wanted).response_to_wire(wire_format(kind).response_from_wire(response)).payload


def unread_response(kind: Kind, body: Any) -> JsonObject:
    """An answer that nothing can be made of, in the place where its format has one."""
    match kind:
        case "openai-responses":
            return {"output": [body]}
        case "anthropic":
            return {"type": "message", "role": "assistant", "content": [body]}
        case "gemini":
            return {"candidates": [{"content": {"role": "model", "parts": [body]}}]}
        case "openai-chat" | "completions":
            return {"choices": [{"index": 0, "message": body}]}


def chat_request(body: JsonObject) -> JsonObject:
    """A request for an older completion as one of chat."""
    prompt = body["prompt"]
    content = prompt if isinstance(prompt, str) else [{"type": "text", "text": str(one)} for one in prompt]
    rest = {name: value for name, value in body.items() if name != "prompt"}
    return {"messages": [{"role": "user", "content": content}], **rest}


def chat_response(body: JsonObject) -> JsonObject:
    choices = [_chat_choice(choice) for choice in body["choices"]]
    return {**body, "object": "chat.completion", "choices": choices}


def _chat_choice(choice: Any) -> Any:
    match choice:
        case {"text": str(text), **rest}:
            return {**rest, "message": {"role": "assistant", "content": text}}
        case _:
            return choice


def messages_request(messages: list[Any]) -> JsonObject:
    """The messages that a log holds without the rest of the request."""
    field = "messages"
    for one in messages:
        if isinstance(one, dict):
            kind = one.get("type")
            if isinstance(kind, str) and kind in _ITEMS:
                return {"input": messages}
            if "parts" in one and "content" not in one:
                field = "contents"
    return {field: messages}


def messages_response(messages: list[Any], kind: Kind) -> JsonObject:
    match kind:
        case "openai-responses":
            return {"output": messages}
        case "gemini":
            return {"candidates": [{"content": one} for one in messages]}
        case "anthropic":
            parts = [_parts(one.get("content")) for one in messages if isinstance(one, dict)]
            return {"type": "message", "role": "assistant", "content": [part for some in parts for part in some]}
        case "openai-chat" | "completions":
            return {"choices": [{"index": number, "message": one} for number, one in enumerate(messages)]}


def _parts(content: Any) -> list[Any]:
    match content:
        case list():
            return content
        case str():
            return [{"type": "text", "text": content}]
        case _:
            return []


def _is_anthropic(body: JsonObject, messages: list[Any]) -> bool:
    match body:
        case {"anthropic_version": _} | {"system": list()} | {"tools": [{"input_schema": _}, *_]}:
            return True
        case {"system": str(), "max_tokens": int()}:
            return True
        case _:
            pass
    for message in messages:
        if not isinstance(message, dict) or not isinstance((content := message.get("content")), list):
            continue
        for block in content:
            kind = block.get("type") if isinstance(block, dict) else None
            if isinstance(kind, str) and kind in _ANTHROPIC_BLOCKS:
                return True
    return False
