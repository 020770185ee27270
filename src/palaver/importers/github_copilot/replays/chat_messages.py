"""The editor's messages, which have numbers for roles and part kinds, as OpenAI chat messages."""

import re
from typing import Any

import orjson

from palaver.model.build import JsonObject

_ROLES = {0: "system", 1: "user", 2: "assistant", 3: "tool"}
_IMAGE, _TEXT, _OPAQUE, _CACHE = range(4)
_SUFFIX = re.compile(r"__vscode-[0-9]+$")


def plain_id(call_id: str) -> str:
    """Return a tool call's id as the model gave it, without the editor's suffix."""
    return _SUFFIX.sub("", call_id) if "__vscode-" in call_id else call_id


def chat_message(raw: Any) -> Any:
    """Return a message in OpenAI's chat format; a value that is not an object is returned unchanged."""
    if not isinstance(raw, dict):
        return raw
    role = raw.get("role")
    message: JsonObject = {**raw, "role": _ROLES.get(role, role) if type(role) is int else role}
    if not isinstance(message["role"], str):
        message["role"] = "user"
        message["stated_role"] = role
    content = raw.get("content")
    if isinstance(content, list):
        message["content"] = _content(content, message)
    calls = message.pop("toolCalls", None)
    if isinstance(calls, list) and calls:
        message["tool_calls"] = [_call(call) for call in calls]
    elif calls:
        message["toolCalls"] = calls
    call_id = message.pop("toolCallId", None)
    if isinstance(call_id, str):
        message["tool_call_id"] = plain_id(call_id)
    elif call_id is not None:
        message["toolCallId"] = call_id
    return message


def text_of(message: Any) -> str:
    """Return the text of a message, without images and calls."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _content(parts: list[Any], message: JsonObject) -> Any:
    """Return a text or a list of parts; cache markers are dropped, and opaque parts go to the message itself."""
    content: list[Any] = []
    for part in parts:
        match part:
            case {"type": 1, "text": str(text)}:
                content.append({"type": "text", "text": text})
            case {"type": 0, "imageUrl": dict(image)}:
                content.append({"type": "image_url", "image_url": image})
            case {"type": 2}:
                _add_opaque(part, message)
            case {"type": 3, **rest} if rest.keys() <= {"cacheType"}:
                pass
            case _:
                content.append(part)
    if len(content) == 1 and isinstance(content[0], dict) and content[0].keys() == {"type", "text"}:
        return content[0]["text"]
    return content or ""


def _add_opaque(part: JsonObject, message: JsonObject) -> None:
    """Put reasoning into `reasoning_content`, and the editor's markers into `opaque_parts`: requests vary in them."""
    match part.get("value"):
        case {"type": "thinking", "thinking": {**thinking}} if "reasoning_content" not in message:
            text = thinking.get("text")
            parts = [part for part in text if isinstance(part, str)] if isinstance(text, list) else [text]
            if isinstance(text, str) or (isinstance(text, list) and len(parts) == len(text)):
                message["reasoning_content"] = "\n".join(part for part in parts if isinstance(part, str))
                if rest := {key: value for key, value in thinking.items() if key != "text"}:
                    message.setdefault("opaque_parts", []).append({"thinking": rest})
                return
        case _:
            pass
    opaque_parts = message.setdefault("opaque_parts", [])
    if isinstance(opaque_parts, list):
        opaque_parts.append(part)


def _call(call: Any) -> Any:
    match call:
        case {"id": str(call_id), "function": {"arguments": str(arguments)}}:
            function = {**call["function"], "arguments": compact_json(arguments)}
            return {**call, "id": plain_id(call_id), "function": function}
        case {"id": str(call_id)}:
            return {**call, "id": plain_id(call_id)}
        case _:
            return call


def compact_json(text: str) -> str:
    """Return JSON without insignificant whitespace; other text is returned unchanged."""
    try:
        return orjson.dumps(orjson.loads(text)).decode()
    except (orjson.JSONDecodeError, TypeError):
        return text
