"""Messages in attributes of spans: JSON in a string, which the exporter truncates when it is long."""

import json
import re
from collections import OrderedDict
from typing import Any

import orjson

from palaver.importers.github_copilot.replays.chat_messages import compact_json, plain_id
from palaver.model.build import JsonObject
from palaver.sources.source_head import parse_head

_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+("?)|[\[\]{}]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_CUT = re.compile(r"(?:\.\.\.\[truncated, original [0-9]+ chars\]|\[truncated\])$")


def attribute_values(value: Any) -> tuple[list[Any], bool]:
    """Return the messages, parts or tools in an attribute, and whether it was truncated."""
    if isinstance(value, list):
        return value, False
    if not isinstance(value, str) or not value:
        return ([] if value is None or value == "" else [value]), False
    try:
        parsed: Any = orjson.loads(value)
    except orjson.JSONDecodeError:
        return _values_before_cut(value)
    return (parsed if isinstance(parsed, list) else [parsed]), False


def _values_before_cut(value: str) -> tuple[list[Any], bool]:
    """Return the values before the cut, the cut text included, and whether there is a cut; plain text is one value."""
    cut = _CUT.search(value)
    if cut is None or not value.lstrip().startswith(("[", "{")):
        return [value], cut is not None
    whole = _parse_truncated(value[: cut.start()])
    if not isinstance(whole, list) or not whole:
        return [value], True
    return whole, True


def _parse_truncated(body: str) -> Any:
    """Parse truncated JSON by closing the cut string and everything around it."""
    closing: list[str] = []
    end = 0
    for token in _TOKENS.finditer(body):
        bracket = token[0]
        if bracket in _CLOSING:
            closing.append(_CLOSING[bracket])
        elif bracket in "]}":
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
    return parse_head(body.encode("utf-8", "replace"))


def chat_messages(values: list[Any], *, role: str = "user") -> list[Any]:
    """Return messages in OpenAI's chat format; a result without an id is assigned to the oldest open call."""
    messages = [chat_message(value, role) for value in values]
    open_calls: OrderedDict[str, None] = OrderedDict()
    for message in messages:
        match message:
            case {"tool_calls": [*calls]}:
                called = [call.get("id") for call in calls if isinstance(call, dict)]
                open_calls |= dict.fromkeys(name for name in called if isinstance(name, str))
            case {"role": "tool", "tool_call_id": str(call_id)}:
                open_calls.pop(call_id, None)
            case {"role": "tool"} if "tool_call_id" not in message and open_calls:
                message["tool_call_id"] = open_calls.popitem(last=False)[0]
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
            _add_parts(parts, message)
            return message
        case {"type": "text", "content": str(text), **rest} if not rest:
            return {"role": role, "content": text}
        case {"role": str()}:
            return dict(value)
        case _:
            return {"role": role, "content": [value]}


def _add_parts(parts: list[Any], message: JsonObject) -> None:
    content: list[Any] = []
    calls: list[Any] = []
    results: list[Any] = []
    for part in parts:
        match part:
            case {"type": "text", "content": str(text), **rest} if not rest:
                content.append({"type": "text", "text": text})
            case {"type": "tool_call", "name": str(name), "id": str(call_id), **rest} if call_id:
                calls.append(_tool_call(call_id, name, rest))
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
        message |= {"tool_call_id": call_id, "content": _result_text(rest)}
        return
    for call_id, rest in results:
        content.append({"type": "tool_result", "tool_use_id": call_id, "content": _result_text(rest)})
    is_text = len(content) == 1 and isinstance(content[0], dict) and content[0].keys() == {"type", "text"}
    message["content"] = content[0]["text"] if is_text else content or ""


def _tool_call(call_id: str, name: str, rest: JsonObject) -> JsonObject:
    given = rest.get("arguments")
    call: JsonObject = {
        "id": plain_id(call_id),
        "type": "function",
        "function": {
            "name": name,
            "arguments": compact_json(given) if isinstance(given, str) else _dump_json({} if given is None else given),
        },
    }
    more = {key: value for key, value in rest.items() if key not in {"type", "arguments"}}
    return {**call, **more} if more else call


def _result_text(rest: JsonObject) -> Any:
    """Return the result of a tool, whose field name differs between writers."""
    held = next((rest[name] for name in ("content", "result", "response") if name in rest), "")
    return held if isinstance(held, str) else _dump_json(held)


def _dump_json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # an integer past 64 bits, or half of a surrogate pair
        return json.dumps(value)
