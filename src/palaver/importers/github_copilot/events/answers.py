"""What the model says: answers with their chunks, its reasoning, and the turns they are part of."""

from typing import Any

from palaver.importers.github_copilot.events.calls import tool_uses
from palaver.importers.github_copilot.events.conversation import (
    Conversation,
    OpenAnswer,
    Turn,
    keep,
    keep_joined,
    keep_rest,
    words,
)
from palaver.importers.github_copilot.events.disposition import INTO_MESSAGE, MAPPED, Disposition
from palaver.importers.github_copilot.events.tokens import add_tokens
from palaver.importers.github_copilot.events.usage import add_usage, describe_model
from palaver.model import build
from palaver.model.build import JsonObject

_MAPPED = frozenset(
    {
        *("content", "text", "reasoningText", "reasoningOpaque", "encryptedContent", "thinking", "toolRequests"),
        *("outputTokens", "model", "apiCallId", "requestId", "citations", "chunkIndex"),
    }
)
_MAPPED_IN_TURN = _MAPPED | {"turnId"}
_NOTHING = [build.text("")]
_LATEST = 256
"""Among so many of its last blocks is what an answer repeats."""


def answer(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    content = _content(conversation, event, data)
    opened = conversation.answer
    if opened is not None and _continues(opened, data):
        _join(conversation, opened, event, data, content)
        return INTO_MESSAGE
    metadata: JsonObject = {"author_kind": "model"}
    _describe(conversation, metadata, data)
    message = conversation.append(event, "assistant", content or [build.text("")], metadata)
    conversation.answer = OpenAnswer(message, data.get("messageId"), data.get("apiCallId"), data.get("iterationNumber"))
    _count(conversation, conversation.answer, data)
    _register(conversation, message, content)
    return MAPPED


def reasoning(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Reasoning belongs to the answer that follows, or repeats that of the answer before."""
    text = data.get("content")
    if isinstance((name := data.get("reasoningId")), str):
        conversation.pieces.pop(("reasoning", name), None)
    opened = conversation.answer
    if opened is not None and (not text or _holds_thinking(opened.message["content"], text)):
        keep_joined(opened.message["metadata"], data, frozenset({"content"}))
        return INTO_MESSAGE
    if not isinstance(text, str) or not text:
        conversation.keep_whole(event, data)
        return MAPPED
    metadata: JsonObject = {"author_kind": "model"}
    keep_rest(metadata, data, frozenset({"content"}))
    describe_model(conversation, metadata, None)
    message = conversation.append(event, "assistant", [build.thinking(text)], metadata)
    conversation.answer = OpenAnswer(message, is_reasoning=True)
    return MAPPED


def _content(conversation: Conversation, event: JsonObject, data: JsonObject) -> list[JsonObject]:
    content: list[JsonObject] = []
    if thinking := _thinking(data):
        content.append(thinking)
    if "thinking" in data and data.get("reasoningText") is not None:
        content += words(data["reasoningText"], "reasoningText")
    said = data.get("content")
    content += words(said)
    if (also := data.get("text")) and also != said:
        content += words(also, "text")
    if citations := data.get("citations"):
        if content and content[-1]["type"] == "text" and isinstance(citations, dict):
            content[-1]["citations"] = [citations]
        else:
            content.append(build.opaque(kind="citations", raw=citations))
    if requests := data.get("toolRequests"):
        content += tool_uses(conversation.session, event, requests)
    return content


def _thinking(data: JsonObject) -> JsonObject | None:
    text, seal, sealed = data.get("reasoningText"), data.get("reasoningOpaque"), data.get("encryptedContent")
    if (stated := data.get("thinking")) is not None:
        return _stated_thinking(stated)
    if text is None and seal is None and sealed is None:
        return None
    for value in (text, seal, sealed):
        if value is not None and not isinstance(value, str):
            raw = {"reasoningText": text, "reasoningOpaque": seal, "encryptedContent": sealed}
            return build.opaque(kind="thinking", raw=raw)
    return build.thinking(text or "", signature=seal, redacted_data=sealed) if text or seal or sealed else None


def _stated_thinking(stated: Any) -> JsonObject:
    """As JetBrains has it."""
    match stated:
        case {"text": str(text), **rest}:
            block = build.thinking(text)
            if rest:
                block["source_fields"] = rest
            return block
        case _:
            return build.opaque(kind="thinking", raw=stated)


def _continues(opened: OpenAnswer, data: JsonObject) -> bool:
    """Whether an answer goes on with the one before: with reasoning alone, or as a chunk of the same."""
    if opened.is_reasoning:
        return True
    name = data.get("messageId")
    if isinstance(name, str) and name and name == opened.message_id:
        return data.get("iterationNumber") == opened.iteration or opened.message["content"] == _NOTHING
    call = data.get("apiCallId")
    return "chunkIndex" in data and isinstance(call, str) and call == opened.api_call_id


def _join(
    conversation: Conversation, opened: OpenAnswer, event: JsonObject, data: JsonObject, content: list[JsonObject]
) -> None:
    message = opened.message
    metadata = message["metadata"]
    ids = metadata.setdefault("source_ids", [message["message_id"]])
    is_repeated = False
    if isinstance((own := event.get("id")), str):
        is_repeated = conversation.named.get(own) is message
        if not is_repeated:
            ids.append(own)
            conversation.named[own] = message
            conversation.session.ids.add(own)
    is_chunk = "chunkIndex" in data and not is_repeated
    conversation.seen_at(event)
    held: list[JsonObject] = message["content"]
    if held == _NOTHING and content:
        opened.iteration = data.get("iterationNumber")
        held.clear()
    for block in content:
        _add(held, block, is_chunk=is_chunk)
    _describe(conversation, metadata, data)
    _count(conversation, opened, data)
    _register(conversation, message, content)
    if opened.is_reasoning:
        opened.is_reasoning = False
        opened.message_id, opened.iteration = data.get("messageId"), data.get("iterationNumber")
    opened.api_call_id = opened.api_call_id or data.get("apiCallId")


def _add(held: list[JsonObject], block: JsonObject, *, is_chunk: bool) -> None:
    """Add a block to those before, unless it says what they say."""
    kind = block["type"]
    if kind == "text" and held and held[-1]["type"] == "text" and "citations" not in held[-1] and len(block) == 2:
        last = held[-1]
        if is_chunk:
            text: str = last.pop("text")
            text += block["text"]  # nobody else holds it: it grows where it is
            last["text"] = text
            return
        if block["text"].startswith(last["text"]):
            last["text"] = block["text"]
            return
    latest = held[-_LATEST:]
    if kind == "thinking":
        for one in latest:
            if one["type"] == "thinking" and one["thinking"] == block["thinking"]:
                one.update(block)
                return
    if is_chunk or block not in latest:
        held.append(block)


def _holds_thinking(held: list[JsonObject], text: Any) -> bool:
    return any(block["type"] == "thinking" and block["thinking"] == text for block in held[-_LATEST:])


def _describe(conversation: Conversation, metadata: JsonObject, data: JsonObject) -> None:
    model, call_id, request_id = data.get("model"), data.get("apiCallId"), data.get("requestId")
    describe_model(conversation, metadata, model)
    if isinstance(call_id, str) and call_id:
        metadata["api_message_id"] = call_id
    if isinstance(request_id, str) and request_id:
        metadata["request_id"] = request_id
    for name, value in (("model", model), ("apiCallId", call_id), ("requestId", request_id)):
        if value is not None and not isinstance(value, str):
            keep(metadata, name, value)
    conversation.take_turn(metadata)
    is_of_turn = "turn" in metadata and metadata["turn"].get("turnId") == data.get("turnId")
    keep_joined(metadata, data, _MAPPED_IN_TURN if is_of_turn else _MAPPED)
    if (number := data.get("chunkIndex")) is not None and type(number) is not int:
        keep(metadata, "chunkIndex", number)


def _count(conversation: Conversation, opened: OpenAnswer, data: JsonObject) -> None:
    message = opened.message
    stated = data.get("outputTokens")
    if type(stated) is int and stated >= 0:
        add_tokens(message, {"output_tokens": stated})
    elif stated is not None:
        keep(message["metadata"], "outputTokens", stated)
    if conversation.held_usage is not None:
        held, own = conversation.held_usage["data"], data.get("apiCallId")
        if own is not None and held.get("apiCallId") not in (None, own):
            return  # it is that of another answer
        conversation.held_usage = None
        opened.has_usage = True
        add_usage(conversation, message, held)


def _register(conversation: Conversation, message: JsonObject, content: list[JsonObject]) -> None:
    calls = conversation.session.calls
    for block in content:
        if block["type"] == "tool_use" and (call := calls.get(block["id"])) is not None and call.message is None:
            call.conversation, call.message, call.message_id = conversation, message, message["message_id"]


# -- turns ----------------------------------------------------------------------------------------------------------


def turn_start(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """A turn is told by its first message."""
    close_turn(conversation)
    conversation.turn = Turn(event, len(conversation.messages), dict(data))
    if time := conversation.seen_at(event):
        conversation.turn.told["started_at"] = time
    return INTO_MESSAGE


def turn_end(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    turn = conversation.turn
    if turn is None or not turn.is_told or turn.told.get("turnId") != data.get("turnId"):
        close_turn(conversation)
        conversation.keep_whole(event, data)
        return MAPPED
    turn.told.update({name: value for name, value in data.items() if value is not None})
    if time := conversation.seen_at(event):
        turn.told["ended_at"] = time
    conversation.turn = None
    return INTO_MESSAGE


def close_turn(conversation: Conversation) -> None:
    """A turn without any answer is a message of its own, where it began."""
    turn, conversation.turn = conversation.turn, None
    if turn is None or turn.is_told:
        return
    metadata: JsonObject = {"author_kind": "harness", "hidden": True}
    message = build.message(
        message_id=conversation.id_of(turn.event),
        role="system",
        timestamp=conversation.time_of(turn.event, metadata),
        content=[build.opaque(kind=turn.event["type"], raw=turn.event["data"])],
        metadata=metadata,
    )
    conversation.insert(turn.position, message)
