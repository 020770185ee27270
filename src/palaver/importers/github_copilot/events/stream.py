"""Handlers for streamed pieces of messages, calls and results, which matter only if the whole never arrives.

Pieces are held back until the end, and then become a message at the position of the first piece.
"""

from itertools import islice

import orjson

from palaver.importers.github_copilot.events.session import (
    INTO_MESSAGE,
    MAPPED,
    Call,
    Conversation,
    Disposition,
    Pieces,
)
from palaver.model import build
from palaver.model.build import JsonObject

_PIECES = {
    "assistant.message_start": ("message", "messageId", ""),
    "assistant.message_delta": ("message", "messageId", "deltaContent"),
    "assistant.reasoning_delta": ("reasoning", "reasoningId", "deltaContent"),
    "assistant.tool_call_delta": ("call", "toolCallId", "inputDelta"),
    "tool.execution_partial_result": ("result", "toolCallId", "partialOutput"),
}
"""By event type: what it is a piece of, the field with the id of the whole, and the field with the piece."""
_RECENT_PIECES = 32
"""How many of the last pieces to search for an answer's reasoning, which streams right before it without an id."""


def add_piece(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    kind, id_field, field = _PIECES[event["type"]]
    name, part = data.get(id_field), data.get(field, "")
    if not isinstance(name, str) or not isinstance(part, str):
        conversation.append_opaque(event, data)
        return MAPPED
    pieces = conversation.pieces.get((kind, name))
    if pieces is None:
        if _has_whole(conversation, kind, name):
            return INTO_MESSAGE
        pieces = conversation.pieces[kind, name] = Pieces(event, len(conversation.messages))
    pieces.parts.append(part)
    if isinstance((tool := data.get("toolName")), str):
        pieces.name = pieces.name or tool
    conversation.observe_time(event)
    return INTO_MESSAGE


def _has_whole(conversation: Conversation, kind: str, name: str) -> bool:
    """Whether the whole arrived before its piece."""
    call = conversation.session.calls.get(name)
    if kind == "message":
        return conversation.open_answer is not None and conversation.open_answer.message_id == name
    return call is not None and (kind == "call" or (kind == "result" and call.is_answered))


def discard_pieces(conversation: Conversation, data: JsonObject) -> None:
    """Discard the pieces of an answer that has arrived whole."""
    pieces = conversation.pieces
    if isinstance((name := data.get("messageId")), str):
        pieces.pop(("message", name), None)
    if isinstance((requests := data.get("toolRequests")), list):
        for request in requests:
            if isinstance(request, dict) and isinstance((call := request.get("toolCallId")), str):
                pieces.pop(("call", call), None)
    thought = data.get("reasoningText")
    for key in [*islice(reversed(pieces), _RECENT_PIECES)] if thought else ():
        if key[0] == "reasoning" and "".join(pieces[key].parts) == thought:
            del pieces[key]


def flush_pieces(conversation: Conversation) -> None:
    """Turn the remaining pieces into messages."""
    remaining = sorted(conversation.pieces.items(), key=lambda item: item[1].position)
    conversation.pieces.clear()
    for (kind, name), pieces in reversed(remaining):
        if kind == "call" and name in conversation.session.calls:
            continue
        metadata: JsonObject = {"partial": True, "author_kind": "tool" if kind == "result" else "model"}
        if kind in {"message", "reasoning"}:
            metadata["messageId" if kind == "message" else "reasoningId"] = name
        message = build.message(
            message_id=conversation.claim_id(pieces.event),
            role="tool" if kind == "result" else "assistant",
            timestamp=conversation.timestamp_for(pieces.event, metadata),
            content=[_block(kind, name, pieces)],
            metadata=metadata,
        )
        if kind == "call":
            call = Call(conversation, message["message_id"], message, message["content"][0])
            conversation.session.add_call(name, call)
        conversation.insert(pieces.position, message)


def _block(kind: str, name: str, pieces: Pieces) -> JsonObject:
    text = "".join(pieces.parts)
    match kind:
        case "reasoning":
            return build.thinking(text)
        case "call":
            return build.tool_use(id=name, name=pieces.name, input=_input(text))
        case "result":
            return build.tool_result(tool_use_id=name, content=text, metadata={"partial": True})
        case _:
            return build.text(text)


def _input(text: str) -> JsonObject:
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"raw": text} if text else {}
    return parsed if isinstance(parsed, dict) else {"raw": text}
