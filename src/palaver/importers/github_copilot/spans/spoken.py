"""What was said, as attributes of spans hold it: JSON in a text, which the exporter cuts off when it is long."""

import json
import re
from collections import OrderedDict
from typing import Any

import orjson

from palaver.importers.github_copilot.replays.messages import compact, plain_id
from palaver.model.build import JsonObject
from palaver.sources.glimpse import glimpse

_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+("?)|[\[\]{}]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_CUT = re.compile(r"(?:\.\.\.\[truncated, original [0-9]+ chars\]|\[truncated\])$")


def listed(value: Any) -> tuple[list[Any], bool]:
    """The messages, parts or tools that an attribute holds, and whether some of it was cut off."""
    if isinstance(value, list):
        return value, False
    if not isinstance(value, str) or not value:
        return ([] if value is None or value == "" else [value]), False
    try:
        parsed: Any = orjson.loads(value)
    except orjson.JSONDecodeError:
        return _rest_of(value)
    return (parsed if isinstance(parsed, list) else [parsed]), False


def _rest_of(value: str) -> tuple[list[Any], bool]:
    """What stands before the cut, with the text that the cut is in; a text that is no JSON is all that was said."""
    cut = _CUT.search(value)
    if cut is None or not value.lstrip().startswith(("[", "{")):
        return [value], cut is not None
    whole = _closed(value[: cut.start()])
    if not isinstance(whole, list) or not whole:
        return [value], True
    return whole, True


def _closed(body: str) -> Any:
    """The value that a text begins with: a string that is cut ends there, and so does all around it."""
    closing: list[str] = []
    end = 0
    for token in _TOKENS.finditer(body):
        mark = token[0]
        if mark in _CLOSING:
            closing.append(_CLOSING[mark])
        elif mark in "]}":
            if closing:
                closing.pop()
        elif not token[1]:
            closing.append('"')
            end = token.end()
    text = body[:end] if closing and closing[-1] == '"' else body
    for shorter in (text, text[: max(text.rfind("\\"), 0)]):  # the cut may be in the middle of an escape
        try:
            return json.loads(shorter + "".join(reversed(closing)), strict=False)
        except (ValueError, RecursionError):
            continue
    return glimpse(body.encode("utf-8", "replace"))


def chat_messages(values: list[Any], *, role: str = "user") -> list[Any]:
    """Messages in OpenAI's format of a chat; a result that names no call is that of the oldest one without a result."""
    messages = [chat_message(value, role) for value in values]
    waiting: OrderedDict[str, None] = OrderedDict()
    for message in messages:
        match message:
            case {"tool_calls": [*calls]}:
                called = [call.get("id") for call in calls if isinstance(call, dict)]
                waiting |= dict.fromkeys(name for name in called if isinstance(name, str))
            case {"role": "tool", "tool_call_id": str(call_id)}:
                waiting.pop(call_id, None)
            case {"role": "tool"} if "tool_call_id" not in message and waiting:
                message["tool_call_id"] = waiting.popitem(last=False)[0]
            case _:
                pass
    return messages


def chat_message(value: Any, role: str) -> Any:
    match value:
        case str():
            return {"role": role, "content": value}
        case {"parts": list(parts), **rest}:
            stated = rest.pop("role", role)
            message: JsonObject = {**rest, "role": stated if isinstance(stated, str) and stated else role}
            if not isinstance(stated, str):
                message["stated_role"] = stated
            _take_parts(parts, message)
            return message
        case {"type": "text", "content": str(text), **rest} if not rest:
            return {"role": role, "content": text}
        case {"role": str()}:
            return dict(value)
        case _:
            return {"role": role, "content": [value]}


def _take_parts(parts: list[Any], message: JsonObject) -> None:
    content: list[Any] = []
    calls: list[Any] = []
    results: list[Any] = []
    for part in parts:
        match part:
            case {"type": "text", "content": str(text), **rest} if not rest:
                content.append({"type": "text", "text": text})
            case {"type": "tool_call", "name": str(name), "id": str(call_id), **rest} if call_id:
                calls.append(_call(call_id, name, rest))
            case {"type": "tool_call_response", "id": str(call_id), **rest} if call_id:
                results.append((plain_id(call_id), rest))
            case {"type": "reasoning", "content": str(text), **rest} if not rest and "reasoning_content" not in message:
                message["reasoning_content"] = text
            case _:
                content.append(part)
    if calls:
        message["tool_calls"] = calls
    if len(results) == 1 and not content and not calls and message["role"] == "tool":
        call_id, rest = results[0]
        message |= {"tool_call_id": call_id, "content": _result(rest)}
        return
    for call_id, rest in results:
        content.append({"type": "tool_result", "tool_use_id": call_id, "content": _result(rest)})
    is_text = len(content) == 1 and isinstance(content[0], dict) and content[0].keys() == {"type", "text"}
    message["content"] = content[0]["text"] if is_text else content or ""


def _call(call_id: str, name: str, rest: JsonObject) -> JsonObject:
    given = rest.get("arguments")
    call: JsonObject = {
        "id": plain_id(call_id),
        "type": "function",
        "function": {
            "name": name,
            "arguments": compact(given) if isinstance(given, str) else _dumped({} if given is None else given),
        },
    }
    more = {key: value for key, value in rest.items() if key not in {"type", "arguments"}}
    return {**call, **more} if more else call


def _result(rest: JsonObject) -> Any:
    """What a tool gave back: writers differ in the name of it."""
    held = next((rest[name] for name in ("content", "result", "response") if name in rest), "")
    return held if isinstance(held, str) else _dumped(held)


def _dumped(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # an integer past 64 bits, or half of a surrogate pair
        return json.dumps(value)
