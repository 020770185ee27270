"""Formats of payloads, recognized by their shape: which wire format a body is in, or that it is not a conversation.

One gateway can serve models of many providers. Older completions (`prompt`, `text`) are converted to chat, of which
they are the simplest case; embeddings, images and other services of the same API are not conversations.
"""

import re
from typing import Any, Literal

from palaver.model.build import JsonObject
from palaver.wire import wire_format

Kind = Literal["openai-chat", "openai-responses", "anthropic", "gemini", "completions"]

_ANTHROPIC_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking"}
_RESPONSES_ITEMS = {"message", "function_call", "function_call_output", "reasoning", "item_reference"}
_OTHER_SERVICE = re.compile(
    r"/(?:embeddings|images|audio|moderations|files|batches|fine_tuning|vector_stores|rerank)(?:[/?]|$)|/models(?:[?]|$)"
    r"|embeddings?_create|images?generations?_create|transcriptions?_create|translations?_create|speech_create",
    re.IGNORECASE,
)
_TEXT_ENDPOINT = re.compile(
    r"/chat/completions|/completions|/responses|/messages|:\w*generateContent|ChatCompletions", re.IGNORECASE
)


def request_kind(body: Any) -> Kind | None:
    """Return the format of a request; None if the body is not a request that a model answers with text."""
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
    """Return the format of a response; None if the body is not a response with text."""
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


def is_other_service(request: Any, response: Any, endpoint: str) -> bool:
    """Whether a call that looks like one of the Responses API is for embeddings, images or the like.

    `endpoint` is the URL, or the name of the operation.
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
            return _OTHER_SERVICE.search(endpoint) is not None


def is_text_endpoint(endpoint: str) -> bool:
    """Whether models answer with text at this URL or operation."""
    return _TEXT_ENDPOINT.search(endpoint) is not None


def is_model_path(path: str) -> bool:
    """Whether the path of a URL belongs to Azure OpenAI or to another model API."""
    return "/openai/" in path or is_text_endpoint(path) or _OTHER_SERVICE.search(path) is not None


def has_messages(request: JsonObject) -> bool:
    return any(request.get(name) for name in ("messages", "input", "contents", "instructions", "system"))


def contains_message(value: Any, depth: int = 3) -> bool:
    """Whether a value in an unknown format contains a message."""
    match value:
        case {"role": str(), **rest} if "content" in rest or "parts" in rest:
            return True
        case dict() if depth:
            return any(contains_message(item, depth - 1) for item in value.values())
        case list() if depth:
            return any(contains_message(item, depth - 1) for item in value)
        case str():
            return '"role' in value
        case _:
            return False


def convert_response(kind: Kind, wanted: Kind, response: JsonObject) -> JsonObject:
    """Convert an answer to the format of its request: the two differ if a gateway translates."""
    if kind == wanted:
        return response
    return wire_format(wanted).response_to_wire(wire_format(kind).response_from_wire(response)).payload


def wrap_unknown_response(kind: Kind, body: Any) -> JsonObject:
    """Put an answer that cannot be interpreted where its format has the content."""
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
    """Convert a request of the older completions API to chat."""
    prompt = body["prompt"]
    content = prompt if isinstance(prompt, str) else [{"type": "text", "text": str(part)} for part in prompt]
    rest = {name: value for name, value in body.items() if name != "prompt"}
    return {"messages": [{"role": "user", "content": content}], **rest}


def chat_response(body: JsonObject) -> JsonObject:
    """Convert a response of the older completions API to chat."""
    choices = [_chat_choice(choice) for choice in body["choices"]]
    return {**body, "object": "chat.completion", "choices": choices}


def _chat_choice(choice: Any) -> Any:
    match choice:
        case {"text": str(text), **rest}:
            return {**rest, "message": {"role": "assistant", "content": text}}
        case _:
            return choice


def request_from_messages(messages: list[Any]) -> JsonObject:
    """Build a request of messages that were logged without the rest of it."""
    field = "messages"
    for message in messages:
        if isinstance(message, dict):
            kind = message.get("type")
            if isinstance(kind, str) and kind in _RESPONSES_ITEMS:
                return {"input": messages}
            if "parts" in message and "content" not in message:
                field = "contents"
    return {field: messages}


def response_from_messages(messages: list[Any], kind: Kind) -> JsonObject:
    """Build a response of messages that were logged without the rest of it."""
    match kind:
        case "openai-responses":
            return {"output": messages}
        case "gemini":
            return {"candidates": [{"content": message} for message in messages]}
        case "anthropic":
            contents = [_content_blocks(message.get("content")) for message in messages if isinstance(message, dict)]
            return {
                "type": "message",
                "role": "assistant",
                "content": [block for blocks in contents for block in blocks],
            }
        case "openai-chat" | "completions":
            return {"choices": [{"index": index, "message": message} for index, message in enumerate(messages)]}


def _content_blocks(content: Any) -> list[Any]:
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
