"""Messages as the editor holds them, with numbers for roles and for kinds of parts, in OpenAI's format of a chat."""

import re
from typing import Any

import orjson

from palaver.model.build import JsonObject

_ROLES = {0: "system", 1: "user", 2: "assistant", 3: "tool"}
_IMAGE, _TEXT, _OPAQUE, _CACHE = range(4)
_SUFFIX = re.compile(r"__vscode-[0-9]+$")


def plain_id(call_id: str) -> str:
    """The id of a tool call as the model gave it: the editor adds a number to it."""
    return _SUFFIX.sub("", call_id) if "__vscode-" in call_id else call_id


def chat_message(raw: Any) -> Any:
    """The same message; what is none stays as it is."""
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
    """What a message says, without pictures and calls."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _content(parts: list[Any], message: JsonObject) -> Any:
    """A text, or a list of parts; marks for the cache say nothing, and what the editor hides stands beside it."""
    told: list[Any] = []
    for part in parts:
        match part:
            case {"type": 1, "text": str(text)}:
                told.append({"type": "text", "text": text})
            case {"type": 0, "imageUrl": dict(image)}:
                told.append({"type": "image_url", "image_url": image})
            case {"type": 2}:
                _take_opaque(part, message)
            case {"type": 3, **rest} if rest.keys() <= {"cacheType"}:
                pass
            case _:
                told.append(part)
    if len(told) == 1 and isinstance(told[0], dict) and told[0].keys() == {"type", "text"}:
        return told[0]["text"]
    return told or ""


def _take_opaque(part: JsonObject, message: JsonObject) -> None:
    """Reasoning has a place; markers of the editor are kept beside the message, as they come and go."""
    match part.get("value"):
        case {"type": "thinking", "thinking": {**thought}} if "reasoning_content" not in message:
            text = thought.get("text")
            words = [one for one in text if isinstance(one, str)] if isinstance(text, list) else [text]
            if isinstance(text, str) or (isinstance(text, list) and len(words) == len(text)):
                message["reasoning_content"] = "\n".join(word for word in words if isinstance(word, str))
                if rest := {key: value for key, value in thought.items() if key != "text"}:
                    message.setdefault("opaque_parts", []).append({"thinking": rest})
                return
        case _:
            pass
    kept = message.setdefault("opaque_parts", [])
    if isinstance(kept, list):
        kept.append(part)


def _call(call: Any) -> Any:
    match call:
        case {"id": str(call_id), "function": {"arguments": str(given)}}:
            return {**call, "id": plain_id(call_id), "function": {**call["function"], "arguments": compact(given)}}
        case {"id": str(call_id)}:
            return {**call, "id": plain_id(call_id)}
        case _:
            return call


def compact(given: str) -> str:
    """Arguments without the blanks that say nothing; what is no JSON stays as it is."""
    try:
        return orjson.dumps(orjson.loads(given)).decode()
    except (orjson.JSONDecodeError, TypeError):
        return given
