"""Exchanges as pieces: the way of all formats that are read into the superset first."""

from typing import Any

from palaver.cook.pieces import IMAGE, Pieces, as_text, call, piece, result, tool
from palaver.model.build import JsonObject


def request_pieces(request: JsonObject) -> Pieces:
    made = [piece("system", _words(block)) for block in request.get("system") or ()]
    for message in request["messages"]:
        made += block_pieces(message["role"], message["content"])
    return made


def response_pieces(response: JsonObject) -> Pieces:
    return block_pieces("assistant", response["content"])


def block_pieces(role: str, content: list[JsonObject]) -> Pieces:
    """What the blocks of one message become; calls go into one piece behind the others."""
    made: Pieces = []
    calls: list[JsonObject] = []
    speaker = role if role in {"user", "assistant", "system"} else "user"
    for block in content:
        match block["type"]:
            case "thinking":
                if block["thinking"]:
                    made.append(piece("thinking", block["thinking"]))
            case "tool_use":
                calls.append(call(block["name"], block["input"], block["id"]))
            case "tool_result":
                made.append(result(_result(block["content"]), block["tool_use_id"], is_error=block["is_error"]))
            case _:
                made.append(piece(speaker, _words(block)))
    if calls:
        made.append(piece("tool_use", tool_calls=calls))
    return made


def _words(block: JsonObject) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image"}:
            return IMAGE
        case {"type": "code", "code": str(code)}:
            fence = "`" * max(3, _longest_run(code) + 1)
            return f"{fence}{block.get('language') or ''}\n{code}\n{fence}"
        case {"type": "file"}:
            return (
                block.get("text") or f"[file: {block['name']}]" if block.get("name") else block.get("text") or "[file]"
            )
        case {"type": "opaque", "raw": raw}:
            return as_text(raw)
        case _:
            return as_text(block)


def _longest_run(code: str) -> int:
    return max((len(run) for run in code.split("\n") if set(run) == {"`"}), default=0)


def _result(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(map(_words, content))


def request_tools(request: JsonObject) -> list[JsonObject]:
    return [
        tool(stated["name"], stated.get("description"), stated.get("parameters"))
        for stated in request.get("tools") or ()
    ]
