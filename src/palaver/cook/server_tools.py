"""Calls and results that an exchange has no block for: of tools that providers run, and of shells and computers.

Anthropic writes the call and the result as two blocks, Gemini the code and its result as two parts. Responses has one
item for both if the provider runs the tool; then the call stays in its place, since it came before what follows.
"""

import hashlib
from typing import Any, NamedTuple

from palaver.cook.labels import label, raw_result_text
from palaver.cook.pieces import json_text, parse_arguments, tool_call, tool_result
from palaver.model.build import JsonObject

_ANTHROPIC_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
_ITEM_FIELDS = {"type", "id", "call_id", "status", "name", "server_label", "approval_request_id", "created_by"}
_RESULT_FIELDS = ("output", "outputs", "results", "result")
_ARGUMENT_FIELDS = ("action", "operation")
_GEMINI_CODE = ("executableCode", "executable_code")
_GEMINI_RESULT = ("codeExecutionResult", "code_execution_result")
_GEMINI_SUCCESS = (None, "OUTCOME_OK", "OUTCOME_UNSPECIFIED")


class ToolUse(NamedTuple):
    """A call, a result, or both."""

    call: JsonObject | None = None
    result: JsonObject | None = None
    """The piece of the result."""
    is_by_provider: bool = False
    """Whether the provider ran the tool before it went on to answer, and wrote both in one item."""


def server_tool_use(raw: Any, latest_call_id: str) -> ToolUse | None:
    """Return the call and the result in raw content, or None; Gemini's result answers the latest call."""
    match raw:
        case {"type": str(kind), "id": str(call_id)} if kind in _ANTHROPIC_CALLS:
            return ToolUse(tool_call(raw.get("name"), parse_arguments(raw.get("input")), call_id))
        case {"type": str(kind), "tool_use_id": str(call_id), **rest} if kind.endswith("tool_result"):
            content = rest.get("content")
            is_error = rest.get("is_error") or _is_error(content)
            return ToolUse(result=tool_result(raw_result_text(content), call_id, is_error=is_error))
        case {"type": str(kind), "call_id": str(call_id)} | {"type": str(kind), "id": str(call_id)}:
            return _item_tool_use(raw, kind, call_id)
        case dict():
            return _gemini_tool_use(raw, latest_call_id)
        case _:
            return None


def _is_error(content: Any) -> bool:
    """Return whether a server tool's result is an error, which only its type states."""
    return isinstance(content, dict) and str(content.get("type")).endswith("_error")


def _item_tool_use(item: JsonObject, kind: str, call_id: str) -> ToolUse | None:
    has_failed = item.get("status") == "failed"
    if kind.endswith("_call_output"):
        return ToolUse(result=tool_result(raw_result_text(item.get("output")), call_id, is_error=has_failed))
    if not kind.endswith("_call"):
        return None
    name = item.get("name") or kind.removesuffix("_call")
    call = tool_call(name, _item_arguments(item), call_id)
    texts = [text for text in (_output_text(item, kind), _error_text(item)) if text is not None]
    if not texts and has_failed:
        texts = ["failed"]
    is_error = has_failed or bool(item.get("error"))
    result = tool_result("\n".join(texts), call_id, is_error=is_error) if texts else None
    return ToolUse(call, result, is_by_provider="call_id" not in item)


def _item_arguments(item: JsonObject) -> JsonObject:
    if "arguments" in item:
        return parse_arguments(item["arguments"])
    for name in _ARGUMENT_FIELDS:
        if isinstance(stated := item.get(name), dict):
            return stated
    return {
        name: value
        for name, value in item.items()
        if name not in _ITEM_FIELDS and name not in _RESULT_FIELDS and name != "error"
    }


def _output_text(item: JsonObject, kind: str) -> str | None:
    stated = next((item[name] for name in _RESULT_FIELDS if item.get(name) is not None), None)
    if kind == "image_generation_call" and isinstance(stated, str):
        return label("image", {"type": "base64", "data": stated})
    return None if stated is None else raw_result_text(stated)


def _error_text(item: JsonObject) -> str | None:
    match item.get("error"):
        case str(error) | {"message": str(error)} if error:
            return error
        case error:
            return json_text(error) if error else None


def _gemini_tool_use(part: JsonObject, latest_call_id: str) -> ToolUse | None:
    code = next((part[name] for name in _GEMINI_CODE if isinstance(part.get(name), dict)), None)
    if code is not None:
        digest = hashlib.sha256(json_text(code).encode(errors="replace")).hexdigest()[:16]
        arguments = {name: value for name, value in code.items() if name != "id"}
        return ToolUse(tool_call("code_execution", arguments, code.get("id") or f"code_{digest}"))
    result = next((part[name] for name in _GEMINI_RESULT if isinstance(part.get(name), dict)), None)
    if result is None:
        return None
    is_error = result.get("outcome") not in _GEMINI_SUCCESS
    call_id = result.get("id") or latest_call_id or None
    return ToolUse(result=tool_result(raw_result_text(result.get("output")), call_id, is_error=is_error))
