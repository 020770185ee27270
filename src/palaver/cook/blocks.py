"""Content blocks as pieces: one per text, thought, picture and result, then one for all calls of the message.

What a piece of text cannot hold gets a label. A picture, a recording or a file is named by its address or its id; one
that was sent as bytes by their hash, so that two different ones stay two messages (`[image: sha256:0123456789abcdef]`).
A file with a name has that name. `[image]`, `[audio]` and `[file]` stand for bytes that the trace itself left out.
"""

import binascii
import hashlib
from typing import Any, NamedTuple

from palaver.cook.pieces import Pieces, json_text, parse_arguments, piece, tool_call, tool_result
from palaver.model.build import JsonObject

REDACTED = "[redacted]"
UNKNOWN_CALL = "\0unknown"
"""Stands for the id of the call that a result answers, if there is no such call."""
_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
_PROMPT_ROLES = ("system", "developer")
_MEDIA_KINDS = {
    **dict.fromkeys(("image", "image_url", "input_image", "output_image"), "image"),
    **dict.fromkeys(("audio", "input_audio", "output_audio"), "audio"),
    **dict.fromkeys(("document", "file", "input_file"), "file"),
}
"""The labels for content that no format describes in full, by its type."""
_BYTE_FIELDS = ("data", "file_data")
_SOURCE_FIELDS = ("url", "image_url", "file_url", "file_id", *_BYTE_FIELDS, "source", "file", "input_audio")
"""Fields in which such content holds its address, its id, its bytes, or an object with one of them."""


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
    text = _text_beside_calls(content) if style.joins_text else None
    for block in content:
        if block is text:
            continue
        if (call := _call(block)) is not None:
            calls.append(call)
            continue
        made = _piece(block, role)
        if made is None:
            continue
        if calls and (style.keeps_order or _answers_one_of(made, calls)):
            pieces.append(piece("tool_use", tool_calls=calls))
            calls = []
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
            return _label("image", source)
        case {"type": "code", "code": str(code)}:
            fence = "`" * max(3, _longest_run(code) + 1)
            return f"{fence}{block.get('language') or ''}\n{code}\n{fence}"
        case {"type": "file"}:
            return _file_text(block)
        case {"type": "opaque", "raw": raw}:
            return _raw_text(raw)
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


def _call(block: JsonObject) -> JsonObject | None:
    match block:
        case {"type": "tool_use"}:
            return tool_call(block["name"], block["input"], block["id"])
        case {"type": "opaque", "raw": {"type": str(kind), "id": str(call_id)} as raw} if kind in _SERVER_CALLS:
            return tool_call(raw.get("name"), parse_arguments(raw.get("input")), call_id)
        case _:
            return None


def _answers_one_of(made: JsonObject, calls: list[JsonObject]) -> bool:
    return any(made["tool_use_id"] == call["id"] for call in calls)


def _piece(block: JsonObject, role: str) -> JsonObject | None:
    """Return the piece of a block that is not a call; None for a thought that the provider withheld."""
    match block:
        case {"type": "thinking", "thinking": str(thought)}:
            thought = thought or (REDACTED if block.get("redacted_data") else "")
            return piece("thinking", thought) if thought else None
        case {"type": "tool_result"}:
            return _result(_result_text(block["content"]), block["tool_use_id"], is_error=block["is_error"])
        case {"type": "opaque", "raw": {"type": str(kind), "tool_use_id": str(call_id)} as raw} if kind.endswith(
            "tool_result"
        ):
            content = raw.get("content")
            return _result(_raw_result_text(content), call_id, is_error=raw.get("is_error") or _is_error(content))
        case _:
            return piece(role if role in {"user", "assistant", "system"} else "user", block_text(block))


def _result(text: str, call_id: str, *, is_error: Any) -> JsonObject:
    return tool_result(text, None if call_id == UNKNOWN_CALL else call_id, is_error=is_error)


def _is_error(content: Any) -> bool:
    """Return whether a server tool's result is an error, which only its type states."""
    return isinstance(content, dict) and str(content.get("type")).endswith("_error")


def _result_text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(map(block_text, content))


def _raw_result_text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(map(_raw_text, content))
    return "" if content is None else _raw_text(content)


def _raw_text(raw: Any) -> str:
    """Return the text of content that the exchange has no block for."""
    match raw:
        case str():
            return raw
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return text
        case {"type": "redacted_thinking"}:
            return REDACTED
        case {"type": "document" | "file" | "input_file", "title": str(name)} if name:
            return f"[file: {name}]"
        case {"type": str(kind)} if kind in _MEDIA_KINDS:
            return _label(_MEDIA_KINDS[kind], _raw_source(raw))
        case _:
            return json_text(raw)


def _file_text(block: JsonObject) -> str:
    source = block.get("source") or {}
    text = block.get("text")
    if str(source.get("media_type") or block.get("media_type")).startswith("audio/") or _note(block, "type") == "audio":
        label = _label("audio", source)
        return f"{label} {text}" if text else label
    if text:
        return text
    return f"[file: {block['name']}]" if block.get("name") else _label("file", source)


def _note(holder: JsonObject, name: str) -> Any:
    """Return what the notes of any format hold under a name."""
    notes = (holder.get("provider_data") or {}).values()
    return next((held[name] for held in notes if isinstance(held, dict) and name in held), None)


def _label(kind: str, source: JsonObject) -> str:
    """Return a label such as `[image: https://…]`, by the address, the id or the hash of the bytes."""
    data: str = source.get("data") or ""
    if data.startswith("data:"):
        data = data.partition(",")[2]
    elif data and source.get("type") != "base64":
        return f"[{kind}: {data}]"
    data = "".join(data.split()).rstrip("=")
    try:
        content = binascii.a2b_base64(data + "=" * (-len(data) % 4), strict_mode=True)
    except ValueError:
        content = b""  # the trace left the bytes out, and put dots or a remark in their place
    return f"[{kind}: sha256:{hashlib.sha256(content).hexdigest()[:16]}]" if content else f"[{kind}]"


def _raw_source(raw: Any, name: str = "") -> JsonObject:
    """Return the source in an object whose shape is unknown: an address, an id or bytes; {} if it has neither."""
    if isinstance(raw, str):
        return {"type": "base64" if name in _BYTE_FIELDS else "url", "data": raw}
    if isinstance(raw, dict):
        for inner in _SOURCE_FIELDS:
            if found := _raw_source(raw.get(inner), inner):
                return found
    return {}


def _longest_run(code: str) -> int:
    return max((len(run) for run in code.split("\n") if set(run) == {"`"}), default=0)
