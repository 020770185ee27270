"""Chat Completions as pieces: one per message, or per part of an array; a message with calls is one piece."""

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

_ROLES = {"developer": "system", "tool": "tool_result", "function": "tool_result"}


def system_pieces(_request: JsonObject) -> Pieces:
    """Return no pieces: the system prompt is one of the messages."""
    return []


def message_pieces(message: Any, pairing: CallPairing) -> Pieces:
    if not isinstance(message, dict):
        return [piece("user", json_text(message))]
    role = message.get("role")
    kind = _ROLES.get(role, role) if isinstance(role, str) else "user"
    content = message.get("content")
    if kind == "tool_result":
        name = message.get("name")
        call_id = pairing.register_result(message.get("tool_call_id"), name if isinstance(name, str) else None)
        return [tool_result("\n".join(_parts(content)), call_id)]
    pieces: Pieces = []
    for field in ("reasoning_content", "reasoning"):
        thought = message.get(field)
        if isinstance(thought, str) and thought:
            pieces.append(piece("thinking", thought))
            break
    calls = _calls(message, pairing)
    kind = kind if kind in {"system", "user", "assistant"} else "user"
    if isinstance(content, list):
        pieces += [piece(kind, text) for text in _parts(content)]
        text = ""
    else:
        text = content if isinstance(content, str) else "" if content is None else json_text(content)
        if not text and isinstance(message.get("refusal"), str):
            text = message["refusal"]
        if not calls:
            pieces.append(piece(kind, text))
    if calls:
        pieces.append(piece("tool_use", text, tool_calls=calls))
    return pieces or [piece(kind, "")]


def _calls(message: JsonObject, pairing: CallPairing) -> list[JsonObject]:
    stated = message.get("tool_calls")
    calls: list[JsonObject] = []
    for raw in stated if isinstance(stated, list) else ():
        if isinstance(raw, dict):
            function: Any = raw.get("function") or raw.get("custom") or {}
            name = function.get("name") if isinstance(function, dict) else None
            arguments = function.get("arguments", function.get("input")) if isinstance(function, dict) else None
            calls.append(tool_call(name, parse_arguments(arguments), pairing.register_call(raw.get("id"), name)))
    match message.get("function_call"):
        case {"name": str(name), **rest}:
            calls.append(tool_call(name, parse_arguments(rest.get("arguments")), pairing.register_call(None, name)))
        case _:
            pass
    return calls


def _parts(content: Any) -> list[str]:
    if not isinstance(content, list):
        return [content if isinstance(content, str) else "" if content is None else json_text(content)]
    return [_part(part) for part in content]


def _part(part: Any) -> str:
    match part:
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return text
        case {"type": "refusal", "refusal": str(text)}:
            return text
        case {"type": "image_url" | "image" | "input_image"}:
            return IMAGE
        case str():
            return part
        case _:
            return json_text(part)


def request_tools(request: JsonObject) -> list[JsonObject]:
    tools: list[JsonObject] = []
    stated = request.get("tools")
    for raw in stated if isinstance(stated, list) else ():
        match raw:
            case {"function": {"name": _, **_rest} as function}:
                tools.append(tool_definition(function["name"], function.get("description"), function.get("parameters")))
            case {"name": name, **rest}:  # flat, as in the Responses API
                tools.append(tool_definition(name, rest.get("description"), rest.get("parameters")))
            case {"type": str(kind)}:  # a tool that the provider runs
                tools.append(tool_definition(kind, None, None))
            case _:
                tools.append(tool_definition(raw, None, None))
    legacy = request.get("functions")
    return tools + [
        tool_definition(raw.get("name"), raw.get("description"), raw.get("parameters"))
        for raw in (legacy if isinstance(legacy, list) else ())
        if isinstance(raw, dict)
    ]


def response_pieces(response: JsonObject, pairing: CallPairing) -> Pieces:
    match response.get("choices"):
        case [{"message": dict() as message}, *_]:
            return message_pieces({"role": "assistant", **message}, pairing)
        case _:
            return []
