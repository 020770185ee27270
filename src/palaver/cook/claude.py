"""Anthropic Messages as pieces: one per text, thought and result, then one for all calls of the message."""

from typing import Any

from palaver.cook.pieces import (
    IMAGE,
    CallPairing,
    Pieces,
    json_text,
    parse_arguments,
    piece,
    tool_call,
    tool_definition,
    tool_result,
)
from palaver.model.build import JsonObject

_SERVER_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}


def system_pieces(request: JsonObject) -> Pieces:
    system = request.get("system")
    if isinstance(system, str):
        return [piece("system", system)]
    return [piece("system", _block_text(block)) for block in system] if isinstance(system, list) else []


def message_pieces(message: Any, pairing: CallPairing) -> Pieces:
    if not isinstance(message, dict):
        return [piece("user", json_text(message))]
    role = message.get("role")
    role = role if role in {"user", "assistant", "system"} else "user"
    content = message.get("content")
    if not isinstance(content, list):
        return [piece(role, content if isinstance(content, str) else "" if content is None else json_text(content))]
    pieces: Pieces = []
    calls: list[JsonObject] = []
    for block in content:
        match block:
            case {"type": "thinking", "thinking": str(thought)}:
                if thought:  # withheld thoughts have a signature only
                    pieces.append(piece("thinking", thought))
            case {"type": "redacted_thinking"}:
                pass  # only the provider can read it
            case {"type": str(kind)} if kind in _SERVER_CALLS:
                name = block.get("name")
                arguments = parse_arguments(block.get("input"))
                calls.append(tool_call(name, arguments, pairing.register_call(block.get("id"), name)))
            case {"type": str(kind)} if kind.endswith("tool_result"):
                call_id = pairing.register_result(block.get("tool_use_id"))
                pieces.append(tool_result(_result_text(block.get("content")), call_id, is_error=block.get("is_error")))
            case _:
                pieces.append(piece(role, _block_text(block)))
    if calls:
        pieces.append(piece("tool_use", tool_calls=calls))
    return pieces


def _block_text(block: Any) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image"}:
            return IMAGE
        case str():
            return block
        case _:
            return json_text(block)


def _result_text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(map(_block_text, content))
    return content if isinstance(content, str) else "" if content is None else json_text(content)


def request_tools(request: JsonObject) -> list[JsonObject]:
    stated = request.get("tools")
    return [
        tool_definition(raw.get("name", raw.get("type")), raw.get("description"), raw.get("input_schema"))
        for raw in (stated if isinstance(stated, list) else ())
        if isinstance(raw, dict)
    ]


def response_pieces(response: JsonObject, pairing: CallPairing) -> Pieces:
    if not isinstance(response.get("content"), list | str):
        return []
    return message_pieces({**response, "role": "assistant"}, pairing)
