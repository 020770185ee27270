"""Anthropic Messages as pieces: each text, thought and result is one; a message's calls are one behind the others."""

from typing import Any

from palaver.cook.pieces import IMAGE, Pairing, Pieces, as_text, call, parsed_arguments, piece, result, tool
from palaver.model.build import JsonObject

_SERVER_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}


def system_pieces(request: JsonObject) -> Pieces:
    system = request.get("system")
    if isinstance(system, str):
        return [piece("system", system)]
    return [piece("system", _words(block)) for block in system] if isinstance(system, list) else []


def message_pieces(message: Any, pairing: Pairing) -> Pieces:
    if not isinstance(message, dict):
        return [piece("user", as_text(message))]
    role = message.get("role")
    role = role if role in {"user", "assistant", "system"} else "user"
    content = message.get("content")
    if not isinstance(content, list):
        return [piece(role, content if isinstance(content, str) else "" if content is None else as_text(content))]
    made: Pieces = []
    calls: list[JsonObject] = []
    for block in content:
        match block:
            case {"type": "thinking", "thinking": str(thought)}:
                if thought:  # withheld thoughts have a signature only
                    made.append(piece("thinking", thought))
            case {"type": "redacted_thinking"}:
                pass  # only the provider can read it
            case {"type": str(kind)} if kind in _SERVER_CALLS:
                name = block.get("name")
                arguments = parsed_arguments(block.get("input"))
                calls.append(call(name, arguments, pairing.called(block.get("id"), name)))
            case {"type": str(kind)} if kind.endswith("tool_result"):
                answered = pairing.answered(block.get("tool_use_id"))
                made.append(result(_result(block.get("content")), answered, is_error=block.get("is_error")))
            case _:
                made.append(piece(role, _words(block)))
    if calls:
        made.append(piece("tool_use", tool_calls=calls))
    return made


def _words(block: Any) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image"}:
            return IMAGE
        case str():
            return block
        case _:
            return as_text(block)


def _result(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(map(_words, content))
    return content if isinstance(content, str) else "" if content is None else as_text(content)


def request_tools(request: JsonObject) -> list[JsonObject]:
    stated = request.get("tools")
    return [
        tool(raw.get("name", raw.get("type")), raw.get("description"), raw.get("input_schema"))
        for raw in (stated if isinstance(stated, list) else ())
        if isinstance(raw, dict)
    ]


def response_pieces(response: JsonObject, pairing: Pairing) -> Pieces:
    if not isinstance(response.get("content"), list | str):
        return []
    return message_pieces({**response, "role": "assistant"}, pairing)
