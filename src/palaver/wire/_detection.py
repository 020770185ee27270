"""Detection of the wire format of a call, from the shape of its request and response."""

from collections.abc import Iterator
from typing import Any, Literal, get_args

import orjson

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
_CLAUDE_EVENTS = {
    *("message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"),
}
_CLAUDE_BLOCKS = {"tool_use", "tool_result", "thinking"}


def detect_format(record: JsonObject) -> Format:
    """Return the format of a call: Gemini has `contents`, Responses has items, Claude has its own events and blocks.

    Everything else is OpenAI Chat.
    """
    request: Any = record.get("request")
    response: Any = record.get("response")
    request = request if isinstance(request, dict) else {}
    response = response if isinstance(response, dict) else {}
    if "contents" in request or "candidates" in response:
        return "gemini"
    if ("input" in request and "messages" not in request) or isinstance(response.get("output"), list):
        return "responses"
    events = set(_event_types(response))
    if any(kind.startswith("response.") for kind in events):
        return "responses"
    if (
        not events.isdisjoint(_CLAUDE_EVENTS)
        or isinstance(request.get("system"), list)
        or _first_tool_has_input_schema(request)
        or not _CLAUDE_BLOCKS.isdisjoint(_block_types(request))
        or isinstance(response.get("content"), list)
    ):
        return "claude"
    return "openai"


def _event_types(response: JsonObject) -> Iterator[str]:
    lines = response.get("sse_lines")
    for line in lines if isinstance(lines, list) else ():
        if isinstance(line, str) and line.startswith("data:"):
            try:
                data = orjson.loads(line[5:])
            except orjson.JSONDecodeError:
                continue  # `[DONE]`, or damage that the assembler reports
            if isinstance(data, dict) and isinstance(data.get("type"), str):
                yield data["type"]


def _first_tool_has_input_schema(request: JsonObject) -> bool:
    match request.get("tools"):
        case [{"input_schema": _}, *_]:
            return True
        case _:
            return False


def _block_types(request: JsonObject) -> Iterator[str]:
    messages = request.get("messages")
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and isinstance(block.get("type"), str):
                yield block["type"]
