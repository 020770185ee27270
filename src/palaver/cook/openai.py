"""Chat Completions as pieces: a message with calls is one piece, parts of an array are a piece each."""

from typing import Any

from palaver.cook.pieces import IMAGE, Pairing, Pieces, as_text, call, parsed_arguments, piece, result, tool
from palaver.model.build import JsonObject

_ROLES = {"developer": "system", "tool": "tool_result", "function": "tool_result"}


def system_pieces(_request: JsonObject) -> Pieces:
    """None: the system prompt is a message among the others."""
    return []


def message_pieces(message: Any, pairing: Pairing) -> Pieces:
    if not isinstance(message, dict):
        return [piece("user", as_text(message))]
    role = message.get("role")
    kind = _ROLES.get(role, role) if isinstance(role, str) else "user"
    content = message.get("content")
    if kind == "tool_result":
        name = message.get("name")
        answered = pairing.answered(message.get("tool_call_id"), name if isinstance(name, str) else None)
        return [result("\n".join(_parts(content)), answered)]
    made: Pieces = []
    for field in ("reasoning_content", "reasoning"):
        thought = message.get(field)
        if isinstance(thought, str) and thought:
            made.append(piece("thinking", thought))
            break
    calls = _calls(message, pairing)
    kind = kind if kind in {"system", "user", "assistant"} else "user"
    if isinstance(content, list):
        made += [piece(kind, text) for text in _parts(content)]
        text = ""
    else:
        text = content if isinstance(content, str) else "" if content is None else as_text(content)
        if not text and isinstance(message.get("refusal"), str):
            text = message["refusal"]
        if not calls:
            made.append(piece(kind, text))
    if calls:
        made.append(piece("tool_use", text, tool_calls=calls))
    return made or [piece(kind, "")]


def _calls(message: JsonObject, pairing: Pairing) -> list[JsonObject]:
    stated = message.get("tool_calls")
    made: list[JsonObject] = []
    for raw in stated if isinstance(stated, list) else ():
        if isinstance(raw, dict):
            function: Any = raw.get("function") or raw.get("custom") or {}
            name = function.get("name") if isinstance(function, dict) else None
            arguments = function.get("arguments", function.get("input")) if isinstance(function, dict) else None
            made.append(call(name, parsed_arguments(arguments), pairing.called(raw.get("id"), name)))
    match message.get("function_call"):
        case {"name": str(name), **rest}:
            made.append(call(name, parsed_arguments(rest.get("arguments")), pairing.called(None, name)))
        case _:
            pass
    return made


def _parts(content: Any) -> list[str]:
    if not isinstance(content, list):
        return [content if isinstance(content, str) else "" if content is None else as_text(content)]
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
            return as_text(part)


def request_tools(request: JsonObject) -> list[JsonObject]:
    made: list[JsonObject] = []
    stated = request.get("tools")
    for raw in stated if isinstance(stated, list) else ():
        match raw:
            case {"function": {"name": _, **_rest} as function}:
                made.append(tool(function["name"], function.get("description"), function.get("parameters")))
            case {"name": name, **rest}:  # flat, as the Responses API has them
                made.append(tool(name, rest.get("description"), rest.get("parameters")))
            case {"type": str(kind)}:  # a tool that the provider runs itself
                made.append(tool(kind, None, None))
            case _:
                made.append(tool(raw, None, None))
    legacy = request.get("functions")
    return made + [
        tool(raw.get("name"), raw.get("description"), raw.get("parameters"))
        for raw in (legacy if isinstance(legacy, list) else ())
        if isinstance(raw, dict)
    ]


def response_pieces(response: JsonObject, pairing: Pairing) -> Pieces:
    match response.get("choices"):
        case [{"message": dict() as message}, *_]:
            return message_pieces({"role": "assistant", **message}, pairing)
        case _:
            return []
