"""Handlers for the model's output: answers and their chunks, reasoning, and turns."""

from typing import Any

from palaver.importers.github_copilot.events.session import (
    INTO_MESSAGE,
    MAPPED,
    Conversation,
    Disposition,
    OpenAnswer,
    Turn,
    keep_conflicting,
    keep_field,
    keep_unmapped,
    text_blocks,
)
from palaver.importers.github_copilot.events.tool_calls import tool_uses
from palaver.importers.github_copilot.events.usage import add_usage, raise_token_counts, set_model
from palaver.model import build
from palaver.model.build import JsonObject

_MAPPED = frozenset(
    {
        *("content", "text", "reasoningText", "reasoningOpaque", "encryptedContent", "thinking", "toolRequests"),
        *("outputTokens", "model", "apiCallId", "requestId", "citations", "chunkIndex"),
    }
)
_MAPPED_IN_TURN = _MAPPED | {"turnId"}
_EMPTY = [build.text("")]
_RECENT_BLOCKS = 256
"""How many of an answer's last blocks to search for a repeated one."""


def assistant_message(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Start a message, or extend the open answer if the event continues it."""
    content = _content(conversation, event, data)
    opened = conversation.open_answer
    if opened is not None and _is_continuation(opened, data):
        _join(conversation, opened, event, data, content)
        return INTO_MESSAGE
    metadata: JsonObject = {"author_kind": "model"}
    _add_metadata(conversation, metadata, data)
    message = conversation.append(event, "assistant", content or [build.text("")], metadata)
    conversation.open_answer = OpenAnswer(
        message, data.get("messageId"), data.get("apiCallId"), data.get("iterationNumber")
    )
    _add_usage(conversation, conversation.open_answer, data)
    _link_calls(conversation, message, content)
    return MAPPED


def assistant_reasoning(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Start the answer that will follow, or fold reasoning that repeats that of the open answer."""
    text = data.get("content")
    if isinstance((name := data.get("reasoningId")), str):
        conversation.pieces.pop(("reasoning", name), None)
    opened = conversation.open_answer
    if opened is not None and (not text or _holds_thinking(opened.message["content"], text)):
        keep_conflicting(opened.message["metadata"], data, frozenset({"content"}))
        return INTO_MESSAGE
    if not isinstance(text, str) or not text:
        conversation.append_opaque(event, data)
        return MAPPED
    metadata: JsonObject = {"author_kind": "model"}
    keep_unmapped(metadata, data, frozenset({"content"}))
    set_model(conversation, metadata, None)
    message = conversation.append(event, "assistant", [build.thinking(text)], metadata)
    conversation.open_answer = OpenAnswer(message, is_reasoning=True)
    return MAPPED


def _content(conversation: Conversation, event: JsonObject, data: JsonObject) -> list[JsonObject]:
    content: list[JsonObject] = []
    if thinking := _thinking(data):
        content.append(thinking)
    if "thinking" in data and data.get("reasoningText") is not None:
        content += text_blocks(data["reasoningText"], "reasoningText")
    main_text = data.get("content")
    content += text_blocks(main_text)
    if (other_text := data.get("text")) and other_text != main_text:
        content += text_blocks(other_text, "text")
    if citations := data.get("citations"):
        if content and content[-1]["type"] == "text" and isinstance(citations, dict):
            content[-1]["citations"] = [citations]
        else:
            content.append(build.opaque(kind="citations", raw=citations))
    if requests := data.get("toolRequests"):
        content += tool_uses(conversation.session, event, requests)
    return content


def _thinking(data: JsonObject) -> JsonObject | None:
    text, signature, encrypted = data.get("reasoningText"), data.get("reasoningOpaque"), data.get("encryptedContent")
    if (raw_thinking := data.get("thinking")) is not None:
        return _jetbrains_thinking(raw_thinking)
    if text is None and signature is None and encrypted is None:
        return None
    for value in (text, signature, encrypted):
        if value is not None and not isinstance(value, str):
            raw = {"reasoningText": text, "reasoningOpaque": signature, "encryptedContent": encrypted}
            return build.opaque(kind="thinking", raw=raw)
    if not (text or signature or encrypted):
        return None
    return build.thinking(text or "", signature=signature, redacted_data=encrypted)


def _jetbrains_thinking(raw: Any) -> JsonObject:
    match raw:
        case {"text": str(text), **rest}:
            block = build.thinking(text)
            if rest:
                block["source_fields"] = rest
            return block
        case _:
            return build.opaque(kind="thinking", raw=raw)


def _is_continuation(opened: OpenAnswer, data: JsonObject) -> bool:
    """Whether an answer continues the open one, which is reasoning only or shares its message or API call id."""
    if opened.is_reasoning:
        return True
    name = data.get("messageId")
    if isinstance(name, str) and name and name == opened.message_id:
        return data.get("iterationNumber") == opened.iteration or opened.message["content"] == _EMPTY
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
        is_repeated = conversation.by_event_id.get(own) is message
        if not is_repeated:
            ids.append(own)
            conversation.by_event_id[own] = message
            conversation.session.ids.add(own)
    is_chunk = "chunkIndex" in data and not is_repeated
    conversation.observe_time(event)
    blocks: list[JsonObject] = message["content"]
    if blocks == _EMPTY and content:
        opened.iteration = data.get("iterationNumber")
        blocks.clear()
    for block in content:
        _add_block(blocks, block, is_chunk=is_chunk)
    _add_metadata(conversation, metadata, data)
    _add_usage(conversation, opened, data)
    _link_calls(conversation, message, content)
    if opened.is_reasoning:
        opened.is_reasoning = False
        opened.message_id, opened.iteration = data.get("messageId"), data.get("iterationNumber")
    opened.api_call_id = opened.api_call_id or data.get("apiCallId")


def _add_block(blocks: list[JsonObject], block: JsonObject, *, is_chunk: bool) -> None:
    """Add a block, unless it repeats or extends an earlier one."""
    kind = block["type"]
    if kind == "text" and blocks and blocks[-1]["type"] == "text" and "citations" not in blocks[-1] and len(block) == 2:
        last = blocks[-1]
        if is_chunk:
            text: str = last.pop("text")
            text += block["text"]  # the only reference, so CPython extends it in place
            last["text"] = text
            return
        if block["text"].startswith(last["text"]):
            last["text"] = block["text"]
            return
    latest = blocks[-_RECENT_BLOCKS:]
    if kind == "thinking":
        for earlier in latest:
            if earlier["type"] == "thinking" and earlier["thinking"] == block["thinking"]:
                earlier.update(block)
                return
    if is_chunk or block not in latest:
        blocks.append(block)


def _holds_thinking(blocks: list[JsonObject], text: Any) -> bool:
    return any(block["type"] == "thinking" and block["thinking"] == text for block in blocks[-_RECENT_BLOCKS:])


def _add_metadata(conversation: Conversation, metadata: JsonObject, data: JsonObject) -> None:
    model, call_id, request_id = data.get("model"), data.get("apiCallId"), data.get("requestId")
    set_model(conversation, metadata, model)
    if isinstance(call_id, str) and call_id:
        metadata["api_message_id"] = call_id
    if isinstance(request_id, str) and request_id:
        metadata["request_id"] = request_id
    for name, value in (("model", model), ("apiCallId", call_id), ("requestId", request_id)):
        if value is not None and not isinstance(value, str):
            keep_field(metadata, name, value)
    conversation.attach_turn(metadata)
    is_in_turn = "turn" in metadata and metadata["turn"].get("turnId") == data.get("turnId")
    keep_conflicting(metadata, data, _MAPPED_IN_TURN if is_in_turn else _MAPPED)
    if (number := data.get("chunkIndex")) is not None and type(number) is not int:
        keep_field(metadata, "chunkIndex", number)


def _add_usage(conversation: Conversation, opened: OpenAnswer, data: JsonObject) -> None:
    message = opened.message
    count = data.get("outputTokens")
    if type(count) is int and count >= 0:
        raise_token_counts(message, {"output_tokens": count})
    elif count is not None:
        keep_field(message["metadata"], "outputTokens", count)
    if conversation.pending_usage is not None:
        usage, call_id = conversation.pending_usage["data"], data.get("apiCallId")
        if call_id is not None and usage.get("apiCallId") not in (None, call_id):
            return  # it belongs to another answer
        conversation.pending_usage = None
        opened.has_usage = True
        add_usage(conversation, message, usage)


def _link_calls(conversation: Conversation, message: JsonObject, content: list[JsonObject]) -> None:
    calls = conversation.session.calls
    for block in content:
        if block["type"] == "tool_use" and (call := calls.get(block["id"])) is not None and call.message is None:
            call.conversation, call.message, call.message_id = conversation, message, message["message_id"]


def turn_start(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Open a turn; its fields are attached to its first message."""
    close_turn(conversation)
    conversation.turn = Turn(event, len(conversation.messages), dict(data))
    if time := conversation.observe_time(event):
        conversation.turn.fields["started_at"] = time
    return INTO_MESSAGE


def turn_end(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    turn = conversation.turn
    if turn is None or not turn.is_attached or turn.fields.get("turnId") != data.get("turnId"):
        close_turn(conversation)
        conversation.append_opaque(event, data)
        return MAPPED
    turn.fields.update({name: value for name, value in data.items() if value is not None})
    if time := conversation.observe_time(event):
        turn.fields["ended_at"] = time
    conversation.turn = None
    return INTO_MESSAGE


def close_turn(conversation: Conversation) -> None:
    """Close the open turn; one without an answer becomes a hidden message at the position where it started."""
    turn, conversation.turn = conversation.turn, None
    if turn is None or turn.is_attached:
        return
    metadata: JsonObject = {"author_kind": "harness", "hidden": True}
    message = build.message(
        message_id=conversation.claim_id(turn.event),
        role="system",
        timestamp=conversation.timestamp_for(turn.event, metadata),
        content=[build.opaque(kind=turn.event["type"], raw=turn.event["data"])],
        metadata=metadata,
    )
    conversation.insert(turn.position, message)
