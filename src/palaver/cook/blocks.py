"""Content blocks as pieces: one per text, thought, picture and result, then one for all calls of the message."""

from typing import Any, NamedTuple

from palaver.cook.labels import REDACTED, label, raw_text
from palaver.cook.pieces import Pieces, json_text, piece, tool_call, tool_result
from palaver.cook.server_tools import ToolUse, server_tool_use
from palaver.model.build import JsonObject

UNKNOWN_CALL = "\0unknown"
"""Stands for the id of the call that a result answers, if there is no such call."""
_PROMPT_ROLES = ("system", "developer")


class Style(NamedTuple):
    """How the blocks of a message become pieces."""

    keeps_order: bool = False
    """Whether calls stay where they stood among the texts, instead of coming last."""
    joins_text: bool = False
    """Whether the only text of a message goes into the piece of its calls, as in Chat Completions."""


def message_pieces(message: JsonObject, style: Style) -> Pieces:
    """Return the pieces of a message in a request; an empty message is an empty piece."""
    role = _role(message)
    return block_pieces(role, message["content"], style) or [piece(role)]


def block_pieces(role: str, content: list[JsonObject], style: Style) -> Pieces:
    """Return the pieces of one message's blocks."""
    pieces: Pieces = []
    calls: list[JsonObject] = []
    latest_call_id = ""
    text = _text_beside_calls(content) if style.joins_text else None
    for block in content:
        if block is text:
            continue
        use = _tool_use(block, latest_call_id) or ToolUse(result=_piece(block, role))
        if use.call is not None:
            calls.append(use.call)
            latest_call_id = use.call["id"]
        made = use.result
        if made is None and not use.is_by_provider:
            continue
        if calls and (made is None or style.keeps_order or _answers_one_of(made, calls)):
            pieces.append(piece("tool_use", tool_calls=calls))
            calls = []
        if made is not None:
            pieces.append(made)
    if calls:
        pieces.append(piece("tool_use", text["text"] if text else "", tool_calls=calls))
    elif style.joins_text and all(made["role"] == "thinking" for made in pieces):
        pieces.append(piece(role))
    return pieces


def block_text(block: JsonObject) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image", "source": dict(source)}:
            return label("image", source)
        case {"type": "code", "code": str(code)}:
            fence = "`" * max(3, _longest_run(code) + 1)
            return f"{fence}{block.get('language') or ''}\n{code}\n{fence}"
        case {"type": "file"}:
            return _file_text(block)
        case {"type": "opaque", "raw": raw}:
            return raw_text(raw)
        case _:
            return json_text(block)


def _role(message: JsonObject) -> str:
    """Return the role of a piece; a format notes that a message in the middle of a conversation is a system message."""
    if _note(message, "role") in _PROMPT_ROLES:
        return "system"
    return "assistant" if message["role"] == "assistant" else "user"


def _text_beside_calls(content: list[JsonObject]) -> JsonObject | None:
    """Return the text of a message that consists of one text and calls, apart from its thinking."""
    texts = [block for block in content if block["type"] not in {"thinking", "tool_use"}]
    has_calls = any(block["type"] == "tool_use" for block in content)
    return texts[0] if has_calls and len(texts) == 1 and texts[0]["type"] == "text" else None


def _tool_use(block: JsonObject, latest_call_id: str) -> ToolUse | None:
    match block:
        case {"type": "tool_use"}:
            return ToolUse(tool_call(block["name"], _arguments(block), block["id"]))
        case {"type": "tool_result", "tool_use_id": call_id}:
            use = ToolUse(result=tool_result(_result_text(block["content"]), call_id, is_error=block["is_error"]))
        case {"type": "opaque", "raw": raw}:
            use = server_tool_use(raw, latest_call_id)
        case _:
            return None
    if use is not None and use.result is not None and use.result["tool_use_id"] == UNKNOWN_CALL:
        use.result["tool_use_id"] = None
    return use


def _arguments(block: JsonObject) -> JsonObject:
    """Return the arguments of a call; those of one that Gemini did not finish are only the part that came."""
    match _note(block, "functionCall"):
        case {"willContinue": True}:
            return {"raw": json_text(block["input"])}
        case _:
            return block["input"]


def _answers_one_of(made: JsonObject, calls: list[JsonObject]) -> bool:
    return any(made["tool_use_id"] == call["id"] for call in calls)


def _piece(block: JsonObject, role: str) -> JsonObject | None:
    """Return the piece of a block that is neither a call nor a result; None for a thought that was withheld."""
    match block:
        case {"type": "thinking", "thinking": str(thought)}:
            thought = thought or (REDACTED if block.get("redacted_data") else "")
            return piece("thinking", thought) if thought else None
        case _:
            return piece(role if role in {"user", "assistant", "system"} else "user", block_text(block))


def _result_text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(map(block_text, content))


def _file_text(block: JsonObject) -> str:
    source = block.get("source") or {}
    text = block.get("text")
    if str(source.get("media_type") or block.get("media_type")).startswith("audio/") or _note(block, "type") == "audio":
        name = label("audio", source)
        return f"{name} {text}" if text else name
    if text:
        return text
    return f"[file: {block['name']}]" if block.get("name") else label("file", source)


def _note(holder: JsonObject, name: str) -> Any:
    """Return what the notes of any format hold under a name."""
    notes = (holder.get("provider_data") or {}).values()
    return next((held[name] for held in notes if isinstance(held, dict) and name in held), None)


def _longest_run(code: str) -> int:
    return max((len(run) for run in code.split("\n") if set(run) == {"`"}), default=0)
