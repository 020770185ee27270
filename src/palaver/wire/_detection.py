"""Detection of the wire formats of a call, from the shape of its request and that of its response."""

from typing import Any, Literal, get_args

from palaver.model.build import JsonObject

Format = Literal["openai", "claude", "gemini", "responses"]

FORMATS: tuple[Format, ...] = get_args(Format)
WIRE_FORMAT_NAMES: dict[Format, str] = {
    "openai": "openai-chat",
    "claude": "anthropic",
    "gemini": "gemini",
    "responses": "openai-responses",
}
"""The name that `wire_format` has for each format."""
_CLAUDE_BLOCKS = {"tool_use", "tool_result", "thinking"}
_CLAUDE_ONLY_BLOCKS = {"document", "image", "redacted_thinking", "server_tool_use", "mcp_tool_use", "search_result"}
"""Blocks that the specification does not name, and that OpenAI does not have either."""
_OPENAI_ROLES = ("system", "developer", "tool", "function")


def request_format(request: JsonObject) -> Format | None:
    """Return the format that a request shows, or None if it could be one of several.

    Gemini has `contents`, Responses has `input`. Claude has a `system` of its own, tools with `input_schema`, and its
    own blocks; OpenAI has roles for the system prompt and for results, calls beside the content, and nested functions.
    """
    if "contents" in request:
        return "gemini"
    if "input" in request and "messages" not in request:
        return "responses"
    system = request.get("system")
    if isinstance(system, list) or _has_first_tool(request, "input_schema"):
        return "claude"
    is_openai = "functions" in request or _has_first_tool(request, "function")
    is_claude = isinstance(system, str) and "messages" in request
    messages = request.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict):
            if isinstance(content := message.get("content"), list):
                kinds = set(map(_block_type, content))
                if not kinds.isdisjoint(_CLAUDE_BLOCKS):
                    return "claude"
                is_claude = is_claude or not kinds.isdisjoint(_CLAUDE_ONLY_BLOCKS)
            is_openai = is_openai or "tool_calls" in message or message.get("role") in _OPENAI_ROLES
    if is_openai:
        return "openai"
    return "claude" if is_claude else None


def response_format(response: JsonObject) -> Format | None:
    """Return the format that a response shows, or None if it could be one of several."""
    if "candidates" in response:
        return "gemini"
    if isinstance(response.get("output"), list):
        return "responses"
    if "choices" in response:
        return "openai"
    return "claude" if isinstance(response.get("content"), list) else None


def _has_first_tool(request: JsonObject, field: str) -> bool:
    match request.get("tools"):
        case [dict() as tool, *_]:
            return field in tool
        case _:
            return False


def _block_type(block: Any) -> str:
    return kind if isinstance(block, dict) and isinstance(kind := block.get("type"), str) else ""
