"""Pieces of messages, as captures of a stream hold them: they count only where the whole never came.

They are held until then, and stand in the place of their first piece.
"""

from itertools import islice

import orjson

from palaver.importers.github_copilot.events.conversation import Conversation, Pieces
from palaver.importers.github_copilot.events.disposition import INTO_MESSAGE, MAPPED, Disposition
from palaver.importers.github_copilot.events.session import Call
from palaver.model import build
from palaver.model.build import JsonObject

_KINDS = {
    "assistant.message_start": ("message", "messageId", ""),
    "assistant.message_delta": ("message", "messageId", "deltaContent"),
    "assistant.reasoning_delta": ("reasoning", "reasoningId", "deltaContent"),
    "assistant.tool_call_delta": ("call", "toolCallId", "inputDelta"),
    "tool.execution_partial_result": ("result", "toolCallId", "partialOutput"),
}
"""Of each type, what it is a piece of, what that is named by, and the field that holds the piece."""
_LATEST = 32
"""Reasoning without its id is looked for in so many of the last pieces: it streams right before its answer."""


def piece(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    kind, named_by, field = _KINDS[event["type"]]
    name, part = data.get(named_by), data.get(field, "")
    if not isinstance(name, str) or not isinstance(part, str):
        conversation.keep_whole(event, data)
        return MAPPED
    held = conversation.pieces.get((kind, name))
    if held is None:
        if _is_known(conversation, kind, name):
            return INTO_MESSAGE
        held = conversation.pieces[kind, name] = Pieces(event, len(conversation.messages))
    held.parts.append(part)
    if isinstance((tool := data.get("toolName")), str):
        held.name = held.name or tool
    conversation.seen_at(event)
    return INTO_MESSAGE


def _is_known(conversation: Conversation, kind: str, name: str) -> bool:
    """Whether the whole came before its piece."""
    call = conversation.session.calls.get(name)
    if kind == "message":
        return conversation.answer is not None and conversation.answer.message_id == name
    return call is not None and (kind == "call" or (kind == "result" and call.is_answered))


def came_whole(conversation: Conversation, data: JsonObject) -> None:
    """Forget the pieces of an answer that is there now."""
    pieces = conversation.pieces
    if isinstance((name := data.get("messageId")), str):
        pieces.pop(("message", name), None)
    if isinstance((requests := data.get("toolRequests")), list):
        for request in requests:
            if isinstance(request, dict) and isinstance((call := request.get("toolCallId")), str):
                pieces.pop(("call", call), None)
    thought = data.get("reasoningText")
    for key in [*islice(reversed(pieces), _LATEST)] if thought else ():
        if key[0] == "reasoning" and "".join(pieces[key].parts) == thought:
            del pieces[key]


def settle(conversation: Conversation) -> None:
    """Make messages of the pieces that are left."""
    left = sorted(conversation.pieces.items(), key=lambda item: item[1].position)
    conversation.pieces.clear()
    for (kind, name), held in reversed(left):
        if kind == "call" and name in conversation.session.calls:
            continue
        metadata: JsonObject = {"partial": True, "author_kind": "tool" if kind == "result" else "model"}
        if kind in {"message", "reasoning"}:
            metadata["messageId" if kind == "message" else "reasoningId"] = name
        message = build.message(
            message_id=conversation.id_of(held.event),
            role="tool" if kind == "result" else "assistant",
            timestamp=conversation.time_of(held.event, metadata),
            content=[_block(kind, name, held)],
            metadata=metadata,
        )
        if kind == "call":
            call = Call(conversation, message["message_id"], message, message["content"][0])
            conversation.session.remember(name, call)
        conversation.insert(held.position, message)


def _block(kind: str, name: str, held: Pieces) -> JsonObject:
    text = "".join(held.parts)
    match kind:
        case "reasoning":
            return build.thinking(text)
        case "call":
            return build.tool_use(id=name, name=held.name, input=_input(text))
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
